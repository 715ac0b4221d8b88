package derecho

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who has announced a reader, and asks for something then in another subgroup, gets the answer: a sender that goes on
// in the epoch before does not keep it from it.
func TestAnswerReachesWhoAskedForIt(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		ask, answer := Subgroup{ID: 31, Mode: Ordered}, Subgroup{ID: 32, Mode: Ordered}
		a, ra := c.join()
		b, rb := c.join()
		other, _ := c.join()
		asked := make(chan struct{}, 1)
		ra.onDeliver = func([]Message) { asked <- struct{}{} }
		a.mustAdd(t, Endpoint{ID: 1, Channel: 8, Reads: []Subgroup{ask}})
		a.mustAdd(t, Endpoint{ID: 2, Channel: 9, Writes: answer})
		other.mustAdd(t, Endpoint{ID: 1, Channel: 9, Reads: []Subgroup{answer}})
		b.mustAdd(t, Endpoint{ID: 1, Channel: 8, Writes: ask})
		say := func(n *Node, sg Subgroup, ch ChannelID, w EndpointID) {
			s, err := n.Reserve(ctxFor(t), sg.ID, ch, 1, time.Time{})
			require.NoError(t, err)
			s.Commit(Header{Writer: w}, 1)
		}
		for i := range 30 {
			id := EndpointID(10 + i)
			b.mustAdd(t, Endpoint{ID: id, Channel: 9, Reads: []Subgroup{answer}})
			had := 0
			rb.note(func() { had = len(rb.got) })
			say(b, ask, 8, 1)
			<-asked
			say(a, answer, 9, 2)
			rb.wait(t, "the answer", func() bool { return len(rb.got) > had })
			require.NoError(t, b.RemoveEndpoint(ctxFor(t), id))
		}
	})
}
