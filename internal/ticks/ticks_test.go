package ticks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the counter is steady it does not go back on a thread, nor from one to another that was told of it.
func TestCounterAscends(t *testing.T) {
	if !Steady() {
		t.Log("it is not steady here")
		return
	}
	told := make(chan uint64)
	go func() {
		defer close(told)
		for range 1000 {
			told <- Now()
		}
	}()
	for last := range told {
		for range 100 {
			n := Now()
			require.LessOrEqual(t, last, n)
			last = n
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}
