package result_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

func TestWhatIsWrittenCanBeParsed(t *testing.T) {
	want := result.Result{Role: "sub", Impl: "x", Size: 100, Readers: 2, Lost: 3, CPUUser: 0.5, CPUSys: 0.25}
	want.SetThroughput(1001, 2*time.Second)
	h := result.NewHistogram()
	for i := range int64(1000) {
		require.NoError(t, h.RecordValue(i+1))
	}
	want.SetLatency(h)
	assert.Equal(t, 500.0, want.Rate, "1000 intervals in 2 s")
	assert.InDelta(t, 0.4, want.Mbps, 1e-9)
	assert.Equal(t, int64(500), want.P50)
	assert.Equal(t, int64(1000), want.Max)

	var b bytes.Buffer
	b.WriteString("a greeting\n")
	require.NoError(t, result.Write(&b, want, want))
	got, err := result.Parse(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, []result.Result{want, want}, got)
}

func TestLatencyBeginsWhenASampleWasDue(t *testing.T) {
	got, err := result.Parse([]byte(`{"role":"sub","impl":"x","p50_ns":5,"max_ns":6,"due":{"p50_ns":50,"max_ns":60}}`))
	require.NoError(t, err)
	assert.Equal(t, []result.Result{{Role: "sub", Impl: "x", P50: 50, Max: 60, CallP50: 5}}, got)
}

func TestWhatIsNoResultIsRefused(t *testing.T) {
	for _, line := range []string{`{"role":"sub"}`, `{"impl":"x"}`, `{"role":`, `{"role":"sub","impl":"x","count":"1"}`} {
		_, err := result.Parse([]byte(line))
		assert.ErrorContains(t, err, "bench/internal/result", line)
	}
}

func TestSpread(t *testing.T) {
	assert.Equal(t, result.Spread{Median: 2, Min: 1, Max: 9}, result.SpreadOf([]float64{9, 1, 2}))
	assert.Equal(t, result.Spread{Median: 2, Min: 1, Max: 9}, result.SpreadOf([]float64{9, 1, 2, 3}))
	assert.Equal(t, "2 (1..9)", result.SpreadOf([]float64{9, 1, 2}).Format(result.PerSecond))
	assert.Equal(t, "1.23 M", result.PerSecond(1234567))
	assert.Equal(t, "12.3 k", result.PerSecond(12345))
	assert.Equal(t, "13.5 µs", result.Micros(13500))
	assert.Equal(t, "17.64 ms", result.Micros(17640000))
}
