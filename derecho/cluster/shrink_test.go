package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeepComesBack(t *testing.T) {
	for text, keep := range map[string][]int{"none": {}, "3": {3}, "0-2": {0, 1, 2}, "1,3-5,9": {1, 3, 4, 5, 9}} {
		got, err := ParseKeep(text)
		require.NoError(t, err)
		require.Equal(t, keep, got)
		require.Equal(t, text, FormatKeep(got))
	}
	for _, bad := range []string{"", "x", "3-", "5-3", "-1", "1,,2"} {
		_, err := ParseKeep(bad)
		require.Error(t, err, bad)
	}
}

// What is left out of a run leaves the rest as it was planned.
func TestKeepLeavesOut(t *testing.T) {
	all := Run(7, Options{Faults: AllFaults})
	none := Run(7, Options{Faults: AllFaults, Keep: []int{}})
	require.Equal(t, all.Plan, none.Plan)
	require.Equal(t, all.Scheduled, none.Scheduled)
	require.Positive(t, all.Scheduled)
	require.Empty(t, none.Faults)
	require.NoError(t, none.Err)
}
