package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// scripted is a suite whose runs are written down.
type scripted struct {
	order []string
	rates map[string][]float64 // by implementation; 0: fails
}

func (*scripted) impls() []impl {
	return []impl{{name: "a"}, {name: "b", supports: func(c cell) bool { return c.size == 1 }}, {name: "c"}}
}
func (*scripted) cells() []cell   { return []cell{{1, 1}, {1, 2}, {2, 1}} }
func (*scripted) oneWriter() bool { return true }

func (s *scripted) run(_ context.Context, i impl, c cell) ([]result.Result, error) {
	s.order = append(s.order, i.name+" "+c.String())
	rate := s.rates[i.name][0]
	s.rates[i.name] = s.rates[i.name][1:]
	if rate == 0 {
		return nil, errors.New("as written down")
	}
	return []result.Result{{Role: "sub", Impl: i.name, Rate: rate}}, nil
}

func (*scripted) figures(_ cell, r []result.Result) []figure {
	return []figure{{"samples/s", r[0].Rate, result.PerSecond}}
}

func TestRunsAreInterleavedAndMediansPrinted(t *testing.T) {
	s := &scripted{rates: map[string][]float64{
		"a": {1, 10, 100, 3, 30, 300, 2, 20, 200},
		"b": {5, 50, 7, 70, 6, 60},
		"c": {9, 0, 900, 9, 0, 900, 9, 90, 0},
	}}
	c := config{suite: "dds", mode: "throughput", rounds: 3, duration: time.Second}
	all, err := rounds(t.Context(), c, s, &log{})
	require.NoError(t, err)
	one := []string{
		"a 1 bytes, 1→1", "b 1 bytes, 1→1", "c 1 bytes, 1→1",
		"a 1 bytes, 1→2", "b 1 bytes, 1→2", "c 1 bytes, 1→2",
		"a 2 bytes, 1→1", "c 2 bytes, 1→1",
	}
	assert.Equal(t, append(append(append([]string{}, one...), one...), one...), s.order)

	var b strings.Builder
	require.NoError(t, printReport(&b, c, s, []string{"d: no header"}, all))
	for _, line := range []string{
		"| a | 2 (1..3) | 20 (10..30) |",
		"| b | 6 (5..7) | 60 (50..70) |",
		"| c | 9 (9..9) | 90 (90..90), failed 2 of 3 |",
		"| a | 200 (100..300) |",
		"| b | – |",
		"| c | 900 (900..900), failed 1 of 3 |",
		"- left out: d: no header",
	} {
		assert.Contains(t, b.String(), line+"\n")
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"-sizes 0":       "-sizes 0",
		"-readers 1,x":   "-readers 1,x",
		"-rounds 0":      "-rounds 0: at least 1",
		"-mode fast":     "-mode \"fast\"",
		"-rounds 1 more": "no arguments",
	} {
		_, _, err := parse(strings.Fields(flags))
		assert.ErrorContains(t, err, want)
	}
}

func TestThroughputIsNeverMoreThanWasWritten(t *testing.T) {
	s := &dds{c: config{mode: "throughput"}}
	f := s.figures(cell{1, 2}, []result.Result{
		{Role: "pub", Rate: 10, Count: 100},
		{Role: "sub", Rate: 1000, Count: 100}, // in a burst
		{Role: "sub", Rate: 20, Count: 50, Lost: 50},
	})
	assert.Equal(t, 10.0, f[0].value)
	assert.Equal(t, 25.0, f[1].value, "percent lost, over all readers")
}

func TestLatencyIsThatOfTheSlowestReader(t *testing.T) {
	s := &dds{c: config{mode: "latency"}}
	f := s.figures(cell{1, 2}, []result.Result{{Role: "pub"}, {Role: "sub", P50: 5, P99: 70}, {Role: "sub", P50: 6, P99: 60}})
	assert.Equal(t, 6.0, f[0].value)
	assert.Equal(t, 70.0, f[1].value)
}
