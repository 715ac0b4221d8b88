package dcps

import (
	"context"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// handler is what the core calls; see derecho.Handler for the rules.
type handler = derecho.Handler

// core is what this package needs of the multicast core. *derecho.Node is one, through nodeCore; tests have another.
type core interface {
	ID() derecho.NodeID
	AddEndpoint(ctx context.Context, ep derecho.Endpoint) error
	ChangeEndpoint(ctx context.Context, id derecho.EndpointID, info []byte) error
	RemoveEndpoint(ctx context.Context, id derecho.EndpointID) error
	Upcall(ctx context.Context, f func()) error
	reserve(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID, size int, deadline time.Time) (slot, error)
	MaxPayload(sg derecho.SubgroupID) int
	Hold(sg derecho.SubgroupID, ch derecho.ChannelID, held bool)
	WaitAcked(ctx context.Context, sg derecho.SubgroupID) error
	WaitHanded(ctx context.Context, sg derecho.SubgroupID) error
	WaitDurable(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID) error
	Leave(ctx context.Context) error
	// Outage is why operations fail for now, nil if they do not. It takes no lock.
	Outage() error
	// Unreached lists the configured peers that were not reached, each with the reason.
	Unreached() []string
}

// slot is room for one message in this node's ring. It is a value, so that it costs no allocation, and fits the
// processor's registers; exactly one of commit and abort is called.
type slot struct {
	node  derecho.Slot // if other is nil
	other slotOwner    // the slot of another core than derecho's
}

// slotOwner is what derecho.Slot is.
type slotOwner interface {
	Bytes() []byte
	Node() derecho.NodeID
	Commit(h derecho.Header, size int) bool
	Abort()
}

// bytes is the room, until commit or abort.
func (s *slot) bytes() []byte {
	if s.other != nil {
		return s.other.Bytes()
	}
	return s.node.Bytes()
}

// incarnation is the one of this process in whose ring the room is.
func (s *slot) incarnation() derecho.NodeID {
	if s.other != nil {
		return s.other.Node()
	}
	return s.node.Node()
}

// commit reports false if the group has gone on without this process; see derecho.Slot.Commit.
func (s *slot) commit(h derecho.Header, size int) bool {
	if s.other != nil {
		return s.other.Commit(h, size)
	}
	return s.node.Commit(h, size)
}

func (s *slot) abort() {
	if s.other != nil {
		s.other.Abort()
		return
	}
	s.node.Abort()
}
