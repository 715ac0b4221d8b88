package derecho

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node that has joined again is isolated for a while. The outage ends, and is told to end, when its endpoints are
// announced and it is not isolated any more, whichever comes last.
func TestIsolatedWhileItRejoins(t *testing.T) {
	for _, longer := range []bool{false, true} { // than it takes to announce them
		c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
		c.join()
		c.join()
		var disk atomic.Pointer[chan struct{}] // it answers when this is closed, and the endpoints are announced
		c.cfg.LogState = emptyLog(17)
		c.cfg.OpenLog = func(SubgroupID) (Log, error) {
			<-*disk.Load()
			return &memLog{}, nil
		}
		answers := make(chan struct{})
		disk.Store(&answers)
		close(answers)
		n, r := c.join()
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		n.mustAdd(t, Endpoint{ID: 2, Channel: 9, Writes: ordered})
		later := make(chan struct{})
		disk.Store(&later)
		before := n.life.Load()
		before.post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
		<-before.over
		require.True(t, n.next(ctxFor(t), before))
		l := n.life.Load()
		<-l.joined
		isolate := func(why string) { // as the agreement does when no majority is heard for a lease, and then is
			require.NoError(t, l.await(ctxFor(t), func(m *machine, done func(error)) {
				m.isolate(why)
				done(nil)
			}))
		}
		out := func(err error) {
			require.ErrorIs(t, n.Outage(), err)
			r.note(func() { require.ErrorIs(t, r.isolated, ErrNoMajority, "it is not told that it is over") })
		}
		announce := func() {
			close(later)
			require.NoError(t, n.lockEndpoints(ctxFor(t))) // behind the rejoin
			n.unlockEndpoints()
		}
		isolate("it hears nobody")
		out(ErrNoMajority)
		if longer {
			announce()
			require.NoError(t, n.Upcall(ctxFor(t), func() {})) // behind what the rejoin has posted
			out(ErrNoMajority)
			isolate("")
		} else {
			isolate("")
			out(ErrExcluded)
			announce()
		}
		r.wait(t, "the end of the outage", func() bool { return r.isolated == nil })
		require.NoError(t, n.Outage())
		n.mustSend(t, ordered, 9, 2, "works")
	}
}
