package experiment

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/bench"
)

// TestMain lets the test binary be the child, too.
func TestMain(m *testing.M) {
	if os.Getenv("DDS_BENCH_CHILD") != "" {
		if err := bench.Serve(os.Stdin, os.Stdout, func() {}); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func small() Experiment {
	e := Experiment{Options: bench.DefaultOptions(), Writers: 1, Readers: 1, Timeout: time.Minute}
	e.WarmUp, e.Duration, e.Count = time.Millisecond, 0, 100
	return e
}

// asChildren makes the processes of an experiment be children. A machine that runs many tests may not run one of them for
// longer than the usual lease.
func asChildren(t *testing.T) {
	t.Setenv("DDS_BENCH_CHILD", "1")
	t.Setenv("DDS_LEASE", "20s")
}

func TestProcessesMeasureTogether(t *testing.T) {
	asChildren(t)
	for name, change := range map[string]func(*Experiment){
		"one to one":         func(*Experiment) {},
		"two to three":       func(e *Experiment) { e.Writers, e.Readers = 2, 3 },
		"instances, copies":  func(e *Experiment) { e.Instances, e.Write, e.Read, e.Batch = 10, bench.Copy, bench.Copy, 3 },
		"on schedule":        func(e *Experiment) { e.Rate = 10000 },
		"polling":            func(e *Experiment) { e.Poll, e.Spin, e.Rate = true, true, 10000 },
		"in a listener":      func(e *Experiment) { e.Listener, e.Work = true, time.Microsecond },
		"idle topics":        func(e *Experiment) { e.Topics, e.Subgroups = 5, 16 },
		"tcp":                func(e *Experiment) { e.Transport = "tcp" },
		"stored":             func(e *Experiment) { e.Level = bench.Stored },
		"logged":             func(e *Experiment) { e.Level = bench.Logged },
		"larger than a ring": func(e *Experiment) { e.Size, e.Count = 2<<20, 10 },
		"round trips":        func(e *Experiment) { e.RoundTrip = true },
		"round trips to two": func(e *Experiment) { e.RoundTrip, e.Readers, e.Rate = true, 2, 10000 },
		"two pings":          func(e *Experiment) { e.RoundTrip, e.Writers, e.Keyed = true, 2, true },
	} {
		t.Run(name, func(t *testing.T) {
			e := small()
			change(&e)
			o, err := e.Run(context.Background(), []string{os.Args[0]})
			require.NoError(t, err)
			require.Len(t, o.Writers, e.Writers)
			require.Len(t, o.Readers, e.Readers)
			for _, w := range o.Writers {
				assert.Equal(t, e.Count, w.Count)
				assert.Zero(t, w.Lost)
				assert.Equal(t, e.Readers, w.Matched)
			}
			for _, r := range o.Readers {
				assert.Equal(t, e.Count*uint64(e.Writers), r.Count)
				assert.Zero(t, r.Lost)
				assert.Zero(t, r.Disordered)
				assert.Equal(t, e.Size, r.Size)
				assert.Equal(t, e.Writers, r.Matched)
			}
			who := o.Readers
			if e.RoundTrip {
				who = o.Writers
			}
			for _, r := range who {
				assert.NotZero(t, r.Latency.Samples)
				assert.Positive(t, r.Latency.Min)
				assert.LessOrEqual(t, r.P50, r.Max)
				assert.Equal(t, e.Rate > 0, r.Due != nil, "latency since due is that of a schedule")
			}
		})
	}
}

// On the unordered path loss is allowed, but what was written is either counted or lost.
func TestUnorderedSamplesAreCountedOrLost(t *testing.T) {
	asChildren(t)
	e := small()
	e.Level, e.Count, e.MaxSamples = bench.Unordered, 50000, 10
	o, err := e.Run(context.Background(), []string{os.Args[0]})
	require.NoError(t, err)
	assert.Equal(t, e.Count, o.Readers[0].Count+o.Readers[0].Lost)
	assert.LessOrEqual(t, o.Writers[0].Dropped, o.Readers[0].Lost)
}

func TestFailuresOfProcesses(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"fails":          {`echo no luck >&2; exit 7`, "no luck"},
		"ends":           {`exit 0`, "too soon"},
		"says else":      {`echo hello; cat >&2`, `"hello"`},
		"result is none": {`read task; echo ready; read start; echo '{'; cat >&2`, "result"},
		"is never ready": {`cat >&2`, "--timeout"},
		"never answers":  {`read task; echo ready; cat >&2`, "--timeout"},
		"does not end":   {`trap "" HUP; exec 0<&-; echo ready; echo '['; exec sleep 1000`, "result"},
		"is not there":   {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := small()
			if strings.HasPrefix(c.says, "--timeout") {
				e.Timeout = 100 * time.Millisecond
			}
			command := []string{"/bin/sh", "-c", c.script}
			if c.script == "" {
				command = []string{t.TempDir() + "/none"}
			}
			_, err := e.Run(context.Background(), command)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestExperimentsThatCanNotBe(t *testing.T) {
	for name, change := range map[string]func(*Experiment){
		"writers": func(e *Experiment) { e.Writers = 0 }, "readers": func(e *Experiment) { e.Readers = 0 },
		"at most 256": func(e *Experiment) { e.Readers = 256 }, "ring 2K": func(e *Experiment) { e.Ring = 2 << 10 }, "ring 3M": func(e *Experiment) { e.Ring = 3 << 20 },
		"duration": func(e *Experiment) { e.Duration, e.Count = 0, 0 }, "size": func(e *Experiment) { e.Size = 1 },
	} {
		e := small()
		change(&e)
		_, err := e.Run(context.Background(), []string{"/bin/false"})
		assert.ErrorContains(t, err, name)
	}
}

func TestSummaryIsThatOfTheSlowest(t *testing.T) {
	o := Outcome{
		Writers: []bench.Result{{Role: bench.Pub, Rate: 5, CPU: 50}},
		Readers: []bench.Result{
			{Role: bench.Sub, Rate: 5, Count: 90, CPU: 30, Latency: bench.Latency{P50: 1, Max: 9, Samples: 90}},
			{Role: bench.Sub, Rate: 4, Count: 90, Lost: 20, CPU: 20, Latency: bench.Latency{P50: 2, Max: 8, Samples: 90}},
		},
	}
	s := summarize(&o, false)
	assert.Equal(t, 4.0, s.Rate)
	assert.EqualValues(t, 20, s.Lost)
	assert.Equal(t, 10.0, s.LostPercent)
	assert.Equal(t, 100.0, s.CPU)
	assert.Equal(t, bench.Latency{P50: 2, Max: 9, Samples: 180}, s.Latency)
	assert.Nil(t, s.Due)
}
