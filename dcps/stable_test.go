package dcps

import (
	"context"
	"syscall"
	"testing"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// A sample that is on its way is neither stable nor acknowledged; what is not PERSISTENT never becomes durable.
func TestWaitForStable(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, _ := n.writer(t, writerQos()), n.reader(t, readerQos())
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForStable(patiently(t)))
	err := w.WaitForDurable(patiently(t))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "VOLATILE")
	loan, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() { waits <- w.WaitForStable(patiently(t)) }()
	d.bus.waiting(1)
	require.Empty(t, waits, "a loan is on its way")
	require.NoError(t, loan.Discard())
	require.NoError(t, <-waits)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.WaitForStable(patiently(t)), ErrAlreadyDeleted)
	require.ErrorIs(t, w.WaitForDurable(patiently(t)), ErrAlreadyDeleted)
	var none *DataWriter[track]
	require.ErrorIs(t, none.WaitForStable(patiently(t)), ErrBadParameter)
	require.ErrorIs(t, none.WaitForDurable(patiently(t)), ErrBadParameter)
	require.Zero(t, none.StableStatus())
}

// A log that has failed keeps samples from being durable, and not from being stable.
func TestStableWithoutLog(t *testing.T) {
	d := onBus(t)
	at := derecho.MemberInfo{ID: 17, Host: "cockpit", PID: 4, Name: "display"}
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}), wrapCore(func(c core) core { return failedLogCore{c, &derecho.LogError{Member: at}} }))
	w := n.writer(t, persistentQos())
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForStable(patiently(t)))
	require.ErrorIs(t, w.WaitForDurable(patiently(t)), derecho.ErrLog)
	require.ErrorIs(t, w.WaitForAcknowledgments(patiently(t)), derecho.ErrLog)
	_ = w.StableStatus()
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.Stable == 1 }))
	require.Zero(t, w.StableStatus().Durable)
	n.p.hub.LogFailed(w.at.sg, n.p.core.ID(), derecho.ErrLog)
	d.settle(t)
	require.NoError(t, w.WaitForStable(patiently(t)), "also when the hub knows of it")
	require.ErrorIs(t, w.WaitForDurable(patiently(t)), derecho.ErrLog)
}

// Samples that are not in the history with which the topic goes on are told of once to whoever waits for disks, and to
// no other writer.
func TestLeftOutOfTheHistory(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, persistentQos())
	other := n.writer(t, persistentQos())
	write(t, w, 1, 1)
	write(t, w, 1, 2)
	require.NoError(t, w.WaitForDurable(patiently(t)))
	require.NoError(t, n.p.core.Upcall(patiently(t), func() { n.p.hub.LeftOut(w.at.sg, w.at.ch, w.id, 2) }))
	require.NoError(t, w.WaitForStable(patiently(t)), "they were handed over")
	err := w.WaitForDurable(patiently(t))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "up to number 2, are not in the history")
	require.NoError(t, w.WaitForDurable(patiently(t)), "it is told once")
	require.NoError(t, other.WaitForDurable(patiently(t)))
	_ = w.StableStatus()
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.DoubtCount == 1 && w.stability.now.Durable == 2 }))
	require.NoError(t, n.p.core.Upcall(patiently(t), func() { n.p.hub.LeftOut(w.at.sg, w.at.ch, w.id, 2) }))
	require.ErrorIs(t, w.WaitForAcknowledgments(patiently(t)), ErrPreconditionNotMet)
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.DoubtCount == 2 }))
	require.NoError(t, w.Close())
	require.NoError(t, n.p.core.Upcall(patiently(t), func() { n.p.hub.LeftOut(w.at.sg, w.at.ch, w.id, 2) }), "it is gone")
}

// Who waits while the writer is closed is not told that all is stored: of a writer that is withdrawn nobody tells what is
// left out.
func TestClosedWhileItWaits(t *testing.T) {
	d := onBus(t)
	late := lateCore{began: make(chan struct{}), ends: make(chan struct{})}
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}), wrapCore(func(c core) core { late.core = c; return late }))
	w := n.writer(t, persistentQos())
	write(t, w, 1, 1)
	waits := make(chan error, 1)
	go func() { waits <- w.WaitForDurable(patiently(t)) }()
	<-late.began
	require.NoError(t, w.Close())
	close(late.ends)
	require.ErrorIs(t, <-waits, ErrAlreadyDeleted)
}

// lateCore is a core whose waits for disks end well, and later than their ctx.
type lateCore struct {
	core
	began, ends chan struct{}
}

func (c lateCore) WaitDurable(context.Context, derecho.SubgroupID, derecho.ChannelID) error {
	close(c.began)
	<-c.ends
	return nil
}

// The status is followed from when somebody wants to know, wakes who waits, and is told to listeners of all levels.
func TestStableStatus(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, persistentQos())
	write(t, w, 1, 1)
	require.False(t, w.stability.wanted.Load(), "nobody has asked")
	require.Zero(t, w.StatusCondition().EnabledStatuses()&StableStatusBit)
	c := w.StatusCondition()
	c.SetEnabledStatuses(StableStatusBit)
	reach := func(seq uint64) StableStatus {
		t.Helper()
		var sum StableStatus
		for sum.Stable < seq || sum.Durable < seq {
			select {
			case <-c.Ready():
			case <-patiently(t).Done():
				require.Fail(t, "it is never stable")
			}
			s := w.StableStatus()
			s.StableChange, s.DurableChange = s.StableChange+sum.StableChange, s.DurableChange+sum.DurableChange
			sum = s
		}
		return sum
	}
	require.Equal(t, StableStatus{Stable: 1, StableChange: 1, Durable: 1, DurableChange: 1}, reach(1))
	write(t, w, 1, 2)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	require.Equal(t, StableStatus{Stable: 3, StableChange: 2, Durable: 3, DurableChange: 2}, reach(3))
	require.Zero(t, w.StatusChanges()&StableStatusBit)
	require.False(t, c.TriggerValue())

	heard := make(chan StableStatus, 64)
	own, any := func(_ *DataWriter[track], s StableStatus) { heard <- s }, func(_ AnyDataWriter, s StableStatus) { heard <- s }
	for _, set := range []func(mask StatusMask) error{
		func(mask StatusMask) error { return w.SetListener(&DataWriterListener[track]{OnStable: own}, mask) },
		func(mask StatusMask) error {
			return n.pub.SetListener(PublisherListener{AnyWriterListener{OnStable: any}}, mask)
		},
		func(mask StatusMask) error {
			return n.p.SetListener(ParticipantListener{AnyWriterListener: AnyWriterListener{OnStable: any}}, mask)
		},
	} {
		require.NoError(t, set(AnyStatus))
		before := w.turn.number()
		write(t, w, 2, 1)
		for s := range heard {
			if s.Stable > before && s.Durable > before {
				break
			}
		}
		require.NoError(t, set(AnyStatus&^StableStatusBit))
	}
}

// A writer that is not enabled yet has nothing to follow; when it is, the status is.
func TestStableStatusBeforeEnable(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	q := qos.DefaultPublisher()
	q.EntityFactory.AutoenableCreatedEntities = false
	require.NoError(t, n.pub.SetQos(q))
	w := n.writer(t, writerQos())
	require.Zero(t, w.StableStatus())
	require.ErrorIs(t, w.WaitForStable(patiently(t)), ErrNotEnabled)
	require.ErrorIs(t, w.WaitForDurable(patiently(t)), ErrNotEnabled)
	require.NoError(t, w.Enable())
	write(t, w, 1, 1)
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.Stable == 1 }))
	require.Zero(t, w.StableStatus().Durable)
}

// While the others go on without the process, nothing becomes stable; of what was on its way it is told that it is not known.
func TestStableStatusInDoubt(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, _ := a.writer(t, writerQos()), b.reader(t, readerQos())
	d.settle(t)
	_ = w.StableStatus()
	loan, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	d.bus.exclude(a)
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.DoubtCount == 1 }))
	require.ErrorIs(t, w.WaitForStable(patiently(t)), derecho.ErrExcluded)
	d.bus.rejoin(a)
	d.settle(t)
	require.ErrorIs(t, loan.Publish(50), ErrPreconditionNotMet)
	write(t, w, 1, 2)
	require.NoError(t, w.WaitForStable(patiently(t)), "it was told")
	seq := w.turn.number()
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.stability.now.Stable == seq }))
	require.Equal(t, int32(1), w.StableStatus().DoubtCount)
}

// A process that stops holds up what is stable and durable, until the others go on without it.
func TestCoreStable(t *testing.T) {
	d := onCore(t, Settings{Lease: testLease, Dir: t.TempDir()})
	n := d.node(t, WithName("test"))
	w := n.writer(t, storedWriterQos(d.settings.Dir))
	a, b := d.attendant(t), d.attendant(t)
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	_ = w.StableStatus()
	const some = 20
	for i := range int32(some) {
		write(t, w, 1, i)
	}
	require.NoError(t, w.WaitForStable(patiently(t)))
	require.NoError(t, w.WaitForDurable(patiently(t)))
	reached := func(seq uint64) func() bool {
		return func() bool { return w.stability.now.Stable >= seq && w.stability.now.Durable >= seq }
	}
	require.NoError(t, w.await(patiently(t), "test", reached(some)))
	b.signal(syscall.SIGSTOP)
	for i := range int32(some) {
		write(t, w, 1, some+i)
	}
	require.NoError(t, w.WaitForStable(untilMissed(t)))
	require.NoError(t, w.WaitForDurable(patiently(t)))
	require.NoError(t, w.await(patiently(t), "test", func() bool { return w.matched.CurrentCount == 1 }), "the group went on without it")
	require.NoError(t, w.await(patiently(t), "test", reached(2*some)))
	require.Zero(t, w.StableStatus().DoubtCount)
	b.signal(syscall.SIGKILL)
	_ = b.cmd.Wait()
	require.Len(t, series(2*some, 1), len(sorted(a.do("take %d", 2*some)))-1)
	a.end()
}
