package derecho

import "time"

// deaf is the layer above a node that was given up before it was let in.
type deaf struct{}

func (deaf) Entered(NodeID)                                      {}
func (deaf) EndpointAdded(Endpoint)                              {}
func (deaf) EndpointRemoved(Endpoint)                            {}
func (deaf) EndpointChanged(Endpoint)                            {}
func (deaf) Viewed(View)                                         {}
func (deaf) NodeJoined(NodeID)                                   {}
func (deaf) NodeLeft(NodeID)                                     {}
func (deaf) Deliver(SubgroupID, []Message)                       {}
func (deaf) Reclaim(SubgroupID)                                  {}
func (deaf) SaveState(SubgroupID, ChannelID) func() []byte       { return nil }
func (deaf) AwaitState(SubgroupID, ChannelID, uint32, bool)      {}
func (deaf) ReadState(SubgroupID, ChannelID, []byte) func() bool { return func() bool { return true } }
func (deaf) LogFailed(SubgroupID, NodeID, error)                 {}
func (deaf) LeftOut(SubgroupID, ChannelID, EndpointID, uint64)   {}
func (deaf) Silence(NodeID, time.Duration)                       {}
func (deaf) NodeFailed(NodeID)                                   {}
func (deaf) Isolated(error)                                      {}
func (deaf) Undelivered(SubgroupID, []Message)                   {}
func (deaf) Excluded(error)                                      {}
func (deaf) Failed(error)                                        {}
