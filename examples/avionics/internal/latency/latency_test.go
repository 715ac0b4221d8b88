package latency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentilesSurviveTransport(t *testing.T) {
	var a, b, all Recorder
	for i := 1; i <= 1000; i++ {
		r := &a
		if i%2 == 0 {
			r = &b
		}
		r.Record(time.Duration(i) * time.Microsecond)
	}
	for _, r := range []*Recorder{&a, &b} {
		exported, err := r.Export()
		require.NoError(t, err)
		require.NoError(t, all.Merge(exported))
	}
	s := all.Summary()
	assert.Equal(t, int64(1000), s.Count)
	assert.InEpsilon(t, float64(500*time.Microsecond), float64(s.P50), 0.002)
	assert.InEpsilon(t, float64(990*time.Microsecond), float64(s.P99), 0.002)
	assert.InEpsilon(t, float64(time.Millisecond), float64(s.Max), 0.002)
}

func TestBounds(t *testing.T) {
	var r Recorder
	assert.Zero(t, r.Summary())
	empty, err := r.Export()
	require.NoError(t, err)
	assert.Nil(t, empty)
	require.NoError(t, r.Merge(nil))
	r.Record(-time.Second)
	r.Record(100 * time.Hour)
	assert.Equal(t, int64(2), r.Summary().Count)
	assert.InEpsilon(t, float64(time.Hour), float64(r.Summary().Max), 0.002)
	assert.Error(t, r.Merge([]byte("no histogram")))
}

func TestText(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "12µs": 12_345, "1.23ms": 1_234_567, "12.3ms": 12_345_678, "123ms": 123_456_789, "1.23s": 1_234_567_890, "12.3s": 12_345_678_901,
	} {
		assert.Equal(t, want, Text(d))
	}
}
