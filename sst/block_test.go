package sst

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

func controlTable(members int) *Table {
	l := Layout{Senders: members, Members: members}
	own := rdma.NewHeapRegion(rdma.Shape{Cells: l.Cells()})
	return NewTable(l, members, 0, own, func() {})
}

func TestControlColumnsDoNotOverlap(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 200} {
		l := Layout{Senders: n, Members: n}
		cols := []int{l.Delivered(), l.Persisted(), l.LogFailed(), l.Drained(), l.Opened(), l.Beat()}
		for w := range l.Words() {
			cols = append(cols, l.Accused()+w)
		}
		for w := range l.Words() {
			cols = append(cols, l.Certain()+w)
		}
		cols = append(cols, l.Wedging())
		for c := l.Propose().first; c <= l.Propose().end(); c++ {
			cols = append(cols, c)
		}
		for turn := range 2 {
			for c := l.Accept(turn).first; c <= l.Accept(turn).end(); c++ {
				cols = append(cols, c)
			}
		}
		require.Equal(t, l.Accept(0), l.Accept(2))
		cols = append(cols, l.Wedged(), l.Promised(), l.Decided())
		for i := 1; i < len(cols); i++ {
			require.Greater(t, cols[i], cols[i-1], "%d members", n)
		}
		require.Less(t, l.Decided(), l.Cells())
		require.Zero(t, l.Cells()%lineCells)
		require.Equal(t, 3*l.Words()+n, l.Propose().Len())
	}
}

func TestBlock(t *testing.T) {
	tab := controlTable(3)
	b := tab.Accept(1)
	got := make([]uint64, b.Len())
	v, ok := tab.Row(0).LoadBlock(b, got)
	require.True(t, ok)
	require.Zero(t, v, "never written")

	tab.StoreBlock(b, 7, []uint64{1, 2, 3, 4, 5, 6})
	v, ok = tab.Row(0).LoadBlock(b, got)
	require.True(t, ok)
	require.Equal(t, uint64(7), v)
	require.Equal(t, []uint64{1, 2, 3, 4, 5, 6}, got)
}

// Whatever prefix of a second StoreBlock has become visible, a reader takes it for the first, whole
// second, or neither.
func TestBlockIsNeverTorn(t *testing.T) {
	first, second := []uint64{1, 2, 3, 4, 5, 6}, []uint64{7, 8, 9, 10, 11, 12}
	for seen := 0; seen <= len(first)+2; seen++ {
		tab := controlTable(3)
		b := tab.Accept(1)
		tab.StoreBlock(b, 7, first)
		cells := append(append([]uint64{8}, second...), 8)
		for i, v := range cells[:seen] {
			tab.Store(b.first+i, v)
		}
		got := make([]uint64, b.Len())
		v, ok := tab.Row(0).LoadBlock(b, got)
		switch {
		case seen == 0:
			require.True(t, ok && v == 7)
			require.Equal(t, first, got)
		case seen == len(cells):
			require.True(t, ok && v == 8)
			require.Equal(t, second, got)
		default:
			require.False(t, ok, "%d cells", seen)
		}
	}
}
