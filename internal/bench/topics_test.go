package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/omg-dds-go/dds/topic"
)

func TestIdleTopicsAreOnSubgroupsOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ topics, subgroups, different int }{{0, 8, 1}, {1, 8, 2}, {7, 8, 8}, {20, 8, 8}, {49, 64, 50}, {3, 1, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			names := idleTopics(DefaultTopic, c.topics, c.subgroups)
			assert.Len(t, names, c.topics)
			place := topic.Placement{Subgroups: c.subgroups}
			used, seen := map[int]bool{}, map[string]bool{}
			for _, n := range append(names, DefaultTopic) {
				used[place.Index(n+plain.name)] = true
				seen[n] = true
			}
			assert.Len(t, used, c.different)
			assert.Len(t, seen, c.topics+1, "a name came twice")
		})
	}
}

func TestNeighborSharesTheSubgroupOrNot(t *testing.T) {
	place := topic.Placement{Subgroups: 8}
	own := place.Index(DefaultTopic + plain.name)
	assert.Equal(t, own, place.Index(Neighbor(DefaultTopic, 8, true)+plain.name))
	assert.NotEqual(t, own, place.Index(Neighbor(DefaultTopic, 8, false)+plain.name))
	assert.NotEmpty(t, Neighbor(DefaultTopic, 1, false), "there is only one")
}
