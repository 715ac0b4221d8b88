package derecho

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lent message stays as it is; its sender waits for it when the ring has come round, asks for it, and goes on when it
// has it back.
func TestLoanHoldsTheRing(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.RingBytes = 1 << 12
		lent, asked := make(chan Message, 1), make(chan struct{}, 1)
		w, _, rr := c.pair(func(rr *recorder) {
			rr.onDeliver = func(batch []Message) {
				for _, m := range batch {
					if strings.HasPrefix(string(m.Payload), "0 ") && m.Lend() != nil {
						require.NotNil(t, m.Lend(), "for a second reader")
						lent <- m
					}
				}
			}
			rr.onReclaim = func() {
				select {
				case asked <- struct{}{}:
				default:
				}
			}
		})
		const size = 500
		text := func(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("x", size)) }
		w.mustSend(t, ordered, 7, 1, text(0))
		m := <-lent
		ctx, cancel := context.WithCancel(ctxFor(t))
		sent := make(chan int)
		go func() {
			n := 1
			defer func() { sent <- n }()
			for ; n < 100; n++ {
				s, err := w.Reserve(ctx, ordered.ID, 7, len(text(n)), time.Time{})
				if err != nil {
					return
				}
				copy(s.Bytes(), text(n))
				s.Commit(Header{Writer: 1}, len(text(n)))
			}
		}()
		<-asked
		require.NoError(t, w.WaitAcked(ctxFor(t), ordered.ID), "what is lent was handed over all the same")
		cancel()
		n := <-sent
		require.Less(t, n, 8, "no more than a ring")
		require.Equal(t, text(0), string(m.Payload))
		m.loan.Release()
		require.Equal(t, text(0), string(m.Payload), "somebody else reads it still")
		m.loan.Release()
		for ; n < 100; n++ {
			w.mustSend(t, ordered, 7, 1, text(n))
		}
		rr.wait(t, "all", func() bool { return len(rr.got) == 100 })
	})
}

// What is lent outlives its sender, and the node that it was lent to.
func TestLoanOutlivesNodes(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		lent := make(chan Message, 1)
		w, r, _ := c.pair(func(rr *recorder) {
			rr.onDeliver = func(batch []Message) {
				if batch[0].Lend() != nil {
					lent <- batch[0]
				}
			}
		})
		w.mustSend(t, ordered, 7, 1, "still here")
		m := <-lent
		require.NoError(t, w.Leave(ctxFor(t)))
		require.NoError(t, r.Leave(ctxFor(t)))
		require.Equal(t, "still here", string(m.Payload))
		m.loan.Release()
	})
}

// When an epoch is over, what is lent of it is asked for: it keeps a ring mapped.
func TestReclaimAtTheEndOfAnEpoch(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		lent, asked := make(chan *Loan, 1), make(chan struct{}, 1)
		w, _, _ := c.pair(func(rr *recorder) {
			rr.onDeliver = func(batch []Message) {
				if l := batch[0].Lend(); l != nil && len(lent) == 0 {
					lent <- l
				}
			}
			rr.onReclaim = func() { asked <- struct{}{} }
		})
		w.mustSend(t, ordered, 7, 1, "x")
		l := <-lent
		w.mustAdd(t, Endpoint{ID: 2, Channel: 7, Reads: []Subgroup{ordered}}) // begins an epoch
		<-asked
		l.Release()
	})
}

// Loans that come back in any order free the ring in its own.
func TestLenderFreesInOrder(t *testing.T) {
	e := &epoch{}
	l := newLendersOf(e, 4*minLoan)
	a, b, c := l.lend(0), l.lend(640), l.lend(1280)
	require.Equal(t, uint64(0), l.needed(2000))
	b.refs.Add(-1)
	require.Equal(t, uint64(0), l.needed(2000))
	a.refs.Add(-1)
	require.Equal(t, uint64(1280), l.needed(2000))
	d, f, g := l.lend(2000), l.lend(2640), l.lend(3280)
	require.NotNil(t, d)
	require.NotNil(t, f)
	require.NotNil(t, g)
	require.Nil(t, l.lend(4000), "as many as fill a ring")
	for _, n := range []*Loan{g, f, d, c} {
		require.Equal(t, uint64(1280), l.needed(4000))
		n.refs.Add(-1)
	}
	require.Equal(t, uint64(4000), l.needed(4000))
}

func newLendersOf(e *epoch, ring int) *lender {
	e.senders, e.desc = []int{0}, &descriptor{Members: make([]memberDesc, 1)}
	e.g = &subgroup{id: 1, m: &machine{cfg: &Config{RingBytes: ring}}}
	return &newLenders(e)[0]
}
