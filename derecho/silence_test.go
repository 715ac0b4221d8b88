package derecho

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/sst"
)

// A sender that has been silent for long gives many rounds away at once; the others do not wait for it any more, and when
// it speaks again all are handed what it says, and what they say after that.
func TestSilentSenderRunsAhead(t *testing.T) {
	for _, x := range []struct {
		name   string
		off    Spindle
		silent time.Duration
		ahead  bool
	}{
		{"silent", Spindle{}, -1, true},
		{"not for long", Spindle{}, time.Hour, false},
		{"switched off", Spindle{NoSilence: true}, -1, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.cfg.Spindle, c.cfg.SilentFor = x.off, x.silent
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
				if x.ahead {
					require.Greater(t, next, uint64(RunAhead))
					require.LessOrEqual(t, next, uint64(RunAhead+rounds))
				} else {
					require.LessOrEqual(t, next, uint64(rounds))
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
