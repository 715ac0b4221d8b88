package derecho

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/sst"
)

// A sender that has been silent for long gives many rounds away at once; the others do not wait for it any more, and when
// it speaks again all are handed what it says, and what they say after that.
func TestSilentSenderRunsAhead(t *testing.T) {
	for _, off := range []Spindle{{}, {NoSilence: true}} {
		t.Run(off.String(), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.cfg.Spindle = off
				talker, rt := c.join()
				silent, rs := c.join()
				for _, n := range c.node {
					n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
				}
				c.settle(2)
				const rounds = 100
				for k := range rounds {
					talker.mustSend(t, ordered, 7, 1, fmt.Sprint(k))
					rt.wait(t, "the message", func() bool { return len(rt.got) == k+1 })
				}
				next := uint64(0)
				require.NoError(t, silent.await(ctxFor(t), func(m *machine, done func(error)) {
					e := m.groups[ordered.ID].current()
					next = e.table.Row(e.me).Load(sst.Next)
					done(nil)
				}))
				if off.NoSilence {
					require.LessOrEqual(t, next, uint64(rounds))
				} else {
					require.Greater(t, next, uint64(RunAhead))
					require.LessOrEqual(t, next, uint64(RunAhead+rounds))
				}
				silent.mustSend(t, ordered, 7, 1, "at last")
				rt.wait(t, "its message", func() bool { return len(rt.got) == rounds+1 })
				talker.mustSend(t, ordered, 7, 1, "well")
				for _, r := range []*recorder{rt, rs} {
					r.wait(t, "all", func() bool { return len(r.got) == rounds+2 })
				}
				require.Equal(t, rt.snapshot(), rs.snapshot())
			})
		})
	}
}
