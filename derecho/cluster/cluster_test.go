package cluster

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	TuneGC()
	os.Exit(m.Run())
}

// A failing seed replays exactly:
//
//	go test ./derecho/cluster -run TestSim -sim.from 17 -sim.seeds 1 -v
var (
	seeds  = flag.Int("sim.seeds", 100, "number of seeds of each test")
	from   = flag.Uint64("sim.from", 1, "first seed")
	nodes  = flag.String("sim.nodes", "", "number of nodes, as MIN..MAX; default 2..5")
	faults = flag.String("sim.faults", "all", "faults that may happen: all, none, or a list")
)

func runSeeds(t *testing.T, o Options) {
	if *nodes != "" {
		if _, err := fmt.Sscanf(*nodes, "%d..%d", &o.MinNodes, &o.MaxNodes); err != nil {
			t.Fatalf("-sim.nodes %s: %v", *nodes, err)
		}
	}
	sends, deliveries, decisions := 0, 0, 0
	happened := map[Fault]int{}
	for i := range *seeds {
		seed := *from + uint64(i)
		r := Run(seed, o)
		if r.Err != nil {
			if testing.Verbose() {
				t.Log(r.Trace())
			}
			t.Fatalf("seed %d: %v\n%v\nreplay: go test ./derecho/cluster -run %s -sim.from %d -sim.seeds 1 -v", seed, r.Err, r.Plan, t.Name(), seed)
		}
		for _, e := range r.Events {
			switch e.Kind {
			case Send:
				sends++
			case Deliver:
				deliveries++
			case Decision:
				decisions++
			}
		}
		for f, n := range r.Faults {
			happened[f] += n
		}
	}
	t.Logf("%d seeds: %d messages sent, %d delivered, %d decisions, faults %v", *seeds, sends, deliveries, decisions, happened)
	if *seeds >= 20 && (deliveries == 0 || decisions == 0) {
		t.Fatal("nothing happened")
	}
}

// Joins, leaves and endpoints that come and go, and nothing fails.
func TestSimWithoutFaults(t *testing.T) { runSeeds(t, Options{}) }

// The same with all kinds of faults.
func TestSimWithFaults(t *testing.T) {
	f, err := ParseFaults(*faults)
	if err != nil {
		t.Fatal(err)
	}
	runSeeds(t, Options{Faults: f})
}

// The same seed gives the same trace, byte for byte.
func TestSimIsDeterministic(t *testing.T) {
	for seed := range uint64(10) {
		a, b := Run(seed, Options{Faults: AllFaults}), Run(seed, Options{Faults: AllFaults})
		if a.Trace() != b.Trace() {
			t.Fatalf("seed %d ran in two ways", seed)
		}
	}
}
