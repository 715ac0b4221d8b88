package derecho

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/smc"
)

// sized is a message of some size that tells which it is.
func sized(who string, k, size int) string {
	head := fmt.Sprintf("%s:%d:", who, k)
	return head + strings.Repeat(string(rune('a'+k%26)), max(size-len(head), 0))
}

// ringOf is the ring in which the messages of a node go at the moment.
func (n *Node) ringOf(t testing.TB, sg Subgroup) int {
	t.Helper()
	e, err := n.sendingEpoch(sg.ID, 7)
	require.NoError(t, err)
	return e.ring(e.me)
}

// heads are the messages without what fills them; whole tells that they are as they were sent.
func heads(t testing.TB, all []got) (list []string) {
	t.Helper()
	for _, g := range all {
		head := g.text[:strings.LastIndex(g.text, ":")+1]
		require.Equal(t, 0, len(strings.Trim(g.text[len(head):], g.text[len(g.text)-1:])), "%s is not whole", head)
		list = append(list, head)
	}
	return list
}

// Messages that are larger than half a ring arrive, in their place among the others, at all members alike; the ring of
// who sends none stays as it was. A node that joins later, and one that sends no more for a while, find rings that fit.
func TestLargeMessagesGrowTheRing(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Lease = time.Minute // nobody is to be excluded because a busy machine takes long with so many bytes
		w, _ := c.join()
		v, rv := c.join()
		_, rr := c.join()
		r := c.node[2]
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		}
		for _, n := range []*Node{w, v} {
			n.mustAdd(t, Endpoint{ID: 2, Channel: 7, Writes: ordered})
		}
		sizes := []int{10, 600_000, 20, 1 << 20, 1 << 19, 8 << 20, 30, 8 << 20, 40}
		var want []string
		for k, size := range sizes {
			w.mustSend(t, ordered, 7, 2, sized("w", k, size))
			v.mustSend(t, ordered, 7, 2, sized("v", k, 10))
			want = append(want, fmt.Sprintf("w:%d:", k))
		}
		all := 2 * len(sizes)
		rr.wait(t, "all", func() bool { return len(rr.got) == all })
		rv.wait(t, "all", func() bool { return len(rv.got) == all })
		order := heads(t, rr.snapshot())
		require.Equal(t, order, heads(t, rv.snapshot()))
		var ofW []string
		for _, h := range order {
			if strings.HasPrefix(h, "w") {
				ofW = append(ofW, h)
			}
		}
		require.Equal(t, want, ofW)
		require.Equal(t, 64<<20, w.ringOf(t, ordered))
		require.Equal(t, 1<<20, v.ringOf(t, ordered))

		_, late := c.join()
		c.node[3].mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		require.Equal(t, 64<<20, w.ringOf(t, ordered), "it stays large")
		w.mustSend(t, ordered, 7, 2, sized("w", 9, 8<<20))
		late.wait(t, "a large message", func() bool { return len(late.got) == 1 })
		require.Equal(t, []string{"w:9:"}, heads(t, late.snapshot()))

		require.NoError(t, w.RemoveEndpoint(ctxFor(t), 2))
		w.mustAdd(t, Endpoint{ID: 3, Channel: 7, Writes: ordered})
		require.Equal(t, 1<<20, w.ringOf(t, ordered), "it is as it was when nobody sends")
		w.mustSend(t, ordered, 7, 3, sized("w", 10, 700_000))
		late.wait(t, "another", func() bool { return len(late.got) == 2 })
		require.NoError(t, r.RemoveEndpoint(ctxFor(t), 1))
	})
}

// Several goroutines of several nodes ask at once, also for rings of different sizes.
func TestRingsGrowTogether(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.RingBytes = 1 << 12
		const nodes, threads, each = 3, 3, 20
		for range nodes {
			n, _ := c.join()
			for w := range threads {
				ep := Endpoint{ID: EndpointID(1 + w), Channel: 7, Writes: ordered}
				if w == 0 {
					ep.Reads = []Subgroup{ordered}
				}
				n.mustAdd(t, ep)
			}
		}
		c.settle(nodes * threads)
		var wg sync.WaitGroup
		for i, n := range c.node {
			for w := range threads {
				wg.Go(func() {
					for k := range each {
						text := sized(fmt.Sprintf("%d.%d", i, w), k, 100<<(k*(1+w)/4))
						s, err := n.Reserve(ctxFor(t), ordered.ID, 7, len(text), time.Time{})
						if err != nil {
							t.Error(err)
							return
						}
						copy(s.Bytes(), text)
						s.Commit(Header{Writer: EndpointID(1 + w)}, len(text))
					}
				})
			}
		}
		wg.Wait()
		var first []string
		for _, r := range c.recs {
			r.wait(t, "all", func() bool { return len(r.got) == nodes*threads*each })
			order := heads(t, r.snapshot())
			if first == nil {
				first = order
			}
			require.Equal(t, first, order)
		}
		next := map[string]int{}
		for _, h := range first {
			var who string
			var k int
			who, rest, _ := strings.Cut(h, ":")
			_, err := fmt.Sscanf(rest, "%d:", &k)
			require.NoError(t, err)
			require.Equal(t, next[who], k, who)
			next[who]++
		}
	})
}

// What is lent in the old ring, and what is reserved there and not committed, stays as it is.
func TestLoansOutliveTheirRing(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.RingBytes = 1 << 12
		lent := make(chan Message, 1)
		w, _, rr := c.pair(func(rr *recorder) {
			rr.onDeliver = func(batch []Message) {
				for _, m := range batch {
					if strings.HasPrefix(string(m.Payload), "lent") && m.Lend() != nil {
						lent <- m
					}
				}
			}
		})
		w.mustSend(t, ordered, 7, 1, "lent:0:")
		m := <-lent
		s, err := w.Reserve(ctxFor(t), ordered.ID, 7, 100, time.Time{})
		require.NoError(t, err)
		copy(s.Bytes(), sized("slot", 1, 100))
		for k := range 3 { // as many as fit the new ring: nothing of it is delivered before the slot is
			w.mustSend(t, ordered, 7, 1, sized("w", k, 3000+2000*k))
		}
		require.Equal(t, sized("slot", 1, 100), string(s.Bytes()))
		require.Len(t, rr.snapshot(), 1, "the slot is before them")
		s.Commit(Header{Writer: 1}, 100)
		rr.wait(t, "all", func() bool { return len(rr.got) == 5 })
		require.Equal(t, "slot:1:", heads(t, rr.snapshot())[1])
		require.Equal(t, "lent:0:", string(m.Payload))
		m.loan.Release()
	})
}

// Who never waits is told that it would have to, until the ring has grown.
func TestUnorderedRingGrows(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		sg := Subgroup{ID: 8, Mode: Unordered}
		w, _ := c.join()
		r, rr := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{sg}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: sg})
		e, err := w.sendingEpoch(sg.ID, 7)
		require.NoError(t, err)
		const size = 2 << 20
		_, err = w.Reserve(context.Background(), sg.ID, 7, size, time.Time{})
		require.ErrorIs(t, err, ErrWouldBlock)
		require.NoError(t, w.waitFor(ctxFor(t), e, time.Time{}, nil, e.sender.Closed))
		w.mustSend(t, sg, 7, 1, sized("w", 1, size))
		rr.wait(t, "it", func() bool { return len(rr.got) == 1 })
		require.Equal(t, []string{"w:1:"}, heads(t, rr.snapshot()))
	})
}

// A message that does not fit the largest ring is refused, with both sizes, and so is one while rings are not to grow.
// Who waits for a larger ring does not wait for longer than it wants.
func TestRingDoesNotGrow(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.RingBytes, c.cfg.MaxRing = 1<<12, 1<<14
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		defer open()
		w, _, rr := c.pair(func(rr *recorder) {
			rr.onDeliver = func([]Message) { <-gate } // the one poller of the process waits: no ring grows
		})
		most := w.MaxPayload(ordered.ID)
		require.Equal(t, smc.MaxPayload(1<<14), most)
		w.mustSend(t, ordered, 7, 1, sized("w", 0, 10))
		rr.wait(t, "the upcall", func() bool { return len(rr.got) == 1 })
		_, err := w.Reserve(ctxFor(t), ordered.ID, 7, most+1, time.Time{})
		require.ErrorIs(t, err, ErrTooLarge)
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes, at most %d", most+1, most))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = w.Reserve(ctx, ordered.ID, 7, most, time.Time{})
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, fmt.Sprintf("for a message of %d", most))
		_, err = w.Reserve(ctxFor(t), ordered.ID, 7, most, time.Now().Add(time.Millisecond))
		require.ErrorIs(t, err, ErrTimeout)
		open()
		w.mustSend(t, ordered, 7, 1, sized("w", 1, most))
		rr.wait(t, "it", func() bool { return len(rr.got) == 2 })
		require.Equal(t, 1<<14, w.ringOf(t, ordered))
	})
	for _, most := range []int{1 << 19, 1<<20 + 1, 1 << 31} {
		cfg := Config{MaxRing: most}
		require.ErrorIs(t, cfg.complete(), ErrConfig)
	}
}

// The command is idempotent, asks for nothing that is there or on its way, and what a peer asks for that makes no sense
// changes nothing.
func TestGrowCommand(t *testing.T) {
	cfg := Config{RingBytes: 1 << 12, MaxRing: 1 << 20}
	for size, ring := range map[int]uint32{1: 1 << 9, 2000: 1 << 14, 2048 - 40: 1 << 14, 10_000: 1 << 17, 100_000: 1 << 20, 500_000: 1 << 20} {
		require.Equal(t, ring, cfg.ringFor(size), size)
	}
	c := newCatalogue()
	c.add(Endpoint{Node: 1, ID: 1, Channel: 7, Writes: ordered}, Endpoint{Node: 2, ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
	require.Equal(t, uint32(1), c.subgroups[5].Epoch)
	require.Empty(t, c.grow(sender{9, 1}, 1<<13), "no such subgroup")
	require.Empty(t, c.grow(sender{5, 2}, 1<<13), "it does not send")
	require.Empty(t, c.grow(sender{5, 3}, 1<<13), "no member")
	changed := c.grow(sender{5, 1}, 1<<13)
	require.Len(t, changed, 1)
	require.Equal(t, uint32(2), changed[0].Epoch)
	require.Equal(t, []uint32{1 << 13, 0}, []uint32{changed[0].Members[0].Ring, changed[0].Members[1].Ring})
	require.Empty(t, c.grow(sender{5, 1}, 1<<13), "again")
	require.Empty(t, c.grow(sender{5, 1}, 1<<12), "smaller")

	w, err := parseWelcome((&machine{cat: c}).welcome(view{}).encode())
	require.NoError(t, err)
	require.Equal(t, c.rings, w.rings)

	c.add(Endpoint{Node: 1, ID: 2, Channel: 8, Writes: ordered})
	require.Equal(t, uint32(1<<13), c.subgroups[5].Members[0].Ring)
	c.remove(1, 1)
	require.Equal(t, uint32(1<<13), c.subgroups[5].Members[0].Ring)
	c.remove(1, 2)
	require.Empty(t, c.rings)
	c.add(Endpoint{Node: 1, ID: 1, Channel: 7, Writes: ordered})
	require.Zero(t, c.subgroups[5].Members[0].Ring)
	c.grow(sender{5, 1}, 1<<13)
	c.removeNodes(func(id NodeID) bool { return id == 1 })
	require.Empty(t, c.rings)
}
