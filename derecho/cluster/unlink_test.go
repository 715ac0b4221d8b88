package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Runs in which links end, and nothing else, that did not come to rest once. 67: no majority of a view reads each other any
// more; it is bereft. 4,655: one leaves when it is done with an epoch, and the other does not hear that it is. 5,494: a
// node announces more endpoints at once than fit its ring. 320: see TestTwoOldestDoNotHearEachOther.
func TestUnlinks(t *testing.T) {
	for seed, lost := range map[uint64]bool{67: true, 320: false, 4655: false, 5494: false} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := Run(seed, Options{Faults: Unlink, MinNodes: 3, MaxNodes: 9})
			require.NoError(t, r.Err)
			require.NotZero(t, r.Faults[Unlink])
			require.Equal(t, lost, r.Lost)
		})
	}
}

// The link between the two oldest ends, and all others hear both. Each takes the other for failed, and is the first of those
// that are left; a process that shares memory with it shows it the other's ballots before these have come to their end. One
// of the two lets those of the other.
func TestTwoOldestDoNotHearEachOther(t *testing.T) { twoOldestApart(t) }

func twoOldestApart(t testing.TB) {
	for seed := uint64(1); seed <= 12; seed++ {
		c := newCamps(t, seed)
		c.r.w.MaxDelay, c.r.w.MaxPause = 20*time.Microsecond, 100*time.Microsecond
		for i, host := range []int{4, 5, 5, 4, 2, 4, 1, 3} {
			c.add(fmt.Sprintf("a%d", i+1), host)
			c.let(500 * time.Millisecond)
		}
		before := c.all[0].d.State().View
		c.r.unlink(c.all[0], c.all[1])
		c.let(4 * c.r.plan.Lease)
		for _, p := range c.all[2:] {
			require.Greater(t, p.d.State().View, before, "seed %d: %s", seed, c.of[p])
		}
		c.goOn(t)
	}
}
