package release

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two hand a plain variable to each other by a word. Each sees what the other did with it before.
func TestStoreHandsOver(t *testing.T) {
	const rounds = 100_000
	var word atomic.Uint64
	shared := 0
	turns := func(mine uint64) {
		for n := mine; n < rounds; n += 2 {
			for word.Load() != n {
				runtime.Gosched()
			}
			shared++
			Store(&word, n+1)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		turns(1)
	}()
	turns(0)
	<-done
	require.Equal(t, rounds, shared)
	require.Equal(t, uint64(rounds), word.Load())
}

func BenchmarkStore(b *testing.B) {
	var word atomic.Uint64
	for b.Loop() {
		Store(&word, 1)
	}
}
