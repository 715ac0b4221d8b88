package dcps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
)

// Everybody is gone. Whoever comes back first, the longest log is taken up: here a's, who wrote on when b
// had left.
func TestCoreTotalRestartTakesTheLongestLog(t *testing.T) {
	for _, first := range []string{"a", "b", "both"} {
		t.Run(first+" first", func(t *testing.T) {
			d := onCore(t, Settings{})
			dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
			start := func(name string) *node {
				s := d.settings
				s.Dir = dirs[name]
				return (&domain{id: d.id, settings: s}).node(t, WithName(name))
			}
			persistent := func(q *qos.DataWriter) {
				q.Durability.Kind = qos.DurabilityPersistent
				q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
			}
			wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }

			a, b := start("a"), start("b")
			w := a.writer(t, writerQos(persistent, blocking(patience)))
			r := b.reader(t, readerQos(wants))
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			var want []string
			put := func(from, to int32) {
				for i := from; i < to; i++ {
					write(t, w, i, i)
					want = append(want, fmt.Sprintf("%d:%d", i, i))
				}
				require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			}
			put(0, 10)
			require.Equal(t, strings.Join(want, " "), values(t, r, 10))
			require.NoError(t, b.p.Close())
			put(10, 20)
			require.NoError(t, a.p.Close())

			names := map[string][]string{"a": {"a", "b"}, "b": {"b", "a"}, "both": {"b", "a"}}[first]
			readers := make([]*DataReader[track], 2)
			var nodes []*node
			for _, name := range names {
				nodes = append(nodes, start(name))
			}
			var wg sync.WaitGroup
			for i, n := range nodes {
				// b alone waits: its log knows that a's belonged to the last epoch.
				wg.Go(func() { readers[i] = n.reader(t, readerQos(wants)) })
			}
			wg.Wait()
			for _, r := range readers {
				require.NotNil(t, r)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				require.Equal(t, strings.Join(want, " "), values(t, r, 20))
			}
			for _, n := range nodes {
				require.NoError(t, n.p.Close())
			}
		})
	}
}

// An empty log begins a history while the only log of an older one is away. That one is refused when it comes back, is told why,
// and keeps what it holds: without the other it goes on.
func TestCoreOtherHistoryIsRefused(t *testing.T) {
	d := onCore(t, Settings{})
	dirs := map[string]string{"old": t.TempDir(), "new": t.TempDir()}
	start := func(name string) *node {
		s := d.settings
		s.Dir = dirs[name]
		return (&domain{id: d.id, settings: s}).node(t, WithName(name))
	}
	persistent := writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience))
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	for i, name := range []string{"old", "new"} {
		n := start(name)
		w := n.writer(t, persistent)
		write(t, w, int32(i), int32(i))
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		if name == "old" {
			require.NoError(t, n.p.Close())
			continue
		}
		back := start("old")
		_, err := NewDataReader(back.sub, back.topic(t), WithReaderQos(wants))
		require.ErrorIs(t, err, derecho.ErrHistory)
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.NoError(t, back.p.Close())
		require.NoError(t, n.p.Close())
	}
	again := start("old")
	r := again.reader(t, wants)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0", values(t, r, 1))
	require.NoError(t, again.p.Close())
}

// The beginning of an epoch and the states that were taken then are on disk together or not at all, wherever a crash
// cuts the file.
func TestEpochFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	id := e.index.ID
	require.NotZero(t, id)
	start := func(epoch uint32, channels ...derecho.ChannelStart) {
		require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: epoch, Channels: channels})))
	}
	logs := []uint64{1, 2}
	start(3, derecho.ChannelStart{Channel: 7, Logs: logs, History: 9, Written: true, Since: 3, Loaded: true, State: []byte("then")},
		derecho.ChannelStart{Channel: 8, Logs: []uint64{2}, History: 8, Since: 3})
	start(4, derecho.ChannelStart{Channel: 8, Logs: []uint64{2}, History: 8, Since: 4, Loaded: true})
	require.NoError(t, e.f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	second := len(whole) - len(startEntry(&derecho.EpochStart{Channels: []derecho.ChannelStart{{Logs: []uint64{2}, Loaded: true}}}).append(nil))

	for cut := range len(whole) + 1 {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o644))
		e, err := openEpochs(path, storage.Version{})
		require.NoError(t, err, "%d bytes", cut)
		entries, _, err := readEpochs(path)
		require.NoError(t, err)
		if cut >= epochEntrySize+8 {
			require.Equal(t, id, e.index.ID, "%d bytes", cut)
		}
		switch {
		case cut < second:
			require.Zero(t, e.index.Begun(), "%d bytes", cut)
			require.Empty(t, stateOf(entries, 7))
		case cut < len(whole):
			require.Equal(t, uint32(3), e.index.Begun(), "%d bytes", cut)
		default:
			require.Equal(t, uint32(4), e.index.Begun())
		}
		if cut >= second {
			seq := uint64(5)
			if cut == len(whole) {
				seq = ^uint64(0) // of an epoch that is over: all
			}
			require.Equal(t, &derecho.LogState{ID: id, Begun: e.index.Begun(), Epoch: 3, Seq: seq, Logs: logs, History: 9, Written: true}, e.index.Holds(7, 5))
			require.Equal(t, "then", string(stateOf(entries, 7)))
			require.Equal(t, e.index.Begun(), e.index.Holds(8, 5).Epoch)
			require.Equal(t, cut < len(whole), e.index.Counts(8, 3), "superseded by the state of epoch 4")
		}
		// It goes on behind what was whole.
		require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: 9})))
		require.NoError(t, e.f.Close())
		entries, _, err = readEpochs(path)
		require.NoError(t, err)
		require.Equal(t, uint32(9), entries[len(entries)-1].epoch)
	}
}

// What is damaged, and not torn by a crash, is told and left as it is.
func TestEpochFileDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	var ends []int // of what was written at once
	for epoch := uint32(3); epoch < 6; epoch++ {
		info, err := e.f.Stat()
		require.NoError(t, err)
		ends = append(ends, int(info.Size()))
		require.NoError(t, e.put(afterEntry(storage.Version{Epoch: epoch - 1, Seq: 7}), startEntry(&derecho.EpochStart{Epoch: epoch})))
	}
	require.NoError(t, e.f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, damaged, 0o644))
		if i >= ends[len(ends)-1] {
			e, err := openEpochs(path, storage.Version{Epoch: 4, Seq: 7})
			require.NoError(t, err, "byte %d is of the last write, which a crash may have torn", i)
			require.NoError(t, e.f.Close())
			require.NoError(t, os.WriteFile(path, damaged, 0o644))
		}
		_, err := openEpochs(path, storage.Version{Epoch: 5}) // it was on disk before the messages of its epoch
		require.ErrorIs(t, err, storage.ErrCorrupt, "byte %d", i)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, damaged, after)
	}
	for _, b := range [][]byte{nil, []byte("garbage"), make([]byte, 100)} {
		require.NoError(t, os.WriteFile(path, b, 0o644))
		_, err = openEpochs(path, storage.Version{Epoch: 5, Seq: 6})
		require.ErrorIs(t, err, storage.ErrCorrupt)
		require.ErrorContains(t, err, "the log has messages, up to 6 of epoch 5")
		e, err := openEpochs(path, storage.Version{})
		require.NoError(t, err, "the first write is torn, and nothing came after it")
		require.NoError(t, e.f.Close())
	}
	require.NoError(t, os.Remove(path))
	_, err = openEpochs(path, storage.Version{Epoch: 5, Seq: 6})
	require.ErrorIs(t, err, storage.ErrCorrupt, "it was there before the messages")
	require.NoFileExists(t, path)
}

// A disk has lost what it had called durable: of the beginnings of epochs those are left that came behind messages
// which are there.
func TestEpochFileBehindTheLog(t *testing.T) {
	logs := []uint64{1, 2}
	at := func(epoch uint32, seq uint64) storage.Version { return storage.Version{Epoch: epoch, Seq: seq} }
	channel := func(ch derecho.ChannelID, epoch uint32) *derecho.EpochStart {
		return &derecho.EpochStart{Epoch: epoch, Channels: []derecho.ChannelStart{{Channel: ch, Logs: logs, History: 9, Written: true, Since: epoch}}}
	}
	for _, c := range []struct {
		last        storage.Version
		begun, of7  uint32
		seq7, after uint64
	}{
		{at(5, 0), 5, 3, 9, 1}, // nothing is lost
		{at(4, 2), 5, 3, 9, 0}, // nor is it here: the last epoch is empty
		{at(4, 1), 4, 3, 9, 2}, // the beginning of 5 came behind 4:2
		{at(3, 8), 4, 3, 9, 0}, // epoch 4 is empty
		{at(3, 7), 3, 3, 8, 8}, // epoch 3 is torn
		{at(0, 0), 3, 3, 0, 0}, // the messages are lost
	} {
		path := filepath.Join(t.TempDir(), "log.epochs")
		e, err := openEpochs(path, storage.Version{})
		require.NoError(t, err)
		require.NoError(t, e.put(afterEntry(at(0, 0)), startEntry(channel(7, 3))))
		require.NoError(t, e.put(afterEntry(at(3, 8)), startEntry(channel(8, 4))))
		require.NoError(t, e.put(afterEntry(at(4, 2)), startEntry(channel(8, 5))))
		require.NoError(t, e.f.Close())
		for range 2 { // what was cut is cut for good
			e, err = openEpochs(path, c.last)
			require.NoError(t, err)
			require.Equal(t, c.begun, e.index.Begun(), "%v", c.last)
			holds := e.index.Holds(7, c.after)
			require.Equal(t, c.of7, holds.Epoch, "%v", c.last)
			require.Equal(t, c.seq7, holds.Seq, "%v", c.last)
			require.NoError(t, e.f.Close())
		}
	}
}

// How often a log was opened is not forgotten, wherever a crash cuts the file, nor when beginnings are cut off behind
// messages that are lost.
func TestEpochFileOpenings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	open := func(last storage.Version) *epochFile {
		e, err := openEpochs(path, last)
		require.NoError(t, err)
		require.NoError(t, e.open())
		require.NoError(t, e.f.Close())
		return e
	}
	require.Equal(t, uint32(1), open(storage.Version{}).index.Opened())
	require.Equal(t, uint32(2), open(storage.Version{}).index.Opened())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := len(whole) - epochEntrySize; cut < len(whole); cut++ {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o644))
		require.Equal(t, uint32(2), open(storage.Version{}).index.Opened(), "nobody was told of the second opening")
	}

	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	logs := []uint64{4, e.index.ID}
	slices.Sort(logs)
	require.NoError(t, e.put(afterEntry(storage.Version{Epoch: 3, Seq: 8}), startEntry(&derecho.EpochStart{Epoch: 4, Channels: []derecho.ChannelStart{
		{Channel: 7, Logs: logs, Openings: []uint32{9, 2}, Past: []derecho.Opening{{Log: 3, Count: 8}}, History: 9, Since: 4, Loaded: true, State: []byte("then")},
		{Channel: 8, Logs: logs, History: 9, Since: 4},
	}})))
	require.NoError(t, e.f.Close())
	e = open(storage.Version{Epoch: 3, Seq: 8})
	require.Equal(t, &derecho.LogState{ID: e.index.ID, Begun: 4, Epoch: 4, Logs: logs, Openings: []uint32{9, 2}, Past: []derecho.Opening{{Log: 3, Count: 8}}, Opened: 3, History: 9}, e.index.Holds(7, 0))
	require.Nil(t, e.index.Holds(8, 0).Openings, "as an earlier version wrote it")
	entries, _, err := readEpochs(path)
	require.NoError(t, err)
	require.Equal(t, "then", string(stateOf(entries, 7)))
	e = open(storage.Version{Epoch: 3, Seq: 7})
	require.Zero(t, e.index.Begun(), "it began behind a message that is lost")
	require.Equal(t, uint32(4), e.index.Opened())
	require.Equal(t, uint32(5), open(storage.Version{Epoch: 3, Seq: 7}).index.Opened())
}

// A beginning that ends too early, or says that more follows than there is, is malformed.
func TestMalformedStart(t *testing.T) {
	x := startEntry(&derecho.EpochStart{Epoch: 4, Channels: []derecho.ChannelStart{
		{Channel: 7, Logs: []uint64{4, 5}, Openings: []uint32{9, 2}, Past: []derecho.Opening{{Log: 3, Count: 8}, {Log: 6, Count: 1}}, History: 9, Since: 4, Loaded: true, State: []byte("then")},
	}})
	_, err := x.start()
	require.NoError(t, err)
	whole := x.body
	for cut := 1; cut < len(whole); cut++ {
		x.body = whole[:cut]
		_, err := x.start()
		require.ErrorIs(t, err, errStart, cut)
	}
	for at := 21; at < len(whole)-4; at++ { // a count among them
		x.body = slices.Clone(whole)
		copy(x.body[at:], []byte{255, 255, 255, 255})
		_, _ = x.start() // without a panic
	}
}

// What an earlier version wrote counts for all channels, and is of a history that has no name of its own.
func TestEpochFileOfEarlierVersion(t *testing.T) {
	body := []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}
	entries := []epochEntry{
		{kind: entryLog, body: []byte{5, 0, 0, 0, 0, 0, 0, 0}},
		{kind: entryBegin, epoch: 3, body: body},
		{entryState, 3, 7, []byte("then")},
		{kind: entryBegin, epoch: 4, body: body},
	}
	index := indexOf(entries)
	require.Equal(t, &derecho.LogState{ID: 5, Begun: 4, Epoch: 4, Seq: 6, Logs: []uint64{1, 2}, History: 1, Written: true}, index.Holds(7, 6))
	require.Equal(t, index.Holds(7, 6), index.Holds(8, 6))
	require.Equal(t, "then", string(stateOf(entries, 7)))
	require.False(t, index.Counts(7, 2))
	require.True(t, index.Counts(7, 3))
	require.True(t, index.Counts(8, 2))

	// This version goes on in the same file.
	entries = append(entries, startEntry(&derecho.EpochStart{Epoch: 6, Channels: []derecho.ChannelStart{{Channel: 7, Logs: []uint64{5}, History: 1, Written: true, Since: 6}}}))
	index = indexOf(entries)
	require.Equal(t, uint32(6), index.Holds(7, 0).Epoch)
	require.Equal(t, uint32(4), index.Holds(8, 0).Epoch)
	require.False(t, index.Counts(7, 5))
	require.True(t, index.Counts(7, 3))
	require.False(t, index.Counts(8, 6))
	require.Zero(t, index.Opened())
	entries = append(entries, epochEntry{kind: entryOpened, ch: 1})
	index = indexOf(entries)
	require.Equal(t, uint32(1), index.Opened())
}
