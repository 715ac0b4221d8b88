package derecho

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errFull = errors.New("the disk is full")

// opener opens logs, or does not.
type opener struct{ why atomic.Pointer[error] }

func (o *opener) fail(err error) { o.why.Store(&err) }

func (o *opener) open(SubgroupID) (Log, error) {
	if err := o.why.Load(); err != nil && *err != nil {
		return nil, *err
	}
	return &memLog{}, nil
}

// goOnWithout has the group go on without a node, and waits until it has joined again.
func goOnWithout(t *testing.T, n *Node, r *recorder) {
	t.Helper()
	r.Isolated(ErrExcluded) // until it is told that this is over
	n.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
	r.wait(t, "the end of the outage", func() bool { return r.isolated == nil })
}

// A node joins again and can not open its log: what needs it is left out, which is told with the reason, and the rest
// works. When the log can be opened that is announced, as it is then.
func TestRefusedAtRejoin(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.join() // with whom the others are a majority
		a, ra := c.join()
		var disk opener
		c.cfg.OpenLog, c.cfg.LogState = disk.open, emptyLog(17)
		b, rb := c.join()
		stored, stored2 := Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true}, Endpoint{ID: 2, Channel: 8, Reads: []Subgroup{logged}, Replica: true}
		b.mustAdd(t, stored)
		b.mustAdd(t, stored2)
		b.mustAdd(t, Endpoint{ID: 3, Channel: 9, Writes: ordered})
		knows := func(id EndpointID) bool { return slices.Contains(ra.endpoints, fmt.Sprintf("+%s/%d", b.ID(), id)) }
		refused := func(err error) bool {
			var e *LogError
			return errors.As(rb.failed, &e) && e.Refused && e.Member.ID == b.ID() && errors.Is(e, err)
		}
		ra.wait(t, "all", func() bool { return knows(1) && knows(2) && knows(3) })

		disk.fail(errFull)
		goOnWithout(t, b, rb)
		rb.wait(t, "the refusal", func() bool { return refused(errFull) })
		ra.wait(t, "the rest", func() bool { return knows(3) })
		b.mustSend(t, ordered, 9, 3, "works")
		_, err := b.Reserve(ctxFor(t), logged.ID, 7, 1, time.Time{})
		require.Error(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.ErrorIs(t, b.AddEndpoint(ctx, Endpoint{ID: 4, Channel: 7, Reads: []Subgroup{logged}, Replica: true}), errFull)
		require.NoError(t, b.ChangeEndpoint(ctx, 1, []byte("changed")))
		require.NoError(t, b.RemoveEndpoint(ctx, 2))
		torn := errors.New("the log is damaged")
		disk.fail(torn)
		rb.wait(t, "another reason", func() bool { return refused(torn) })
		require.False(t, knows(1) || knows(2))

		disk.fail(nil)
		ra.wait(t, "the endpoint", func() bool { return knows(1) && slices.Contains(ra.infos, "changed") })
		rb.wait(t, "that nothing is refused", func() bool { return rb.failed == nil })
		b.mustSend(t, logged, 7, 1, "stored")
		require.NoError(t, b.WaitDurable(ctx, logged.ID, 7))
		require.NoError(t, b.RemoveEndpoint(ctx, 1))
		b.mustAdd(t, stored2)

		// What is withdrawn while it is refused is never announced.
		disk.fail(errFull)
		goOnWithout(t, b, rb)
		rb.wait(t, "the refusal", func() bool { return refused(errFull) })
		require.NoError(t, b.RemoveEndpoint(ctx, 2))
		rb.wait(t, "that nothing is refused", func() bool { return rb.failed == nil })
		disk.fail(nil)
		a.mustAdd(t, Endpoint{ID: 5, Channel: 9, Reads: []Subgroup{ordered}})
		require.False(t, knows(2))

		// What is refused to one incarnation, and not to the next.
		b.mustAdd(t, stored)
		disk.fail(errFull)
		goOnWithout(t, b, rb)
		rb.wait(t, "the refusal", func() bool { return refused(errFull) })
		disk.fail(nil)
		goOnWithout(t, b, rb)
		rb.wait(t, "that nothing is refused", func() bool { return rb.failed == nil })
	})
}

// What is refused is withdrawn before the goroutine that insists has looked.
func TestRefusedAndWithdrawnAtOnce(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	c.join()
	n, r := c.join()
	n.mustAdd(t, Endpoint{ID: 1, Channel: 9, Writes: ordered})
	l := n.life.Load()
	why := map[EndpointID]error{1: errFull}
	n.endpointsMu <- struct{}{}
	l.refused = map[EndpointID]refusal{}
	n.leaveOut(l, why)
	n.unlockEndpoints()
	r.wait(t, "the refusal", func() bool { return errors.Is(r.failed, errFull) })
	require.NoError(t, n.RemoveEndpoint(ctxFor(t), 1))
	n.insist(l, why)
	r.wait(t, "that nothing is refused", func() bool { return r.failed == nil })
}

// The disk of a node that joins again does not answer. The rest works all the same, the log is taken when the disk
// answers, and the node need not wait for that to leave.
func TestRejoinWithHungDisk(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	c.join()
	c.join()
	var disk atomic.Pointer[chan struct{}] // it answers when this is closed
	hang := func() (answer func()) {
		hangs := make(chan struct{})
		disk.Store(&hangs)
		return func() { close(hangs) }
	}
	hang()()
	c.cfg.LogTimeout = 100 * time.Millisecond // whether it is kept later, too, has no effect here
	c.cfg.LogState = emptyLog(17)
	c.cfg.OpenLog = func(SubgroupID) (Log, error) {
		<-*disk.Load()
		return &memLog{}, nil
	}
	b, rb := c.join()
	b.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
	refused := func() bool {
		var e *LogError
		return errors.As(rb.failed, &e) && e.Refused
	}
	answer := hang()
	goOnWithout(t, b, rb)
	rb.wait(t, "the refusal", refused)
	require.ErrorContains(t, rb.failed, "the log was not open within 100ms")
	answer()
	rb.wait(t, "the endpoint", func() bool { return slices.Contains(rb.endpoints, fmt.Sprintf("+%s/1", b.ID())) })
	answer = hang()
	goOnWithout(t, b, rb)
	rb.wait(t, "the refusal", refused)
	require.NoError(t, b.Leave(ctxFor(t)))
	answer()
}

// A node that joins again opens all logs at once: it waits for no more than the slowest disk.
func TestRejoinOpensLogsAtOnce(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	c.join()
	c.join()
	other := logged
	other.ID++
	var opening sync.WaitGroup // no log is open before each of them is being opened
	c.cfg.LogTimeout, c.cfg.LogState = time.Hour, emptyLog(17)
	c.cfg.OpenLog = func(SubgroupID) (Log, error) {
		opening.Done()
		opening.Wait()
		return &memLog{}, nil
	}
	b, rb := c.join()
	for i, sg := range []Subgroup{logged, other} {
		opening.Add(1)
		b.mustAdd(t, Endpoint{ID: EndpointID(i + 1), Channel: ChannelID(i + 7), Writes: sg, Reads: []Subgroup{sg}, Replica: true})
	}
	opening.Add(2)
	goOnWithout(t, b, rb)
}

// A node joins again, and another that had what it has stored of a channel has withdrawn it meanwhile, which may have
// stored more. All else works at once; who writes to that channel is told which log is missing, until it is back.
func TestRejoinWhileLogsAreMissing(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	c.join()
	var disk atomic.Pointer[chan struct{}] // it answers when this is closed
	answers := make(chan struct{})
	disk.Store(&answers)
	close(answers)
	keeps := func(id EndpointID, ch ChannelID) Endpoint {
		return Endpoint{ID: id, Channel: ch, Writes: logged, Reads: []Subgroup{logged}, Replica: true}
	}
	joins := func(id uint64) (*Node, *recorder) {
		log := &indexedLog{index: LogIndex{ID: id}}
		c.cfg.OpenLog = func(SubgroupID) (Log, error) {
			<-*disk.Load()
			return log, nil
		}
		c.cfg.LogState = func(_ SubgroupID, ch ChannelID) *LogState { return log.holds(ch) }
		n, r := c.join()
		n.mustAdd(t, keeps(1, 7))
		n.mustAdd(t, keeps(2, 8))
		return n, r
	}
	a, ra := joins(0xa)
	b, rb := joins(0xb)
	b.mustAdd(t, Endpoint{ID: 3, Channel: 9, Writes: ordered})
	a.mustSend(t, logged, 7, 1, "stored")
	require.NoError(t, a.WaitDurable(ctxFor(t), logged.ID, 7))
	away := fmt.Sprintf("-%s/1", b.ID())
	later := make(chan struct{})
	disk.Store(&later)
	rb.Isolated(ErrExcluded) // until it is told that this is over
	b.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
	ra.wait(t, "that it is away", func() bool { return slices.Contains(ra.endpoints, away) })
	require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
	close(later)
	rb.wait(t, "the end of the outage", func() bool { return rb.isolated == nil })
	b.mustSend(t, ordered, 9, 3, "works")
	b.mustSend(t, logged, 8, 2, "is stored")
	require.NoError(t, b.WaitDurable(ctxFor(t), logged.ID, 8))
	_, err := b.Reserve(ctxFor(t), logged.ID, 7, 1, time.Time{})
	require.ErrorIs(t, err, ErrRecovering)
	require.ErrorContains(t, err, "1 of the 2 logs that were written last are not there ([000000000000000a]): start the processes that have them")
	a.mustAdd(t, keeps(1, 7))
	require.Eventually(t, func() bool {
		slot, err := b.Reserve(ctxFor(t), logged.ID, 7, 1, time.Time{})
		if err == nil {
			slot.Abort()
		}
		return err == nil
	}, patience, time.Millisecond)
	b.mustSend(t, logged, 7, 1, "stored, too")
	require.NoError(t, b.WaitDurable(ctxFor(t), logged.ID, 7))
}
