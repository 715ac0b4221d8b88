package rdma

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestShapeCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape Shape
		ok    bool
	}{
		{"one cell", Shape{Cells: 1}, true},
		{"no cell", Shape{Ring: CellAlign}, false},
		{"negative", Shape{Cells: -1}, false},
		{"most cells", Shape{Cells: MaxCells}, true},
		{"too many cells", Shape{Cells: MaxCells + 1}, false},
		{"least ring", Shape{Cells: 1, Ring: CellAlign}, true},
		{"small ring", Shape{Cells: 1, Ring: CellAlign / 2}, false},
		{"ring of no power of two", Shape{Cells: 1, Ring: 3 * CellAlign}, false},
		{"largest ring", Shape{Cells: 1, Ring: MaxRing}, true},
		{"too large a ring", Shape{Cells: 1, Ring: 2 * MaxRing}, false},
		{"negative ring", Shape{Cells: 1, Ring: -CellAlign}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ok {
				require.NoError(t, c.shape.Check())
			} else {
				require.Error(t, c.shape.Check())
			}
		})
	}
}

func TestRegionLayout(t *testing.T) {
	shape := Shape{Cells: 3, Ring: 2 * CellAlign}
	require.Equal(t, 3*CellAlign, shape.Size(), "cells fill a page")
	require.Equal(t, 2*CellAlign, Shape{Cells: CellAlign/8 + 1}.Size(), "one cell more takes another")

	r := NewHeapRegion(shape)
	require.Len(t, r.Ring(), shape.Ring)
	require.Equal(t, shape.Ring, cap(r.Ring()), "nobody appends behind the ring")
	require.Zero(t, uintptr(unsafe.Pointer(r.Cell(0)))%64, "cells begin a cache line")
	for i := range shape.Cells {
		require.Equal(t, uintptr(8*i), uintptr(unsafe.Pointer(r.Cell(i)))-uintptr(unsafe.Pointer(r.Cell(0))))
	}
	require.Equal(t, uintptr(CellAlign), uintptr(unsafe.Pointer(&r.Ring()[0]))-uintptr(unsafe.Pointer(r.Cell(0))))
	require.Panics(t, func() { r.Cell(3) })
	require.Panics(t, func() { NewRegion(shape, make([]byte, shape.Size()-1)) }, "too little memory")
}

func TestWithRing(t *testing.T) {
	cells, ring := NewHeapRegion(Shape{Cells: 4}), NewHeapRegion(Shape{Cells: 9, Ring: CellAlign})
	ring.Ring()[7] = 42
	cells.Cell(2).Store(5)
	both := cells.WithRing(ring)
	require.Equal(t, Shape{Cells: 4, Ring: CellAlign}, both.Shape())
	require.Equal(t, byte(42), both.Ring()[7])
	require.Equal(t, uint64(5), both.Cell(2).Load())
}

// What another build sends has the same bytes.
func TestKeyAndShapeBytes(t *testing.T) {
	key, shape := Key{Subgroup: 0x01020304, Epoch: 5}, Shape{Cells: 6, Ring: CellAlign}
	b := shape.Append(key.Append([]byte{9}))
	require.Equal(t, []byte{9, 4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 0, 16, 0, 0}, b)
	require.Equal(t, key, ParseKey(b[1:]))
	require.Equal(t, shape, ParseShape(b[9:]))
}
