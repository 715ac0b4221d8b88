package dcps

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTurn(t *testing.T) {
	var u turn
	u.init()
	ctx, cancel := context.WithCancel(context.Background())
	expired, err := u.take(ctx, time.Time{})
	require.False(t, expired)
	require.NoError(t, err)
	expired, err = u.take(ctx, time.Now().Add(time.Millisecond))
	require.True(t, expired)
	require.NoError(t, err)
	cancel()
	_, err = u.take(ctx, time.Time{})
	require.ErrorIs(t, err, context.Canceled)
	u.leave()

	// One at a time, and nobody is forgotten, with others that give up in between.
	n := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if expired, _ := u.take(t.Context(), time.Now().Add(time.Microsecond)); !expired {
					n++
					u.leave()
				}
				if _, err := u.take(t.Context(), time.Time{}); err != nil {
					t.Error(err)
					return
				}
				n++
				u.leave()
			}
		})
	}
	wg.Wait()
	require.GreaterOrEqual(t, n, 8*500)
	require.Zero(t, u.word.Load())
	require.Zero(t, u.waiting.Load())
}
