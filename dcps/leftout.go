package dcps

import (
	"fmt"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// leftOut is what a PERSISTENT writer knows of samples that are not in the history of its topic: nobody had that when
// they were sent, and it went on from logs that came back. The polling goroutine raises upTo, and after that raised.
type leftOut struct {
	upTo atomic.Uint64 // none with a higher number
	untold
}

// LeftOut is told to whoever waits for the disks next, and is in the status STABLE.
func (h *hub) LeftOut(_ derecho.SubgroupID, _ derecho.ChannelID, id derecho.EndpointID, upTo uint64) {
	e := h.endpoints[endpointKey{derecho.NodeID(h.self.Load()), id}]
	if e == nil || e.writer == nil {
		return // it is being closed
	}
	w := e.writer
	rise(&w.leftOut.upTo, upTo)
	w.leftOut.raised.Add(1)
	w.stability.sent()
}

// missing is the error of who waits for disks when samples were left out.
func (w *writer) missing(op string) error {
	return &Error{Op: op, Entity: w.what, Code: ErrPreconditionNotMet, Detail: fmt.Sprintf(
		"samples that were written while all logs that have the topic were away, up to number %d, are not in the history with which it goes on: write again what is to last", w.leftOut.upTo.Load())}
}
