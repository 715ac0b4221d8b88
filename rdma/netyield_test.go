package rdma

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// With no processor to spare, a goroutine that waits for the network runs while another one polls.
func TestNetYield(t *testing.T) {
	y, err := NewNetYield()
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, y.Yield))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer out.Close()
	in, err := l.Accept()
	require.NoError(t, err)
	defer in.Close()
	look := func() (came bool) {
		got := make(chan error, 1)
		go func() {
			_, err := in.Read(make([]byte, 1))
			got <- err
		}()
		runtime.Gosched() // it waits now
		_, err = out.Write([]byte{1})
		require.NoError(t, err)
		for range 10 {
			y.Yield()
		}
		came = len(got) == 1
		require.NoError(t, <-got)
		return came
	}
	// A thread that the machine stops in the midst of its system call has its processor taken away, and comes later;
	// without yielding nearly all do.
	came := 0
	for range 10 {
		if look() {
			came++
		}
	}
	require.Greater(t, came, 5)
}
