package cluster

import (
	"flag"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	sweep = flag.String("sim.sweep", "", "nodes of the sweep: 3, 4, 5 or all, with every k and with pairs; default a thinned one of 3")
	// One scenario of a sweep.
	scenario = flag.String("sim.scenario", "", "what TestScenario runs, as a sweep prints it")
)

// A node crashes, leaves or joins, and at each push or store of any node until the view has changed that
// node crashes too.
func TestSweep(t *testing.T) {
	sweeps := []Sweep{{Nodes: 3, Step: 8}, {Nodes: 3, Step: 40, Pairs: 40}}
	switch *sweep {
	case "":
	case "all":
		sweeps = []Sweep{{3, 1, 7}, {4, 1, 17}, {5, 1, 29}}
	default:
		n, err := strconv.Atoi(*sweep)
		if err != nil || n < 2 || n > 16 {
			t.Fatalf("-sim.sweep %s: say 3, 4, 5 or all", *sweep)
		}
		sweeps = []Sweep{{n, 1, 7}}
	}
	var runs, lost atomic.Int64
	for _, s := range sweeps {
		lines := make(chan Line)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for l := range lines {
					l.Run(func(s Scenario, r *Result) bool {
						runs.Add(1)
						if r.Lost {
							lost.Add(1)
						}
						if r.Err != nil {
							t.Errorf("%v: %v\nreplay: go test ./derecho/cluster -run TestScenario -sim.scenario %q -v", s, r.Err, s.String())
						}
						return r.Err == nil && !t.Failed()
					})
				}
			})
		}
		for _, l := range s.Lines() {
			lines <- l
		}
		close(lines)
		wg.Wait()
	}
	t.Logf("%d scenarios, in %d of them too many died", runs.Load(), lost.Load())
	require.Greater(t, runs.Load(), 2*lost.Load(), "in most scenarios somebody is left to go on")
}

func TestScenario(t *testing.T) {
	text := *scenario
	if text == "" {
		text = "1,1,2 crash 0"
	}
	s, err := ParseScenario(text)
	require.NoError(t, err)
	require.Equal(t, text, s.String())
	r := s.Run()
	if *scenario != "" {
		t.Log(r.Trace())
	}
	require.NoError(t, r.Err)
	t.Log("pushes", r.Pushes)
	for _, bad := range []string{"", "1,1,2", "1,x crash 0", "1,1 crash 2", "1,1 fly 0", "1,1 crash 0 1", "1,1 crash 0 1@0", "1,1 crash 0 4@1", "1,1 joins 0 4@1"} {
		_, err := ParseScenario(bad)
		require.Error(t, err, bad)
	}
}
