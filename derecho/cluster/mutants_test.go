//go:build mutants

package cluster

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/omg-dds-go/dds/internal/mutant"
)

var (
	huntRuns  = flag.Int("sim.mutant.hunt", 0, "look anew for what catches each defect, in so many storms, and a quarter of that of ordinary seeds")
	huntStorm = flag.String("sim.mutant.storm", "any", "kind of the storms")
	huntFor   = flag.String("sim.mutant", "", "these defects only, separated by commas")
)

// catch is a run in which a checker notices a defect: the first of its kind, so that the seed is also how many runs it took.
type catch struct {
	// kind of storm, or "seed": an ordinary run; "unlink": one with that fault only; "sweep": a scenario; "script": the
	// cases of a file of testdata; "test": one of directed.
	kind     string
	seed     uint64
	scenario string
	violates string // invariant, "panic" or "run": the node itself noticed
}

func (c catch) run() *Result {
	switch c.kind {
	case "sweep":
		s, err := ParseScenario(c.scenario)
		if err != nil {
			panic(err)
		}
		return s.Run()
	case "seed":
		return Run(c.seed, Options{Faults: AllFaults, MinNodes: 3, MaxNodes: 9})
	case "unlink":
		return Run(c.seed, Options{Faults: Unlink, MinNodes: 3, MaxNodes: 9})
	default:
		return Run(c.seed, Options{Faults: AllFaults, Storm: c.kind, MinNodes: 3, MaxNodes: 7})
	}
}

func (c catch) String() string {
	switch c.kind {
	case "script":
		return "testdata/" + c.scenario + ".txt"
	case "sweep":
		return fmt.Sprintf("-scenario %q", c.scenario)
	case "test":
		return c.scenario
	case "seed":
		return fmt.Sprintf("seed %d", c.seed)
	case "unlink":
		return fmt.Sprintf("-faults unlink, seed %d", c.seed)
	}
	return fmt.Sprintf("-storm %s, seed %d", c.kind, c.seed)
}

// Each defect is caught, by the run that is recorded for it, which violates nothing without the defect.
func TestMutants(t *testing.T) {
	for _, m := range mutant.List {
		if !wanted(m.Name) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			if *huntRuns > 0 {
				t.Log(hunt(t, m.Name))
				return
			}
			c, recorded := catches[m.Name]
			require.True(t, recorded, "no run is recorded that catches it: look for one with -sim.mutant.hunt")
			if c.kind == "script" {
				require.True(t, differs(t, c.scenario, m.Name), "%v: %s", c, m.Breaks)
				return
			}
			if c.kind == "test" {
				require.Empty(t, fails(t, c.scenario, ""), "%v, without the defect", c)
				require.NotEmpty(t, fails(t, c.scenario, m.Name), "%v: %s", c, m.Breaks)
				return
			}
			require.Empty(t, violated(c, ""), "%v, without the defect", c)
			require.Equal(t, c.violates, violated(c, m.Name), "%v: %s", c, m.Breaks)
		})
	}
}

func wanted(name string) bool {
	return *huntFor == "" || slices.Contains(strings.Split(*huntFor, ","), name)
}

// hunt looks for the first run that catches a defect.
func hunt(t *testing.T, name string) string {
	for n := uint64(1); n <= uint64(*huntRuns); n++ {
		for _, c := range []catch{{kind: *huntStorm, seed: n}, {kind: "seed", seed: n / 4}} {
			if c.kind == "seed" && n%4 != 0 {
				continue
			}
			if v := violated(c, name); v != "" {
				if clean := violated(c, ""); clean != "" {
					t.Errorf("%v violates %s without any defect", c, clean)
					continue
				}
				return fmt.Sprintf("CATCH %q: {kind: %q, seed: %d, violates: %q},", name, c.kind, c.seed, v)
			}
		}
	}
	return fmt.Sprintf("CATCH %q: none in %d", name, *huntRuns)
}

// violated is the invariant that a run violates with a defect; "" if none.
func violated(c catch, defect string) (violation string) {
	mutant.Set(defect)
	defer mutant.Set("")
	defer func() {
		if recover() != nil {
			violation = "panic"
		}
	}()
	r := c.run()
	if r.Err == nil {
		return ""
	}
	if name, _, ok := strings.Cut(r.Err.Error(), ": "); ok && len(name) <= 3 {
		return name
	}
	return "run"
}

// differs: with a defect some case of a script does not print what it is to print (TestScripts), or is not played to its
// end.
func differs(t *testing.T, file, defect string) (is bool) {
	mutant.Set(defect)
	defer mutant.Set("")
	datadriven.Run(t, "testdata/"+file+".txt", func(t *testing.T, c *datadriven.Case) string {
		if !is {
			is = plays(t, c) != c.Expected()
		}
		return c.Expected()
	})
	return is
}

// directed are tests that catch what no storm was found to.
var directed = map[string]func(testing.TB){
	"TestBehindWhoHasGoneOver": behindWhoHasGoneOver, "TestGroupMeetsFreshRemnant": meetsFreshRemnant,
	"TestTwoOldestDoNotHearEachOther": twoOldestApart, "TestWhoIsNotHeardDoesNotBid": unheardSilent,
}

// fails is what stops a test with a defect; "" if nothing does.
func fails(t *testing.T, test, defect string) (out string) {
	mutant.Set(defect)
	defer mutant.Set("")
	defer func() {
		if stops := recover(); stops != nil {
			out = fmt.Sprint(stops)
		}
	}()
	directed[test](stopping{t})
	return ""
}

func plays(t *testing.T, c *datadriven.Case) (out string) {
	defer func() {
		if stops := recover(); stops != nil {
			out = fmt.Sprint(stops)
		}
	}()
	return playCase(stopping{t}, c)
}

// stopping is a test that is stopped by what would fail it, and does not fail.
type stopping struct{ testing.TB }

func (stopping) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (stopping) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (stopping) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (stopping) FailNow()                          { panic("failed") }
