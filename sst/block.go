package sst

import "github.com/omg-dds-go/dds/internal/mutant"

// Block is a run of cells that change together: a version, the values, and the version once more.
// The owner stores them in ascending order and a reader loads them in descending order. Whoever sees
// a cell sees what was stored before it in lower cells (rdma, rule 3), so if the version behind and
// the version in front, loaded last, are the same, the values between are those of that version.
type Block struct {
	first int // column of the version in front
	n     int // values
}

func (b Block) end() int { return b.first + b.n + 1 }

// Len is the number of values.
func (b Block) Len() int { return b.n }

// StoreBlock writes a block of this node's own row. A version is not used twice for different values.
func (t *Table) StoreBlock(b Block, version uint64, values []uint64) {
	t.Store(b.first, version)
	if mutant.Is("block-end-first") {
		t.Store(b.end(), version)
	}
	for i, v := range values[:b.n] {
		t.Store(b.first+1+i, v)
	}
	t.Store(b.end(), version)
}

// LoadBlock reads a block into values and returns its version: 0 if it was never written. ok is false
// while the owner is writing it; then the values mean nothing.
func (r *Row) LoadBlock(b Block, values []uint64) (version uint64, ok bool) {
	version = r.Load(b.end())
	for i := b.n - 1; i >= 0; i-- {
		values[i] = r.Load(b.first + 1 + i)
	}
	first := r.Load(b.first)
	if mutant.Is("torn-block") {
		return first, true
	}
	return version, first == version
}
