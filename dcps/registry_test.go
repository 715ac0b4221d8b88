package dcps

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntityListOrder(t *testing.T) {
	var l entityList
	require.Empty(t, slices.Collect(l.all()))
	es := make([]entity, 10)
	for i := range es {
		l.add(&es[i])
	}
	want := make([]*entity, 0, len(es))
	for i := range es {
		if i%3 == 0 { // so that it is made smaller on the way
			want = append(want, &es[i])
		} else {
			l.remove(&es[i])
			l.remove(&es[i]) // has no effect
		}
	}
	l.add(&es[1])
	require.Equal(t, append(want, &es[1]), slices.Collect(l.all()))
	for i := range es {
		l.remove(&es[i])
	}
	require.Empty(t, slices.Collect(l.all()))
	require.Empty(t, *l.places.Load(), "nothing keeps places")
}

// What goes through the list sees those that are in it all the while, each once, whatever comes and goes beside it.
func TestEntityListBesideChanges(t *testing.T) {
	var l entityList
	stays := make([]entity, 20)
	for i := range stays {
		l.add(&stays[i])
		l.add(new(entity)) // nobody removes it
	}
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for range 200 {
				seen := map[*entity]int{}
				for e := range l.all() {
					seen[e]++
				}
				for i := range stays {
					if seen[&stays[i]] != 1 {
						t.Errorf("an entity was seen %d times", seen[&stays[i]])
						return
					}
				}
			}
		})
	}
	for range 200 {
		come := make([]entity, 100)
		for i := range come {
			l.add(&come[i])
		}
		for i := range come {
			l.remove(&come[i])
		}
	}
	looking.Wait()
}

// Ten times as many entities take little more than ten times the bytes to come and go.
func TestEntityListIsLinear(t *testing.T) {
	cost := func(n int) uint64 {
		var before, after runtime.MemStats
		es := make([]entity, n)
		var l entityList
		runtime.ReadMemStats(&before)
		for i := range es {
			l.add(&es[i])
		}
		for i := range es {
			l.remove(&es[i])
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := cost(1000), cost(10_000)
	t.Logf("%d bytes for 1,000 entities, %d for 10,000", few, many)
	require.Less(t, many, 20*few)
}
