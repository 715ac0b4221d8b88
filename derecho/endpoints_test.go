package derecho

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An endpoint waits for a log that is missing. Others are announced, changed and withdrawn meanwhile.
func TestOneEndpointWaitsAlone(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.join()
		c.cfg.OpenLog = func(SubgroupID) (Log, error) { return &memLog{}, nil }
		c.cfg.LogState = func(SubgroupID, ChannelID) *LogState {
			return &LogState{ID: 17, Begun: 3, Epoch: 3, Seq: 1, Logs: []uint64{17, 18}, History: 17, Written: true}
		}
		n, _ := c.join()
		n.mustAdd(t, Endpoint{ID: 1, Channel: 9, Writes: ordered})
		ctx, giveUp := context.WithCancel(ctxFor(t))
		waits := make(chan error, 1)
		go func() {
			waits <- n.AddEndpoint(ctx, Endpoint{ID: 2, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		}()
		require.Eventually(t, func() bool { return n.life.Load().waitsFor(logged.ID, 7) != "" }, patience, time.Millisecond)
		n.mustAdd(t, Endpoint{ID: 3, Channel: 10, Reads: []Subgroup{ordered}})
		require.NoError(t, n.ChangeEndpoint(ctxFor(t), 1, []byte("changed")))
		require.NoError(t, n.RemoveEndpoint(ctxFor(t), 3))
		n.mustSend(t, ordered, 9, 1, "works")
		giveUp()
		err := <-waits
		require.ErrorIs(t, err, ErrRecovering)
		require.ErrorContains(t, err, "0000000000000012", "the log that is missing")
	})
}

// closing is a log that tells when it is closed.
type closing struct {
	memLog
	answer chan struct{} // if it is not nil Close waits until it is closed
	closed atomic.Bool
}

func (l *closing) Close() error {
	if l.answer != nil {
		<-l.answer
	}
	l.closed.Store(true)
	return nil
}

// The group goes on without a node while that opens a log for an endpoint. The next incarnation opens it anew, and the
// one before keeps none.
func TestExcludedWhileALogIsOpened(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), LogState: emptyLog(17)}}
	c.join()
	c.join()
	opens, answer := make(chan *closing, 2), make(chan struct{})
	c.cfg.OpenLog = func(SubgroupID) (Log, error) {
		l := new(closing)
		opens <- l
		<-answer
		return l, nil
	}
	n, r := c.join()
	added := make(chan error, 1)
	go func() {
		added <- n.AddEndpoint(ctxFor(t), Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
	}()
	first := <-opens
	goOnWithout(t, n, r)
	close(answer)
	require.NoError(t, <-added)
	require.True(t, first.closed.Load())
	second := <-opens
	require.False(t, second.closed.Load())
	n.mustSend(t, logged, 7, 1, "stored")
	require.NoError(t, n.WaitDurable(ctxFor(t), logged.ID, 7))
}

// An incarnation announces an endpoint, and the next one takes its place before that is noted: it announces the endpoint itself.
func TestExcludedBeforeAnEndpointIsNoted(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	c.join()
	c.join()
	n, r := c.join()
	l, ep := n.life.Load(), Endpoint{ID: 1, Channel: 9, Writes: ordered}
	require.NoError(t, l.add(ctxFor(t), ep))
	goOnWithout(t, n, r)
	require.ErrorIs(t, n.note(ctxFor(t), l, ep), ErrExcluded)
	require.Nil(t, n.endpoints.find(0, 1))
	_, err := n.Reserve(ctxFor(t), ordered.ID, 9, 1, time.Time{})
	require.ErrorIs(t, err, ErrNotSender)
	n.mustAdd(t, ep)
	goOnWithout(t, n, r)
	n.mustSend(t, ordered, 9, 1, "announced again")
}

// The disk of one log does not answer. Who needs another does not wait for it, and who needs that one no longer than it
// likes, or than the node is there.
func TestAddEndpointWhileALogHangs(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), LogState: emptyLog(17)}}
	const hanging = SubgroupID(77)
	var tries atomic.Int32
	answer := make(chan error)
	var late closing
	c.cfg.OpenLog = func(sg SubgroupID) (Log, error) {
		if sg != hanging {
			return &memLog{}, nil
		}
		tries.Add(1)
		return &late, <-answer
	}
	n, _ := c.join()
	keeps := func(id EndpointID, sg SubgroupID) Endpoint {
		s := Subgroup{ID: sg, Mode: Logged}
		return Endpoint{ID: id, Channel: 7, Writes: s, Reads: []Subgroup{s}, Replica: true}
	}
	given := make(chan error)
	add := func() { given <- n.AddEndpoint(ctxFor(t), keeps(1, hanging)) }
	hangs := func(try int32) {
		require.Eventually(t, func() bool { return tries.Load() == try }, patience, time.Millisecond)
	}
	go add()
	hangs(1)
	n.mustAdd(t, keeps(2, logged.ID))
	over, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, n.AddEndpoint(over, keeps(3, hanging)), ErrTimeout)
	answer <- errFull
	require.ErrorIs(t, <-given, errFull)
	go add()
	hangs(2) // an error is not for ever
	require.NoError(t, n.Leave(ctxFor(t)))
	require.ErrorIs(t, <-given, ErrClosed)
	answer <- nil
	require.Eventually(t, late.closed.Load, patience, time.Millisecond)
}

// A log that was opened, and is not needed, is not waited for when the node leaves, if its disk does not answer.
func TestUnusedLogThatDoesNotClose(t *testing.T) {
	const opened = SubgroupID(77)
	var s logs
	stuck := &closing{answer: make(chan struct{})}
	o := s.prepare(&Endpoint{Writes: Subgroup{ID: opened, Mode: Logged}, Replica: true}, func(SubgroupID) (Log, error) { return stuck, nil }, func(open func()) { open() })
	require.NoError(t, o.err)
	s.closeUnused(time.Millisecond)
	require.False(t, stuck.closed.Load())
	require.Nil(t, s.take(opened), "nobody takes it any more")
	close(stuck.answer)
	require.Eventually(t, stuck.closed.Load, patience, time.Millisecond)
}

// A node that ends closes its logs at once: it waits for no more than the slowest disk.
func TestLogsAreClosedAtOnce(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), LogState: emptyLog(17), LogTimeout: time.Hour}}
	var closing sync.WaitGroup // no log is closed before each of them is being closed
	c.cfg.OpenLog = func(SubgroupID) (Log, error) {
		closing.Add(1)
		return closedTogether{&memLog{}, &closing}, nil
	}
	n, _ := c.join()
	for i, sg := range []SubgroupID{77, 78, 79} {
		s := Subgroup{ID: sg, Mode: Logged}
		n.mustAdd(t, Endpoint{ID: EndpointID(i + 1), Channel: 7, Writes: s, Reads: []Subgroup{s}, Replica: true})
	}
	require.NoError(t, n.Leave(ctxFor(t)))
}

type closedTogether struct {
	*memLog
	all *sync.WaitGroup
}

func (l closedTogether) Close() error {
	l.all.Done()
	l.all.Wait()
	return nil
}

// A disk that does not answer when its log is closed is not waited for: Close writes, too.
func TestLogThatDoesNotClose(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), LogState: emptyLog(17), LogTimeout: 100 * time.Millisecond}} // whether it is kept earlier, too, has no effect here
	stuck := &closing{answer: make(chan struct{})}
	c.cfg.OpenLog = func(SubgroupID) (Log, error) { return stuck, nil }
	n, _ := c.join()
	n.mustAdd(t, storing(1, 7))
	require.NoError(t, n.Leave(ctxFor(t)))
	require.False(t, stuck.closed.Load())
	close(stuck.answer)
	require.Eventually(t, stuck.closed.Load, patience, time.Millisecond)
}

// The control subgroup is no endpoint's: neither one of this process is taken that reads it, nor one that another process has
// announced, nor a catalogue that has it. Each would end every member of the domain.
func TestNobodyReadsTheControlSubgroup(t *testing.T) {
	ep := Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered, {0, Ordered}}, Replica: true}
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, _ := c.join()
		b, _ := c.join()
		require.ErrorIs(t, a.AddEndpoint(ctxFor(t), ep), ErrConfig)
		a.life.Load().post(func(m *machine) {
			var w writer
			w.u8(cmdAdd)
			w.endpoint(ep)
			m.submit(w.b)
		})
		// What comes behind it in the order of commands is taken by all.
		a.mustAdd(t, Endpoint{ID: 2, Channel: 7, Writes: ordered})
		b.mustAdd(t, Endpoint{ID: 2, Channel: 7, Reads: []Subgroup{ordered}})
		c.settle(2)
		require.Len(t, c.recs[1].endpoints, 2)
	})
	for _, w := range []welcome{
		{endpoints: []Endpoint{ep}},
		{subgroups: []Subgroup{{0, Ordered}}, epochs: []uint32{1}, logs: [][]channelLogs{nil}},
	} {
		_, err := parseWelcome(w.encode())
		require.ErrorIs(t, err, errWire)
	}
}
