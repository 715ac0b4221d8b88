package derecho

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// sentLink notes what is sent.
type sentLink struct {
	rdma.Link
	id   uint64
	sent [][]byte
}

func (l *sentLink) Peer() rdma.PeerInfo { return rdma.PeerInfo{ID: l.id} }
func (l *sentLink) Send(b []byte)       { l.sent = append(l.sent, b) }

// A large state holds up what else there is for its receiver by some pieces and no more, and arrives as it was; so do
// those behind it.
func TestStatesAreSentInPieces(t *testing.T) {
	const piece = 10
	source := &machine{id: 1, cfg: &Config{StatePiece: piece}, links: map[NodeID]rdma.Link{}, transit: transit{outgoing: map[NodeID]*outgoing{}}, cat: newCatalogue()}
	sink := &machine{groups: map[SubgroupID]*subgroup{}, transit: transit{incoming: map[NodeID]*incoming{}}}
	there, back := &sentLink{id: 2}, &sentLink{id: 1}
	source.links[2] = there
	states := [][]byte{bytes.Repeat([]byte("0123456789"), 100), nil, []byte("x"), bytes.Repeat([]byte("abc"), 100)}
	for i, s := range states {
		source.sendState(2, channelState{subgroup: 5, epoch: uint32(i + 1), channel: 7, state: s})
	}
	require.Len(t, there.sent, stateWindow)
	source.sendState(3, channelState{state: []byte("to nobody")})
	require.NotContains(t, source.outgoing, NodeID(3))

	pieces := 0
	for len(there.sent) > 0 {
		require.True(t, source.owesStates() || len(there.sent) <= 2*stateWindow)
		b := there.sent[0]
		there.sent = there.sent[1:]
		require.NoError(t, sink.stateMessage(back, b[0], b[1] != 0, b[2:]))
		pieces++
		for _, answer := range back.sent {
			require.NoError(t, source.stateMessage(there, answer[0], answer[1] != 0, answer[2:]))
		}
		back.sent = nil
		require.LessOrEqual(t, len(there.sent), stateWindow+len(states))
	}
	require.Equal(t, 100+1+1+30, pieces)
	require.False(t, source.owesStates())
	source.forgetStates() // nobody waits for one any more
	require.Empty(t, source.outgoing)
	require.Empty(t, sink.incoming)
	require.Len(t, sink.early, len(states))
	for i, s := range sink.early {
		s.join()
		require.Equal(t, uint32(i+1), s.epoch)
		require.Equal(t, string(states[i]), string(s.state))
	}
}

// A link ends with states on their way: over the next one all go again that have not arrived, from their beginning. One
// for which nobody waits any more is left out, unless the receiver has a part of it.
func TestStatesGoAgain(t *testing.T) {
	source := &machine{id: 1, cfg: &Config{StatePiece: 10}, links: map[NodeID]rdma.Link{}, transit: transit{outgoing: map[NodeID]*outgoing{}}, cat: newCatalogue()}
	wait := func(ch ChannelID, epoch uint32) {
		source.cat.loading[replica{5, ch, 2}] = arrival{from: 1, epoch: epoch}
	}
	send := func(ch ChannelID, state string) {
		wait(ch, 3)
		source.sendState(2, channelState{subgroup: 5, epoch: 3, channel: ch, state: []byte(state)})
	}
	// over a new link; it returns the channels that have arrived
	over := func(pieces int) (arrived []ChannelID) {
		there, back := &sentLink{id: 2}, &sentLink{id: 1}
		source.links[2] = there
		sink := &machine{groups: map[SubgroupID]*subgroup{}, transit: transit{incoming: map[NodeID]*incoming{}}}
		source.pushStates(2)
		for ; len(there.sent) > 0 && pieces > 0; pieces-- {
			b := there.sent[0]
			there.sent = there.sent[1:]
			require.NoError(t, sink.stateMessage(back, b[0], b[1] != 0, b[2:]))
			for _, answer := range back.sent {
				require.NoError(t, source.stateMessage(there, answer[0], answer[1] != 0, answer[2:]))
			}
			back.sent = nil
		}
		for _, s := range sink.early {
			s.join()
			require.Len(t, s.state, 5*int(s.channel))
			arrived = append(arrived, s.channel)
		}
		return arrived
	}
	end := func() { delete(source.links, 2); source.rewindStates(2) }
	all := 1 << 10

	source.view.members = []rdma.PeerInfo{{ID: 2}} // to which there is no link yet
	for ch := ChannelID(1); ch <= 5; ch++ {
		send(ch, strings.Repeat("x", 5*int(ch)))
	}
	require.Equal(t, []ChannelID{1, 2}, over(3))
	end()
	require.Equal(t, []ChannelID{1, 2, 3, 4, 5}, over(all))
	require.False(t, source.owesStates())
	end() // and some of it was lost
	require.True(t, source.owesStates())
	delete(source.cat.loading, replica{5, 1, 2}) // it has come
	wait(4, 6)                                   // a later one is to come
	source.forgetStates()
	require.Equal(t, []ChannelID{2, 3, 5}, over(all))
	end()
	source.cfg.StatePiece = 1
	over(0) // 2 as a whole is too much for a window
	clear(source.cat.loading)
	source.forgetStates()
	require.Equal(t, []channelState{{subgroup: 5, epoch: 3, channel: 2, state: []byte("xxxxxxxxxx")}}, source.outgoing[2].states)
	end()
	source.forgetStates()
	require.Empty(t, source.outgoing)
}

func TestPiecesThatCanNotBe(t *testing.T) {
	m := &machine{transit: transit{outgoing: map[NodeID]*outgoing{}, incoming: map[NodeID]*incoming{}}}
	l := &sentLink{id: 1}
	require.Error(t, m.stateMessage(l, msgState, false, []byte("too short")), "for the head of a first piece")
	require.Error(t, m.stateMessage(l, msgStateMore, false, nil), "nothing was sent")
	m.incoming[1] = &incoming{size: maxState}
	require.ErrorContains(t, m.stateMessage(l, msgState, true, []byte("x")), "state of more than")
}

func TestLargeStateArrives(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.StatePiece = 1000
		a, ra := c.join()
		a.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}, Replica: true})
		var want strings.Builder
		for i := range 100 {
			text := fmt.Sprintf("%04d%s", i, strings.Repeat("x", 20_000))
			a.mustSend(t, ordered, 7, 1, text)
			want.WriteString(text + " ")
		}
		ra.wait(t, "all", func() bool { return len(ra.got) == 100 })
		b, rb := c.join()
		b.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}, Replica: true})
		rb.wait(t, "the state", func() bool { return len(rb.loaded) == 1 })
		require.Equal(t, want.String(), rb.loaded[0])
	})
}
