package dcps

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
)

// trimmed are settings with which a log is trimmed every few samples.
var trimmed = Settings{LogSegmentBytes: 8 << 10, LogTrimBytes: 2 << 10}

// segments are the files of a log.
func segments(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	require.NoError(t, err)
	return len(files)
}

// storing is a writer whose samples outlive it, of which as many are kept of an instance.
func storing(depth int32) qos.DataWriter {
	return writerQos(blocking(patience), func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
		q.DurabilityService.HistoryKind, q.DurabilityService.HistoryDepth = qos.HistoryKeepLast, depth
		if depth == 0 {
			q.DurabilityService.HistoryKind, q.DurabilityService.HistoryDepth = qos.HistoryKeepAll, 1
		}
	})
}

// storeMany writes samples of one instance, each by itself.
func storeMany(t *testing.T, w *DataWriter[track], n int32) {
	t.Helper()
	for i := range n {
		write(t, w, 1, i)
		require.NoError(t, w.WaitForDurable(patiently(t)))
	}
}

// However much is written the logs stay small, and what is kept is there when all come back; also of a run before, and for who
// joins while they live.
func TestCoreLogIsTrimmed(t *testing.T) {
	d := onCore(t, trimmed)
	dirs := []string{t.TempDir(), t.TempDir()}
	old := []string{}
	for run := range int32(3) {
		a, b := d.nodeAt(t, dirs[0], WithName("a")), d.nodeAt(t, dirs[1], WithName("b"))
		b.reader(t, durableReader(qos.DurabilityPersistent))
		w := a.writer(t, storing(2))
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		for round := range int32(60) {
			for id := range int32(3) {
				write(t, w, 10*run+id, 1000*run+round)
			}
			require.NoError(t, w.WaitForDurable(patiently(t)))
		}
		for id := range int32(3) {
			old = append(old, fmt.Sprintf("%d:%d", 10*run+id, 1000*run+58), fmt.Sprintf("%d:%d", 10*run+id, 1000*run+59))
		}
		c := d.nodeAt(t, t.TempDir(), WithName("c"))
		require.ElementsMatch(t, old, strings.Fields(keptBy(t, c)))
		for _, n := range []*node{a, b} {
			dir := n.p.logDir(w.at.sg)
			require.Eventually(t, func() bool { _, err := os.Stat(baseFile(dir)); return err == nil }, patience, time.Millisecond)
			require.Less(t, segments(t, dir), 20, "the log of %s in run %d", n.p.name, run)
		}
		for _, n := range []*node{c, a, b} {
			require.NoError(t, n.p.Close())
		}
	}
	for _, n := range []*node{d.nodeAt(t, dirs[1]), d.nodeAt(t, dirs[0])} {
		n.reader(t, durableReader(qos.DurabilityPersistent))
		require.ElementsMatch(t, old, strings.Fields(keptBy(t, n)))
	}
}

// A log is trimmed beside topics that this process does not store, or not any more, and these lose nothing. It is not if the
// settings say so; and where all is kept all is there.
func TestCoreWhichLogsAreTrimmed(t *testing.T) {
	kept := trimmed
	kept.LogTrimBytes = -1
	for name, c := range map[string]struct {
		settings Settings
		depth    int32
		stranger bool
		want     bool
	}{
		"all is kept":     {trimmed, 0, false, true},
		"by the settings": {kept, 1, false, false},
		"another topic":   {trimmed, 1, true, true},
		"else it is":      {trimmed, 1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.settings.Subgroups = 1
			d := onCore(t, c.settings)
			dir := t.TempDir()
			if c.stranger { // of an earlier run
				n := d.nodeAt(t, dir)
				other := writerOn(t, n, n.pub, "Other", storing(1))
				write(t, other, 7, 6)
				write(t, other, 7, 7)
				require.NoError(t, other.WaitForDurable(patiently(t)))
				require.NoError(t, n.p.Close())
			}
			n := d.nodeAt(t, dir)
			w := n.writer(t, storing(c.depth))
			storeMany(t, w, 150)
			if c.stranger { // of this one
				other := writerOn(t, n, n.pub, "Third", storing(1))
				write(t, other, 8, 8)
				storeMany(t, w, 150)
				write(t, other, 9, 9)
				require.NoError(t, other.WaitForDurable(patiently(t)))
				require.NoError(t, other.Close())
			}
			storeMany(t, w, 150)
			logs := n.p.logDir(w.at.sg)
			require.NoError(t, n.p.Close())
			_, err := os.Stat(baseFile(logs)) // with a sync for each sample a log has mostly what fills blocks
			require.Equal(t, c.want, err == nil)
			if c.depth > 0 {
				require.Equal(t, c.want, segments(t, logs) < 20)
			} else {
				require.Len(t, strings.Fields(keptBy(t, d.nodeAt(t, dir))), 300)
			}
			if c.stranger {
				n := d.nodeAt(t, dir)
				r := readerOn(t, n, n.sub, "Other", durableReader(qos.DurabilityPersistent))
				require.Equal(t, "7:7", values(t, r, 1))
				r = readerOn(t, n, n.sub, "Third", durableReader(qos.DurabilityPersistent))
				require.Equal(t, "8:8 9:9", values(t, r, 2))
			}
		})
	}
}

// trimmedLog leaves a log that was trimmed, of a process that has ended: where its samples travelled, and its directory.
func (d *domain) trimmedLog(t *testing.T, home string) (channelKey, string) {
	t.Helper()
	n := d.nodeAt(t, home)
	w := n.writer(t, storing(1))
	storeMany(t, w, 200)
	require.NoError(t, n.p.Close())
	require.FileExists(t, baseFile(n.p.logDir(w.at.sg)))
	return w.at, n.p.logDir(w.at.sg)
}

func writeBase(t *testing.T, dir string, b logBase) {
	t.Helper()
	w, err := startBase(dir, b.log, func() error { return nil })
	require.NoError(t, err)
	for ch, s := range b.states {
		require.NoError(t, w.state(ch, s))
	}
	require.NoError(t, w.finish(b.at))
	require.NoError(t, w.adopt(dir))
	require.NoError(t, w.close(dir))
}

// A base that is lost, damaged, or another log's: the log is refused, with the file and what is wrong.
func TestDamageToABase(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"it is lost": {func(t *testing.T, dir string) { require.NoError(t, os.Remove(baseFile(dir))) }, ".seg is missing"},
		"a bit has turned": {func(t *testing.T, dir string) {
			b, err := os.ReadFile(baseFile(dir))
			require.NoError(t, err)
			b[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(baseFile(dir), b, 0o600))
		}, "does not hold"},
		"its end is lost": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(baseFile(dir), int64(lengthOf(t, baseFile(dir))-epochEntrySize)))
		}, "does not hold"},
		"the log was moved away, and it was not": {func(t *testing.T, dir string) {
			for _, path := range []string{dir, epochsFile(dir), writersFile(dir)} {
				require.NoError(t, os.RemoveAll(path))
			}
		}, "the entry in it that names the log, is missing"},
		"it is another log's": {func(t *testing.T, dir string) {
			b, err := readBase(dir)
			require.NoError(t, err)
			b.log++
			writeBase(t, dir, b)
		}, "do not belong together"},
		"it is ahead of the epochs": {func(t *testing.T, dir string) {
			b, err := readBase(dir)
			require.NoError(t, err)
			b.at.Epoch += 100
			writeBase(t, dir, b)
		}, "ends with epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			d, home := onCore(t, trimmed), t.TempDir()
			_, dir := d.trimmedLog(t, home)
			c.damage(t, dir)
			n := d.nodeAt(t, home)
			_, err := NewDataWriter(n.pub, n.topic(t), WithWriterQos(persistentQos()))
			require.ErrorIs(t, err, storage.ErrCorrupt)
			require.ErrorIs(t, err, ErrPreconditionNotMet)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A disk that loses the end of a log, which it had called durable, does not lose what is in the base: and the log does not look
// shorter than that.
func TestLogEndsWithItsBase(t *testing.T) {
	d, home := onCore(t, trimmed), t.TempDir()
	key, dir := d.trimmedLog(t, home)
	base, err := readBase(dir)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	disk, err := openDisk(dir, storage.Options{}, new(atomic.Uint64))
	require.NoError(t, err)
	require.Equal(t, base.at.Seq+1, disk.holds.Load().index.Holds(key.ch, disk.seq).Seq)
	require.NoError(t, disk.close())
	require.Len(t, strings.Fields(keptBy(t, d.nodeAt(t, home))), 1)
}

// A base that were most of the log is not made.
func TestCoreLogOfWhichMostIsKept(t *testing.T) {
	n := onCore(t, Settings{}).nodeAt(t, t.TempDir())
	w := n.writer(t, storing(0))
	for i := range int32(100) {
		write(t, w, 1, i)
	}
	require.NoError(t, w.WaitForDurable(patiently(t)))
	g := n.p.logs.log(w.at.sg)
	g.trim.grown.Store(1 << 30)
	c := g.cut()
	require.Len(t, c.histories, 1)
	c.grown = c.kept
	size, err := g.rebase(c)
	require.ErrorIs(t, err, errTooMuchKept)
	require.Positive(t, size)
	require.NoFileExists(t, baseFile(n.p.logDir(w.at.sg)))
	require.NoFileExists(t, newBase(n.p.logDir(w.at.sg)))
	g.trim.grown.Store(c.kept)
	require.Empty(t, g.cut().histories, "nothing is taken")
}

// A log is closed while it is trimmed: that is waited for, and nothing of it comes later, as somebody else may have the log then.
func TestCoreLogIsClosedWhileItIsTrimmed(t *testing.T) {
	n := onCore(t, Settings{LogSegmentBytes: 8 << 10, LogTrimBytes: 1 << 30}).nodeAt(t, t.TempDir())
	w := n.writer(t, storing(1))
	for i := range int32(100) {
		write(t, w, 1, i)
	}
	require.NoError(t, w.WaitForDurable(patiently(t)))
	g := n.p.logs.log(w.at.sg)
	dir := n.p.logDir(w.at.sg)
	g.files.RLock() // somebody reads: who trims has written a base, and waits
	g.trim.due.Store(1)
	g.grow(1)
	require.Eventually(t, func() bool {
		waits := !g.files.TryRLock()
		if !waits {
			g.files.RUnlock()
		}
		return waits
	}, patience, time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- g.Close() }()
	require.Eventually(t, func() bool { return g.trim.over.Err() != nil }, patience, time.Millisecond)
	_, err := os.Stat(newBase(dir))
	require.NoError(t, err)
	select {
	case <-closed:
		require.Fail(t, "it was closed beside who trims it")
	default:
	}
	g.files.RUnlock()
	require.NoError(t, <-closed)
	require.NoFileExists(t, baseFile(dir))
	require.NoFileExists(t, newBase(dir))
	require.False(t, g.trim.busy.Load())
	g.trim.due.Store(1)
	g.grow(1)
	require.True(t, g.trim.busy.Load(), "nobody begins anew, who would end that")
}

// A base that can not be written is told until one is; the log goes on.
func TestCoreLogThatCanNotBeTrimmed(t *testing.T) {
	n := onCore(t, trimmed).nodeAt(t, t.TempDir())
	w := n.writer(t, storing(1))
	dir := n.p.logDir(w.at.sg)
	require.NoError(t, os.MkdirAll(filepath.Join(newBase(dir), "in the way"), 0o700))
	put := func(when func() bool) {
		require.Eventually(t, func() bool {
			write(t, w, 1, 1)
			require.NoError(t, w.WaitForDurable(patiently(t)))
			return when()
		}, patience, time.Microsecond)
	}
	put(func() bool { return n.p.Err() != nil })
	require.ErrorContains(t, n.p.Err(), "can not be trimmed, and grows")
	require.ErrorContains(t, n.p.Err(), newBase(dir))
	require.NoError(t, os.RemoveAll(newBase(dir)))
	put(func() bool { return n.p.Err() == nil })
	require.FileExists(t, baseFile(dir))
}

// A topic is begun while the log, in which others are too, is trimmed: what is read then is not removed.
func TestCoreTopicsBeginWhileTheirLogIsTrimmed(t *testing.T) {
	s := trimmed
	s.Subgroups = 1
	n := onCore(t, s).nodeAt(t, t.TempDir())
	w := n.writer(t, storing(1))
	done := make(chan error)
	go func() {
		var err error
		for i := range int32(1000) {
			if err == nil {
				err = w.Write(patiently(t), &track{ID: 1, Value: i})
			}
			if err == nil {
				err = w.WaitForDurable(patiently(t))
			}
		}
		done <- err
	}()
	for i := 0; ; i++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			require.Eventually(t, func() bool { _, err := os.Stat(baseFile(n.p.logDir(w.at.sg))); return err == nil }, patience, time.Millisecond)
			return
		default:
			writerOn(t, n, n.pub, fmt.Sprintf("Topic %d", i), storing(1))
		}
	}
}

// based waits until the log of a writer has a base that was made since.
func based(t *testing.T, w *DataWriter[track], since time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := os.Stat(baseFile(w.p.logDir(w.at.sg)))
		return err == nil && info.ModTime().After(since)
	}, patience, time.Millisecond)
}

// A writer has another QoS than the one in the base, for what it writes after that: as if there were no base.
func TestCoreSetQosBehindABase(t *testing.T) {
	d := onCore(t, trimmed)
	home := t.TempDir()
	n := d.nodeAt(t, home)
	w := n.writer(t, storing(1))
	at := time.Now()
	storeMany(t, w, 200)
	based(t, w, at)
	q := n.pub.Qos()
	q.Partition.Name = []string{"elsewhere"}
	require.NoError(t, n.pub.SetQos(q))
	write(t, w, 2, 777)
	require.NoError(t, w.WaitForDurable(patiently(t)))
	elsewhere := func(n *node) string {
		q := n.sub.Qos()
		q.Partition.Name = []string{"elsewhere"}
		require.NoError(t, n.sub.SetQos(q))
		return keptBy(t, n)
	}
	require.Equal(t, "1:199 2:777", elsewhere(n))
	require.NoError(t, n.p.Close())
	require.Equal(t, "1:199 2:777", elsewhere(d.nodeAt(t, home)))
}

// A topic that a process has in memory only, beside one that it stores, does not keep the log of that from being trimmed.
func TestCoreLogIsTrimmedBesideATopicInMemory(t *testing.T) {
	for _, how := range []string{"in memory", "not stored any more, and in memory", "not stored any more"} {
		t.Run(how, func(t *testing.T) {
			s := trimmed
			s.Subgroups = 1
			d := onCore(t, s)
			a, b := d.nodeAt(t, t.TempDir(), WithName("a")), d.nodeAt(t, t.TempDir(), WithName("b"))
			other := writerOn(t, b, b.pub, "Other", storing(1))
			w := a.writer(t, storing(1))
			if how != "not stored any more" {
				readerOn(t, a, a.sub, "Other", durableReader(qos.DurabilityTransientLocal))
			}
			if how != "in memory" {
				r := readerOn(t, a, a.sub, "Other", durableReader(qos.DurabilityPersistent))
				write(t, other, 1, 1)
				require.NoError(t, other.WaitForDurable(patiently(t)))
				require.NoError(t, r.Close())
			}
			for i := range int32(200) {
				for _, w := range []*DataWriter[track]{w, other} {
					write(t, w, 1, i)
					require.NoError(t, w.WaitForDurable(patiently(t)))
				}
			}
			based(t, w, time.Time{})
			require.Eventually(t, func() bool { return segments(t, a.p.logDir(w.at.sg)) < 20 }, patience, time.Millisecond)
		})
	}
}

// A history that takes many passes to be taken is the base of a log like any other, while samples come.
func TestCoreLargeHistoryIsTrimmed(t *testing.T) {
	s := Settings{LogSegmentBytes: 256 << 10, LogTrimBytes: 64 << 10}
	d := onCore(t, s)
	home := t.TempDir()
	n := d.nodeAt(t, home)
	w := n.writer(t, storing(1))
	const many = 20_000
	round, has := int32(0), 0
	for ; has < many; round++ { // a base is made of it when it is half of what the log has
		require.Less(t, round, int32(20), "the base has %d", has)
		for i := range int32(many) {
			write(t, w, i, round)
		}
		require.NoError(t, w.WaitForDurable(patiently(t)))
		require.Eventually(t, func() bool { return !n.p.logs.log(w.at.sg).trim.busy.Load() }, patience, time.Millisecond)
		base, err := readBase(n.p.logDir(w.at.sg))
		require.NoError(t, err)
		if b := base.states[w.at.ch]; b.state != nil {
			past, err := loadStore(b.state)
			require.NoError(t, err)
			has = past.count
		}
	}
	require.NoError(t, n.p.Close())
	kept := strings.Fields(keptBy(t, d.nodeAt(t, home)))
	require.Len(t, kept, many)
	require.Contains(t, kept, fmt.Sprintf("0:%d", round-1))
	require.Contains(t, kept, fmt.Sprintf("%d:%d", many-1, round-1))
}

// Whatever a base says, it is refused or means what it was written as, and nobody panics at it.
func FuzzBaseFile(f *testing.F) {
	message := appendMessage(nil, &storage.Record{Version: storage.Version{Epoch: 3, Seq: 1}, Sender: 5, WriterSeq: 2, Writer: 1, Payload: []byte("sample")})
	f.Add(uint32(4), uint64(9), uint64(7), newStore().save(), message)
	f.Add(uint32(0), uint64(0), uint64(0), []byte{}, message[:messageHead])
	f.Add(uint32(1), uint64(1<<63), uint64(1), []byte("state"), append(message, message[:20]...))
	f.Fuzz(func(t *testing.T, epoch uint32, seq, ch uint64, state, messages []byte) {
		dir := filepath.Join(t.TempDir(), "log")
		at := storage.Version{Epoch: epoch, Seq: seq}
		w, err := startBase(dir, 5, func() error { return nil })
		require.NoError(t, err)
		require.NoError(t, w.state(derecho.ChannelID(ch), stateAt{at, state}))
		require.NoError(t, w.put(epochEntry{kind: entryMessages, ch: derecho.ChannelID(ch), body: messages}))
		require.NoError(t, w.finish(at))
		require.NoError(t, w.adopt(dir))
		require.NoError(t, w.close(dir))
		b, err := readBase(dir)
		require.Equal(t, wholeMessages(messages), err == nil)
		if err != nil {
			require.ErrorIs(t, err, storage.ErrCorrupt)
			return
		}
		require.Equal(t, at, b.at)
		require.Equal(t, string(state), string(b.states[derecho.ChannelID(ch)].state))
		var again []byte
		for rest := messages; len(rest) > 0; {
			var r storage.Record
			rest = takeMessage(rest, &r)
			again = appendMessage(again, &r)
		}
		require.Equal(t, string(messages), string(again))
	})
}
