package tcp

import (
	"encoding/binary"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// packets is a connection on which each system call that writes is one read at the other end.
func packets(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	end := func(fd int) net.Conn {
		f := os.NewFile(uintptr(fd), "packets")
		defer f.Close()
		c, err := net.FileConn(f)
		require.NoError(t, err)
		return c
	}
	return end(fds[0]), end(fds[1])
}

// frames are the kinds of those in a packet.
func frames(t *testing.T, b []byte) (kinds []byte) {
	t.Helper()
	for len(b) > 0 {
		n := 4 + int(binary.LittleEndian.Uint32(b))
		require.LessOrEqual(t, n, len(b), "whole frames")
		kinds, b = append(kinds, b[4]), b[n:]
	}
	return kinds
}

// Whatever was posted of however many regions, and however often, is one write: of the newest cells and all ring bytes.
func TestOneWriteATurn(t *testing.T) {
	here, peer := packets(t)
	n := newNode()
	l := NewLink(here, n.config("peer"))
	go l.Run()
	buf := make([]byte, 1<<20)
	next := func() []byte {
		k, err := peer.Read(buf)
		require.NoError(t, err)
		return frames(t, buf[:k])
	}
	const regions = 5
	var own [regions]*rdma.Region
	var keys [regions]rdma.Key
	for i := range own {
		keys[i] = rdma.Key{Subgroup: 3, Epoch: uint32(i + 1)}
		own[i] = n.register(keys[i], shape)
		_, err := peer.Write(shape.Append(keys[i].Append(frame(frameOpen, 16))))
		require.NoError(t, err)
	}
	for seen := 0; seen < regions; {
		for _, kind := range next() {
			if kind == frameOpened {
				seen++
			}
		}
	}
	for round := range 3 {
		l.Send([]byte("flush")) // what the beginning still owed goes with it, or before
		for has := false; !has; {
			for _, kind := range next() {
				has = has || kind == frameControl
			}
		}
		l.sending.Lock() // the writer is at its last turn, as it were
		for range 10 {
			for i, r := range own {
				tail := r.Cell(rdma.TailCell).Load()
				r.Cell(rdma.TailCell).Store(tail + 64)
				r.Cell(9).Store(tail)
				l.Post(keys[i])
			}
		}
		l.sending.Unlock()
		kinds := slices.DeleteFunc(next(), func(kind byte) bool { return kind == frameConfirm }) // of what the peer has sent
		require.Equal(t, []byte{frameWrite, frameWrite, frameWrite, frameWrite, frameWrite}, kinds, "round %d", round)
	}
	peer.Close()
	l.Close()
	require.Error(t, get(t, "down", n.down))
}
