package sequence

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Set holds what a list does, in its order, and who goes through it may change it.
func TestSetAgainstList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s Set[int]
	var list []int
	require.False(t, s.Remove(1))
	for i := range 5000 {
		e := 1 + random.IntN(50)
		if random.IntN(2) == 0 {
			if s.Add(e); !slices.Contains(list, e) {
				list = append(list, e)
			}
		} else {
			at := slices.Index(list, e)
			require.Equal(t, at >= 0, s.Remove(e))
			if at >= 0 {
				list = slices.Delete(list, at, at+1)
			}
		}
		require.Equal(t, len(list), s.Len())
		require.Equal(t, slices.Contains(list, e), s.Has(e))
		require.True(t, slices.Equal(list, slices.Collect(s.All())))
		if i%100 == 0 {
			var seen []int
			for e := range s.All() {
				seen = append(seen, e)
				for _, gone := range list[:len(list)/2] {
					s.Remove(gone)
				}
				s.Add(99)
			}
			if len(list) > 1 {
				require.Equal(t, append([]int{list[0]}, list[len(list)/2:]...), seen)
			}
			s.Remove(99)
			list = slices.Collect(s.All())
		}
	}
}
