package main

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/omg-dds-go/dds/bench/internal/quiet"
	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/derecho"
)

// handler counts what is delivered. The poller calls it; the counters are read by who measures.
type handler struct {
	quiet.Handler
	w         workload
	self      atomic.Uint64
	endpoints int
	complete  chan struct{} // closed when all endpoints are known
	copy      []byte        // where messages are copied to
	lent      []*derecho.Loan

	messages, upcalls atomic.Int64 // stored by the poller
	measuring         atomic.Bool
	latency           *hdrhistogram.Histogram // the poller's while measuring is true
	recorded          atomic.Pointer[hdrhistogram.Histogram]
}

func newHandler(w workload) *handler {
	return &handler{w: w, complete: make(chan struct{}), latency: result.NewHistogram(), copy: make([]byte, w.Size)}
}

type counts struct {
	messages, upcalls, writes, reads int64
	at                               time.Time
}

func (h *handler) counts() counts {
	writes, reads := calls()
	return counts{h.messages.Load(), h.upcalls.Load(), writes, reads, time.Now()}
}

// percentiles waits until the poller has let go of the histogram, which it does with the next message, if any comes.
func (h *handler) percentiles() (p50, p99 int64) {
	for range 100 {
		if l := h.recorded.Load(); l != nil {
			return l.ValueAtQuantile(50), l.ValueAtQuantile(99)
		}
		sleep(time.Millisecond)
	}
	return 0, 0
}

// Deliver implements derecho.Handler.
func (h *handler) Deliver(_ derecho.SubgroupID, batch []derecho.Message) {
	h.upcalls.Store(h.upcalls.Load() + 1)
	if h.measuring.Load() {
		h.record(batch)
	} else if h.latency.TotalCount() > 0 && h.recorded.Load() == nil {
		h.recorded.Store(h.latency)
	}
	for i := range batch {
		if h.w.Keeps {
			if l := batch[i].Lend(); l != nil {
				h.lent = append(h.lent, l)
				continue
			}
		}
		if h.w.Copies || h.w.Keeps {
			copy(h.copy, batch[i].Payload)
		}
	}
	for _, l := range h.lent {
		l.Release()
	}
	h.lent = h.lent[:0]
	if h.w.Upcall == 0 {
		h.messages.Store(h.messages.Load() + int64(len(batch)))
		return
	}
	for range batch {
		for begin := time.Now(); time.Since(begin) < h.w.Upcall; {
		}
		h.messages.Store(h.messages.Load() + 1)
	}
}

func (h *handler) record(batch []derecho.Message) {
	now := int64(0)
	for i := range batch {
		stamp := int64(binary.LittleEndian.Uint64(batch[i].Payload))
		if stamp == 0 || batch[i].Sender == derecho.NodeID(h.self.Load()) {
			continue
		}
		if now == 0 {
			now = monotonic()
		}
		_ = h.latency.RecordValue(now - stamp)
	}
}

// EndpointAdded implements derecho.Handler.
func (h *handler) EndpointAdded(derecho.Endpoint) {
	if h.endpoints++; h.endpoints == h.w.Processes*h.w.Subgroups {
		close(h.complete)
	}
}
