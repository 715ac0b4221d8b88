package derecho

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// tally counts what a node does over links.
type tally struct{ posts, quiet, rings atomic.Int64 }

type talliedLink struct {
	rdma.Link
	tally *tally
}

func (l *talliedLink) Post(key rdma.Key) {
	l.tally.posts.Add(1)
	l.Link.Post(key)
}

func (l *talliedLink) PostQuiet(key rdma.Key) {
	l.tally.quiet.Add(1)
	l.Link.PostQuiet(key)
}

func (l *talliedLink) Ring() {
	l.tally.rings.Add(1)
	l.Link.Ring()
}

// count counts from now on what a node does over the links of its present epoch of a subgroup, which has begun, and
// what its Received becomes.
func count(t *testing.T, n *Node, sg SubgroupID) (over *tally, acks func() []uint64) {
	t.Helper()
	over = &tally{}
	var came []uint64
	for begun := false; !begun; runtime.Gosched() {
		require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
			defer done(nil)
			e := m.groups[sg].current()
			if begun = e.table.Row(e.me).Load(e.table.Opened())&readsAll != 0; !begun {
				return // it is going to tell of it
			}
			out := slices.Clone(*e.out.Load())
			for i := range out {
				out[i] = target{Link: &talliedLink{out[i].Link, over}}
			}
			e.out.Store(&out)
			received := func() uint64 { return e.table.Row(e.me).Load(e.table.Received(0)) }
			last := received()
			e.table.Stored = func() {
				if v := received(); v != last {
					last = v
					came = append(came, v)
				}
			}
		}))
	}
	return over, func() (all []uint64) {
		require.NoError(t, n.await(ctxFor(t), func(_ *machine, done func(error)) {
			all = slices.Clone(came)
			done(nil)
		}))
		return all
	}
}

// What is published at once wakes each of the others once, if it sleeps: one push, of one post and one ring for a link.
// Without batching it is one for each message.
func TestPushesOfABatch(t *testing.T) {
	for _, c := range []struct {
		off  Spindle
		want int64
	}{{Spindle{}, 1}, {Spindle{NoSendBatching: true}, 3}} {
		t.Run(c.off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, k *cluster) {
				k.cfg.Spindle = c.off
				w, _ := k.join()
				r, rr := k.join()
				s, rs := k.join()
				for _, n := range []*Node{r, s} {
					n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				}
				w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
				w.mustSend(t, ordered, 7, 1, "the epoch has begun")
				for _, rec := range []*recorder{rr, rs} {
					rec.wait(t, "the first", func() bool { return len(rec.got) == 1 })
				}
				require.NoError(t, w.WaitAcked(ctxFor(t), ordered.ID))
				over, _ := count(t, w, ordered.ID)
				three(t, w)
				for _, rec := range []*recorder{rr, rs} {
					rec.wait(t, "all", func() bool { return len(rec.got) == 4 })
				}
				require.Equal(t, 2*c.want, over.posts.Load())
				require.Equal(t, 2*c.want, over.rings.Load())
			})
		})
	}
}

// Receivers that read the sender's memory acknowledge nothing: they store no Received, and wake nobody, while nobody
// waits for room. Over links that copy they have to.
func TestSharedMemoryNeedsNoAcknowledgements(t *testing.T) {
	for _, off := range []Spindle{{}, {NoSharedAcks: true}} {
		t.Run(off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.cfg.Spindle = off
				w, _ := c.join()
				r, rr := c.join()
				s, rs := c.join() // whom r would tell
				for _, n := range []*Node{r, s} {
					n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				}
				w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
				w.mustSend(t, ordered, 7, 1, "the epoch has begun")
				for _, rec := range []*recorder{rr, rs} {
					rec.wait(t, "the first", func() bool { return len(rec.got) == 1 })
				}
				over, acks := count(t, r, ordered.ID)
				const messages = 100
				for k := 1; k <= messages; k++ {
					w.mustSend(t, ordered, 7, 1, fmt.Sprint(k))
					for _, rec := range []*recorder{rr, rs} {
						rec.wait(t, "the message", func() bool { return len(rec.got) == k+1 })
					}
				}
				if off.NoSharedAcks || c.cfg.Transport == TransportTCP {
					require.Len(t, acks(), messages)
					require.GreaterOrEqual(t, over.rings.Load(), int64(messages))
					return
				}
				require.Empty(t, acks())
				require.Zero(t, over.rings.Load())
			})
		})
	}
}

// Senders that have been silent for long do nothing at all for the messages of others, not even promise: no post, and
// nobody is woken.
func TestSilentSendersWakeNobody(t *testing.T) {
	for _, off := range []Spindle{{}, {NoSilence: true}} {
		t.Run(off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.cfg.Spindle, c.cfg.SilentFor = off, -1
				talker, _ := c.join()
				silent, _ := c.join()
				r, rr := c.join()
				r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				for _, n := range []*Node{silent, talker} {
					n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
				}
				c.settle(3)
				sent := 0
				send := func(messages int) {
					for range messages {
						talker.mustSend(t, ordered, 7, 1, fmt.Sprint(sent))
						sent++
						rr.wait(t, "the message", func() bool { return len(rr.got) == sent })
					}
				}
				send(100)
				over, _ := count(t, silent, ordered.ID)
				const messages = 1000
				send(messages)
				if off.NoSilence {
					require.GreaterOrEqual(t, over.rings.Load(), int64(messages)/2, "it promises")
					return
				}
				require.Zero(t, over.posts.Load())
				require.Zero(t, over.quiet.Load())
				require.Zero(t, over.rings.Load())
			})
		})
	}
}

// Who sends on one channel and reads another of the same subgroup, as who answers does, is not woken for what it sends
// itself, unless a quarter of its ring is full of that, or somebody waits for it. Nothing gets stuck by that.
func TestWhoAnswersIsNotWokenForTheAnswer(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		asks, answers := ChannelID(7), ChannelID(8)
		client, rc := c.join()
		server, rs := c.join()
		client.mustAdd(t, Endpoint{ID: 1, Channel: answers, Reads: []Subgroup{ordered}})
		client.mustAdd(t, Endpoint{ID: 2, Channel: asks, Writes: ordered})
		server.mustAdd(t, Endpoint{ID: 1, Channel: asks, Reads: []Subgroup{ordered}})
		server.mustAdd(t, Endpoint{ID: 2, Channel: answers, Writes: ordered})
		c.settle(2)
		e := onlyEpoch(t, server, ordered.ID, func(e *epoch) bool { return e.sender != nil && e.receiving })
		require.False(t, e.heedsOwn())
		e.waiting.Add(1)
		require.True(t, e.heedsOwn(), "somebody waits")
		e.waiting.Add(-1)

		big := strings.Repeat("x", 1000)
		messages := 3 * server.cfg.RingBytes / len(big) // of which nobody but the server itself keeps the ring full
		require.Positive(t, messages)
		for k := range messages {
			server.mustSend(t, ordered, answers, 2, big)
			if k%100 == 99 {
				client.mustSend(t, ordered, asks, 2, fmt.Sprint(k))
			}
		}
		for _, rec := range []*recorder{rc, rs} { // a member is given all that is sent in the subgroup
			rec.wait(t, "the answers and the questions", func() bool { return len(rec.got) == messages+messages/100 })
		}

		inside, on, back := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			back <- server.Upcall(ctxFor(t), func() {
				close(inside)
				<-on
			})
		}()
		<-inside // nothing is handed over meanwhile
		for range server.cfg.RingBytes / 4 / len(big) {
			server.mustSend(t, ordered, answers, 2, big)
		}
		require.True(t, e.heedsOwn(), "a quarter of the ring")
		close(on)
		require.NoError(t, <-back)

		server.mustAdd(t, Endpoint{ID: 3, Channel: answers, Reads: []Subgroup{ordered}})
		e = onlyEpoch(t, server, ordered.ID, func(e *epoch) bool { return e.desc.Members[e.me].Channels.has(answers) })
		require.True(t, e.heedsOwn(), "it reads what it sends")
	})
}

// onlyEpoch waits until a node has only one epoch of a subgroup, of which something holds. What is constant in it can
// be looked at, and what any goroutine may.
func onlyEpoch(t *testing.T, n *Node, sg SubgroupID, holds func(e *epoch) bool) (e *epoch) {
	t.Helper()
	for ctx := ctxFor(t); e == nil; runtime.Gosched() {
		require.NoError(t, n.await(ctx, func(m *machine, done func(error)) {
			if g := m.groups[sg]; g != nil && len(g.epochs) == 1 && holds(g.epochs[0]) {
				e = g.epochs[0]
			}
			done(nil)
		}))
	}
	return e
}

// What is delivered while the disk is at work is one write.
func TestGroupCommit(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		log := &memLog{gate: make(chan struct{})}
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return log, nil }, emptyLog(17)
		n, r := c.join()
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		const messages = 100
		n.mustSend(t, logged, 7, 1, "first")
		require.Eventually(t, func() bool { return log.begun.Load() == 1 }, 20*time.Second, time.Millisecond)
		for k := range messages {
			n.mustSend(t, logged, 7, 1, fmt.Sprint(k))
			r.wait(t, "the message", func() bool { return len(r.got) == k+2 })
		}
		require.NoError(t, n.Upcall(ctxFor(t), func() {})) // and the pass that delivered the last of them is over
		close(log.gate)
		require.NoError(t, n.WaitDurable(ctxFor(t), logged.ID, 7))
		log.mu.Lock()
		defer log.mu.Unlock()
		require.Len(t, log.synced, messages+1)
		require.EqualValues(t, 2, log.begun.Load())
	})
}
