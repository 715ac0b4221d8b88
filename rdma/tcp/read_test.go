package tcp

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// watched counts the bytes that are read straight into some memory.
type watched struct {
	*net.TCPConn
	memory   []byte
	straight int
}

func (w *watched) scatter() scatterer {
	return &watchedScatter{w, rdma.SocketOf(w.TCPConn).Scatter()}
}

// holds reports whether b is a part of the memory that is not empty.
func (w *watched) holds(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	for i := range w.memory {
		if &w.memory[i] == &b[0] {
			return true
		}
	}
	return false
}

type watchedScatter struct {
	w    *watched
	real *rdma.Scatter
}

func (s *watchedScatter) Read(into [3][]byte) (int, error) {
	n, err := s.real.Read(into)
	left := n
	for _, b := range into {
		k := min(left, len(b))
		if s.w.holds(b) {
			s.w.straight += k
		}
		left -= k
	}
	return n, err
}

// Of long ranges nothing is copied but what comes with the first head, and with those that follow; also where the ring
// ends, and of frames that come together.
func TestRangesAreReadStraight(t *testing.T) {
	const ring, frames, size = 256 << 10, 9, 100_000
	ca, cb := loopback(t)
	defer cb.Close()
	n, w := newNode(), &watched{TCPConn: ca.(*net.TCPConn)}
	l := NewLink(w, n.config("peer"))
	region := rdma.NewHeapRegion(rdma.Shape{Cells: 8, Ring: ring})
	w.memory = region.Ring()
	l.copies[key] = region
	go l.Run()
	var all []byte
	data := make([]byte, size)
	for i := range uint64(frames) {
		for k := range data {
			data[k] = byte(k * (k >> 8) * int(i+1))
		}
		all = append(all, write(i*size, [][2]uint64{{rdma.TailCell, (i + 1) * size}, {5, i + 1}}, string(data))...)
	}
	_, err := cb.Write(all)
	require.NoError(t, err)
	cb.Close()
	get(t, "down", n.down)
	l.Close()
	require.Equal(t, uint64(frames), region.Cell(5).Load())
	for k, b := range data {
		require.Equal(t, b, region.Ring()[((frames-1)*size+k)%ring], "the last range is whole")
	}
	require.GreaterOrEqual(t, w.straight, frames*size-inputBytes-(frames-1)*headBytes)
}

// What is short comes with others like it, and is copied.
func TestShortFramesAreReadTogether(t *testing.T) {
	ca, cb := loopback(t)
	n, w := newNode(), &watched{TCPConn: ca.(*net.TCPConn)}
	l := NewLink(w, n.config("peer"))
	region := rdma.NewHeapRegion(shape)
	w.memory = region.Ring()
	l.copies[key] = region
	var all []byte
	for i := range uint64(20) {
		all = append(all, write(i*100, [][2]uint64{{rdma.TailCell, (i + 1) * 100}}, string(make([]byte, 100)))...)
	}
	_, err := cb.Write(all)
	require.NoError(t, err)
	cb.Close()
	go l.Run()
	get(t, "down", n.down)
	l.Close()
	require.Equal(t, uint64(2000), region.Cell(rdma.TailCell).Load())
	require.Zero(t, w.straight)
}
