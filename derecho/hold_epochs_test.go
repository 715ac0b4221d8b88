package derecho

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A channel that is held stays held in the epochs that begin meanwhile, also before the row of the member that holds it
// can be read in them.
func TestHeldOverEpochs(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, r, rec := c.pair(nil)
		w.mustSend(t, ordered, 7, 1, "first")
		rec.wait(t, "first", func() bool { return len(rec.got) == 1 })
		r.Hold(ordered.ID, 7, true)
		passes := func(in time.Duration) bool {
			ctx, cancel := context.WithTimeout(context.Background(), in)
			defer cancel()
			s, err := w.Reserve(ctx, ordered.ID, 7, 1000, time.Time{})
			if err == nil {
				s.Commit(Header{Writer: 1}, 1000)
			}
			return err == nil
		}
		w.awaitHold(t, ordered, 7)
		var passed atomic.Int64
		stop, done := make(chan struct{}), make(chan struct{})
		end := sync.OnceFunc(func() { close(stop); <-done })
		defer end() // also if an endpoint could not be announced: it would go on, and slow the tests that follow
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if passes(50 * time.Millisecond) {
					passed.Add(1)
				}
			}
		}()
		for k := range 50 {
			w.mustAdd(t, Endpoint{ID: EndpointID(100 + k), Channel: 8, Writes: ordered})
			require.NoError(t, w.RemoveEndpoint(ctxFor(t), EndpointID(100+k)))
		}
		end()
		require.Zero(t, passed.Load(), "messages passed in 100 epochs")
		r.Hold(ordered.ID, 7, false)
		require.Eventually(t, func() bool { return passes(time.Second) }, patience, time.Millisecond)
	})
}
