package fabric

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A network that is back is found within the time between two attempts, and one whose way is longer than that by the first.
func TestDialAgain(t *testing.T) {
	never := func(ctx context.Context) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	after := func(way time.Duration) func(context.Context) (net.Conn, error) {
		return func(ctx context.Context) (net.Conn, error) {
			select {
			case <-time.After(way):
				c, _ := net.Pipe()
				return c, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	for name, c := range map[string]struct {
		dials []func(context.Context) (net.Conn, error) // one attempt after the other; of the rest each is the last
		takes time.Duration
		err   error
	}{
		"at once":        {[]func(context.Context) (net.Conn, error){after(time.Millisecond)}, time.Millisecond, nil},
		"a long way":     {[]func(context.Context) (net.Conn, error){after(3 * resumeDialTime)}, 3 * resumeDialTime, nil},
		"back meanwhile": {[]func(context.Context) (net.Conn, error){never, never, after(time.Millisecond)}, 2*resumeDialTime + time.Millisecond, nil},
		"never":          {[]func(context.Context) (net.Conn, error){never}, longDialTime, context.DeadlineExceeded},
		"nobody listens": {[]func(context.Context) (net.Conn, error){never, func(context.Context) (net.Conn, error) { return nil, syscall.ECONNREFUSED }}, resumeDialTime, syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, n := time.Now(), 0
				dials := make(chan func(context.Context) (net.Conn, error), 100)
				for ; n < cap(dials); n++ {
					dials <- c.dials[min(n, len(c.dials)-1)]
				}
				conn, err := dialAgain(t.Context(), func(ctx context.Context) (net.Conn, error) { return (<-dials)(ctx) })
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.err == nil, conn != nil)
				require.Equal(t, c.takes, time.Since(begin))
			})
		})
	}
}
