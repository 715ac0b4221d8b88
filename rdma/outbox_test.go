package rdma

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutboxKeepsOrderOfEachProducer(t *testing.T) {
	const producers, each = 4, 500
	o := NewOutbox[[2]int]()
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				if !o.Put([2]int{p, i}) {
					t.Error("dropped before Close")
				}
			}
		})
	}
	go func() { wg.Wait(); o.Close() }()

	var next [producers]int
	var items [][2]int
	for closed := false; !closed; {
		items, closed = o.Take(items)
		for _, it := range items {
			require.Equal(t, next[it[0]], it[1])
			next[it[0]]++
		}
	}
	require.Equal(t, [producers]int{each, each, each, each}, next, "everything came before closed did")
	require.False(t, o.Put([2]int{}), "a closed outbox drops")
	left, closed := o.Drain(nil)
	require.Empty(t, left)
	require.True(t, closed)
}

func TestOutboxNudgeWithoutItem(t *testing.T) {
	o := NewOutbox[string]()
	o.Nudge()
	o.Nudge()
	items, closed := o.Take(nil)
	require.Empty(t, items)
	require.False(t, closed)
	o.Put("a")
	o.Close()
	items, closed = o.Take(nil)
	require.Equal(t, []string{"a"}, items)
	require.True(t, closed, "the last item and the end come together")
}

// What was taken must not be kept alive by the buffer that Take reuses.
func TestOutboxForgetsWhatWasTaken(t *testing.T) {
	o := NewOutbox[*int]()
	for range 3 {
		o.Put(new(int))
	}
	items, _ := o.Take(nil)
	o.Put(new(int))
	again, _ := o.Take(items)
	require.Len(t, again, 1)
	require.Equal(t, []*int{nil, nil}, again[1:3])
}
