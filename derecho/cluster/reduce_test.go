package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole is a trace with all that the nodes told, but, if survivors is set, for what a node told last in the step in
// which it died.
func whole(r *Result, survivors bool) string {
	var b strings.Builder
	for i, e := range r.Events {
		if survivors && e.Kind == Told {
			end := slices.IndexFunc(r.Events[i:], func(e Event) bool { return e.Kind != Told })
			if end > 0 && r.Events[i+end].Kind == Crashed && r.Events[i+end].Node == e.Node {
				continue
			}
		}
		fmt.Fprintln(&b, e, e.Text) // which the line shortens
	}
	return b.String()
}

// What a sweep of pairs leaves out is what it runs anyhow: all pairs of deaths at some pushes, in any order, have the
// traces of those that it runs, or of a single death.
func TestNothingIsMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of runs, each on one goroutine")
	}
	const first = 20 // push
	var count Count
	for _, sc := range []Scenario{
		{Hosts: []uint64{1, 1}, Begin: "join"}, {Hosts: []uint64{1, 2}, Begin: "join", Who: 1}, {Hosts: []uint64{1, 1, 2}, Begin: "crash", Who: 1},
		{Hosts: []uint64{1, 2, 2}, Begin: "leave"},
		{Hosts: []uint64{1, 2}, Stored: "restart", Begin: "returns"}, {Hosts: []uint64{1, 1, 2}, Stored: "rejoin", Begin: "return", Who: 2},
	} {
		last := 33
		if sc.Stored != "" {
			last = 24
		}
		ran := map[string]bool{}
		a, b := sc.nodes()-1, 0 // who joins, or comes back, is one of them
		if sc.Begin == "returns" {
			b = a - 1
		}
		for _, victim := range []int{a, b} {
			l := Line{sc, victim, -1, Sweep{Nodes: len(sc.Hosts), Step: 1, Pairs: 1}}
			base := sc.run(true)
			for k := 1; k <= min(last, len(base.news[victim])); k++ {
				s := sc
				s.Kills = []Kill{{victim, k}}
				r := s.run(true)
				require.NoError(t, r.Err, s)
				ran[whole(r, true)] = true
				if base.news[victim][k-1] != fresh {
					continue
				}
				as := l.pairs(s, r, k)
				count = count.Plus(as.Count)
				for _, both := range as.run {
					if d := both.Kills[1]; d.K <= last && (d.Node == a || d.Node == b) {
						count.Ran++
						ran[whole(both.Run(), true)] = true
					}
				}
			}
		}
		for k := first; k <= last; k++ {
			for j := first; j <= last; j++ {
				s := sc
				s.Kills = []Kill{{a, k}, {b, j}}
				r := s.Run()
				require.NoError(t, r.Err, s)
				require.True(t, ran[whole(r, true)], "%v has a trace of its own", s)
			}
		}
	}
	t.Logf("%+v", count)
	require.Positive(t, count.Mirrored)
	require.Positive(t, count.Same)
	require.Positive(t, count.Unseen)
}

// Deaths between which nothing has happened have one trace, to the last byte.
func TestSameInstant(t *testing.T) {
	same := 0
	for _, text := range []string{
		"1,1,2 crash 0", "1,2,3 leave 2", "1,1,1 joins 0", "1,1,2 rejoin join 0", "1,1,2 restart returns 0",
	} {
		sc, err := ParseScenario(text)
		require.NoError(t, err)
		r := sc.run(true)
		for node, list := range r.news {
			for i, what := range list {
				if what != nothing || same%7 > 0 && i%5 > 0 {
					continue
				}
				a, b := sc, sc
				a.Kills, b.Kills = []Kill{{node, i}}, []Kill{{node, i + 1}}
				require.Equal(t, whole(a.Run(), false), whole(b.Run(), false), "%v and %v", a, b)
				same++
			}
		}
	}
	require.Greater(t, same, 20)
}
