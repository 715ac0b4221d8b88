package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "128": 128, "1K": 1024, "10k": 10240, "1M": 1 << 20, "1G": 1 << 30} {
		n, err := ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "K", "1.5K", "-1", "2G", "1KB", "9223372036854775807K"} {
		_, err := ParseSize(text)
		assert.Error(t, err, text)
	}
	for _, n := range []int{0, 40, 1000, 1024, 3 << 20} {
		back, err := ParseSize(FormatSize(n))
		require.NoError(t, err)
		assert.Equal(t, n, back)
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"max": 0, "inf": 0, "1000": 1000, "50k": 50e3, "1M": 1e6, "500Hz": 500, "1kHz": 1000, "0.5": 0.5} {
		r, err := ParseRate(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, r, text)
	}
	for _, text := range []string{"", "0", "-1", "fast", "1e300", "NaN", "k"} {
		_, err := ParseRate(text)
		assert.Error(t, err, text)
	}
	for _, r := range []float64{0, 0.5, 999, 1000, 2.5e6} {
		back, err := ParseRate(FormatRate(r))
		require.NoError(t, err)
		assert.Equal(t, r, back)
	}
}

func TestRingHasRoomForSomeSamples(t *testing.T) {
	assert.Equal(t, 0, RingFor(128), "the default suffices")
	assert.Equal(t, 0, RingFor(128<<10))
	assert.Equal(t, 2<<20, RingFor(128<<10+1))
	assert.Equal(t, 16<<20, RingFor(2<<20))
	assert.Equal(t, maxRing, RingFor(200<<20), "no ring is larger")
}

// The ring follows from the size: what is too large is the size.
func TestSampleThatIsTooLarge(t *testing.T) {
	o := DefaultOptions()
	for _, size := range []int{512, 600} {
		o.Size = size << 20
		assert.EqualError(t, o.Check(), fmt.Sprintf("size %dM: a sample has to fit into half a ring, and the largest ring has 1024M; ask for less than 512M", size))
	}
}

func TestOptionsThatCanNotBe(t *testing.T) {
	defaults := DefaultOptions()
	require.NoError(t, defaults.Check())
	for name, change := range map[string]func(*Options){
		"size": func(o *Options) { o.Size = MinSize - 1 }, "rate": func(o *Options) { o.Rate = -1 },
		"instances": func(o *Options) { o.Instances = 0 }, "qos": func(o *Options) { o.Level = "best" },
		"work": func(o *Options) { o.Work = -1 }, "poll": func(o *Options) { o.Listener, o.Poll = true, true },
		"topic": func(o *Options) { o.Topic = "" }, "topics": func(o *Options) { o.Topics = 0 }, "subgroups": func(o *Options) { o.Subgroups = 0 },
		"transport": func(o *Options) { o.Transport = "udp" }, "access": func(o *Options) { o.Read = "view" },
		"warm-up": func(o *Options) { o.WarmUp = -1 }, "keep": func(o *Options) { o.Keep = -1 },
		"batch": func(o *Options) { o.Batch = -1 }, "max-samples": func(o *Options) { o.MaxSamples = 0 },
		"readers": func(o *Options) { o.Readers = -1 },
	} {
		o := DefaultOptions()
		change(&o)
		assert.ErrorContains(t, o.Check(), name)
	}
}

func TestLatencyLimits(t *testing.T) {
	l, err := ParseLatencyLimit("99.9=2ms")
	require.NoError(t, err)
	assert.Equal(t, LatencyLimit{"99.9", 2 * time.Millisecond}, l)
	l, err = ParseLatencyLimit("500us")
	require.NoError(t, err)
	assert.Equal(t, LatencyLimit{"99", 500 * time.Microsecond}, l)
	for _, text := range []string{"", "98=1ms", "99=", "99=-1ms", "99=5"} {
		_, err := ParseLatencyLimit(text)
		assert.Error(t, err, text)
	}
}

func TestVerdicts(t *testing.T) {
	value := func(n uint64) *uint64 { return &n }
	rate, match := 100.0, 2
	c := Criteria{
		MinMatch: &match, MinRate: &rate, MaxLost: value(0), MinSamples: value(10),
		MaxLatency: []LatencyLimit{{"50", 10 * time.Microsecond}, {"100", time.Millisecond}},
	}
	good := Result{Role: Sub, Matched: 2, Rate: 100, Count: 10, Latency: Latency{P50: 10_000, Max: 1_000_000, Samples: 10}}
	_, ok := c.Judge(good)
	assert.True(t, ok)
	for name, spoil := range map[string]func(*Result){
		"matched": func(r *Result) { r.Matched = 1 }, "rate": func(r *Result) { r.Rate = 99 },
		"lost": func(r *Result) { r.Lost = 1 }, "samples": func(r *Result) { r.Count = 9 },
		"latency 50%": func(r *Result) { r.P50++ }, "latency 100%": func(r *Result) { r.Max++ },
		"not measured": func(r *Result) { r.Latency = Latency{} },
	} {
		bad := good
		spoil(&bad)
		verdicts, ok := c.Judge(good, bad)
		assert.False(t, ok, name)
		var failed string
		for _, v := range verdicts {
			if !v.OK {
				failed += v.String()
			}
		}
		assert.Contains(t, failed, name)
	}
	_, ok = c.Judge(Result{Role: Pub, Matched: 2})
	assert.True(t, ok, "a pub measures no latency, loss or rate of reading")
}
