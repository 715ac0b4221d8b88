package latency

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	least  = int64(time.Microsecond)
	most   = int64(time.Hour)
	digits = 3
)

// Recorder collects delays. The zero value is empty.
type Recorder struct{ histogram *hdrhistogram.Histogram }

func (r *Recorder) use() *hdrhistogram.Histogram {
	if r.histogram == nil {
		r.histogram = hdrhistogram.New(least, most, digits)
	}
	return r.histogram
}

// Record adds a delay.
func (r *Recorder) Record(d time.Duration) {
	_ = r.use().RecordValue(min(max(int64(d), least), most)) // it is within the bounds
}

// Export gives the histogram in the compressed form of HdrHistogram, nil if nothing was recorded.
func (r *Recorder) Export() ([]byte, error) {
	if r.histogram == nil {
		return nil, nil
	}
	b, err := r.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("latency: encoding histogram: %w", err)
	}
	return b, nil
}

// Merge adds what another Recorder exported.
func (r *Recorder) Merge(exported []byte) error {
	if len(exported) == 0 {
		return nil
	}
	other, err := hdrhistogram.Decode(exported)
	if err != nil {
		return fmt.Errorf("latency: decoding histogram: %w", err)
	}
	r.use().Merge(other)
	return nil
}

// Summary is what tables show of a distribution.
type Summary struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Summary gives the distribution so far.
func (r *Recorder) Summary() Summary {
	if r.histogram == nil {
		return Summary{}
	}
	h := r.histogram
	return Summary{
		Count: h.TotalCount(), P50: time.Duration(h.ValueAtQuantile(50)), P99: time.Duration(h.ValueAtQuantile(99)),
		Max: time.Duration(h.Max()),
	}
}

// Text gives a delay with three digits at most.
func Text(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
