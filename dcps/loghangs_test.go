package dcps

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
	"github.com/omg-dds-go/dds/topic"
	"github.com/stretchr/testify/require"
)

// The disk of a log does not answer while the log is opened: the participant can be closed all the same, and the log is
// closed when it is there.
func TestCloseWhileALogIsOpened(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	dir := n.p.logDir(derecho.SubgroupID(n.p.hub.placement.Subgroup(topic.Logged, "Track")))
	pipe := writersFile(dir)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600)) // it is opened for reading when somebody writes
	made := make(chan error)
	tp := n.topic(t)
	for range 2 { // the second waits for what the first has begun
		go func() {
			_, err := NewDataWriter(n.pub, tp, WithWriterQos(persistentQos()))
			made <- err
		}()
	}
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return err == nil
	}, patience, time.Millisecond, "the log is being opened")
	n.p.logs.mu.Lock()
	hangs := n.p.logs.beginning["Track"]
	n.p.logs.mu.Unlock()
	require.NotNil(t, hangs)

	require.NoError(t, n.p.Close())
	for range 2 {
		require.ErrorIs(t, <-made, ErrAlreadyDeleted)
	}
	select {
	case <-hangs.done:
		require.Fail(t, "it was opened")
	default:
	}

	answer, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	require.NoError(t, os.Remove(pipe))
	require.NoError(t, answer.Close())
	<-hangs.done
	require.ErrorIs(t, hangs.err, errEnded)
	log, _, err := storage.Open(dir, storage.Options{})
	require.NoError(t, err, "it was closed")
	require.NoError(t, log.Close())
}

// A process that joins again has another log than the one before, which is closed when its disk answers: be it later.
func TestLogOfEachIncarnation(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, persistentQos())
	logs := &n.p.logs
	before, err := logs.open(w.at.sg)
	require.NoError(t, err)
	_, err = logs.open(w.at.sg)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.NoError(t, before.Close())
	after, err := logs.open(w.at.sg)
	require.NoError(t, err)
	require.NotSame(t, before, after)
	require.NoError(t, before.Close())
	_, err = after.(*groupLog).disk.Load().log.Sync()
	require.NoError(t, err)
	require.NoError(t, after.Close())
}

// A process that kept a stored topic in memory, and was excluded, makes its first PERSISTENT writer before it has
// joined again: that has a log, which is the next incarnation's.
func TestLogBeginsBetweenIncarnations(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	logs := &n.p.logs
	tp := n.topic(t)
	sg := derecho.SubgroupID(n.p.hub.placement.Subgroup(topic.Logged, "Track"))
	before, err := logs.open(sg)
	require.NoError(t, err)
	require.NoError(t, before.Close())
	_, err = NewDataWriter(n.pub, tp, WithWriterQos(persistentQos()))
	require.NoError(t, err)
	after, err := logs.open(sg)
	require.NoError(t, err)
	require.NotNil(t, after.(*groupLog).disk.Load())
	require.NotNil(t, logs.logState(sg, derecho.ChannelID(topic.ChannelOf("Track"))))
	require.NoError(t, after.Close())
}

// Who needs a log that takes long to read waits as long as more of it is read.
func TestLongLogsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Uint64
		b := &beginning{read: read.Load, done: make(chan struct{})}
		go func() {
			for range 5 {
				time.Sleep(operationTimeout - time.Second)
				read.Add(1)
			}
		}()
		began := time.Now()
		require.False(t, b.wait(nil))
		require.Equal(t, 6*operationTimeout, time.Since(began), "it was read on for five times as long as a disk may not answer, but for a little")
		close(b.done)
		require.True(t, b.wait(nil))
	})
}
