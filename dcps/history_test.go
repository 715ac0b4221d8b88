package dcps

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// The tests of this file have a process wait for the history of a topic.

// awaits has a node wait for the history of a writer's topic, as of an epoch: the bus sends all in epoch 1.
func (b *bus) awaits(t *testing.T, at *node, w *DataWriter[track], epoch uint32) {
	b.mu.Lock()
	n, key := b.of(at), w.untyped().at
	n.do(func() { n.h.AwaitState(key.sg, key.ch, epoch, true) })
	b.mu.Unlock()
	b.settle(t)
}

// What a TRANSIENT_LOCAL writer has sent while the history of its topic was on its way to its process is sent again,
// too, when that is excluded before it has come: as much as the history would have kept.
func TestExcludedWhileTheHistoryComes(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after uint32 // the epochs that the history is awaited of, before and after it has written; 0 for none
	}{
		{"it has come", 0, 0},
		{"it comes", 1, 0},
		{"who gave it failed", 1, 2},
		{"what is written is in it", 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			keep := func(q *qos.DataWriter) { q.History.Depth = 2 }
			r := b.reader(t, durableReader(qos.DurabilityTransientLocal)) // which has the history
			w := a.writer(t, durably(qos.DurabilityTransientLocal, keep))
			own := a.reader(t, durableReader(qos.DurabilityTransientLocal))
			other := b.writer(t, durably(qos.DurabilityTransientLocal))
			require.NoError(t, w.WaitForMatch(patiently(t), 2))
			d.bus.settle(t)
			if c.before != 0 {
				d.bus.awaits(t, a, w, c.before)
			}
			for i := range int32(3) {
				write(t, w, 1, i)
			}
			write(t, w, 2, 3)
			write(t, w, 3, 4)
			require.NoError(t, w.Dispose(patiently(t), &track{ID: 2}))
			d.bus.settle(t)
			require.NoError(t, other.Dispose(patiently(t), &track{ID: 3}))
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			d.bus.settle(t)
			if c.after != 0 {
				d.bus.awaits(t, a, w, c.after)
			}
			require.Equal(t, "1:0 1:1 1:2 2:3 3:4", values(t, r, 5))
			d.bus.exclude(a)
			d.bus.rejoin(a)
			require.NoError(t, a.p.WaitForDomain(patiently(t)))
			write(t, w, 1, 5)
			require.Equal(t, "1:5", values(t, r, 1), "it had the others")
			newcomer := b.reader(t, durableReader(qos.DurabilityTransientLocal))
			d.bus.settle(t)
			require.Equal(t, "1:2 1:5", values(t, newcomer, 2))
			if c.before != 0 {
				require.Equal(t, "1:1 1:2 1:5", values(t, own, 3))
			}
		})
	}
}

// What has been sent again while the history was on its way has arrived: it is not owed once more if it was disposed of since.
func TestExcludedWhileTheHistoryComesOnceMore(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	b.reader(t, durableReader(qos.DurabilityTransientLocal)) // a process that keeps
	w := a.writer(t, durably(qos.DurabilityTransientLocal))
	write(t, w, 1, 1)
	write(t, w, 2, 2)
	d.bus.settle(t)
	d.bus.exclude(a)
	again := make(chan struct{})
	d.bus.during(&d.bus.committing, func() {
		d.bus.settle(t) // the one of the bus has come
		d.bus.awaits(t, a, w, 1)
		close(again)
	})
	d.bus.rejoin(a)
	<-again
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	d.bus.settle(t)
	d.bus.exclude(a)
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	write(t, w, 2, 3)
	newcomer := b.reader(t, durableReader(qos.DurabilityTransientLocal))
	require.Equal(t, "2:3", values(t, newcomer, 1))
}

// Who waits for the history as of a later epoch, as who was to give that of an earlier one has failed, goes on with all
// that has come meanwhile if nobody has it.
func TestHistoryOfALaterEpoch(t *testing.T) {
	for _, left := range []bool{true, false} {
		t.Run(map[bool]string{true: "it comes", false: "nobody has it"}[left], func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			b.reader(t, durableReader(qos.DurabilityTransientLocal))
			w := a.writer(t, durably(qos.DurabilityTransientLocal, func(q *qos.DataWriter) { q.History.Depth = 10 }))
			early := a.reader(t, durableReader(qos.DurabilityTransientLocal))
			require.NoError(t, w.WaitForMatch(patiently(t), 2))
			d.bus.awaits(t, a, w, 1)
			write(t, w, 1, 1)
			d.bus.settle(t)
			d.bus.awaits(t, a, w, 2)
			write(t, w, 1, 2)
			d.bus.settle(t)
			key := w.untyped().at
			var state []byte
			if left {
				state = d.bus.saved(t, b, key)
			}
			d.bus.loads(t, a, key, state)
			newcomer := a.reader(t, durableReader(qos.DurabilityTransientLocal))
			for _, r := range []*DataReader[track]{early, newcomer} {
				require.Equal(t, "1:1 1:2", values(t, r, 2))
				d.bus.settle(t)
				require.Equal(t, "no data", takeText(t, r), "nothing comes twice")
			}
		})
	}
}

// What was put off of a TRANSIENT_LOCAL writer that is gone by now is not kept.
func TestWriterGoneBeforeTheHistoryComes(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	b.reader(t, durableReader(qos.DurabilityTransientLocal)) // a process that keeps
	w := a.writer(t, durably(qos.DurabilityTransientLocal, func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	d.bus.awaits(t, b, w, 1)
	write(t, w, 1, 1)
	d.bus.settle(t)
	require.NoError(t, w.Close())
	d.bus.settle(t)
	d.bus.loads(t, b, w.untyped().at, nil)
	newcomer := b.reader(t, durableReader(qos.DurabilityTransientLocal))
	require.NoError(t, newcomer.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "no data", takeText(t, newcomer))
}

// What a writer has unregistered before its process was excluded, and then written again, has a writer for those who come late.
// What it has not written again has none.
func TestUnregisteredBeforeExclusion(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
		q.History.Depth = 4
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}))
	b.reader(t, durableReader(qos.DurabilityTransient)) // keeps the history while a is away
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	away := func() {
		d.bus.settle(t)
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
	}
	for id := range int32(3) {
		write(t, w, id, 1)
		require.NoError(t, w.Unregister(patiently(t), &track{ID: id}))
	}
	away()
	write(t, w, 1, 2)
	write(t, w, 2, 2)
	require.NoError(t, w.Unregister(patiently(t), &track{ID: 2}))
	away()
	const alive, over = "[NOT_READ NEW ALIVE d=0 n=0] ", "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] "
	late := func() []string {
		d.bus.settle(t)
		r := b.reader(t, durableReader(qos.DurabilityTransient))
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		return slices.Sorted(strings.Lines(takeText(t, r) + "\n"))
	}
	require.Equal(t, []string{alive + "1:1\n", alive + "1:2\n", over + "0:1\n", over + "2:1\n", over + "2:2\n"}, late())
	write(t, w, 2, 3)
	require.Equal(t, []string{
		alive + "1:1\n", alive + "1:2\n", alive + "2:1\n", alive + "2:2\n", alive + "2:3\n", over + "0:1\n",
	}, late())
}

// Who has written, and then makes a reader, has what was written when the history is there, also of what was on its way when the
// reader was matched. A loan that is reserved before it holds it up.
func TestHistoryHasWhatThisProcessWrote(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, durably(qos.DurabilityTransientLocal))
		loan, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		write(t, w, 1, 1)
		write(t, w, 1, 2)
		r := n.reader(t, durableReader(qos.DurabilityTransientLocal))
		require.NoError(t, r.WaitForHistoricalData(patiently(t)), "who has the loan is perhaps the one who waits")
		require.Equal(t, "data", taken(t, r), "there is none")
		require.NoError(t, loan.Discard())
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "1:1 1:2", taken(t, r), "it was matched before they were delivered")
		late := n.reader(t, durableReader(qos.DurabilityTransientLocal))
		require.NoError(t, late.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "1:2", taken(t, late), "a history has as many as HISTORY says")
	})
}

// What this process has written is waited for at itself alone, and no longer than the reader lives.
func TestHistoryIsNotWaitedForElsewhere(t *testing.T) {
	d := onBus(t)
	never := &handedCore{begun: make(chan struct{})}
	n := d.node(t, wrapCore(func(c core) core { never.core = c; return never }))
	n.writer(t, durably(qos.DurabilityTransientLocal))
	r := n.reader(t, durableReader(qos.DurabilityTransientLocal))
	waiting := make(chan error)
	go func() { waiting <- r.WaitForHistoricalData(context.Background()) }()
	<-never.begun
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-waiting, ErrAlreadyDeleted)
}

// handedCore never hands anything over.
type handedCore struct {
	core
	begun chan struct{}
}

func (c *handedCore) WaitHanded(ctx context.Context, _ derecho.SubgroupID) error {
	close(c.begun)
	<-ctx.Done()
	return ctx.Err()
}
