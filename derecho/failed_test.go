package derecho

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A node that can not go on, as it has no descriptor left for instance, says so by the end of its links: nobody waits for a
// lease, let alone for ten, until it is known that it will not open its row of a view.
func TestOthersHearOfANodeThatFails(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Lease = time.Hour
		a, ra := c.join()
		c.join()
		c.join()
		failure := errors.New("no descriptor left")
		a.life.Load().post(func(m *machine) { m.fail(failure) })
		ra.wait(t, "its failure", func() bool { return errors.Is(ra.failed, failure) })
		for _, r := range c.recs[1:] {
			r.wait(t, "the failure of the other", func() bool { return slices.Contains(r.lost, a.ID()) })
		}
		require.ErrorIs(t, a.Leave(ctxFor(t)), failure)
	})
}
