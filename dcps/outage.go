package dcps

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// What the core tells of members that fail, and of this node being cut off.

// Entered implements derecho.Handler.
func (h *hub) Entered(id derecho.NodeID) { h.self.Store(uint64(id)) }

// Silence implements derecho.Handler.
func (h *hub) Silence(derecho.NodeID, time.Duration) {}

// NodeFailed implements derecho.Handler: the endpoints of the node are removed after it.
func (h *hub) NodeFailed(derecho.NodeID) {}

// Isolated implements derecho.Handler.
func (h *hub) Isolated(error) {}

// Excluded implements derecho.Handler: the endpoints that are there when the node has joined again are
// added then.
func (h *hub) Excluded(error) {}
