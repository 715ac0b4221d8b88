package derecho

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a member says of a state that it does not wait for, in a subgroup that nobody knows, changes nothing: not even
// with epoch 0, which no epoch has.
func TestStateThatNobodyWaitsFor(t *testing.T) {
	c := newCatalogue()
	r := replica{subgroup: 5, channel: 7, node: 2}
	require.NotPanics(t, func() {
		require.Empty(t, c.loaded(r, 0))
		require.Empty(t, c.lacks(r, 0))
		require.Empty(t, c.has(r, 0))
	})
	require.Empty(t, c.loading)
	require.Empty(t, c.unstored)
}
