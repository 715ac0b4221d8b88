package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One stores the same number in three cells, and another loads them in the other order: none is ahead of one before it,
// and what was stored before is there.
func TestCellsAreStoredInTurn(t *testing.T) {
	const rounds = 200_000
	r := NewHeapRegion(Shape{Cells: 24})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := uint64(1); v <= rounds; v++ {
			r.Cell(20).Store(v)
			r.StoreInTurn(8, v, v, v)
		}
	}()
	for third := uint64(0); third < rounds; {
		third = r.Cell(10).Load()
		second := r.Cell(9).Load()
		first := r.Cell(8).Load()
		before := r.Cell(20).Load()
		require.True(t, third <= second && second <= first && first <= before, "%d %d %d %d", third, second, first, before)
	}
	<-done
	require.Zero(t, r.Cell(7).Load())
	require.Zero(t, r.Cell(11).Load())
	require.Panics(t, func() { r.StoreInTurn(22, 1, 2, 3) })
}
