package sst

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// One cache line has one writer: the groups of columns of different writers share none, whatever
// the number of senders, and columns do not overlap.
func TestOneWriterPerLine(t *testing.T) {
	for senders := range 40 {
		l := Layout{Senders: senders}
		writer := map[int]string{} // of a line
		seen := map[int]bool{}
		column := func(who string, cols ...int) {
			for _, c := range cols {
				require.False(t, seen[c], "column %d twice, %d senders", c, senders)
				seen[c] = true
				require.Less(t, c, l.Cells())
				line := c / lineCells
				if was, ok := writer[line]; ok {
					require.Equal(t, was, who, "line %d, %d senders", line, senders)
				}
				writer[line] = who
			}
		}
		column("send path", Tail, Real, Next)
		column("waiting threads", Wants)
		column("readers", Hold)
		for s := range senders {
			column("poller", l.Received(s))
		}
		for s := range senders {
			column("poller", l.Handed(s))
			column("poller", l.Freed(s))
		}
		column("poller", l.Delivered(), l.Persisted(), l.LogFailed(), l.Drained(), l.Opened())
		require.Zero(t, l.Cells()%lineCells)
		require.NoError(t, rdma.Shape{Cells: l.Cells()}.Check())
	}
}

// A guard lies behind what it guards, because a provider publishes ascending columns.
func TestGuardsComeLast(t *testing.T) {
	l := Layout{Senders: 5}
	require.True(t, slices.IsSorted([]int{Tail, Real, Next}))
	require.Equal(t, rdma.TailCell, Tail)
	require.Less(t, l.Received(4), l.Handed(0), "received before handed over")
	require.Less(t, l.Handed(4), l.Freed(0))
	require.Less(t, l.Freed(4), l.Delivered())
	require.Less(t, l.Delivered(), l.Persisted())
	require.Equal(t, l.Cells()-lineCells+3, l.Drained(), "Drained says that all before is final")
	require.Less(t, l.Persisted(), l.Drained())
}

func TestRowBeginsALine(t *testing.T) {
	for range 20 {
		r := rdma.NewHeapRegion(rdma.Shape{Cells: Layout{Senders: 3}.Cells()})
		require.Zero(t, uintptr(unsafe.Pointer(r.Cell(0)))%64)
	}
}

func newTable(rows int) (*Table, []*rdma.Region, *int) {
	l := Layout{Senders: rows}
	pushes := new(int)
	regions := make([]*rdma.Region, rows)
	for i := range regions {
		regions[i] = rdma.NewHeapRegion(rdma.Shape{Cells: l.Cells(), Ring: rdma.CellAlign})
	}
	t := NewTable(l, rows, 0, regions[0], func() { *pushes++ })
	return t, regions, pushes
}

func TestTable(t *testing.T) {
	tab, regions, pushes := newTable(3)
	require.Equal(t, 3, tab.Len())
	tab.Store(Next, 4)
	require.Equal(t, uint64(4), regions[0].Cell(Next).Load())
	require.Zero(t, *pushes)
	tab.Push()
	require.Equal(t, 1, *pushes)

	require.True(t, tab.Row(0).Open())
	require.False(t, tab.Row(1).Open())
	require.Nil(t, tab.Row(1).Region())
	regions[1].Cell(Next).Store(9)
	require.Zero(t, tab.Row(1).Load(Next), "a row that is not open reads as zeros")
	require.Zero(t, tab.Min(Next, []int{0, 1, 2}))

	tab.Row(1).Set(regions[1])
	tab.Row(2).Set(regions[2])
	regions[2].Cell(Next).Store(7)
	require.Equal(t, uint64(4), tab.Min(Next, []int{0, 1, 2}))
	require.Equal(t, uint64(7), tab.Min(Next, []int{1, 2}))
	require.Equal(t, uint64(math.MaxUint64), tab.Min(Next, nil))

	s := tab.Snapshot(Next)
	require.Equal(t, []uint64{4, 9, 7}, s)
	regions[1].Cell(Next).Store(10)
	require.Equal(t, []uint64{4, 9, 7}, s, "a snapshot does not change")
}

func TestFreeze(t *testing.T) {
	tab, regions, _ := newTable(2)
	tab.Freeze(1) // not open: nothing to keep
	require.False(t, tab.Row(1).Open())

	tab.Row(1).Set(regions[1])
	regions[1].Cell(Tail).Store(64)
	regions[1].Cell(Next).Store(1)
	regions[1].Ring()[3] = 33
	tab.Freeze(1)
	regions[1].Cell(Next).Store(2)
	regions[1].Cell(Tail).Store(128)
	require.Equal(t, uint64(1), tab.Row(1).Load(Next))
	require.Equal(t, uint64(64), tab.Row(1).Load(Tail))
	require.Equal(t, byte(33), tab.Row(1).Region().Ring()[3], "the ring can still be read")
	tab.Freeze(1)
	require.Equal(t, uint64(1), tab.Row(1).Load(Next), "twice is once")
}

// A row is frozen while its owner stores a, then b, with a < b: the frozen row has no b without its a.
func TestFreezeTakesNoGuardWithoutWhatItGuards(t *testing.T) {
	const rounds = 300
	for range rounds {
		tab, regions, _ := newTable(2)
		tab.Row(1).Set(regions[1])
		begun, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for v := uint64(1); ; v++ {
				regions[1].Cell(Tail).Store(v)
				regions[1].Cell(Next).Store(v)
				if v == 1 {
					close(begun)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		<-begun
		tab.Freeze(1)
		close(stop)
		<-done
		require.LessOrEqual(t, tab.Row(1).Load(Next), tab.Row(1).Load(Tail))
	}
}
