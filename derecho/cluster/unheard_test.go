package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Between hosts messages may pass in one direction only. Who is not heard by some hears of their ballots, and they do not of
// its own: it has to let them decide.

// The oldest hears all and is not heard by the two next; another dies. The oldest can not have a ballot accepted, and those
// two could decide with the one that hears it. They get time for theirs as soon as it is seen.
func TestOldestIsNotHeard(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		c := unheard(t, seed, []int{1, 2, 3, 1, 5}, map[int][]int{0: {1, 2}}, 4, 1)
		c.r.w.MaxDelay = 20 * time.Microsecond
		c.decide(t, 5)
	}
}

// Those who are not heard by a quorum begin no ballots, which could not be accepted, and nobody waits for theirs. So there
// is a next view soon, though here no quorum is left whose members all hear each other.
func TestWhoIsNotHeardDoesNotBid(t *testing.T) { unheardSilent(t) }

func unheardSilent(t testing.TB) {
	for _, net := range []struct {
		deaf map[int][]int
		dies int
	}{
		{map[int][]int{0: {2, 5}, 1: {3}, 2: {0, 3, 5}}, 4},
		{map[int][]int{0: {1, 3}, 1: {0, 3, 5}}, 5},
		{map[int][]int{0: {1, 3, 4}, 1: {0, 2, 3, 5}}, 4},
	} {
		for seed := uint64(53); seed <= 62; seed++ {
			unheard(t, seed, []int{1, 2, 3, 4, 5, 6}, net.deaf, net.dies, 1).decide(t, 5)
		}
	}
}

// If there is a quorum whose members all hear each other it decides, whoever else is there.
func TestQuorumThatHearsEachOtherDecides(t *testing.T) {
	const lease = 100 * time.Millisecond
	quorums := 0
	for seed := uint64(1); seed <= 150; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 6 + rng.IntN(4)
		var hosts []int
		for i := range n {
			hosts = append(hosts, i+1)
			if i > 2 && rng.IntN(5) == 0 {
				hosts[i] = 1 + rng.IntN(i)
			}
		}
		deaf := map[int][]int{}
		for x := range 2 + rng.IntN(2) {
			for y := range n {
				if hosts[y] != hosts[x] && rng.IntN(2) == 0 {
					deaf[x] = append(deaf[x], y)
				}
			}
		}
		dies := 3 + rng.IntN(n-3)
		if 2*hearing(n, deaf, dies) > n {
			quorums++
			c := unheard(t, seed, hosts, deaf, dies, lease)
			if seed%2 == 0 {
				c.r.w.MaxDelay, c.r.w.MaxPause = 20*time.Microsecond, 100*time.Microsecond
			}
			c.decide(t, 5)
		}
	}
	require.Greater(t, quorums, 0)
}

// hearing is how many members there are at most that all hear each other, without one.
func hearing(n int, deaf map[int][]int, without int) (most int) {
	for in := range 1 << n {
		var set []int
		for i := range n {
			if in&(1<<i) != 0 && i != without {
				set = append(set, i)
			}
		}
		apart := func(i int) bool {
			return slices.ContainsFunc(set, func(k int) bool { return slices.Contains(deaf[i], k) })
		}
		if len(set) > most && !slices.ContainsFunc(set, apart) {
			most = len(set)
		}
	}
	return most
}

// unheard is a group of processes on hosts, of which some do not hear another soon, and one dies.
func unheard(t testing.TB, seed uint64, hosts []int, deaf map[int][]int, dies int, within time.Duration) *camps {
	c := newCamps(t, seed)
	for i, host := range hosts {
		c.add(fmt.Sprintf("a%d", i+1), host)
		c.settle()
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	soon := func() time.Duration { return time.Duration(rng.Int64N(int64(within))) }
	for _, p := range slices.Sorted(maps.Keys(deaf)) {
		for _, q := range deaf[p] {
			c.r.w.After(soon(), func() { c.r.w.Block(c.all[p].f, c.all[q].f, true) })
		}
	}
	c.r.w.After(soon()*2, func() { c.all[dies].crash("for good") })
	return c
}

// decide waits until one has the next view, within so many leases.
func (c *camps) decide(t testing.TB, leases int) {
	t.Helper()
	before := c.all[0].d.State().View
	next := func(p *process) bool { return !p.gone && p.d.State().View > before }
	for took := 0; !slices.ContainsFunc(c.all, next); took++ {
		require.Less(t, took, leases, "seed %d: leases without a view", c.r.plan.Seed)
		c.let(c.r.plan.Lease)
	}
}
