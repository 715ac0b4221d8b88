package sst

import (
	"math"
	"sync/atomic"

	"github.com/omg-dds-go/dds/rdma"
)

// Row is one member's row as this node sees it. A row that is not open yet reads as zeros.
type Row struct {
	region atomic.Pointer[rdma.Region] // nil until opened; set once, replaced by Freeze
}

// zeros stands for the cells of rows that are not open yet.
var zeros atomic.Uint64

// Set makes the row readable.
func (r *Row) Set(region *rdma.Region) { r.region.Store(region) }

// Open reports whether the row is readable.
func (r *Row) Open() bool { return r.region.Load() != nil }

// Region is the memory of the row, nil until it is open.
func (r *Row) Region() *rdma.Region { return r.region.Load() }

// Load reads a cell.
func (r *Row) Load(col int) uint64 {
	if g := r.region.Load(); g != nil {
		return g.Cell(col).Load()
	}
	return zeros.Load()
}

// Table holds the rows of one epoch.
type Table struct {
	Layout
	rows []Row
	me   int
	push func()
	// Stored, if set, is called after every Store: a simulator ends a node there.
	Stored func()
}

// NewTable makes a table of n rows of which this node owns row me, already open. push brings the
// other members' copies of that row up to date.
func NewTable(l Layout, n, me int, own *rdma.Region, push func()) *Table {
	t := &Table{Layout: l, rows: make([]Row, n), me: me, push: push}
	t.rows[me].Set(own)
	return t
}

// Row is the row of member i.
func (t *Table) Row(i int) *Row { return &t.rows[i] }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Store writes a cell of this node's own row. Nobody else sees it for sure before Push.
func (t *Table) Store(col int, v uint64) {
	t.rows[t.me].region.Load().Cell(col).Store(v)
	if t.Stored != nil {
		t.Stored()
	}
}

// Push makes this node's row visible to the other members.
func (t *Table) Push() { t.push() }

// Min is the least value of a column over the rows that are listed; the largest uint64 over none.
func (t *Table) Min(col int, rows []int) uint64 {
	low := uint64(math.MaxUint64)
	for _, i := range rows {
		low = min(low, t.rows[i].Load(col))
	}
	return low
}

// Snapshot copies a column of all rows, each cell read once: decisions that compare cells of several
// rows take one snapshot and look at nothing else.
func (t *Table) Snapshot(col int) []uint64 {
	s := make([]uint64, len(t.rows))
	for i := range t.rows {
		s[i] = t.rows[i].Load(col)
	}
	return s
}

// Freeze detaches row i from its owner: it keeps the cells that it has now. The ring is not copied,
// nobody reads a frozen ring above its frozen tail.
func (t *Table) Freeze(i int) {
	live := t.rows[i].region.Load()
	if live == nil {
		return
	}
	frozen := rdma.NewHeapRegion(rdma.Shape{Cells: live.Shape().Cells})
	// From the last cell to the first: a guard is copied before what it guards, so that the copy
	// never has a guard without what it promises.
	for c := live.Shape().Cells - 1; c >= 0; c-- {
		frozen.Cell(c).Store(live.Cell(c).Load())
	}
	t.rows[i].region.Store(frozen.WithRing(live))
}
