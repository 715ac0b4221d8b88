package rdma

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const canaryChild = "DDS_TEST_CANARY"

// TestCanaryChild is the process that the others watch.
func TestCanaryChild(t *testing.T) {
	if os.Getenv(canaryChild) == "" {
		t.Skip("is run by TestWatchThread")
	}
	fmt.Println("canary", Canary())
	<-time.After(time.Hour)
}

func TestWatchThread(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run", "^TestCanaryChild$")
	child.Env = append(os.Environ(), canaryChild+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	var thread uint32
	for lines := bufio.NewScanner(out); thread == 0 && lines.Scan(); {
		if _, id, ok := strings.Cut(lines.Text(), "canary "); ok {
			_, err := fmt.Sscan(id, &thread)
			require.NoError(t, err)
		}
	}
	pid := uint32(child.Process.Pid)
	require.NotEqual(t, pid, thread, "it is not the main thread")

	_, err = WatchThread(uint32(os.Getpid()), thread)
	require.Error(t, err, "a thread of another process")
	closed, err := WatchThread(pid, thread)
	if err != nil {
		t.Skip("the kernel can not: ", err)
	}
	closed.Close()
	require.NotErrorIs(t, closed.Wait(), io.EOF, "the thread has not ended")

	w, err := WatchThread(pid, thread)
	require.NoError(t, err)
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- w.Wait() }()
	require.Empty(t, ended)
	require.NoError(t, child.Process.Kill())
	select {
	case err := <-ended:
		require.ErrorIs(t, err, io.EOF)
	case <-time.After(time.Minute):
		t.Fatal("the end of the thread was not told")
	}
}

func TestCanaryIsOneThread(t *testing.T) {
	require.Equal(t, Canary(), Canary())
}
