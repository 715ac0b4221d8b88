package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == memberMark {
		if err := runMember(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRuns(t *testing.T) {
	c := config{warmup: 10 * time.Millisecond, duration: 50 * time.Millisecond}
	measured := func(w workload, off string) (f figures) {
		for c := c; f.Rate == 0 || f.P50 == 0; c.duration *= 4 { // a busy machine needs more time
			require.Less(t, c.duration, 10*time.Second, "%v: nothing comes", w)
			var err error
			f, err = once(t.Context(), c, w, off)
			require.NoError(t, err, "%v", w)
		}
		return f
	}
	for _, transport := range []string{"shm", "tcp"} {
		w := among(2, transport).size(128)
		for _, w := range []workload{w, w.subgroups(3, 2), w.threads(2), w.rate(1000), w.slow(1, forever), w.slow(1, time.Microsecond), w.upcall(time.Microsecond), w.copied(), w.kept(), w.window(5)} {
			measured(w, "")
		}
		if transport == "tcp" {
			f := measured(w, "")
			require.Positive(t, f.Writes)
			require.Positive(t, f.Reads)
		} else {
			rings := float64(w.Processes * w.Ring)
			require.GreaterOrEqual(t, measured(w, "").Mapped, rings, "the ring of each member")
		}
		for c := c; ; c.duration *= 4 { // the two counters are not read at one moment: of a few messages that would be much
			f, err := once(t.Context(), c, w, all)
			require.NoError(t, err)
			if f.Rate*c.duration.Seconds() >= 100 || c.duration > 10*time.Second {
				require.InDelta(t, 1, f.Batch, 0.1)
				break
			}
		}
		f, err := once(t.Context(), c, w.slow(1, forever), "-nulls")
		require.NoError(t, err)
		require.LessOrEqual(t, f.Rate*c.duration.Seconds(), 1.0, "only the first turn comes before that of who never sends")
	}
	_, err := once(t.Context(), c, among(2, "shm"), "-everything")
	require.ErrorContains(t, err, `there is no switch "-everything"`)
}

func TestWhatIsSwitchedOffExists(t *testing.T) {
	var measured []string
	for _, e := range matrix() {
		for _, off := range e.off {
			_, err := derecho.ParseSpindle(off)
			require.NoError(t, err)
		}
		measured = append(measured, e.off...)
	}
	for _, name := range derecho.SpindleNames() {
		require.Contains(t, measured, "-"+name, "a switch that is not measured")
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"-only nothing": "-list shows them",
		"-only (":       "-only",
		"-rounds 0":     "at least 1",
		"-duration 0s":  "-duration 0s",
		"-within -1s":   "-within -1s",
		"more":          "no arguments",
	} {
		_, err := parse(strings.Fields(flags))
		assert.ErrorContains(t, err, want, flags)
	}
}

// whole has a result for every run of the matrix.
func whole(f figures) collected {
	c := collected{}
	for _, e := range matrix() {
		for _, w := range e.loads {
			for _, off := range append([]string{""}, e.off...) {
				c[key{e.name, w, off}] = []trial{{figures: f}}
			}
		}
	}
	return c
}

func TestEveryClaimHasItsFigures(t *testing.T) {
	all := whole(figures{Rate: 8, Batch: 3, P50: 1000, P99: 2000, Writes: 1, Reads: 2, Mapped: 3e6})
	for _, c := range claims() {
		require.NotEmpty(t, c.inputs, c.says)
		for _, in := range c.inputs {
			require.NotContains(t, in.print(all), "–", "%s: %s", c.says, in.what)
		}
	}
}

func TestFiguresOfTheNewerClaims(t *testing.T) {
	all := whole(figures{Rate: 8, Batch: 3, Writes: 0.5, Reads: 0.25, Mapped: 2 * 4 * 100 * (10240 + 8)})
	w := among(4, "tcp").subgroups(50, 50)
	assert.Equal(t, "6 (6..6), 12 (12..12), 3 (3..3)", triple("subgroups, tcp", w).print(all), "a message goes to three others")
	assert.Equal(t, "8.2 (8.2..8.2), 2.00 (2.00..2.00)", memory("each switch, shm", among(4, "shm")).print(all))
	assert.Equal(t, 1<<16, among(2, "shm").window(5).Ring)
	assert.Equal(t, among(2, "shm"), among(2, "shm").window(5).window(paperWindow))
}

func TestReport(t *testing.T) {
	c, err := parse([]string{"-only", "each switch, shm"})
	require.NoError(t, err)
	w, broken := among(2, "shm"), errors.New("as written down")
	all := collected{}
	for i, rates := range [][3]float64{{100, 50, 0}, {300, 100, 0}, {200, 0, 10}} { // on, without nulls, without silence
		put := func(off string, rate float64, err error) {
			k := key{"each switch, shm", w, off}
			all[k] = append(all[k], trial{figures{Rate: rate, Batch: 5, P50: 1000, P99: 2000}, err})
		}
		put("", rates[0], nil)
		put("-nulls", rates[1], nil)
		if i < 2 {
			put("-silence", 0, broken)
		} else {
			put("-silence", rates[2], nil)
		}
	}
	var b strings.Builder
	require.NoError(t, printReport(&b, c, all))
	for _, want := range []string{
		"| 2 × shm, 10240 B | 200 (100..300) | 2.05 (1.02..3.07) | 5 (5..5) | 0 (0..0) | 0 (0..0) | 0 (0..0) | 1 µs (1 µs..1 µs) | 2 µs (2 µs..2 µs) |\n",
		"| on ÷ off | 2 × shm, 10240 B | 4 × shm, 10240 B |",
		"| `-nulls` | 3.00 (2.00..∞) | – |", "| `-silence` | 20.00 (20.00..20.00) | – |", // of the same round
		"2 runs failed and are left out",
		"2 × shm, 10240 B: on ÷ `-nulls`: 3.00 (2.00..∞)",
	} {
		assert.Contains(t, b.String(), want)
	}
}
