package derecho

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A writer that does not write keeps nothing of an incarnation that is over: all that this had mapped would stay.
func TestIdleOutletForgetsWhatIsOver(t *testing.T) {
	n := &Node{}
	gone := make(chan struct{})
	begin := func() *life {
		l := &life{n: n}
		groups := map[SubgroupID]*subgroup{1: {}}
		l.groups.Store(&groups)
		n.life.Store(l)
		n.outlets.forget()
		return l
	}
	before := begin()
	runtime.AddCleanup(before, func(struct{}) { close(gone) }, struct{}{})
	idle, busy := n.Outlet(1), n.Outlet(1)
	require.NotNil(t, idle.find(before))
	require.NotNil(t, idle.at.Load())
	require.Same(t, idle.at, busy.at)
	require.Nil(t, n.Outlet(2).find(before), "no such subgroup")

	now := begin()
	require.Nil(t, idle.at.Load())
	require.NotNil(t, busy.find(before), "a writer that had looked at it before")
	require.Nil(t, busy.at.Load(), "remembers it no more")
	require.Same(t, now, busy.find(now).of)
	require.Same(t, now, idle.at.Load().of)

	before = nil
	for late := time.After(patience); ; {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(idle)
			return
		case <-late:
			t.Fatal("the incarnation that is over is kept")
		case <-time.After(time.Millisecond):
		}
	}
}
