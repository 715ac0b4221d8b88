package derecho

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
	"github.com/omg-dds-go/dds/sst"
)

// A member learns that a view ended with all that was sent, and of how many commands of each sender that was. One that
// has failed may have told others alone that it had closed the view. Who has all of its commands waits no longer; who
// has not never gets them, and is excluded.
func TestWholeViewOfASenderThatFailed(t *testing.T) {
	for _, c := range []struct {
		name     string
		sent     uint64
		accused  bool
		passed   time.Duration // since it was accused
		ends     uint64
		excluded bool
	}{
		{"it has nothing to wait for", 0, true, 0, 0, false},
		{"the sender is heard", 0, false, time.Hour, sst.Forever, false},
		{"a command may be on its way", 1, true, time.Millisecond, sst.Forever, false},
		{"a command never came", 1, true, time.Hour, sst.Forever, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := &exclusions{}
			m := newMachine(&Config{Lease: time.Second}, 1, newRecorder(), told)
			m.phase, m.view = joined, view{group: 7, epoch: 3, members: []rdma.PeerInfo{{ID: 1}, {ID: 2}}}
			m.now = 2 * time.Hour
			d := &descriptor{Epoch: 3, Members: []memberDesc{{Node: 1}, {Node: 2}}}
			e := &epoch{desc: d, g: &subgroup{m: m}, whole: true, senders: []int{1}, recvs: []*smc.Receiver{nil}, ends: []uint64{sst.Forever}}
			a := &agreement{e: e, m: m, watches: make([]watch, 2), decision: &decision{}}
			if c.accused {
				a.watches[1].accused = m.now - c.passed
			}
			a.fill()
			require.Equal(t, sst.Forever, e.ends[0], "it is not known yet how many there were")
			a.hear(ending{view: 3, reals: []uint64{c.sent}})
			a.fill()
			require.Equal(t, c.ends, e.ends[0])
			require.Equal(t, c.excluded, len(told.told) > 0)
		})
	}
}
