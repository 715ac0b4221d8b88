package smc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/sst"
)

// What Flush publishes at once has a push for each message, or one, while the baton is held, or not.
func TestFlushEach(t *testing.T) {
	for _, c := range []struct {
		name      string
		one, held bool
		tails     []uint64 // that peers see with each push
	}{
		{"each message", true, false, []uint64{64, 192, 256}},
		{"each message, held", true, true, []uint64{64, 192, 256}},
		{"held", false, true, []uint64{256}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnds(4096)
			var rs [4]Reservation
			for i := range rs {
				var err error
				rs[i], err = e.s.Reserve(1)
				require.NoError(t, err)
			}
			rs[0].Commit(Header{}, 1)
			rs[1].Abort() // goes with the message behind it
			rs[2].Commit(Header{}, 1)
			rs[3].Commit(Header{}, 1)
			var tails []uint64
			e.s.FlushEach(func() {
				tails = append(tails, e.s.Region().Cell(sst.Tail).Load())
				require.Equal(t, c.held, e.s.baton.Load() == 1)
			}, c.one, c.held)
			require.Equal(t, c.tails, tails)
			require.Len(t, e.receive(t), 3)
		})
	}
}
