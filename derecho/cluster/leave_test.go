package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
)

// A process sends a state, leaves, and dies as soon as the one that gets it is in the view without it: the state may
// be on its way then, and be lost. Another that has it, or the log of the first, gives it to the one that waits.
func TestLeavesWhileAStateIsOnItsWay(t *testing.T) {
	for _, stored := range []bool{false, true} {
		died := 0
		for seed := uint64(1); seed <= 60; seed++ {
			s := newScriptOf(t, seed)
			s.r.plan.Hosts, s.r.w.MaxDelay = 1, 5*time.Millisecond
			s.r.plan.MaxDelay = s.r.w.MaxDelay
			var procs []*process
			for range 3 {
				procs = append(procs, s.r.start(1, s.r.newDisk()))
				s.let(100 * time.Millisecond)
			}
			leaver, other, gets := procs[0], procs[1], procs[2]
			channel := derecho.ChannelID(replicated)
			if stored {
				channel = logged
			}
			leaver.keep(channel, stored)
			s.let(100 * time.Millisecond)
			if !stored {
				other.keep(channel, false)
			}
			s.let(200 * time.Millisecond)
			gets.keep(channel, stored)
			s.r.w.After(s.r.w.Between(0, 3*time.Millisecond), leaver.leave)
			s.r.when(gets, installsView, 1, func() {
				if !leaver.gone {
					died++
					leaver.crash("while it leaves")
				}
			})
			s.let(3 * time.Second)
			if stored && leaver.crashed {
				s.r.restart(leaver).keep(channel, true)
				s.let(3 * time.Second)
			}
			_, waits := gets.pending[channel]
			require.False(t, waits, "seed %d, stored %t", seed, stored)
		}
		require.Positive(t, died)
	}
}
