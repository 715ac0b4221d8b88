package derecho

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowState is a recorder that encodes a state only when its gate lets one through.
type slowState struct {
	*recorder
	gate   chan struct{}
	asked  atomic.Int32
	failed func() // if not nil, called when members have failed
}

func (s *slowState) Viewed(v View) {
	s.recorder.Viewed(v)
	if s.failed != nil && len(v.Failed) > 0 {
		s.failed()
	}
}

func (s *slowState) SaveState(sg SubgroupID, ch ChannelID) func() []byte {
	save := s.recorder.SaveState(sg, ch)
	s.asked.Add(1)
	return func() []byte { <-s.gate; return save() }
}

type slowMember struct {
	*Node
	h   *slowState
	log *indexedLog
}

// joinSlow adds a member whose states wait for a gate, with a log of that number.
func (c *cluster) joinSlow(gate chan struct{}, lease time.Duration, id uint64) slowMember {
	m := slowMember{h: &slowState{recorder: newRecorder(), gate: gate}, log: &indexedLog{index: LogIndex{ID: id}}}
	cfg := c.cfg
	cfg.Lease = lease
	cfg.OpenLog = func(SubgroupID) (Log, error) { return m.log, nil }
	cfg.LogState = func(_ SubgroupID, ch ChannelID) *LogState { return m.log.holds(ch) }
	var err error
	m.Node, err = Join(ctxFor(c.t), cfg, m.h)
	require.NoError(c.t, err)
	return m
}

func storing(id EndpointID, ch ChannelID) Endpoint {
	return Endpoint{ID: id, Channel: ch, Writes: logged, Reads: []Subgroup{logged}, Replica: true}
}

// The epoch of a message is given up though one that keeps the channel has told nothing of it: it waits for the state,
// from one that has died meanwhile. Nobody is told that the message is durable before the state has come from another.
func TestDurableWaitsForStates(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		gate, blocked := make(chan struct{}), make(chan struct{})
		s, a, b := c.joinSlow(gate, 300*time.Millisecond, 10), c.joinSlow(gate, 300*time.Millisecond, 11), c.joinSlow(gate, 300*time.Millisecond, 12)
		w := c.joinSlow(gate, 300*time.Millisecond, 13) // with whom the others are a majority
		t.Cleanup(func() { die(t, a.Node); die(t, b.Node); die(t, w.Node) })
		t.Cleanup(func() { close(blocked) })
		if s.ID() > a.ID() {
			s, a = a, s // the first is the source
		}
		s.mustAdd(t, storing(7, 7))
		a.mustAdd(t, storing(7, 7))
		require.Eventually(t, func() bool { return s.h.asked.Load() == 1 }, patience, time.Millisecond)
		gate <- struct{}{}
		a.h.wait(t, "the state", func() bool { return len(a.h.loaded) == 1 })
		b.mustAdd(t, storing(8, 8))
		b.mustAdd(t, Endpoint{ID: 9, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		require.Eventually(t, func() bool { return s.h.asked.Load() == 2 }, patience, time.Millisecond)
		s.log.hang(blocked)
		a.mustSend(t, logged, 7, 7, "x")
		require.NoError(t, a.WaitAcked(ctxFor(t), logged.ID))
		var epoch uint32
		a.h.wait(t, "x", func() bool { epoch = a.h.got[len(a.h.got)-1].epoch; return true })
		die(t, s.Node)
		require.Eventually(t, func() (over bool) {
			require.NoError(t, a.await(ctxFor(t), func(m *machine, done func(error)) {
				epochs := m.groups[logged.ID].epochs
				over = len(epochs) > 0 && epochs[0].desc.Epoch > epoch
				done(nil)
			}))
			return over
		}, patience, time.Millisecond)
		short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, a.WaitDurable(short, logged.ID, 7), ErrTimeout)
		close(gate)
		require.NoError(t, a.WaitDurable(ctxFor(t), logged.ID, 7))
		b.h.wait(t, "the state", func() bool { return len(b.h.loaded) == 1 })
	})
}

// All who had the state of a channel have failed, and one that waited for it has not been heard to lack it: what it
// wrote is not durable, now or then.
func TestDurableBeforeAllHaveAnswered(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		gate, blocked := make(chan struct{}), make(chan struct{})
		const lease = 3 * time.Second
		s, a, w, x := c.joinSlow(gate, lease, 10), c.joinSlow(gate, lease, 11), c.joinSlow(gate, lease, 12), c.joinSlow(gate, lease, 13)
		t.Cleanup(func() { die(t, a.Node); die(t, w.Node); die(t, x.Node) })
		t.Cleanup(func() { close(gate); close(blocked) })
		var once sync.Once
		var away sync.WaitGroup
		t.Cleanup(func() { once.Do(func() {}); away.Wait() }) // who is dead does not come back
		s.mustAdd(t, Endpoint{ID: 7, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		a.mustAdd(t, storing(7, 7))
		require.Eventually(t, func() bool { return s.h.asked.Load() == 1 }, patience, time.Millisecond)
		s.log.hang(blocked)
		a.mustSend(t, logged, 7, 7, "x")
		require.NoError(t, a.WaitAcked(ctxFor(t), logged.ID))
		w.h.failed = func() { // it does not get on for a while, nor does what the others tell all
			once.Do(func() {
				l := w.life.Load()
				thePoller.remove(l)
				away.Add(1)
				time.AfterFunc(100*time.Millisecond, func() { thePoller.add(l); away.Done() })
			})
		}
		told := make(chan error, 1)
		go func() {
			for {
				if err := a.WaitDurable(ctxFor(t), logged.ID, 7); err == nil || errors.Is(err, ErrRecovering) || errors.Is(err, ErrTimeout) {
					told <- err
					return
				}
			}
		}()
		die(t, s.Node)
		require.ErrorIs(t, <-told, ErrRecovering)
	})
}

// WaitHanded is for what this node has published: what it is handed itself, whoever else has not got it yet, and not for what is
// reserved, or lies behind that.
func TestWaitHanded(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, rec := c.join()
		other, _ := c.join()
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		other.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		for k := range 100 {
			w.mustSend(t, ordered, 7, 1, fmt.Sprint(k))
		}
		require.NoError(t, w.WaitHanded(ctxFor(t), ordered.ID))
		require.Len(t, rec.snapshot(), 100)
		slot, err := w.Reserve(ctxFor(t), ordered.ID, 7, 10, time.Time{})
		require.NoError(t, err)
		w.mustSend(t, ordered, 7, 1, "behind it")
		require.NoError(t, w.WaitHanded(ctxFor(t), ordered.ID))
		require.Len(t, rec.snapshot(), 100)
		slot.Abort()
		require.NoError(t, w.WaitHanded(ctxFor(t), ordered.ID))
		require.Len(t, rec.snapshot(), 101)
		require.NoError(t, other.WaitHanded(ctxFor(t), ordered.ID), "it sends nothing")
	})
}
