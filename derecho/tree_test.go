package derecho

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// However a tree came to be it holds what a map holds, has the shape of one that was made in order, and tells what
// differs from one before.
func TestTreeAgainstMap(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var now tree[ChannelID, bool]
	held := map[ChannelID]bool{}
	before, heldBefore := now, maps.Clone(held)
	for i := range 20000 {
		k, v := ChannelID(random.IntN(200)), random.IntN(2) == 0
		if random.IntN(2) == 0 {
			now = now.with(k, v)
			held[k] = v
		} else {
			now = now.without(k)
			delete(held, k)
		}
		got, ok := now.get(k)
		want, wanted := held[k]
		require.Equal(t, wanted, ok)
		require.Equal(t, want, got)
		require.Equal(t, wanted, now.has(k))
		require.Equal(t, len(held) == 0, now.empty())
		if i%50 > 0 {
			continue
		}
		require.Equal(t, held, maps.Collect(now.all()))
		require.Equal(t, heldBefore, maps.Collect(before.all()), "what was made before stays as it was")
		var made tree[ChannelID, bool]
		var differ []ChannelID
		for _, k := range slices.Sorted(maps.Keys(held)) {
			made = made.with(k, held[k])
			if was, had := heldBefore[k]; !had || was != held[k] {
				differ = append(differ, k)
			}
		}
		require.True(t, now.same(made))
		require.Equal(t, maps.Equal(held, heldBefore), now.same(before))
		require.Equal(t, differ, now.since(before))
		require.Equal(t, differ, made.since(before))
		for k := range now.all() {
			require.Equal(t, slices.Min(slices.Collect(maps.Keys(held))), k, "ascending, and until who goes through it has enough")
			break
		}
		before, heldBefore = now, maps.Clone(held)
	}
}
