package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Both lanes carry what they are given, in every shape. The receivers check numbers and last bytes.
func TestLanes(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, s := range []shape{{size: 128}, {size: 1024, instances: 10, filter: true}, {size: 10240, instances: 100}, {size: 1024, polls: true}, {size: 1024, instances: 7, writes: true}} {
		t.Run(s.String(), func(t *testing.T) {
			core, err := newCoreLane(ctx, rand.Uint32(), s)
			require.NoError(t, err)
			dds, err := newDDSLane(ctx, rand.Uint32(), s)
			require.NoError(t, err)
			for range 2 {
				for _, l := range []lane{core, dds} {
					r, err := measure(ctx, l, 500)
					require.NoError(t, err)
					require.Positive(t, r.rate)
				}
			}
			require.NoError(t, core.close())
			require.NoError(t, dds.close())
		})
	}
}

// What is measured in bursts goes through the same checks.
func TestBursts(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, s := range []shape{{size: 128}, {size: 10240, instances: 3}, {size: 1024, writes: true}} {
		require.NoError(t, compareBursts(ctx, s, 3))
	}
	require.Equal(t, 2.0, bursts{9, 3, 8, 2, 7, 6, 5, 4, 10, 11, 1}.least())
}

func TestNumbers(t *testing.T) {
	got, err := numbers("0, 1,100")
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 100}, got)
	_, err = numbers("0,many")
	require.ErrorContains(t, err, "many")
	require.Equal(t, "1024 B, 10 instances, filter", shape{size: 1024, instances: 10, filter: true}.String())
	require.Equal(t, "128 B, no key, written", shape{size: 128, writes: true}.String())
	require.Equal(t, "128 B, no key, takes without waiting", shape{size: 128, polls: true}.String())
}
