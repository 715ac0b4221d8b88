package derecho

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSpindle(t *testing.T) {
	for _, list := range []string{"", "-nulls", "-batch-send,-nulls", "-batch-deliver,-lock-free,-shared-acks"} {
		s, err := ParseSpindle(list)
		require.NoError(t, err)
		require.Equal(t, list, s.String())
	}
	all, err := ParseSpindle("-all")
	require.NoError(t, err)
	require.Equal(t, Spindle{true, true, true, true, true, true, true, true, true, true, true}, all)
	again, err := ParseSpindle(all.String())
	require.NoError(t, err)
	require.Equal(t, all, again)
	for list, want := range map[string]string{
		"-null":          `there is no switch "-null"; there are -all, -batch-send`,
		"nulls":          "say -nulls",
		"all":            `there is no switch "all"`,
		"-nulls,":        `there is no switch ""`,
		"-nulls, -late":  `" -late"`,
		"-nulls,silence": "say -silence",
	} {
		_, err := ParseSpindle(list)
		require.ErrorIs(t, err, ErrConfig, list)
		require.ErrorContains(t, err, want, list)
	}
}

// eachSwitch runs f with everything off, and with each thing off.
func eachSwitch(t *testing.T, f func(t *testing.T, off Spindle)) {
	for _, name := range append([]string{"all"}, SpindleNames()...) {
		off, err := ParseSpindle("-" + name)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) { f(t, off) })
	}
}

// Whatever is off, all members are handed the same, and all of it.
func TestSwitchedOffDeliversTheSame(t *testing.T) {
	eachSwitch(t, func(t *testing.T, off Spindle) {
		eachFabric(t, func(t *testing.T, c *cluster) {
			c.cfg.Spindle, c.cfg.RingBytes = off, 1<<12 // rings fill up
			const nodes, each = 3, 200
			for range nodes {
				c.join()
			}
			for _, n := range c.node {
				n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
			}
			c.settle(nodes)
			var wg sync.WaitGroup
			for i, n := range c.node {
				for part := range 2 { // two goroutines of a node
					wg.Go(func() {
						for k := range each / 2 {
							text := fmt.Sprint(i, part, k)
							s, err := n.Reserve(ctxFor(t), ordered.ID, 7, len(text), time.Time{})
							if err != nil {
								t.Error(err)
								return
							}
							copy(s.Bytes(), text)
							s.Commit(Header{Writer: 1}, len(text))
						}
					})
				}
			}
			wg.Wait()
			for _, r := range c.recs {
				r.wait(t, "all", func() bool { return len(r.got) == nodes*each })
				require.Equal(t, c.recs[0].snapshot(), r.snapshot())
			}
		})
	})
}

func TestSwitchedOffAllocatesNothing(t *testing.T) {
	eachSwitch(t, func(t *testing.T, off Spindle) {
		eachFabric(t, func(t *testing.T, c *cluster) {
			c.cfg.Spindle = off
			steadyState(t, c)
		})
	})
}

func TestDifferentSwitchesAreRefused(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.join()
		c.cfg.Spindle.NoNulls = true
		_, err := Join(ctxFor(t), c.cfg, newRecorder())
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "spindle=-nulls")
	})
}

// A message is lent unless that is switched off: then whoever keeps it copies it.
func TestLendingIsASwitch(t *testing.T) {
	for _, off := range []Spindle{{}, {NoLending: true}} {
		t.Run(off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.cfg.Spindle = off
				lent := make(chan bool, 1)
				w, _, _ := c.pair(func(rr *recorder) {
					rr.onDeliver = func(batch []Message) {
						l := batch[0].Lend()
						if l != nil {
							l.Release()
						}
						lent <- l != nil
					}
				})
				w.mustSend(t, ordered, 7, 1, "x")
				require.Equal(t, !off.NoLending, <-lent)
			})
		})
	}
}

// three publishes three messages of w at once.
func three(t *testing.T, w *Node) {
	var slots [3]Slot
	for i := range slots {
		var err error
		slots[i], err = w.Reserve(ctxFor(t), ordered.ID, 7, 1, time.Time{})
		require.NoError(t, err)
	}
	for i := range slots {
		slots[len(slots)-1-i].Commit(Header{Writer: 1}, 1) // nothing goes out before the first is there
	}
}

// What is published at once is handed over with one upcall, or with one for each message.
func TestUpcallsOfABatch(t *testing.T) {
	for _, c := range []struct {
		off  Spindle
		want []int
	}{{Spindle{}, []int{3}}, {Spindle{NoUpcallBatching: true}, []int{1, 1, 1}}, {Spindle{NoDeliverBatching: true}, []int{1, 1, 1}}} {
		t.Run(c.off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, k *cluster) {
				k.cfg.Spindle = c.off
				w, _ := k.join()
				r, rr := k.join()
				var upcalls []int
				rr.onDeliver = func(b []Message) { upcalls = append(upcalls, len(b)) }
				r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
				three(t, w)
				rr.wait(t, "all", func() bool { return len(rr.got) == 3 })
				require.NoError(t, r.await(ctxFor(t), func(_ *machine, done func(error)) {
					require.Equal(t, c.want, upcalls)
					done(nil)
				}))
			})
		})
	}
}

// What is published at once is acknowledged at once, or each message by itself.
func TestAcknowledgementsOfABatch(t *testing.T) {
	for _, c := range []struct {
		off  Spindle
		want []uint64
	}{{Spindle{}, []uint64{3}}, {Spindle{NoReceiveBatching: true}, []uint64{1, 2, 3}}} {
		c.off.NoSharedAcks = true
		t.Run(c.off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, k *cluster) {
				k.cfg.Spindle = c.off
				w, _ := k.join()
				r, rr := k.join()
				r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
				var acks []uint64
				require.NoError(t, r.await(ctxFor(t), func(m *machine, done func(error)) {
					e := m.groups[ordered.ID].current()
					e.table.Stored = func() {
						if v := e.table.Row(e.me).Load(e.table.Received(0)); len(acks) == 0 && v > 0 || len(acks) > 0 && v != acks[len(acks)-1] {
							acks = append(acks, v)
						}
					}
					done(nil)
				}))
				three(t, w)
				rr.wait(t, "all", func() bool { return len(rr.got) == 3 })
				require.NoError(t, r.await(ctxFor(t), func(_ *machine, done func(error)) {
					require.Equal(t, c.want, acks)
					done(nil)
				}))
			})
		})
	}
}

// Without nulls a message waits for the other sender to send one.
func TestWithoutNulls(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Spindle.NoNulls = true
		a, ra := c.join()
		b, rb := c.join()
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		}
		c.settle(2)
		for k := range 3 {
			a.mustSend(t, ordered, 7, 1, fmt.Sprint("a", k))
		}
		b.mustSend(t, ordered, 7, 1, "b0")
		for _, r := range []*recorder{ra, rb} {
			r.wait(t, "the first round", func() bool { return len(r.got) >= 2 })
		}
		ctx, cancel := context.WithTimeout(ctxFor(t), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, a.WaitAcked(ctx, ordered.ID), ErrTimeout)
		require.NoError(t, b.RemoveEndpoint(ctxFor(t), 1))
		ra.wait(t, "the rest, when the epoch has ended", func() bool { return len(ra.got) == 4 })
	})
}

// Without lock-free slots one goroutine at a time has one.
func TestTakingTurns(t *testing.T) {
	for _, mode := range []Mode{Ordered, Unordered} {
		eachFabric(t, func(t *testing.T, c *cluster) {
			c.cfg.Spindle.NoLockFree = true
			sg := Subgroup{ID: 9, Mode: mode}
			n, r := c.join()
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: sg, Reads: []Subgroup{sg}})
			c.settle(1)
			first, err := n.Reserve(ctxFor(t), sg.ID, 7, 1, time.Time{})
			require.NoError(t, err)
			_, err = n.Reserve(ctxFor(t), sg.ID, 7, 1, time.Now().Add(5*time.Millisecond))
			if mode == Unordered {
				require.ErrorIs(t, err, ErrWouldBlock)
			} else {
				require.ErrorIs(t, err, ErrTimeout)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if mode == Ordered { // which waits
					n.mustSend(t, sg, 7, 1, "second")
				}
			}()
			first.Commit(Header{Writer: 1}, 1)
			<-done
			if mode == Unordered {
				n.mustSend(t, sg, 7, 1, "second")
			}
			r.wait(t, "both", func() bool { return len(r.got) == 2 })
		})
	}
}
