package dcps

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A loop over a Stream takes what it sees, and nothing else.
func TestStreamThatIsLeft(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		synctest.Wait()
		for i := range int32(3) {
			write(t, w, 1, i)
		}
		synctest.Wait()
		for s, err := range r.Stream(patiently(t)) {
			require.NoError(t, err)
			require.Zero(t, s.Data().Value)
			break
		}
		got := takeText(t, r)
		require.Contains(t, got, "1:1")
		require.Contains(t, got, "1:2")
	})
}

// The end of its context ends a Stream also while there is more.
func TestStreamWhoseContextEnds(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		synctest.Wait()
		write(t, w, 1, 1)
		write(t, w, 1, 2)
		synctest.Wait() // Write returns before the reader has its sample
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		seen := 0
		for _, err := range r.Stream(ctx) {
			require.NoError(t, err)
			cancel()
			seen++
		}
		require.Equal(t, 1, seen)
		for range r.Stream(ctx) {
			require.Fail(t, "a Stream whose context was done from the beginning")
		}
		require.Contains(t, takeText(t, r), "1:2")
	})
}

// A Stream of one instance waits for that one, whatever else there is, and ends once the reader has forgotten it.
func TestStreamOfAnInstance(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		synctest.Wait()
		write(t, w, 1, 1)
		write(t, w, 2, 2)
		synctest.Wait()
		h, err := r.LookupInstance(&track{ID: 1})
		require.NoError(t, err)
		require.Contains(t, takeText(t, r, Instance(h)), "1:1")
		pass := func() uint64 {
			r.lock()
			defer r.unlock()
			return r.cache.pass
		}
		before := pass()
		go func() {
			time.Sleep(time.Second)
			_ = w.Write(context.Background(), &track{ID: 1, Value: 3})
			_ = w.Dispose(context.Background(), &track{ID: 1})
			_ = w.Unregister(context.Background(), &track{ID: 1})
		}()
		var values []int32
		for s, streamed := range r.Stream(patiently(t), Instance(h)) {
			if err = streamed; err == nil && s.Info.ValidData { // the disposal may come by itself
				values = append(values, s.Data().Value)
			}
		}
		require.ErrorIs(t, err, ErrBadParameter)
		require.ErrorContains(t, err, "is not known")
		require.Equal(t, []int32{3}, values)
		require.LessOrEqual(t, pass()-before, uint64(4), "it looked again and again")
		require.Contains(t, takeText(t, r), "2:2")

		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		write(t, w, 2, 4)
		synctest.Wait()
		h, err = r.LookupInstance(&track{ID: 2})
		require.NoError(t, err)
		for range r.Stream(ctx, NextInstance(h)) {
			require.Fail(t, "there is no next instance")
		}
	})
}
