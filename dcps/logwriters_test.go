package dcps

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
)

// What a writer announced is damaged or gone, and its messages are in the log: nobody could be given these, and the log
// says so instead of beginning with nothing.
func TestWritersOfALogAreLost(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"the last entry is damaged": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			b[len(b)-1] ^= 1
			require.NoError(t, os.WriteFile(path, b, 0o644))
		},
		"the file is cut":                func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, int64(lengthOf(t, path)-1))) },
		"the file ends before the entry": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
		"the file is gone":               func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"another entry is torn": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, append(b, appendWriter(nil, endpointKey{7, 7}, []byte("what it is"))[:25]...), 0o644))
		},
		"nothing is": func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			d := onCore(t, Settings{})
			dir := t.TempDir()
			start := func() *node {
				return d.nodeAt(t, dir)
			}
			a := start()
			w := a.store(t)
			require.NoError(t, a.p.Close())
			path := writersFile(a.p.logDir(w.at.sg))
			harm(t, path)

			b := start()
			wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
			r, err := NewDataReader(b.sub, b.topic(t), WithReaderQos(wants))
			if name == "nothing is" || name == "another entry is torn" {
				require.NoError(t, err)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				require.Equal(t, "0:0 1:1 2:2", values(t, r, 3))
				return
			}
			if err == nil {
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				some, _ := r.Read()
				t.Log("it has", some.Len())
			}
			require.ErrorIs(t, err, storage.ErrCorrupt)
			require.ErrorIs(t, err, ErrPreconditionNotMet)
			require.ErrorContains(t, err, path)
		})
	}
}

// The file of writers has lost its last entry, and no part of that is left. The messages of that writer were left out without a
// word.
func TestEntryOfALogIsLostWhole(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	a := d.nodeAt(t, dir)
	w := a.store(t)
	path := writersFile(a.p.logDir(w.at.sg))
	before := lengthOf(t, path)
	other := a.writer(t, persistentQos())
	write(t, other, 7, 7)
	require.NoError(t, other.WaitForDurable(patiently(t)))
	require.NoError(t, a.p.Close())
	require.NoError(t, os.Truncate(path, int64(before)))

	b := d.nodeAt(t, dir)
	_, err := NewDataReader(b.sub, b.topic(t), WithReaderQos(readerQos(func(q *qos.DataReader) {
		q.Durability.Kind = qos.DurabilityPersistent
	})))
	require.ErrorIs(t, err, storage.ErrCorrupt)
	require.ErrorContains(t, err, path)
}

// A writer that gets another QoS, and stores more, is that of the later one after a restart of all, as it is for those
// who come late while it lives.
func TestLogKeepsLaterQos(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	a := d.nodeAt(t, dir)
	w := a.store(t)
	path := writersFile(a.p.logDir(w.at.sg))
	once := lengthOf(t, path)
	q := a.pub.Qos()
	q.Partition.Name = []string{"later"}
	require.NoError(t, a.pub.SetQos(q))
	write(t, w, 3, 3)
	write(t, w, 4, 4)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	twice := lengthOf(t, path)
	require.Greater(t, twice, once)
	other := a.writer(t, persistentQos())
	changed := persistentQos()
	changed.LatencyBudget.Duration = time.Second
	require.NoError(t, other.SetQos(changed))
	write(t, w, 3, 3)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.Equal(t, twice, lengthOf(t, path), "of those that have stored something")
	require.NoError(t, a.p.Close())

	b := d.nodeAt(t, dir)
	for _, partition := range []string{"", "later"} {
		in := b.sub.Qos()
		in.Partition.Name = []string{partition}
		sub, err := b.p.NewSubscriber(WithSubscriberQos(in))
		require.NoError(t, err)
		r, err := NewDataReader(sub, b.topic(t), WithReaderQos(readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })))
		require.NoError(t, err)
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		if partition == "" {
			require.Equal(t, "no data", takeText(t, r))
		} else {
			require.Equal(t, "0:0 1:1 2:2 4:4 3:3", values(t, r, 5))
		}
	}
}

// Of a writer whose announcement nobody could read the file notes that there was one: it is no damage that its messages
// are in the log.
func TestWriterWithoutAnnouncement(t *testing.T) {
	d := onBus(t)
	dir := t.TempDir()
	n := d.node(t, WithSettings(Settings{Dir: dir}))
	w := n.writer(t, persistentQos())
	log := n.p.logs.log(w.at.sg)
	put := func(writer derecho.EndpointID, seq uint64) {
		b := log.NewBatch()
		b.Append(&derecho.Message{Header: derecho.Header{Writer: writer, Kind: kindData}, Sender: 70, Channel: w.at.ch, Epoch: 1, Seq: seq, Payload: []byte("what")})
		require.NoError(t, log.Write(b))
	}
	path := writersFile(n.p.logDir(w.at.sg))
	put(1, 1)
	once := lengthOf(t, path)
	put(1, 2)
	require.Equal(t, once, lengthOf(t, path), "it is noted once")
	put(2, 3)
	n.p.logs.announced.Store(endpointKey{70, 1}, []byte("what it announced later"))
	put(1, 4)
	require.NoError(t, log.Close())
	found, _, err := readWriters(path)
	require.NoError(t, err)
	require.Equal(t, map[endpointKey][]byte{{70, 1}: []byte("what it announced later"), {70, 2}: {}}, found)
	require.NoError(t, os.Truncate(path, int64(lengthOf(t, path)-1)))
	disk, err := openDisk(n.p.logDir(w.at.sg), storage.Options{}, new(atomic.Uint64))
	require.NoError(t, err)
	require.Equal(t, map[endpointKey]introduced{{70, 1}: {info: []byte{}}, {70, 2}: {info: []byte{}}}, disk.known)
	require.NoError(t, disk.close())
}
