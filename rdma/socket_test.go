package rdma

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func tcpPair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	dialled, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	accepted, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { dialled.Close(); accepted.Close() })
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// Everything arrives in order: of many buffers and few, empty ones among them, less than is sent at once and more than
// the socket takes; and what was written is let go of.
func TestGatherWritesAll(t *testing.T) {
	a, b := tcpPair(t)
	require.NoError(t, a.SetWriteBuffer(16<<10))
	g, rng := SocketOf(a).Gather(), rand.New(rand.NewPCG(1, 2))
	for _, shape := range []struct{ buffers, most int }{{1, 100}, {3 * gatherBuffers, 50}, {5, briefBytes / 3}, {2, 4 * briefBytes}, {gatherBuffers + 1, 3000}} {
		var want []byte
		var from [][]byte
		for range shape.buffers {
			piece := make([]byte, rng.IntN(shape.most))
			for i := range piece {
				piece[i] = byte(rng.Uint32())
			}
			want = append(want, piece...)
			from = append(from, piece, nil)
		}
		written := make(chan error, 1)
		go func() { written <- g.Write(from) }()
		got := make([]byte, len(want))
		_, err := io.ReadFull(b, got)
		require.NoError(t, err)
		require.NoError(t, <-written)
		require.True(t, bytes.Equal(want, got))
		for _, left := range from {
			require.Nil(t, left)
		}
		require.Zero(t, g.v.used)
	}
}

func TestGatherEndsWithItsConnection(t *testing.T) {
	a, b := tcpPair(t)
	g := SocketOf(a).Gather()
	written := make(chan error, 1)
	go func() {
		for {
			if err := g.Write([][]byte{make([]byte, briefBytes)}); err != nil { // until the socket is full
				written <- err
				return
			}
		}
	}()
	_, err := io.ReadFull(b, make([]byte, briefBytes))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-written, net.ErrClosed)

	a, b = tcpPair(t)
	require.NoError(t, b.SetLinger(0))
	require.NoError(t, b.Close())
	g = SocketOf(a).Gather()
	for err = nil; err == nil; {
		err = g.Write([][]byte{{1}}) // the first may come before the reset
	}
	require.NotErrorIs(t, err, net.ErrClosed)
}

// No more waits to be sent than was asked for, and a segment, however much the socket has room for.
func TestUnsentBytesAreBounded(t *testing.T) {
	const bound, segment = 64 << 10, 64 << 10
	a, _ := tcpPair(t)
	s := SocketOf(a)
	require.NoError(t, s.BoundUnsent(bound))
	b := make([]byte, 16<<20)
	for len(b) > 0 {
		n, err := s.Send(b)
		require.NoError(t, err)
		if n == 0 {
			break
		}
		b = b[n:]
		var unsent int
		require.NoError(t, s.conn.Control(func(fd uintptr) { unsent, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD) }))
		require.NoError(t, err)
		require.LessOrEqual(t, unsent, bound+segment)
	}
	require.NotEmpty(t, b, "it is full")
}
