package derecho

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// plainLink is a link that tells what it is, and takes down why it was dropped.
type plainLink struct {
	rdma.Link
	peer    rdma.PeerInfo
	aliased bool
	dropped error
}

func (l *plainLink) Peer() rdma.PeerInfo { return l.peer }
func (l *plainLink) Aliased() bool       { return l.aliased }
func (l *plainLink) Send([]byte)         {}
func (l *plainLink) Drop(err error)      { l.dropped = err }

// A link that is not what all members conclude from who its ends are is not used.
func TestLinkOfAnotherKind(t *testing.T) {
	for _, c := range []struct {
		self, peer uint64 // shm domains
		aliased    bool
		good       bool
	}{{7, 7, true, true}, {7, 7, false, false}, {7, 8, false, true}, {7, 8, true, false}, {0, 0, false, true}, {0, 0, true, false}, {0, 7, false, true}} {
		m := newMachine(&Config{}, 1, nil, nil)
		m.self = rdma.PeerInfo{ID: 1, ShmDomain: c.self}
		l := &plainLink{peer: rdma.PeerInfo{ID: 2, Name: "peer", Host: "there", ShmDomain: c.peer}, aliased: c.aliased}
		m.linkUp(l)
		if c.good {
			require.NoError(t, l.dropped)
			require.Contains(t, m.links, NodeID(2))
			continue
		}
		require.ErrorIs(t, l.dropped, ErrPeerLost)
		require.ErrorContains(t, l.dropped, "peer on there shares memory: ")
		require.Empty(t, m.links)
		m.linkDown(l, false)
	}
}
