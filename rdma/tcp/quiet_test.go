package tcp

import (
	"encoding/binary"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

const beat = 6 // a cell

// hush posts quietly until the link from lb to la is hushed and la's reader naps. It returns the value of the cell.
func hush(t *testing.T, la, lb *Link, own, r *rdma.Region) uint64 {
	t.Helper()
	v := own.Cell(beat).Load()
	require.Eventually(t, func() bool {
		if v = own.Cell(beat).Load(); r.Cell(beat).Load() == v { // else the last one is on its way
			v++
			own.Cell(beat).Store(v)
			lb.PostQuiet(key)
		}
		la.HearQuiet()
		lb.sending.Lock()
		hushed := lb.writing != nil && lb.writing.hushed
		lb.sending.Unlock()
		return hushed && la.nap.Load() != nil && r.Cell(beat).Load() == v
	}, patience, 100*time.Microsecond)
	return v
}

// Heartbeats over a hushed link wake nobody: neither its writer nor its reader.
func TestHeartbeatsOfAHushedLink(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	v := hush(t, la, lb, own, r)
	asleep := la.nap.Load()
	for range 50 {
		v++
		own.Cell(beat).Store(v)
		require.True(t, lb.sendQuiet(dirty(lb)), "sent by whoever posts")
		require.Eventually(t, func() bool { la.HearQuiet(); return r.Cell(beat).Load() == v }, patience, 10*time.Microsecond)
	}
	require.Same(t, asleep, la.nap.Load(), "the reader slept all the time")
}

func dirty(l *Link) *export {
	e := (*l.exports.Load())[key]
	e.posted.Or(postedQuiet)
	return e
}

// Whatever is not quiet wakes the reader, though it is less than what its socket waits for, and so do quiet frames that
// nobody fetches.
func TestHushedLinkWakes(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	for range 20 {
		hush(t, la, lb, own, r)
		lb.Send([]byte("m"))
		require.Equal(t, "m", get(t, "message", na.messages))

		v := hush(t, la, lb, own, r)
		own.Cell(7).Store(v)
		lb.Post(key)
		na.wait(t, "a post", func() bool { return r.Cell(7).Load() == v })

		v = hush(t, la, lb, own, r)
		copy(own.Ring(), "bytes")
		own.Cell(rdma.TailCell).Store(5)
		lb.PostQuiet(key) // not of the kind that whoever posts sends
		lb.Post(key)
		na.wait(t, "ring bytes", func() bool { return r.Cell(rdma.TailCell).Load() == 5 })

		v = hush(t, la, lb, own, r)
		for range 2 * wakeBytes / writeHeader {
			v++
			own.Cell(beat).Store(v)
			lb.PostQuiet(key)
		}
		require.Eventually(t, func() bool { return r.Cell(beat).Load() > v-wakeBytes/writeHeader }, patience, 100*time.Microsecond)
	}
}

// The peer's bytes come one by one, and some are fetched by somebody else than the reader: it never waits for more than
// there will be.
func TestHushedLinkOfSingleBytes(t *testing.T) {
	for fetched := range 12 {
		there, here := loopback(t)
		n := newNode()
		l := NewLink(here, n.config("peer"))
		go l.Run()
		go func() {
			b := make([]byte, 1<<12)
			for {
				if _, err := there.Read(b); err != nil {
					return
				}
			}
		}()
		_, err := there.Write(hushFrame)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return l.nap.Load() != nil }, patience, 10*time.Microsecond)
		message := append(frame(frameControl, 5), "hello"...)
		for i, b := range append(append([]byte{}, wakeFrame...), message...) {
			_, err := there.Write([]byte{b})
			require.NoError(t, err)
			if i < fetched {
				l.HearQuiet()
			}
		}
		require.Equal(t, "hello", get(t, "message", n.messages))
		there.Close()
		get(t, "down", n.down)
	}
}

// Quiet frames that fill a nap to the last byte hide nothing that came at the same time.
func TestHushedLinkLooksToTheEnd(t *testing.T) {
	there, here := loopback(t)
	n := newNode()
	l := NewLink(here, n.config("peer"))
	go l.Run()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	_, err := there.Write(hushFrame)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.nap.Load() != nil }, patience, 10*time.Microsecond)
	var b []byte
	for _, cells := range []int{8, 8, 8, 9} { // of a region that was released here
		b = key.Append(appendFrame(b, frameQuiet, writeHeader-5+cells*cellBytes))
		b = append(b, make([]byte, 8+4)...) // no ring bytes
		b = binary.LittleEndian.AppendUint32(b, uint32(cells))
		b = append(b, make([]byte, cells*cellBytes)...)
	}
	require.Len(t, b, len(nap{}.came))
	b = append(append(b, wakeFrame...), frame(frameControl, 5)...)
	_, err = there.Write(append(b, "hello"...))
	require.NoError(t, err)
	require.Equal(t, "hello", get(t, "message", n.messages))
	there.Close()
	get(t, "down", n.down)
}

// The end of a connection is seen at once, also by a reader that naps.
func TestHushedLinkBreaks(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	hush(t, la, lb, own, open(t, na, la, key, shape))
	lb.Drop(ErrGone)
	get(t, "down", na.down)
}

// Over a link that is hushed now and then all messages come, in order, and each cell gets its latest value, whoever sends it.
func TestHushedLinkLosesNothing(t *testing.T) {
	const rounds = 200
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	for k := range rounds {
		v := hush(t, la, lb, own, r) + 1
		for i := range 3 {
			lb.Send([]byte(strconv.Itoa(3*k + i)))
		}
		own.Cell(beat).Store(v)
		lb.PostQuiet(key)
		for r.Cell(beat).Load() < v {
			la.HearQuiet()
		}
		for i := range 3 {
			require.Equal(t, strconv.Itoa(3*k+i), get(t, "message", na.messages))
		}
	}
}
