package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/bench/peers"
)

// scripted is a suite whose runs are written down.
type scripted struct {
	order []string
	rates map[string][]float64 // by implementation; 0: fails
}

func (*scripted) impls() []impl {
	return []impl{{name: "a"}, {name: "b", supports: func(c cell) bool { return c.size == 1 }}, {name: "c"}}
}
func (*scripted) cells() []cell { return []cell{sized(1, 1), sized(1, 2), sized(2, 1)} }
func (*scripted) title() string { return "Scripted" }

func (*scripted) goals() []goal {
	return []goal{{what: "c by a", row: "c", column: "samples/s", over: []string{"a"}, overCol: "samples/s", least: 4.5, print: times}}
}

func (s *scripted) run(_ context.Context, i impl, c cell) ([]result.Result, error) {
	s.order = append(s.order, i.name+" "+c.String())
	rate := s.rates[i.name][0]
	s.rates[i.name] = s.rates[i.name][1:]
	if rate == 0 {
		return nil, errors.New("as written down")
	}
	return []result.Result{{Role: "sub", Impl: i.name, Rate: rate}}, nil
}

func (*scripted) figures(_ impl, _ cell, r []result.Result) []figure {
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
		"| c by a | 1 bytes, 1→1 | 4.5 times (3 times..9 times) | ≥ 4.5 times | met |",
		"| c by a | 1 bytes, 1→2 | 4.5 times (4.5 times..4.5 times), 1 of 3 rounds | ≥ 4.5 times | met, where no run failed |",
		"| c by a | 2 bytes, 1→1 | 3 times (3 times..9 times), 2 of 3 rounds | ≥ 4.5 times | not met |",
	} {
		assert.Contains(t, b.String(), line+"\n")
	}
}

// goals are met or not by the median of the quotients of rounds, not by the quotient of medians.
func TestGoals(t *testing.T) {
	at := sized(1, 1)
	all := newCollected(5)
	for round, v := range []float64{1, 2, 4} {
		all.add(round, impl{name: "a"}, at, []figure{{"x", v, times}})
	}
	for round, v := range []float64{10, 4, 100} {
		all.add(round+1, impl{name: "b"}, at, []figure{{"x", v, times}})
	}
	by := goal{row: "b", column: "x", over: []string{"a"}, overCol: "x", least: 1, print: times}
	assert.Equal(t, []float64{5, 1}, quotients(all, by, at), "rounds 1 and 2 have both")
	by.row, by.over = "a", nil
	assert.Equal(t, []float64{1, 2, 4}, quotients(all, by, at))
	by.over, by.overCol = []string{"b"}, "none"
	assert.Empty(t, quotients(all, by, at))

	all.add(2, impl{name: "c"}, at, []figure{{"x", 8, times}})
	two := goal{row: "a", column: "x", over: []string{"b", "c"}, overCol: "x", least: 1, print: times}
	assert.Equal(t, []float64{0.2, 0.5}, quotients(all, two, at), "by the greatest of the round: b in the first, c in the second")
	two.least, two.most = 0, 1
	assert.Equal(t, []float64{0.2, 1}, quotients(all, two, at), "by the least")

	is := func(v, least, most float64) bool {
		return verdict{goal: goal{least: least, most: most}, spread: result.SpreadOf([]float64{v}), rounds: 1}.met()
	}
	assert.True(t, is(2, 2, 0))
	assert.False(t, is(1.9, 2, 0))
	assert.True(t, is(2, 0, 2))
	assert.False(t, is(2.1, 0, 2))
	assert.False(t, verdict{goal: goal{most: 1}}.met(), "not measured")
}

// What is wanted of ours differs by what the peer promises and by the size.
func TestGoalsOfDDS(t *testing.T) {
	s := &dds{c: config{mode: "throughput", sizes: []int{128, 10 << 10, 1 << 20}, readers: []int{1, 8}}, variants: map[string]peers.Variant{"plain": {}, "loans": {MayLose: true}}}
	for _, name := range []string{ours, "plain", "loans", memcpy} {
		s.list = append(s.list, impl{name: name})
	}
	all := newCollected(1)
	for _, at := range s.cells() {
		for _, row := range []string{"plain", "loans"} {
			all.add(0, impl{name: row}, at, []figure{{"samples/s", 1, times}})
		}
		all.add(0, impl{name: ours}, at, []figure{{"samples/s", 7, times}, {deliveredBytes, 9, gigabytes}})
		all.add(0, impl{name: memcpy}, at, []figure{{deliveredBytes, 8, gigabytes}})
	}
	said := map[string]bool{}
	for _, v := range judge(s, all) {
		said[fmt.Sprintf("%s, %s, %s: %v", v.what, v.cell, v.wanted(), v.met())] = true
	}
	for _, want := range []string{
		"dds-go by plain, 128 bytes, 1→1, ≥ 10 times: false", "dds-go by loans, 10240 bytes, 1→8, ≥ 5 times: true",
		"dds-go by plain, 1048576 bytes, 1→8, ≥ 3 times: true", "dds-go by loans, 1048576 bytes, 1→1, ≥ 3 times: true",
		"bytes that all readers together get, by memcpy of one core, 10240 bytes, 1→8, ≥ 1 times: true",
	} {
		assert.Contains(t, said, want)
	}
	assert.Len(t, said, 2*6+1)

	s.c.mode = "latency"
	for _, g := range s.goals() {
		assert.Equal(t, []string{"loans", "plain"}, g.over)
		assert.NotZero(t, g.most)
	}
}

func TestNoRoundThatWouldNotEndInTime(t *testing.T) {
	s := &scripted{rates: map[string][]float64{"a": {1, 1, 1}, "b": {1, 1}, "c": {1, 1, 1}}}
	all, err := rounds(t.Context(), config{suite: "dds", rounds: 3, duration: time.Second, within: time.Nanosecond}, s, &log{})
	require.NoError(t, err)
	assert.Equal(t, 1, all.rounds)
	var b strings.Builder
	require.NoError(t, printReport(&b, config{suite: "dds", rounds: 3}, s, nil, all))
	assert.Contains(t, b.String(), "Medians of 1 rounds")
}

func TestFiguresOfWhatIsLogged(t *testing.T) {
	at := cell{size: 1000}
	s := &logged{batch: map[cell]int{at: 50_000}}
	f := s.figures(impl{name: loggedAlone}, at, []result.Result{{Role: "pub", Mbps: 80}})
	assert.Equal(t, []float64{10, 50}, []float64{f[0].value, f[1].value})
	f = s.figures(impl{name: loggedReader}, at, []result.Result{{Role: "pub", Rate: 4000}, {Role: "sub", Rate: 3000}})
	assert.Equal(t, 3.0, f[0].value)
	plain := []result.Result{{Size: 50_000, Mbps: 8}, {Size: 50_000, Mbps: 16}}
	assert.Equal(t, 1.0, s.figures(impl{name: plainFile}, at, plain)[0].value)
	assert.Equal(t, 2.0, s.figures(impl{name: plainDirect}, at, plain)[0].value)
	assert.Equal(t, "12.3 MB/s", byteRate(12.34))
	assert.Equal(t, "1.23 GB/s", byteRate(1234))
	assert.Equal(t, "the limits of this machine", (&baseline{}).cells()[0].String())
	_, err := s.run(t.Context(), impl{name: plainFile}, cell{size: 2})
	assert.ErrorContains(t, err, "no run of logged")
}

func TestEverySuiteCanBeAskedFor(t *testing.T) {
	for name, k := range suites {
		c, isolated, err := parse([]string{"-suite", name})
		require.NoError(t, err, name)
		assert.True(t, isolated)
		assert.NotEmpty(t, c.sizes)
		line := commandLine(c)
		again, _, err := parse(strings.Fields(line)[3:])
		require.NoError(t, err, line)
		assert.Equal(t, c, again, "the command that is printed is another one")
		assert.NotEmpty(t, k.what)
	}
}

func TestProcessorsOfDifferentCores(t *testing.T) {
	pairs := func(n int) string { return fmt.Sprintf("%d-%d", n&^1, n|1) }
	a, b, how := pick([]int{0, 1, 2, 3}, pairs)
	assert.Equal(t, []int{0, 2}, []int{a, b})
	assert.NotContains(t, how, "share")
	a, b, how = pick([]int{2, 3}, pairs)
	assert.Equal(t, []int{2, 3}, []int{a, b})
	assert.Contains(t, how, "share a core")
	a, b, how = pick([]int{7}, pairs)
	assert.Equal(t, []int{-1, -1}, []int{a, b})
	assert.Contains(t, how, "not pinned")
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"-sizes 0":       "-sizes 0",
		"-readers 1,x":   "-readers 1,x",
		"-rounds 0":      "-rounds 0: at least 1",
		"-mode fast":     "-mode \"fast\"",
		"-suite fast":    "-suite \"fast\": not one of baseline, dds",
		"-topics 0":      "-topics 0",
		"-processes x":   "-processes x",
		"-within -1s":    "-within -1s",
		"-beside -1":     "-beside -1: 0 to 256",
		"-rounds 1 more": "no arguments",
	} {
		_, _, err := parse(strings.Fields(flags))
		assert.ErrorContains(t, err, want)
	}
}

// What computes beside the runs does so until it is told to end, and is gone then.
func TestComputes(t *testing.T) {
	spent := func() (of time.Duration) {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)) // of those that have ended
		return time.Duration(u.Utime.Nano())
	}
	before := spent()
	end, err := compute(t.Context(), 2)
	require.NoError(t, err)
	<-time.After(100 * time.Millisecond)
	end()
	require.Positive(t, spent()-before)
	_, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "none is left")
}

func TestThroughputIsNeverMoreThanWasWritten(t *testing.T) {
	s := &dds{c: config{mode: "throughput"}}
	f := s.figures(impl{}, sized(1, 2), []result.Result{
		{Role: "pub", Rate: 10, Count: 100},
		{Role: "sub", Rate: 1000, Count: 100}, // in a burst
		{Role: "sub", Rate: 20, Count: 50, Lost: 50},
	})
	assert.Equal(t, 10.0, f[0].value)
	assert.Equal(t, 25.0, f[1].value, "percent lost, over all readers")
	f = s.figures(impl{}, sized(3, 2), []result.Result{{Role: "pub", Rate: 10}, {Role: "sub", Rate: 1000}, {Role: "sub", Rate: 5}})
	assert.Equal(t, 45.0, f[2].value, "bytes of all readers together")
	for name, want := range map[string]float64{memcpyCached: 50, memcpy: 40} {
		f = s.figures(impl{name: name}, sized(10, 1), []result.Result{{Rate: 5}, {Rate: 4}})
		assert.Equal(t, want, f[0].value)
	}
}

func TestLatencyIsThatOfTheSlowestReader(t *testing.T) {
	s := &dds{c: config{mode: "latency"}}
	f := s.figures(impl{}, sized(1, 2), []result.Result{{Role: "pub"}, {Role: "sub", P50: 5, P99: 70}, {Role: "sub", P50: 6, P99: 60}})
	assert.Equal(t, 6.0, f[0].value)
	assert.Equal(t, 70.0, f[1].value)
}
