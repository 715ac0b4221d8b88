package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing is violated in a few storms of each kind, and the same seed is the same run.
func TestStorms(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 2 // with the race detector, which is to see that groups beside each other share nothing
	}
	for _, kind := range Storms {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := Options{Faults: AllFaults, Storm: kind, MinNodes: 3, MaxNodes: 7}
			var last *Result
			for seed := range seeds {
				last = Run(seed, o)
				require.NoError(t, last.Err, "go run ./cmd/ddssim -storm %s -nodes 3..7 -from %d -seeds 1", kind, seed)
			}
			require.Equal(t, last.Trace(), Run(seeds-1, o).Trace())
		})
	}
}

// The last that has the state of a channel leaves, another begins it in memory, and a third is slow to install the epoch
// before: what was durable is gone all the same, and the check knows.
func TestStormWithABareHistory(t *testing.T) {
	require.NoError(t, Run(9467, Options{Faults: AllFaults, Storm: "birth", MinNodes: 3, MaxNodes: 9}).Err)
}
