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

// survivors are the defects that may pass within the bound, with a conjecture of what it would need.
var survivors = map[string]string{
	"accept-one-block":      "a death at one store of the proposer: finer steps of the sweep (4) show it",
	"discount-unread":       "needs a dead member of the host whose row was never opened, and a quorum that misses only it",
	"torn-block":            "a block is torn for nanoseconds; links apply cells in order",
	"ignore-accepted":       "needs a proposer that dies when one member has decided and the others have not seen it, while a majority is left",
	"adopt-own-only":        "needs a proposer that dies when one member has decided and the others have not seen it, while a majority is left",
	"lowest-accepted":       "needs a proposer that dies when one member has decided and the others have not seen it, while a majority is left",
	"promise-unwedged":      "the next step wedges in any case; a proposer must act between the two",
	"accept-before-promise": "needs a proposer that dies when one member has decided and the others have not seen it, while a majority is left",
	"accept-below-promise":  "A12 after 97 seeds of an earlier schedule of faults, not of this one",
	"deaf":                  "the status of a later view repeats it, or the member is removed",
	"missed-whole":          "the others decide the same by ballots",
	"trim-own":              "receivers hardly ever differ when they report: what differs is on one wire",
	"trim-unpolled":         "a report of less is as safe; it loses more of a sender that died",
	"forget-welcome":        "M7, by seed 657 of an earlier schedule",
	"greet-asked-only":      "M7, by seed 1577 of 3 to 9 nodes",
	"fence-not-on-links":    "needs a capture that waits while its node stands still",
	"fence-lowered-early":   "needs a row that opens late on the same host, during a decision",
	"no-holding":            "the time between decision and next view is one step here",
	"control-unacked":       "what is in memory of the host is read at the wedge, too",
	"transfer-late":         "needs a source that itself waits for the state",
	"load-any-epoch":        "needs two transfers of one channel to one node under way",
}

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
