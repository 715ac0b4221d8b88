package cluster

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	sweeps := []Sweep{{Nodes: 3, Step: 16, Pairs: 16, Stored: 80}}
	switch *sweep {
	case "":
		if testing.Short() {
			// With the race detector, which is to see that groups beside each other share nothing.
			sweeps = []Sweep{{Nodes: 3, Step: 160, Pairs: 4, Stored: 1920}}
		}
	case "all":
		sweeps = []Sweep{{Nodes: 3, Step: 1, Pairs: 7, Stored: 1}, {Nodes: 4, Step: 1, Pairs: 17, Stored: 1}, {Nodes: 5, Step: 1, Pairs: 29, Stored: 1}}
	default:
		n, err := strconv.Atoi(*sweep)
		if err != nil || n < 2 || n > 16 {
			t.Fatalf("-sim.sweep %s: say 3, 4, 5 or all", *sweep)
		}
		sweeps = []Sweep{{Nodes: n, Step: 1, Pairs: 7, Stored: 1}}
	}
	var runs, pairs, lost atomic.Int64
	for _, s := range sweeps {
		lines := make(chan Line)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for l := range lines {
					count := l.Run(func(s Scenario, r *Result) bool {
						runs.Add(1)
						if r.Lost {
							lost.Add(1)
						}
						if r.Err != nil {
							t.Errorf("%v: %v\nreplay: go test ./derecho/cluster -run TestScenario -sim.scenario %q -v", s, r.Err, s.String())
						}
						return r.Err == nil && !t.Failed()
					})
					pairs.Add(int64(count.Ran))
				}
			})
		}
		for _, l := range s.Lines() {
			lines <- l
		}
		close(lines)
		wg.Wait()
	}
	t.Logf("%d scenarios, %d with two deaths, in %d of them too many died", runs.Load(), pairs.Load(), lost.Load())
	require.Greater(t, pairs.Load(), int64(100))
	require.Greater(t, runs.Load(), 2*lost.Load(), "in most scenarios somebody is left to go on")
}

// A change begins in a group in which all are members, and know all endpoints, and is over when that is so again: else
// nobody would die at its last steps.
func TestChangesAreWhole(t *testing.T) {
	most := 5
	if testing.Short() {
		most = 3
	}
	for nodes := 2; nodes <= most; nodes++ {
		ran := map[string]bool{} // each is there once for each victim
		for _, l := range (Sweep{Nodes: nodes, Step: 1, Stored: 1}).Lines() {
			s := l.Scenario
			if ran[s.String()] {
				continue
			}
			ran[s.String()], ran[s.Begin] = true, true
			t.Run(s.String(), func(t *testing.T) {
				r := s.Run()
				require.NoError(t, r.Err)
				of := map[string][2]int{
					"crash": {nodes, nodes - 1}, "leave": {nodes, nodes - 1}, "join": {nodes, nodes + 1}, "joins": {nodes, nodes + 2}, "return": {nodes - 1, nodes}, "returns": {0, nodes},
				}[s.Begin]
				each := map[bool]int{true: 2, false: 3}[s.Stored != ""]
				require.Equal(t, of[0]*each, r.readers[0], "when the change begins")
				if nodes > 2 || s.Begin != "crash" && s.Begin != "return" { // of two on two hosts the one that is left goes on with nobody
					require.Equal(t, of[1]*each, r.readers[1], "when it is over")
				}
			})
		}
		for _, begin := range Changes {
			require.True(t, ran[begin], begin)
		}
	}
}

// Joins on one host are run once: whoever joins knows the host only. And a sweep of one kind of change is of no other.
func TestLinesOfJoins(t *testing.T) {
	for _, begin := range []string{"join", "joins"} {
		first, last := Scenario{Hosts: []uint64{1, 1, 1}, Begin: begin}, Scenario{Hosts: []uint64{1, 1, 1}, Begin: begin, Who: 2}
		require.Equal(t, first.Run().Trace(), last.Run().Trace())
	}
	stored := map[bool]bool{}
	for _, l := range (Sweep{Nodes: 3, Step: 1, Stored: 1, Begins: []string{"join"}}).Lines() {
		require.Equal(t, "join", l.Begin)
		stored[l.Stored != ""] = true
	}
	require.Len(t, stored, 2)
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
	for _, bad := range []string{
		"", "1,1,2", "1,x crash 0", "1,1 crash 2", "1,1 fly 0", "1,1 crash 0 1", "1,1 crash 0 1@0", "1,1 crash 0 2@1", "1,1 joins 0 4@1",
		"1,1 stored crash 0", "1,1 rejoin", "1,1 rejoin crash 2", "1,1 return 0", "1,1 restart return 0 3@1", "1,1 restart returns 0 4@1",
		"1,1,1 crash 0 1+1@3", "1,1,1 crash 0 1+@3", "1,1,1 crash 0 1+3@3", "1,1,1 leave 0 0+1@3 1+2@4",
	} {
		_, err := ParseScenario(bad)
		require.Error(t, err, bad)
	}
}

// Two die at once, at a push of the group, whoever makes it.
func TestTogether(t *testing.T) {
	for _, text := range []string{"1,1,2 join 0 1+2@40", "1,2,3,4,5 leave 1 0+4@7", "1,1,1,1 joins 2 1@30 4+5@90"} {
		s, err := ParseScenario(text)
		require.NoError(t, err)
		require.Equal(t, text, s.String())
		r := s.Run()
		require.NoError(t, r.Err)
		var at []time.Duration
		for _, e := range r.Events {
			if e.Kind == Crashed {
				at = append(at, e.At)
			}
		}
		require.Len(t, at, 2+len(s.Kills), text)
		slices.Sort(at)
		require.True(t, at[0] == at[1] || at[len(at)-2] == at[len(at)-1], "%s: %v", text, at)
	}
	singles, pairs := 0, map[string]int{}
	for _, l := range (Sweep{Nodes: 2, Step: 50, Together: true}).Lines() {
		if l.Begin == "join" && l.Who == 0 {
			l.Run(func(s Scenario, r *Result) bool {
				require.NoError(t, r.Err, s)
				if s.Together != nil {
					pairs[fmt.Sprint(s.Together.Nodes)]++
				} else {
					singles++
				}
				return true
			})
		}
	}
	require.Greater(t, singles, 20)
	require.Len(t, pairs, 3)
	for pair, n := range pairs {
		require.Greater(t, n, 6, "at steps of any of the three: %s", pair)
	}
}

// The parts of a sweep are the sweep, and none runs what another does, but for the change alone; their counts add up.
func TestParts(t *testing.T) {
	for name, of := range map[string]struct {
		sweep Sweep
		line  string // the first that begins so
		pairs bool
	}{
		"pairs": {Sweep{Nodes: 2, Step: 1, Pairs: 5}, "1,1 leave 0", true},
		// The oldest of two on a host crashes, and the other does: nobody is left for pairs.
		"singles":  {Sweep{Nodes: 2, Step: 3}, "1,1 crash 0", false},
		"together": {Sweep{Nodes: 2, Step: 5, Together: true}, "1,1 join 0", false},
		"stored":   {Sweep{Nodes: 2, Step: 1, Pairs: 7, Stored: 4, Begins: []string{"return"}}, "1,1 restart return 1", true},
	} {
		t.Run(name, func(t *testing.T) {
			ran := func(s Sweep) (list []string, c Count) {
				lines := slices.DeleteFunc(s.Lines(), func(l Line) bool { return l.Scenario.String() != of.line })
				require.NotEmpty(t, lines)
				for _, l := range lines[:min(2, len(lines))] {
					part := l.Run(func(s Scenario, r *Result) bool {
						if len(s.Kills) > 0 || s.Together != nil {
							list = append(list, s.String())
						}
						return true
					})
					part.Singles = 0 // and the change alone
					c = c.Plus(part)
				}
				require.Equal(t, c.Full, c.Mirrored+c.Same+c.Unseen+c.Ran+c.Thinned())
				return list, c
			}
			all, whole := ran(of.sweep)
			require.Greater(t, len(all), 9)
			require.Equal(t, of.pairs, whole.Ran > 0)
			var parts []string
			var count Count
			for i := range 3 {
				s := of.sweep
				s.Part, s.Parts = i, 3
				list, c := ran(s)
				require.Less(t, len(list), len(all))
				parts, count = append(parts, list...), count.Plus(c)
			}
			require.ElementsMatch(t, all, parts)
			require.Equal(t, whole, count)
		})
	}
}
