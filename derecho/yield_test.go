package derecho

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where there is one processor and always work for the poller, whoever is woken meanwhile runs after the pass that woke
// it, not when the poller pauses or the monitor of the Go runtime takes the processor away. So does the garbage
// collector.
func TestPollerLetsOthersIn(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		h := &counter{}
		n, err := Join(ctxFor(t), c.cfg, h)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Leave(ctxFor(t))) })
		send := func() {
			s, err := n.Reserve(context.Background(), ordered.ID, 7, 8, time.Time{})
			if err != nil {
				t.Error(err)
				return
			}
			s.Commit(Header{Writer: 1}, 8)
		}
		var enough atomic.Bool
		woken := make(chan int64, 1)
		h.each = func(*Message) {
			if enough.Load() {
				return
			}
			send() // there is work for the next pass
			select {
			case woken <- h.n.Load():
			default:
			}
		}
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		send()
		const turns, most = 1000, 100
		late := int64(0)
		for k := range turns {
			at := <-woken
			late += h.n.Load() - at
			if k%100 == 0 {
				runtime.GC()
			}
		}
		enough.Store(true)
		t.Logf("%d passes with work before %d turns of another goroutine", late, turns)
		require.Less(t, late, int64(turns*most))
	})
}
