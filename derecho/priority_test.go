package derecho

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// prioritizer is a Handler that knows priorities, and nothing else.
type prioritizer struct {
	Handler
	of map[SubgroupID]int32
}

func (p *prioritizer) Priority(sg SubgroupID) int32 { return p.of[sg] }

// marked is a fabric that notes its marks.
type marked struct {
	rdma.Fabric
	dscp []int
}

func (f *marked) Mark(dscp int) { f.dscp = append(f.dscp, dscp) }

func (v *visited) ids() (ids []SubgroupID) {
	for _, g := range v.m.order {
		ids = append(ids, g.id)
	}
	return ids
}

func TestSubgroupsAreServedByPriority(t *testing.T) {
	v := newVisited(4)
	h, f := &prioritizer{of: map[SubgroupID]int32{}}, &marked{}
	v.m.h, v.m.fabric = h, f
	set := func(sg SubgroupID, priority int32) {
		h.of[sg] = priority
		v.m.prioritize(sg)
	}
	set(3, 10)
	require.Equal(t, []SubgroupID{0, 3, 1, 2, 4}, v.ids())
	set(4, 46)
	set(1, -1)
	require.Equal(t, []SubgroupID{0, 4, 3, 2, 1}, v.ids())
	set(2, 46)
	require.Equal(t, []SubgroupID{0, 4, 2, 3, 1}, v.ids(), "of the same priority as they were")
	set(0, 100)
	require.Equal(t, SubgroupID(0), v.ids()[0], "nothing comes before the control subgroup")
	set(2, 0)
	set(4, 1000)
	require.Equal(t, []int{10, 46, 63}, f.dscp, "the highest in use, as far as there are code points, when it changes")
	set(4, 0)
	set(3, 0)
	require.Equal(t, []int{10, 46, 63, 10, 0}, f.dscp)

	// A pass looks in that order.
	var looked []SubgroupID
	for _, g := range v.m.order {
		g.epochs[0].preds.Add(sst.Recurrent, func() bool { looked = append(looked, g.id); return false }, func() {})
	}
	v.m.visit()
	require.Equal(t, v.ids(), looked)
	require.Equal(t, SubgroupID(1), looked[4])
}

// A subgroup that comes to be behind its endpoints takes its place by their priority, while a pass goes over the list.
func TestNewSubgroupTakesItsPlace(t *testing.T) {
	v := newVisited(2)
	v.m.groups, v.m.shell = map[SubgroupID]*subgroup{}, idleShell{}
	v.m.h = &prioritizer{of: map[SubgroupID]int32{7: 5}}
	v.m.prioritize(7)
	before := v.m.order
	v.m.group(7)
	require.Equal(t, []SubgroupID{0, 7, 1, 2}, v.ids())
	require.Equal(t, SubgroupID(1), before[1].id, "the list that is in use stays as it is")
}

type idleShell struct{ shell }

func (idleShell) newGroup(*subgroup) {}
