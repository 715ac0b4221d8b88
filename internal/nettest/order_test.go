package nettest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two processes on each of two hosts, all writing and reading one topic: memory is shared on a host, frames go between
// hosts, and all four see the same samples in the same order.
func TestTwoHostsOneOrder(t *testing.T) {
	a, b := hosts(t)
	const members, beats = 4, 2000
	first, second := a.address+":7400", b.address+":7400"
	// The hosts name each other; whoever is not up yet is dialled again. One after the other, as the first founds.
	ps := []*process{start(t, a, "a1", members, beats, first, second)}
	require.Equal(t, "joined", ps[0].line(t))
	ps = append(ps,
		start(t, b, "b1", members, beats, second, first),
		start(t, a, "a2", members, beats, a.address+":0", second),
	)
	require.Equal(t, "joined", ps[1].line(t))
	require.Equal(t, "joined", ps[2].line(t))
	ps = append(ps, start(t, b, "b2", members, beats, b.address+":0"))
	require.Equal(t, "joined", ps[3].line(t))

	want := ps[0].line(t)
	require.Contains(t, want, "digest ")
	for _, p := range ps[1:] {
		require.Equal(t, want, p.line(t), "%s read in another order than %s", p.name, ps[0].name)
	}
	for _, p := range ps {
		p.leave(t)
	}
}
