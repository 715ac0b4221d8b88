package dcps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
	"github.com/omg-dds-go/dds/topic"
	"github.com/stretchr/testify/require"
)

func persistentQos() qos.DataWriter {
	return writerQos(blocking(patience), func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent })
}

// No place for a log and a log that can not be used are two things, and each error says which.
func TestLogIsRefused(t *testing.T) {
	d := onBus(t)
	nowhere, damaged := d.node(t), d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	_, err := NewDataWriter(nowhere.pub, nowhere.topic(t), WithWriterQos(persistentQos()))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "needs a place for its log: set Settings.Dir or DDS_DIR")

	track := damaged.topic(t)
	dir := damaged.p.logDir(derecho.SubgroupID(damaged.p.hub.placement.Subgroup(topic.Logged, track.Name())))
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0000000001.seg"), make([]byte, 4096), 0o644))
	_, err = NewDataWriter(damaged.pub, track, WithWriterQos(persistentQos()))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorIs(t, err, storage.ErrCorrupt)
	require.ErrorContains(t, err, "the log that DURABILITY PERSISTENT needs can not be used")
	require.NotContains(t, err.Error(), "needs a place")
}

// Once the log of a replica has failed, the writers of the topic are told who it is and do not go on, until it has left.
func TestReplicaLogFailure(t *testing.T) {
	d := onBus(t)
	a := d.node(t, WithName("display"), WithSettings(Settings{Dir: t.TempDir()}))
	b := d.node(t, WithName("sensor"), WithSettings(Settings{Dir: t.TempDir()}))
	w := b.writer(t, persistentQos())
	other, err := NewDataWriter(b.pub, w.Topic())
	require.NoError(t, err)
	a.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	write(t, w, 1, 1)
	loan, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	d.bus.settle(t)
	b.p.hub.LogFailed(w.at.sg, a.p.core.ID(), derecho.ErrLog)

	want := []string{`writer of topic "Track"`, fmt.Sprintf("display (pid %d on %s)", os.Getpid(), a.p.host), `PERSISTENT topics "Track"`}
	_, full := w.Loan(patiently(t), 100)
	for _, err := range []error{
		w.Write(patiently(t), &track{}), w.Dispose(patiently(t), &track{}), w.WaitForAcknowledgments(patiently(t)), full, loan.Publish(50),
	} {
		require.ErrorIs(t, err, ErrOutOfResources)
		require.ErrorIs(t, err, derecho.ErrLog)
		var failed *derecho.LogError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, derecho.MemberInfo{ID: a.p.core.ID(), Host: "host", PID: 1, Name: "display"}, failed.Member)
		for _, text := range want {
			require.ErrorContains(t, err, text)
		}
	}
	write(t, other, 1, 1) // a VOLATILE writer needs no log
	require.ErrorContains(t, b.p.Err(), "display (pid")

	require.NoError(t, a.p.Close())
	d.bus.settle(t)
	write(t, w, 1, 2)
	require.NoError(t, w.Close())
}

// Who waits for acknowledgements may learn of the failure before the hub does: the error names the process all the same.
func TestLogFailureHasAName(t *testing.T) {
	d := onBus(t)
	at := derecho.MemberInfo{ID: 17, Host: "cockpit", PID: 4, Name: "display"}
	b := d.node(t, WithSettings(Settings{Dir: t.TempDir()}), wrapCore(func(c core) core { return failedLogCore{c, &derecho.LogError{Member: at}} }))
	w := b.writer(t, persistentQos())
	err := w.WaitForAcknowledgments(patiently(t))
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, "display (pid 4 on cockpit)")
	var failed *derecho.LogError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, at, failed.Member)
}

// failedLogCore is a core that knows of a log that has failed, and has not told the hub.
type failedLogCore struct {
	core
	err error
}

func (c failedLogCore) WaitDurable(context.Context, derecho.SubgroupID, derecho.ChannelID) error {
	return c.err
}

// The same over the real core: a log that can not be written at one process stops the writer at another.
func TestCoreReplicaLogFailure(t *testing.T) {
	d := onCore(t, Settings{})
	a := d.node(t, WithName("display"), WithSettings(Settings{Dir: t.TempDir()}))
	b := d.node(t, WithName("sensor"), WithSettings(Settings{Dir: t.TempDir()}))
	w := b.writer(t, persistentQos())
	r := a.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	require.NoError(t, r.WaitForMatch(patiently(t), 1))
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, a.p.logs.log(w.at.sg).disk.Load().log.Close())
	ctx := patiently(t)
	var err error
	for err == nil {
		err = w.Write(ctx, &track{ID: 1, Value: 2})
	}
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, `writer of topic "Track"`)
	require.ErrorContains(t, err, "display (pid")
	var failed *derecho.LogError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "display", failed.Member.Name)
	require.Equal(t, a.p.core.ID(), failed.Member.ID)
	require.NoError(t, a.p.Close())
	for err != nil && ctx.Err() == nil {
		err = w.Write(ctx, &track{ID: 1, Value: 3})
	}
	require.NoError(t, err)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
}

// A log that could not be opened again is not open: the next try opens it, or fails too.
func TestLogReopenedAfterFailure(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, persistentQos())
	logs := &n.p.logs
	require.NoError(t, logs.log(w.at.sg).Close())
	taken, _, err := storage.Open(n.p.logDir(w.at.sg), storage.Options{})
	require.NoError(t, err)
	for range 2 {
		_, err = logs.open(w.at.sg)
		require.ErrorIs(t, err, storage.ErrLocked)
		require.Nil(t, logs.logState(w.at.sg, w.at.ch))
	}
	require.NoError(t, taken.Close())
	_, err = logs.open(w.at.sg)
	require.NoError(t, err)
	require.Equal(t, uint32(2), logs.logState(w.at.sg, w.at.ch).Opened)
}
