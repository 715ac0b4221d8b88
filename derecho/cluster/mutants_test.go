//go:build mutants

package cluster

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/internal/mutant"
)

var (
	onlyMutant = flag.String("sim.mutant", "", "run this defect only")
	mutantRuns = flag.Int("sim.mutant.seeds", 4000, "most seeds for each defect, after the sweep")
)

// survivors are the defects that the simulator does not notice, with the reason.
var survivors = map[string]string{}

// Each defect is caught: by the sweep, or within some number of seeds.
func TestMutants(t *testing.T) {
	for _, m := range mutant.List {
		if *onlyMutant != "" && m.Name != *onlyMutant {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			mutant.Set(m.Name)
			defer mutant.Set("")
			where, violation := hunt()
			why, survives := survivors[m.Name]
			switch {
			case violation == "" && !survives:
				t.Errorf("%s: not caught", m.Breaks)
			case violation == "":
				t.Logf("MUTANT %s | %s | not caught: %s | %s", m.Name, m.Breaks, why, where)
			case survives:
				t.Errorf("is caught now: %s by %s", where, violation)
			default:
				t.Logf("MUTANT %s | %s | %s | %s", m.Name, m.Breaks, violation, where)
			}
		})
	}
}

// hunt runs seeds and a sweep until something is violated, and says what and after how much.
func hunt() (where, violation string) {
	for n := range *mutantRuns {
		if n == sweepAfter {
			if where, violation = huntSweep(); violation != "" {
				return where, violation
			}
		}
		if v := attempt(func() *Result { return Run(uint64(n+1), Options{Faults: AllFaults, MinNodes: 2, MaxNodes: 7}) }); v != "" {
			return fmt.Sprintf("%d seeds", n+1), v
		}
	}
	return fmt.Sprintf("%d seeds and the sweep", *mutantRuns), ""
}

// sweepAfter is how many seeds come before the sweep.
const sweepAfter = 200

func huntSweep() (where, violation string) {
	n := 0
	for _, s := range []Sweep{{5, 2, 0}, {3, 5, 0}, {4, 11, 0}, {3, 12, 30}} {
		for _, l := range s.Lines() {
			if s.Nodes == 5 && l.Begin != "crash" {
				continue // five are for proposers that die while a quorum is left
			}
			if v := attempt(func() *Result {
				var last *Result
				l.Run(func(_ Scenario, r *Result) bool {
					n++
					last = r
					return r.Err == nil
				})
				return last
			}); v != "" {
				return fmt.Sprintf("%d seeds, %d scenarios", sweepAfter, n), v
			}
		}
	}
	return "", ""
}

// attempt is the name of the invariant that a run violates, "" if none.
func attempt(run func() *Result) (violation string) {
	defer func() {
		if x := recover(); x != nil {
			violation = "panic: " + firstWords(fmt.Sprint(x))
		}
	}()
	r := run()
	if r.Err == nil {
		return ""
	}
	name, rest, ok := strings.Cut(r.Err.Error(), ": ")
	if ok && len(name) <= 3 {
		return name + ": " + firstWords(rest)
	}
	return "run: " + firstWords(r.Err.Error())
}

func firstWords(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 90 {
		s = s[:90]
	}
	return s
}
