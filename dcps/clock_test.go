package dcps

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClockFollows(t *testing.T) {
	var c clock
	require.WithinDuration(t, time.Now(), timeOf(c.now()), time.Second)
	at := time.Now().Add(-anchoredFor)
	old := &anchor{moment: moment{at: at}, ns: at.UnixNano()}
	c.anchor.Store(old)
	before := time.Now()
	require.False(t, timeOf(c.now()).Before(before))
	require.NotSame(t, old, c.anchor.Load())
	require.WithinDuration(t, before, c.time(before.UnixNano()), time.Second)
}

// The machine's own ticks, or its monotonic clock: whatever it is, the clock ascends and keeps to the time.
func TestClockAscends(t *testing.T) {
	var c clock
	last := c.now()
	look := func() {
		before := time.Now().UnixNano()
		n := c.now()
		require.LessOrEqual(t, last, n)
		require.Less(t, before-n, int64(backAtOnce))
		last = n
	}
	for until := time.Now().Add(3 * measuredFor); time.Now().Before(until); {
		look()
	}
	// It knows the rate of its ticks, unless each look so far was interrupted: a few more that are not too early find it.
	unknown := func(a *anchor) bool { return a == nil || a.steady && a.span == 0 }
	for more := 0; more < 1000 && unknown(c.anchor.Load()); look() {
		if a := c.anchor.Load(); a == nil || time.Since(a.since.at) >= measuredFor {
			more++
		}
	}
	require.False(t, unknown(c.anchor.Load()))
}

// machine is one whose clocks a test turns.
type machine struct {
	epoch   time.Time
	passed  time.Duration // by the monotonic clock
	ticks   float64
	perTick float64 // ns
}

func newMachine(perTick float64) *machine {
	return &machine{epoch: time.Now(), perTick: perTick}
}

func (m *machine) pass(d time.Duration) {
	m.passed += d
	m.ticks += float64(d) / m.perTick
}

func (m *machine) moment(lag time.Duration) moment {
	return moment{at: m.epoch.Add(m.passed), tick: uint64(m.ticks - float64(lag)/m.perTick)}
}

func (m *machine) ns() int64 { return m.epoch.UnixNano() + int64(m.passed) }

func (m *machine) first() *anchor {
	at := m.moment(0)
	return &anchor{moment: at, ns: at.at.UnixNano(), since: at, steady: true}
}

// Read at any times, with comparisons that take up to a microsecond, the clock ascends, and differs from the system's
// by no more than it says: a microsecond for the comparison, 20 ppm for the rate, and 500 ppm of tickedFor where the
// system's clock is slewed.
func TestTicksKeepTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perTick := rapid.Float64Range(0.2, 1).Draw(t, "ns of a tick")
		m := newMachine(perTick)
		a := m.first()
		last := a.ns
		var counted int
		for range rapid.IntRange(10, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 20).Draw(t, "slew") == 0 {
				m.perTick = perTick * (1 + rapid.Float64Range(-250e-6, 250e-6).Draw(t, "by"))
			}
			m.pass(time.Duration(rapid.Int64Range(1, int64(20*time.Millisecond)).Draw(t, "pass")))
			if a.span == 0 && m.passed < measuredFor {
				continue
			}
			n, said := m.moment(0).tick-a.tick, int64(0)
			if n < a.span {
				said = a.after(n)
				counted++
			} else {
				lag := time.Duration(rapid.Int64Range(0, int64(time.Microsecond)).Draw(t, "lag"))
				a = a.next(m.moment(lag))
				require.True(t, a.steady)
				said = a.ns
			}
			require.LessOrEqual(t, last, said)
			require.InDelta(t, m.ns(), said, 10_000)
			last = said
		}
	})
}

func TestTicks(t *testing.T) {
	ticking := func() (*machine, *anchor) {
		m := newMachine(0.4)
		a := m.first()
		m.pass(measuredFor)
		a = a.next(m.moment(0))
		require.EqualValues(t, tickedFor/4*10, a.span)
		return m, a
	}
	t.Run("no rate yet", func(t *testing.T) {
		m := newMachine(0.4)
		a := m.first()
		m.pass(measuredFor - 1)
		require.Zero(t, a.next(m.moment(0)).span)
	})
	t.Run("counted", func(t *testing.T) {
		m, a := ticking()
		at := m.ns()
		require.Equal(t, at, a.after(0))
		require.InDelta(t, at+int64(tickedFor), a.after(a.span), 10)
	})
	t.Run("another rate", func(t *testing.T) {
		m, a := ticking()
		m.perTick *= 1.01
		m.pass(remeasured)
		a = a.next(m.moment(0))
		require.False(t, a.steady)
		require.Zero(t, a.span)
		require.Equal(t, m.ns(), a.ns)
		require.Equal(t, anchoredFor, a.lasts())
		m.pass(anchoredFor)
		require.Zero(t, a.next(m.moment(0)).span)
	})
	t.Run("ticks went back", func(t *testing.T) {
		m, a := ticking()
		m.ticks = 0
		m.pass(measuredFor / 10)
		require.False(t, a.next(m.moment(0)).steady)
	})
	t.Run("no ticks", func(t *testing.T) {
		m := newMachine(0.4)
		a := m.first()
		m.passed += measuredFor
		require.False(t, a.next(m.moment(0)).steady)
	})
	t.Run("set back", func(t *testing.T) {
		m, a := ticking()
		setBack := func(a *anchor, by time.Duration) { // the system's clock, but not the monotonic one
			m.epoch, a.since.at = m.epoch.Add(-by), a.since.at.Add(-by)
		}
		m.pass(tickedFor)
		setBack(a, time.Millisecond)
		b := a.next(m.moment(0))
		require.Equal(t, a.after(a.span), b.ns, "it does not go back")
		require.InDelta(t, m.ns()+int64(tickedFor), b.after(b.span), 10, "and has waited for the system's by the end")
		require.Less(t, b.pace, a.pace)

		m.pass(tickedFor)
		setBack(b, backAtOnce+time.Microsecond)
		require.Equal(t, m.ns(), b.next(m.moment(0)).ns, "it was set")
	})
}

// A reader that somebody has the lock of, say to take very much, does not keep the deadlines of others from being missed; its own
// are when it is let go.
func TestTimersDoNotWaitForAReader(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	deadline := func(period time.Duration) func(*qos.DataReader) {
		return func(q *qos.DataReader) { q.Deadline.Period = period }
	}
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = 10 * time.Millisecond }))
	busy := n.reader(t, readerQos(deadline(30*time.Millisecond)))
	other := n.reader(t, readerQos(deadline(60*time.Millisecond)))
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	write(t, w, 1, 1)
	d.settle(t)
	missed := func(r *DataReader[track]) func() bool {
		return func() bool { return r.untyped().deadlineMissed.TotalCount > 0 }
	}
	busy.untyped().mu.Lock()
	err := other.untyped().await(patiently(t), "test", missed(other))
	busy.untyped().unlock()
	require.NoError(t, err)
	require.NoError(t, busy.untyped().await(patiently(t), "test", missed(busy)))
}

// What is due is not done by who posts, which may be the polling goroutine, though the timers did not get the lock.
func TestWhoPostsDoesNotTick(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	r := n.reader(t, readerQos()).untyped()
	d.settle(t)
	ticks := &countedTicks{entityLogic: r.logic}
	r.mu.Lock()
	r.logic = ticks
	r.due.Store(true) // the timers find that somebody has the lock
	r.mu.Unlock()
	n.p.timers.stop <- struct{}{} // so that only who posts could
	it := &item{kind: itemOutage}
	r.post(it, it)
	r.mu.Lock()
	require.Zero(t, ticks.n)
	r.mu.Unlock()
	require.NotZero(t, r.alarm.at.Load(), "they are to try again")
	r.lock()
	require.Equal(t, 1, ticks.n)
	r.logic = ticks.entityLogic
	r.unlock()
	go n.p.timers.run()
}

// countedTicks are always due.
type countedTicks struct {
	entityLogic
	n int
}

func (c *countedTicks) nextTick() int64 { return 1 }
func (c *countedTicks) tick(int64)      { c.n++ }
