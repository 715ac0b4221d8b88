package bench

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// Impl names this implementation in a Result.
const Impl = "dds-go"

// Result is what one process tells in the end, as one JSON object. Programs over other implementations write the same
// fields from role to cpu_sys_s; the others are ours.
type Result struct {
	Role    Role    `json:"role"`
	Impl    string  `json:"impl"`
	Size    int     `json:"size"`
	Readers int     `json:"readers"` // matched with, or asked for
	Count   uint64  `json:"count"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"` // samples per second
	Mbps    float64 `json:"mbps"`
	Lost    uint64  `json:"lost"`
	Latency
	CPUUser float64 `json:"cpu_user_s"`
	CPUSys  float64 `json:"cpu_sys_s"`

	PID         int      `json:"pid"`
	CPU         float64  `json:"cpu_percent"` // of one core
	Voluntary   int64    `json:"voluntary_csw"`
	Involuntary int64    `json:"involuntary_csw"`
	RSS         int64    `json:"rss_kb"`
	Mapped      int64    `json:"mapped_kb"`         // shared memory that it maps, touched or not
	Live        int64    `json:"live_kb,omitempty"` // of RSS, at a peer: after a collection, when the warm-up was over
	Allocs      uint64   `json:"allocs"`            // objects on the Go heap
	GCs         uint64   `json:"gc_cycles"`         // garbage collections
	Matched     int      `json:"matched"`           // endpoints that it was matched with: the most at once, and no fewer than it heard from
	Dropped     uint64   `json:"dropped"`           // by a best-effort writer, its ring being full
	Disordered  uint64   `json:"disordered"`        // samples with a number that was passed already
	Batches     uint64   `json:"batches"`           // how often samples were taken
	Due         *Latency `json:"due,omitempty"`     // from when the samples were due, if there was a rate
	// Interrupted: the process was told to end, or the writers went without telling how many samples there were.
	Interrupted bool `json:"interrupted,omitempty"`
	// Intervals are what was told while it ran, if who printed it wants them there.
	Intervals []Interval `json:"intervals,omitempty"`
}

// Latency is a distribution in nanoseconds. It is zero if Samples is.
type Latency struct {
	P50     int64   `json:"p50_ns"`
	P90     int64   `json:"p90_ns"`
	P99     int64   `json:"p99_ns"`
	P999    int64   `json:"p999_ns"`
	P9999   int64   `json:"p9999_ns"`
	P999999 int64   `json:"p999999_ns"`
	Max     int64   `json:"max_ns"`
	Min     int64   `json:"min_ns"`
	Mean    float64 `json:"mean_ns"`
	Std     float64 `json:"std_ns"`
	Samples int64   `json:"latencies"`
}

// histogram gathers latencies of up to a minute, with three digits.
type histogram struct{ h *hdrhistogram.Histogram }

const longest = int64(60e9)

func newHistogram() histogram { return histogram{hdrhistogram.New(1, longest, 3)} }

func (h histogram) add(ns int64) {
	// In its range by the clamp, so there is no error.
	_ = h.h.RecordValue(min(max(ns, 1), longest))
}

func (h histogram) latency() Latency {
	n := h.h.TotalCount()
	if n == 0 {
		return Latency{}
	}
	at := h.h.ValueAtQuantile
	return Latency{
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), P9999: at(99.99), P999999: at(99.9999),
		Max: h.h.Max(), Min: h.h.Min(), Mean: h.h.Mean(), Std: h.h.StdDev(), Samples: n,
	}
}

// setRate fills in what follows from the samples in a time.
func (r *Result) setRate(count uint64, ns int64) {
	r.Seconds = float64(ns) / 1e9
	if r.Seconds > 0 {
		r.Rate = float64(count) / r.Seconds
		r.Mbps = r.Rate * float64(r.Size) * 8 / 1e6
	}
}
