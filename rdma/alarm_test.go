package rdma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func uptime(t *testing.T) time.Duration {
	t.Helper()
	var up unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &up))
	return time.Duration(up.Nano())
}

func TestAlarm(t *testing.T) {
	a, err := NewAlarm()
	require.NoError(t, err)
	at := uptime(t) + 2*time.Millisecond
	a.Set(at, time.Millisecond)
	for i := range 3 {
		require.NoError(t, a.Wait())
		require.GreaterOrEqual(t, uptime(t), at+time.Duration(i)*time.Millisecond, "it does not go off early")
	}

	// Another time takes the place of the one before.
	a.Set(uptime(t)+time.Hour, 0)
	gone := make(chan error, 1)
	go func() { gone <- a.Wait() }()
	a.Set(0, 0)
	require.NoError(t, <-gone, "a time that is over is now")

	// What it did while nobody waited is not lost.
	a.Set(uptime(t), 0)
	require.NoError(t, a.Wait())
}
