package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Runs in which links end, and nothing else, that did not come to rest once. 67: no majority of a view reads each other any
// more; it is bereft. 4,655: one leaves when it is done with an epoch, and the other does not hear that it is. 5,494: a
// node announces more endpoints at once than fit its ring.
func TestUnlinks(t *testing.T) {
	for seed, lost := range map[uint64]bool{67: true, 4655: false, 5494: false} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := Run(seed, Options{Faults: Unlink, MinNodes: 3, MaxNodes: 9})
			require.NoError(t, r.Err)
			require.NotZero(t, r.Faults[Unlink])
			require.Equal(t, lost, r.Lost)
		})
	}
}
