package derecho

import (
	"sync/atomic"
	"time"
)

// counter is a Handler that only counts.
type counter struct {
	n, bytes atomic.Int64
	news     chan struct{}  // capacity 1, may be nil
	each     func(*Message) // may be nil
}

func (c *counter) EndpointAdded(Endpoint)                         {}
func (c *counter) EndpointRemoved(Endpoint)                       {}
func (c *counter) EndpointChanged(Endpoint)                       {}
func (c *counter) Viewed(View)                                    {}
func (c *counter) NodeJoined(NodeID)                              {}
func (c *counter) NodeLeft(NodeID)                                {}
func (c *counter) Entered(NodeID)                                 {}
func (c *counter) Silence(NodeID, time.Duration)                  {}
func (c *counter) NodeFailed(NodeID)                              {}
func (c *counter) Isolated(error)                                 {}
func (c *counter) Undelivered(SubgroupID, []Message)              {}
func (c *counter) Excluded(error)                                 {}
func (c *counter) AwaitState(SubgroupID, ChannelID, uint32, bool) {}
func (c *counter) SaveState(SubgroupID, ChannelID) func() []byte  { return nil }
func (c *counter) ReadState(SubgroupID, ChannelID, []byte) func() bool {
	return func() bool { return true }
}
func (c *counter) Reclaim(SubgroupID)                                {}
func (c *counter) LogFailed(SubgroupID, NodeID, error)               {}
func (c *counter) LeftOut(SubgroupID, ChannelID, EndpointID, uint64) {}
func (c *counter) Failed(error)                                      {}
func (c *counter) Deliver(_ SubgroupID, batch []Message) {
	c.n.Add(int64(len(batch)))
	for i := range batch {
		c.bytes.Add(int64(len(batch[i].Payload)))
		if c.each != nil {
			c.each(&batch[i])
		}
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}
