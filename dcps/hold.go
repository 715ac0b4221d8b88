package dcps

import (
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// holds counts, for each channel, the readers of this process that are full, and tells the core when writers have to
// wait and when they may go on.
type holds struct {
	hold   func(sg derecho.SubgroupID, ch derecho.ChannelID, held bool)
	counts sync.Map // channelKey -> *atomic.Int32
}

// prepare makes the channel's counter, so that add allocates nothing.
func (h *holds) prepare(sg derecho.SubgroupID, ch derecho.ChannelID) {
	h.counts.LoadOrStore(channelKey{sg, ch}, new(atomic.Int32))
}

// repeat tells the core again that writers of a channel have to wait, if so: it knows nothing of it in a subgroup that it
// joins anew. It never blocks.
func (h *holds) repeat(sg derecho.SubgroupID, ch derecho.ChannelID) {
	if v, ok := h.counts.Load(channelKey{sg, ch}); ok && v.(*atomic.Int32).Load() > 0 {
		h.hold(sg, ch, true)
		h.add(sg, ch, 0) // it may have ended meanwhile
	}
}

// add changes the count by 1 or -1. It never blocks. Two callers may tell the core in the wrong order; each looks
// again after it has told, so that the last word is right.
func (h *holds) add(sg derecho.SubgroupID, ch derecho.ChannelID, delta int32) {
	v, ok := h.counts.Load(channelKey{sg, ch})
	if !ok {
		return
	}
	n := v.(*atomic.Int32)
	held := n.Add(delta) > 0
	for {
		h.hold(sg, ch, held)
		if is := n.Load() > 0; is == held {
			return
		} else {
			held = is
		}
	}
}
