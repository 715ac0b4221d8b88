package shm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPacer(t *testing.T) {
	var p *pacer
	live, done := int64(paceFloor/2), make(chan struct{}, 1)
	p = newPacer(func() {
		p.shrink(int(p.mapped.Load() - live))
		done <- struct{}{}
	})
	collected := func() bool {
		for p.collecting.Load() { // it stores the limit before this
		}
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	p.grow(paceFloor)
	require.False(t, collected(), "no more than the floor")
	p.grow(1)
	require.True(t, collected())
	require.Equal(t, int64(paceFloor), p.limit.Load(), "twice what lives, which is the floor")
	live = paceFloor
	p.grow(paceFloor)
	require.True(t, collected())
	require.Equal(t, int64(2*paceFloor), p.limit.Load())
	p.grow(paceFloor)
	require.False(t, collected())
	p.grow(1)
	require.True(t, collected())
}
