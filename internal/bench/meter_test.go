package bench

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// localReader stands for a reader whose writers are on this host, or not.
type localReader struct{ local bool }

func (r localReader) take(sink) error                         { return errEmpty }
func (r localReader) wait(context.Context) error              { return nil }
func (r localReader) matched() (now, most int)                { return 1, 1 }
func (r localReader) waitForMatch(context.Context, int) error { return nil }
func (r localReader) upcalls() *upcalls                       { return nil }
func (r localReader) rematched() <-chan struct{}              { return nil }
func (r localReader) sameClock() bool                         { return r.local }

func newMeter(t *testing.T, local bool) *meter {
	t.Helper()
	c, err := newClock()
	require.NoError(t, err)
	return &meter{
		run:     &run{clock: c, in: localReader{local}},
		streams: map[uint32]*stream{}, latency: newHistogram(), due: newHistogram(),
	}
}

// batch lets the meter take samples at a time.
func (m *meter) batch(t *testing.T, now int64, samples ...header) {
	t.Helper()
	m.begin(len(samples))
	m.now = now
	for i := range samples {
		require.NoError(t, m.add(&samples[i]))
	}
}

func numbered(writer, phase uint32, numbers ...uint64) (list []header) {
	for _, n := range numbers {
		list = append(list, header{writer: writer, phase: phase, number: n, sent: 1, due: 1})
	}
	return list
}

func TestWarmUpDoesNotCount(t *testing.T) {
	m := newMeter(t, true)
	m.batch(t, 1e9, numbered(7, warmUp, 0, 1, 5)...)
	m.batch(t, 2e9, numbered(7, measured, 0, 1)...)
	m.batch(t, 4e9, append(numbered(7, measured, 2, 3), numbered(7, end, 4)...)...)
	m.finish()
	r := m.run.result
	assert.EqualValues(t, 4, r.Count)
	assert.Zero(t, r.Lost)
	assert.Equal(t, 2.0, r.Seconds, "from the first sample that counts to the last")
	assert.Equal(t, 1.0, r.Rate, "what was there when time began is not for the rate")
	assert.Equal(t, 1, m.ended)
}

func TestLossIsWhereNumbersAreMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []header
		lost    int
	}{
		{"in the middle", append(numbered(7, measured, 0, 1, 5), numbered(7, end, 6)...), 3},
		{"at the beginning, of a writer that was known", append(append(numbered(7, warmUp, 0), numbered(7, measured, 2)...), numbered(7, end, 3)...), 2},
		{"not before the reader came", append(numbered(7, measured, 2, 3), numbered(7, end, 4)...), 0},
		{"at the end", append(numbered(7, measured, 0), numbered(7, end, 10)...), 9},
		{"everything", append(numbered(7, warmUp, 0), numbered(7, end, 10)...), 10},
		{"several marks count once", append(numbered(7, measured, 0), numbered(7, end, 2, 2, 2)...), 1},
		{"each writer for itself", append(numbered(7, measured, 0, 1), numbered(8, measured, 0, 2)...), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMeter(t, true)
			m.batch(t, 1e9, c.samples...)
			m.finish()
			assert.EqualValues(t, c.lost, m.run.result.Lost)
			assert.Zero(t, m.run.result.Disordered)
		})
	}
}

func TestDisorderIsNoticed(t *testing.T) {
	m := newMeter(t, true)
	m.batch(t, 1e9, numbered(7, measured, 0, 1, 1, 0, 2)...)
	m.finish()
	assert.EqualValues(t, 3, m.run.result.Count)
	assert.EqualValues(t, 2, m.run.result.Disordered)
}

func TestLatencyIsSinceWrittenAndSinceDue(t *testing.T) {
	m := newMeter(t, true)
	m.batch(t, 1000, header{phase: measured, sent: 900, due: 200})
	m.finish()
	assert.EqualValues(t, 100, m.run.result.P50)
	require.NotNil(t, m.run.result.Due)
	assert.EqualValues(t, 800, m.run.result.Due.P50)
}

func TestNoLatencyBetweenHosts(t *testing.T) {
	m := newMeter(t, false)
	m.batch(t, 1000, header{phase: measured, sent: 900, due: 200})
	m.finish()
	assert.EqualValues(t, 1, m.run.result.Count)
	assert.Zero(t, m.run.result.Latency)
	assert.Nil(t, m.run.result.Due)
}

func TestLatenciesBeyondTheHistogramAreAtItsEnds(t *testing.T) {
	h := newHistogram()
	h.add(-5)
	h.add(1 << 62)
	l := h.latency()
	assert.EqualValues(t, 1, l.Min)
	assert.InEpsilon(t, float64(longest), float64(l.Max), 0.001)
	assert.EqualValues(t, 2, l.Samples)
}

func TestClockIsThatOfTheHost(t *testing.T) {
	a, err := newClock()
	require.NoError(t, err)
	b, err := newClock()
	require.NoError(t, err)
	before, between, after := a.now(), b.now(), a.now()
	const error = 1e6 // how exactly the distance is known; it is a few ns on a machine that is not stopped meanwhile
	assert.LessOrEqual(t, before, between+error)
	assert.LessOrEqual(t, between, after+error)
}

func TestScheduleDoesNotDrift(t *testing.T) {
	p := &pacer{start: 100, rate: 3}
	assert.EqualValues(t, 100, p.due(0))
	assert.EqualValues(t, 100+int64(1e9), p.due(3))
	assert.EqualValues(t, 100+int64(1e15), p.due(3e6))
}

// The only processor is kept in a silent sleep: the others get on all the same, and so does the collector.
func TestSilentSleepsLetOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c, err := newClock()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for range 3 {
			runtime.GC()
		}
		cancel()
	}()
	p := &pacer{clock: c, start: c.now(), rate: 1000, silent: true}
	for n := uint64(1); ctx.Err() == nil; n++ {
		if err := p.wait(ctx, p.due(n)); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		require.GreaterOrEqual(t, c.now(), p.due(n), "it returned too early")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	c, err := newClock()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, spin := range []bool{false, true} {
		p := &pacer{clock: c, spin: spin}
		assert.ErrorIs(t, p.wait(ctx, c.now()+1e15), context.Canceled)
		assert.NoError(t, p.wait(ctx, c.now()), "nothing to wait for")
	}
}

// Who is matched is told by a listener, on a goroutine of its own: it may come when all samples have been taken.
func TestWritersThatWereHeardWereMatched(t *testing.T) {
	for told, want := range map[int]int{0: 2, 1: 2, 3: 3} {
		m := newMeter(t, true)
		m.run.result.Matched = told
		m.batch(t, 1e9, append(numbered(7, measured, 0), numbered(8, measured, 0)...)...)
		m.finish()
		assert.Equal(t, want, m.run.result.Matched)
	}
}
