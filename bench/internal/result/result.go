// Package result is what every program under bench prints: one JSON object a line for each process or
// measurement, with the same fields, so that one reader serves all of them.
//
//	{"role":"sub","impl":"cyclone","size":128,"readers":1,"count":165457,"seconds":0.99,...}
//
// Fields that a role does not measure are 0. A Result is a plain value; nothing here is concurrent.
package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what one process measured, or one measurement of bench/baseline.
type Result struct {
	Role    string  `json:"role"`           // pub, sub, ping, pong; replica; the name of a limit
	Impl    string  `json:"impl"`           // implementation and tuning
	What    string  `json:"what,omitempty"` // what was done, where the role does not say it
	Size    int     `json:"size"`           // bytes of one encoded sample, message or write
	Readers int     `json:"readers"`        // readers, or replicas
	Count   int64   `json:"count"`          // samples after the warm-up
	Seconds float64 `json:"seconds"`        // from the first of them to the last, by the clock of this process
	Rate    float64 `json:"rate"`           // samples per second: (Count-1)/Seconds
	Mbps    float64 `json:"mbps"`           // Rate * Size, in 10^6 bits per second
	Lost    int64   `json:"lost"`           // sent after the warm-up, but not received
	P50     int64   `json:"p50_ns"`         // latency: one way at a sub, round trip at a ping
	P90     int64   `json:"p90_ns"`
	P99     int64   `json:"p99_ns"`
	P999    int64   `json:"p999_ns"`
	P9999   int64   `json:"p9999_ns"`
	Max     int64   `json:"max_ns"`
	CPUUser float64 `json:"cpu_user_s"` // of the process while it counted
	CPUSys  float64 `json:"cpu_sys_s"`

	// Of dds perf only.
	CallP50 int64 `json:"call_p50_ns,omitempty"` // latency from the call that writes, not from when the sample was due
	RSS     int64 `json:"rss_kb,omitempty"`
	Live    int64 `json:"live_kb,omitempty"`   // RSS after a collection, while it measured
	Mapped  int64 `json:"mapped_kb,omitempty"` // shared memory, touched or not
}

// scheduled is what dds perf adds at a given rate. Its plain percentiles begin with the call that writes; those of all
// others, and these, begin when the sample was due.
type scheduled struct {
	Due *struct {
		P50   int64 `json:"p50_ns"`
		P90   int64 `json:"p90_ns"`
		P99   int64 `json:"p99_ns"`
		P999  int64 `json:"p999_ns"`
		P9999 int64 `json:"p9999_ns"`
		Max   int64 `json:"max_ns"`
	} `json:"due"`
}

// SetThroughput fills Count, Seconds, Rate and Mbps. Between count samples there are count-1 intervals.
func (r *Result) SetThroughput(count int64, d time.Duration) {
	r.Count, r.Seconds = count, d.Seconds()
	r.Rate, r.Mbps = 0, 0
	if d > 0 && count > 1 {
		r.Rate = float64(count-1) / d.Seconds()
		r.Mbps = r.Rate * float64(r.Size) * 8 / 1e6
	}
}

// SetLatency fills the percentiles from a histogram of ns.
func (r *Result) SetLatency(h *hdrhistogram.Histogram) {
	r.P50, r.P90, r.P99 = h.ValueAtQuantile(50), h.ValueAtQuantile(90), h.ValueAtQuantile(99)
	r.P999, r.P9999, r.Max = h.ValueAtQuantile(99.9), h.ValueAtQuantile(99.99), h.Max()
}

// NewHistogram holds latencies from 1 ns to a minute, known to 0.1 %.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Minute), 3) }

// Write prints results, one a line.
func Write(w io.Writer, results ...Result) error {
	e := json.NewEncoder(w)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return fmt.Errorf("result of %s %s: %w", results[i].Impl, results[i].Role, err)
		}
	}
	return nil
}

// Parse reads what a program printed. Lines that do not begin with a brace are not results: some middleware
// greets on standard output.
func Parse(printed []byte) ([]Result, error) {
	var results []Result
	lines := bufio.NewScanner(bytes.NewReader(printed))
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%w in the line %q; it must be an object with the fields of bench/internal/result", err, line)
		}
		var s scheduled
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%w in the line %q", err, line)
		}
		if d := s.Due; d != nil {
			r.CallP50 = r.P50
			r.P50, r.P90, r.P99, r.P999, r.P9999, r.Max = d.P50, d.P90, d.P99, d.P999, d.P9999, d.Max
		}
		if r.Role == "" || r.Impl == "" {
			return nil, fmt.Errorf("no role or impl in the line %q; it must be an object with the fields of bench/internal/result", line)
		}
		results = append(results, r)
	}
	return results, lines.Err()
}
