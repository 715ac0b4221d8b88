package derecho

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// Epochs of two groups have the same numbers, and a node that was to join the one may have joined the other. Its rows,
// and the states that it sends, are for that one.
func TestRowsOfAnotherGroup(t *testing.T) {
	const ours, theirs = 7, 8
	for _, c := range []struct {
		name  string
		told  []status // before the row, and then
		taken int      // after how many of them it is; 0: never
	}{
		{"a member", []status{{group: ours}}, 1},
		{"it is about to be let in", []status{{asks: ours}, {group: ours}}, 1},
		{"it tells late", []status{{alone: true}, {group: ours, joined: true}}, 2},
		{"it leaves", []status{{group: ours, joined: false}}, 1},
		{"it has joined another", []status{{group: theirs, joined: true}, {group: theirs, joined: true}}, 0},
		{"it asks another", []status{{asks: theirs}, {group: theirs, joined: true}}, 0},
		{"it has founded another", []status{{alone: true}, {group: theirs, joined: true}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(&Config{}, 1, newRecorder(), nil)
			m.phase, m.view = joined, view{group: ours, members: []rdma.PeerInfo{{ID: 1}, {ID: 2}}}
			d := &descriptor{Epoch: 3, Members: []memberDesc{{Node: 1}, {Node: 2}}}
			shape := rdma.Shape{Cells: 64}
			e := &epoch{desc: d, key: rdma.Key{Epoch: 3}, g: &subgroup{m: m}}
			e.table = sst.NewTable(d.layout(), 2, 0, rdma.NewHeapRegion(shape), func() {})
			m.groups[0] = e.g
			l := &plainLink{peer: rdma.PeerInfo{ID: 2}}
			m.links[2] = l
			k := openKey{2, e.key}
			for _, err := range []error{nil, errors.New("another shape")} {
				m.opens[k] = e
				e.table.Row(1).Set(nil)
				m.statuses[2], l.dropped = c.told[0], nil
				m.opened(l, e.key, rdma.NewHeapRegion(shape), err)
				for i := range c.told {
					if i > 0 {
						m.message(l, append([]byte{msgStatus, 0}, c.told[i].encode()...))
					}
					taken := c.taken != 0 && c.taken <= i+1
					require.Equal(t, taken && err == nil, e.table.Row(1).Open(), "after %d", i)
					require.Equal(t, taken && err != nil, l.dropped != nil, "after %d", i)
					require.Equal(t, taken, m.opens[k] == nil, "it is not asked for again")
				}
				clear(m.unproven)
			}
			for _, group := range []uint64{ours, theirs} {
				m.early = nil
				m.stateCame(channelState{group: group, subgroup: 5, epoch: 9})
				require.Equal(t, group == ours, len(m.early) == 1)
			}
		})
	}
}
