// Package quiet has a derecho.Handler that does nothing, for programs that measure the core and care for a few of its
// upcalls: they embed it and write those. It has no state.
package quiet

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// Handler ignores everything. It keeps no state of any channel: ReadState gives what takes over nothing.
type Handler struct{}

var _ derecho.Handler = Handler{}

// Deliver does nothing, like all that follow.
func (Handler) Deliver(derecho.SubgroupID, []derecho.Message)                  {}
func (Handler) EndpointAdded(derecho.Endpoint)                                 {}
func (Handler) EndpointRemoved(derecho.Endpoint)                               {}
func (Handler) EndpointChanged(derecho.Endpoint)                               {}
func (Handler) Viewed(derecho.View)                                            {}
func (Handler) NodeJoined(derecho.NodeID)                                      {}
func (Handler) NodeLeft(derecho.NodeID)                                        {}
func (Handler) Entered(derecho.NodeID)                                         {}
func (Handler) Silence(derecho.NodeID, time.Duration)                          {}
func (Handler) NodeFailed(derecho.NodeID)                                      {}
func (Handler) Isolated(error)                                                 {}
func (Handler) Undelivered(derecho.SubgroupID, []derecho.Message)              {}
func (Handler) Excluded(error)                                                 {}
func (Handler) AwaitState(derecho.SubgroupID, derecho.ChannelID, uint32, bool) {}
func (Handler) Reclaim(derecho.SubgroupID)                                     {}
func (Handler) SaveState(derecho.SubgroupID, derecho.ChannelID) func() []byte  { return nil }
func (Handler) ReadState(derecho.SubgroupID, derecho.ChannelID, []byte) func() bool {
	return func() bool { return true }
}
func (Handler) LogFailed(derecho.SubgroupID, derecho.NodeID, error)                       {}
func (Handler) LeftOut(derecho.SubgroupID, derecho.ChannelID, derecho.EndpointID, uint64) {}
func (Handler) Failed(error)                                                              {}
