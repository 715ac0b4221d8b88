package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// In the runs of which their plan says so messages are delivered that do not fit the ring that senders begin with,
// while members come, go and fail.
func TestLargeMessages(t *testing.T) {
	faults, err := ParseFaults("all")
	require.NoError(t, err)
	delivered, failed := 0, 0
	for seed := uint64(15); seed < 15+16*20; seed += 16 {
		r := Run(seed, Options{Faults: faults, MinNodes: 3, MaxNodes: 7})
		require.NoError(t, r.Err, seed)
		require.True(t, r.Plan.Large)
		for _, e := range r.Events {
			switch {
			case e.Kind == Deliver && len(e.Text) > r.Plan.Ring/2:
				delivered++
			case e.Kind == Crashed:
				failed++
			}
		}
	}
	require.Greater(t, delivered, 100)
	require.Greater(t, failed, 10)
	require.False(t, Run(16, Options{MinNodes: 2, MaxNodes: 2}).Plan.Large)
}
