package rdma

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

const (
	// TailCell is the cell that counts the bytes ever published in the ring.
	TailCell = 0
	// CellAlign is the alignment of the ring behind the cells: a page, so that the two never
	// share a cache line and the ring may be mapped on its own.
	CellAlign = 4096
	// MaxCells and MaxRing bound what a peer may ask to be mapped.
	MaxCells = 1 << 16
	MaxRing  = 1 << 30
)

// Key names a region of one node: the row of an epoch of a subgroup.
type Key struct {
	Subgroup uint32
	Epoch    uint32
}

// Fenced reports whether what peers see of the region has to pass the owner's fence. Subgroup 0, by which
// the members agree on failures, does not: its members acknowledge also where they share memory.
func (k Key) Fenced() bool { return k.Subgroup != 0 }

func (k Key) String() string { return fmt.Sprintf("subgroup %d epoch %d", k.Subgroup, k.Epoch) }

// Append appends what a link sends of the key, 8 bytes.
func (k Key) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, k.Subgroup)
	return binary.LittleEndian.AppendUint32(b, k.Epoch)
}

// ParseKey is the key at the beginning of b, which has the 8 bytes of it.
func ParseKey(b []byte) Key {
	return Key{Subgroup: binary.LittleEndian.Uint32(b), Epoch: binary.LittleEndian.Uint32(b[4:])}
}

// Shape is the size of a region. Owner and peer compute it from the same description, and a
// provider refuses to open a region whose shape differs.
type Shape struct {
	Cells int // number of 8-byte cells, at least 1
	Ring  int // bytes of ring, 0 or a power of two of at least CellAlign
}

// Check reports whether the shape is one that can be registered.
func (s Shape) Check() error {
	if s.Cells < 1 || s.Cells > MaxCells {
		return fmt.Errorf("rdma: %d cells, want 1 to %d", s.Cells, MaxCells)
	}
	if s.Ring != 0 && (s.Ring < CellAlign || s.Ring > MaxRing || s.Ring&(s.Ring-1) != 0) {
		return fmt.Errorf("rdma: ring of %d bytes, want 0 or a power of two from %d to %d", s.Ring, CellAlign, MaxRing)
	}
	return nil
}

// Append appends what a link sends of the shape, 8 bytes.
func (s Shape) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Cells))
	return binary.LittleEndian.AppendUint32(b, uint32(s.Ring))
}

// ParseShape is the shape at the beginning of b, which has the 8 bytes of it. What a peer sent has to pass Check.
func ParseShape(b []byte) Shape {
	return Shape{Cells: int(binary.LittleEndian.Uint32(b)), Ring: int(binary.LittleEndian.Uint32(b[4:]))}
}

// Serves reports whether a region of this shape can be opened as one of another: with the ring, or the cells only.
func (s Shape) Serves(asked Shape) bool {
	return asked.Cells == s.Cells && (asked.Ring == 0 || asked.Ring == s.Ring)
}

func (s Shape) ringOffset() int { return (s.Cells*8 + CellAlign - 1) &^ (CellAlign - 1) }

// Size is the number of bytes of the whole region.
func (s Shape) Size() int { return s.ringOffset() + s.Ring }

// Region is registered memory. At its owner cells and ring are written; at a peer they are only
// read (on one host the mapping itself is read-only and a store would fault).
type Region struct {
	shape Shape
	cells []atomic.Uint64
	ring  []byte
	keep  *Region // keeps the memory of ring mapped where that is another region's
}

// NewRegion lays a region over mem, which must be 8-byte aligned and of shape.Size() bytes.
func NewRegion(shape Shape, mem []byte) *Region {
	if len(mem) != shape.Size() || uintptr(unsafe.Pointer(&mem[0]))%8 != 0 {
		panic("rdma: memory does not fit the shape")
	}
	// Layout: atomic.Uint64 is 8 bytes without padding; alignment is checked above. Ownership of
	// mem stays with the provider, which keeps it mapped until the region is released.
	cells := unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), shape.Cells)
	return &Region{shape: shape, cells: cells, ring: mem[shape.ringOffset():]}
}

// NewHeapRegion is a region in ordinary memory: a peer's copy over tcp, or a test.
func NewHeapRegion(shape Shape) *Region {
	words := make([]uint64, shape.Size()/8+8)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	// Cache-line alignment, so that the pads of the row layout separate what they name.
	off := int(-uintptr(unsafe.Pointer(&mem[0])) & 63)
	return NewRegion(shape, mem[off:off+shape.Size():off+shape.Size()])
}

// Shape is the shape given at registration.
func (r *Region) Shape() Shape { return r.shape }

// Cell is cell i.
func (r *Region) Cell(i int) *atomic.Uint64 { return &r.cells[i] }

// StoreInTurn stores three cells, one after the other: who sees one of them sees those before it, and what was stored
// before the call. Unlike with Cell and Store what is loaded after the call may be older: where that matters an atomic
// store or swap has to come between. Three of those cost more than all else that a message does on its way into a ring.
func (r *Region) StoreInTurn(first int, a, b, c uint64) {
	storeInTurn((*[3]atomic.Uint64)(r.cells[first:first+3]), a, b, c)
}

// Ring is the ring; its length is a power of two or zero.
func (r *Region) Ring() []byte { return r.ring }

// WithRing is a region with the cells of r and the ring of other.
func (r *Region) WithRing(other *Region) *Region {
	return &Region{shape: Shape{Cells: r.shape.Cells, Ring: other.shape.Ring}, cells: r.cells, ring: other.ring, keep: other}
}
