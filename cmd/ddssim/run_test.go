package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func command(args ...string) (code int, stdout, stderr string) {
	var out, err strings.Builder
	code = run(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

// Ctrl-C ends no run in its middle, and keeps the figures of those before.
func TestInterrupt(t *testing.T) {
	for _, args := range [][]string{{"-seeds", "1000000", "-nodes", "3"}, {"-sweep", "3", "-pairs", "1"}} {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, stop)
		var out, errs strings.Builder
		require.Equal(t, exitInterrupted, run(ctx, args, &out, &errs))
		require.Regexp(t, `(?s)^\d+ (seeds|scenarios) in .*\ninterrupted; no violation until then\n$`, out.String())
	}
}

func TestSeeds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.html")
	code, out, errs := command("-seeds", "3", "-nodes", "3..4", "-html", file, "-workers", "2")
	require.Equal(t, exitOK, code, out+errs)
	for _, want := range []string{"3 seeds in ", "seeds/s", "steps/s", "faults: ", "bereft: ", "no violation"} {
		require.Contains(t, out, want)
	}
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, want := range []string{"<svg", "subgroup 0 epoch 1", "go run ./cmd/ddssim -from 3 -seeds 1 -nodes 3..4 -faults all", "</svg>"} {
		require.Contains(t, string(page), want)
	}
	require.NotContains(t, string(page), "<script", "nothing is loaded or run")
}

// What replays a seed is one line of words, whatever spaces a list was said with.
func TestReplayOfFaults(t *testing.T) {
	s, err := parseFlags([]string{"-faults", "crash, pause"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "go run ./cmd/ddssim -from 7 -seeds 1 -nodes 3..9 -faults crash,pause", s.replay(7, s.options))
}

func TestLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.html")
	code, out, errs := command("-seeds", "2", "-nodes", "3", "-large", "-html", file)
	require.Equal(t, exitOK, code, out+errs)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(page), "go run ./cmd/ddssim -from 2 -seeds 1 -nodes 3 -faults all -large")
}

func TestScenarioAndTrace(t *testing.T) {
	code, out, errs := command("-scenario", "1,1,2 crash 0 2@17", "-trace")
	require.Equal(t, exitOK, code, out+errs)
	require.Contains(t, out, "1 scenarios in ")
	require.Contains(t, out, "crashed")
	require.Contains(t, out, "installed sg 0")
}

// What a seed has drawn is printed before it runs, so that a run that never ends can be told.
func TestDrawnFirst(t *testing.T) {
	for _, args := range [][]string{{"-seeds", "1"}, {"-seeds", "2", "-v", "-workers", "1"}} {
		code, out, errs := command(append(args, "-nodes", "3", "-from", "5")...)
		require.Equal(t, exitOK, code, out+errs)
		require.True(t, strings.HasPrefix(out, "seed 5: 3 nodes on "), out)
	}
	_, out, _ := command("-seeds", "2", "-nodes", "3")
	require.NotContains(t, out, "3 nodes on ")
}

func TestNothingHappensWithoutFaultsAndActs(t *testing.T) {
	code, out, _ := command("-seeds", "1", "-nodes", "2", "-keep", "none", "-faults", "none")
	require.Equal(t, exitOK, code, out)
	require.Contains(t, out, "faults: none")
}

// Faults of a whole run are counted as those of a moment: by process, and by disk that was used.
func TestFaultsOfWholeRuns(t *testing.T) {
	code, out, _ := command("-seeds", "10", "-nodes", "3", "-faults", "slow-node,slow-disk,clock-skew")
	require.Equal(t, exitOK, code, out)
	require.Regexp(t, `faults: slow-node \d+, slow-disk \d+, clock-skew \d+\n`, out)
}

func TestKeepWhatIsNotScheduled(t *testing.T) {
	code, _, errs := command("-seeds", "1", "-nodes", "3", "-keep", "1,99999")
	require.Equal(t, exitUsage, code)
	require.Regexp(t, `-keep 1,99999: seed 1 schedules \d+ acts and faults, with numbers from 0`, errs)
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"-what"}, {"more"}, {"-seeds", "0"}, {"-nodes", "0..3"}, {"-nodes", "5..3"}, {"-nodes", "3..17"}, {"-nodes", "3.."}, {"-faults", "rain"},
		{"-duration", "-1s"}, {"-sweep", "1"}, {"-sweep", "3", "-scenario", "1,1 crash 0"}, {"-scenario", "x"}, {"-keep", "x"}, {"-workers", "0"},
		{"-together"}, {"-part", "0/4"}, {"-sweep", "3", "-part", "4/4"}, {"-sweep", "3", "-part", "1"}, {"-sweep", "3", "-stored", "-1"},
		{"-nodes", "5x"}, {"-nodes", "3..9x"}, {"-nodes", "3..5..7"}, {"-html", "/no/such/directory/t.html"},
		{"-scenario", "1,1,2 crash 0 2@17", "-storm", "wave"}, {"-scenario", "1,1,2 crash 0 2@17", "-seeds", "1"}, {"-sweep", "2", "-keep", "1"}, {"-sweep", "2", "-nodes", "3"}, {"-pairs", "1"}, {"-stored", "1"},
		{"-changes", "crash"}, {"-sweep", "3", "-changes", "crush"}, {"-sweep", "3", "-changes", "crash,"}, {"-sweep", "3", "-stored", "0", "-changes", "crash,return"},
	} {
		code, _, errs := command(args...)
		require.Equal(t, exitUsage, code, "%v", args)
		require.NotEmpty(t, errs, "%v", args)
	}
	code, _, errs := command("-help")
	require.Equal(t, exitOK, code)
	require.Contains(t, errs, "-sweep")
	_, _, errs = command("-faults", "rain")
	require.Contains(t, errs, "partition", "the names that there are")
	_, _, errs = command("-sweeep", "3")
	require.Equal(t, "ddssim: flag provided but not defined: -sweeep, did you mean -sweep? ddssim -help explains\n", errs)
	_, _, errs = command("-xyzzy")
	require.Equal(t, "ddssim: flag provided but not defined: -xyzzy; ddssim -help explains\n", errs)
	_, _, errs = command("-storm", "strangr")
	require.Contains(t, errs, "did you mean stranger?")
	_, _, errs = command("-sweep", "3", "-changes", "leave, crush")
	require.Contains(t, errs, "did you mean crash?")
}

// Far along: what is told on stderr at a tick, and nothing after the end.
func TestProgress(t *testing.T) {
	for want, p := range map[string]*progress{
		"ddssim: 3 of 7 seeds after ":                            {what: seeds, jobs: 7},
		"ddssim: 3 of 7 lines of the sweep, 40 scenarios after ": {what: scenarios, jobs: 7},
	} {
		p.done.Add(3)
		p.runs.Add(40)
		ticks, stop, over := make(chan time.Time), make(chan struct{}), make(chan struct{})
		var out strings.Builder
		go func() {
			defer close(over)
			p.tell(&out, ticks, stop)
		}()
		ticks <- time.Now().Add(10 * time.Second)
		ticks <- time.Now().Add(20 * time.Second)
		close(stop)
		<-over
		lines := strings.Split(out.String(), "\n")
		require.Len(t, lines, 3)
		require.Equal(t, []string{want + "10 s", want + "20 s", ""}, lines)
	}
}
