package cluster

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/derecho"
)

var spindleSeeds = flag.Int("sim.spindle", 20, "number of seeds for each switch of TestSimSpindle")

// Whatever is switched off of the data path, what is delivered obeys the same rules.
func TestSimSpindle(t *testing.T) {
	lists := []string{"-all"}
	for _, name := range derecho.SpindleNames() {
		lists = append(lists, "-"+name)
	}
	seeds := *spindleSeeds
	if testing.Short() {
		seeds = min(seeds, 4) // as in TestStorms
	}
	for _, list := range lists {
		t.Run(strings.TrimPrefix(list, "-"), func(t *testing.T) {
			t.Parallel()
			off, err := derecho.ParseSpindle(list)
			if err != nil {
				t.Fatal(err)
			}
			for i := range seeds {
				seed := *from + uint64(i)
				if r := Run(seed, Options{Faults: AllFaults, Spindle: off}); r.Err != nil {
					t.Log(fmt.Sprint(r.Plan))
					t.Fatalf("seed %d: %v\nreplay: go test ./derecho/cluster -run %s -sim.from %d -sim.spindle 1", seed, r.Err, t.Name(), seed)
				}
			}
		})
	}
}
