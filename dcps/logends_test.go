package dcps

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
)

func cutsOf(ch derecho.ChannelID, s *store) map[derecho.ChannelID]*cut {
	return map[derecho.ChannelID]*cut{ch: s.cut()}
}

// Whenever writers are closed or end with their processes, and however often this one is started again, with the history
// of before or with that of others, and wherever it is trimmed: a history that is made of the log is the one that was there.
func TestLogHasTheHistory(t *testing.T) {
	w := onBus(t).node(t).writer(t, writerQos())
	local, announced := w.topic.localType(), w.topic.announcement()
	announced.writes = true
	ch := derecho.ChannelID(7)
	samples := make(map[int32][]byte)
	for id := range int32(4) {
		b, err := cdr.Marshal(&track{ID: id}, cdr.CDR2LE)
		require.NoError(t, err)
		samples[id] = b
	}
	ended := (&setEnd{}).encode()
	scratch := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		own, err := os.MkdirTemp(scratch, "ends") // the log has files beside its directory
		require.NoError(t, err)
		defer func() { require.NoError(t, os.RemoveAll(own)) }()
		dir := filepath.Join(own, "log")
		live := newStore()
		epoch, clock, late := uint32(0), int64(10), int64(0)
		cleanup := rapid.SampledFrom([]time.Duration{0, 10}).Draw(t, "service_cleanup_delay")
		limit := rapid.SampledFrom([]int{qos.LengthUnlimited, 2, 3, 6}).Draw(t, "max_samples")
		bySource := rapid.Bool().Draw(t, "by source timestamp")
		trims := rapid.Bool().Draw(t, "trims")
		segment := rapid.SampledFrom([]int64{8 << 10, 1 << 20}).Draw(t, "segment")
		for run := range rapid.IntRange(1, 3).Draw(t, "runs") {
			set := &logSet{byID: make(map[derecho.SubgroupID]*groupLog)}
			g := &groupLog{set: set, sg: 1, files: new(sync.RWMutex)}
			g.trim.init(0)
			set.byID[1] = g
			disk, err := openDisk(dir, storage.Options{Owner: "test", SegmentBytes: segment}, new(atomic.Uint64))
			require.NoError(t, err)
			g.disk.Store(disk)
			batch := g.NewBatch()
			write := func() {
				if batch.Bytes() > 0 {
					require.NoError(t, g.Write(batch))
					batch.Reset()
				}
			}
			begin := func(state []byte) {
				write()
				epoch++
				require.NoError(t, g.Begin(&derecho.EpochStart{Epoch: epoch, Channels: []derecho.ChannelStart{
					{Channel: ch, Logs: []uint64{disk.epochs.index.ID}, History: 9, Since: epoch, Loaded: state != nil, State: state}}}))
			}
			var writers [3]*endpoint
			for i := range writers {
				a := *announced
				a.writer = durably(qos.DurabilityPersistent, func(q *qos.DataWriter) {
					q.History.Depth = int32(rapid.IntRange(1, 3).Draw(t, "depth"))
					q.DurabilityService.HistoryDepth = 1
					q.DurabilityService.MaxSamples = int32(limit)
					if bySource {
						q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
					}
					q.DurabilityService.ServiceCleanupDelay = cleanup
				})
				e := &endpoint{key: endpointKey{derecho.NodeID(10*run + i + 1), 1}, info: a.encode(), ann: &a, keys: local.keys}
				set.announced.Store(e.key, e.info)
				writers[i] = e
			}
			gone := make(map[*endpoint]bool)
			seq := uint64(0)
			var cut *logCut
			trim := func() {
				if cut != nil {
					if history := cut.histories[ch]; history != nil {
						history.take(math.MaxInt)
					}
					write()
					size, err := g.rebase(cut)
					require.NoError(t, err)
					require.Positive(t, size)
					cut = nil
				}
			}
			send := func(e *endpoint, kind derecho.Kind, flags uint8, id int32) {
				clock++
				seq++
				m := derecho.Message{Header: derecho.Header{Writer: e.key.id, WriterSeq: seq, Kind: kind, Flags: flags, Timestamp: clock - late}, Sender: e.key.node, Channel: ch,
					Epoch: epoch, Seq: seq}
				switch kind {
				case kindSetEnd:
					m.Payload = ended
				case kindClosing:
				default:
					m.Payload = samples[id]
				}
				batch.Append(&m)
				h, ok := instanceOf(local.keys, &m)
				require.True(t, ok)
				live.add(e, &m, h)
			}
			if rapid.Bool().Draw(t, "from others") { // which have writers that go on
				for i := range 3 {
					e := writers[i]
					clock++
					h, _ := instanceOf(local.keys, &derecho.Message{Header: derecho.Header{Kind: kindData}, Payload: samples[int32(i)]})
					live.add(e, &derecho.Message{Header: derecho.Header{Writer: e.key.id, Kind: kindData, Flags: uint8(i % 2 * flagInSet), Timestamp: clock}, Sender: e.key.node, Channel: ch,
						Epoch: epoch, Seq: 1000, Payload: samples[int32(i)]}, h)
				}
				begin(live.save())
			} else {
				begin(nil)
			}
			for range rapid.IntRange(0, 25).Draw(t, "messages") {
				e := writers[rapid.IntRange(0, 2).Draw(t, "writer")]
				if gone[e] {
					continue
				}
				switch {
				case cut != nil && rapid.Bool().Draw(t, "trim"):
					trim()
				case trims && cut == nil && seq > 0 && rapid.IntRange(0, 3).Draw(t, "cut") == 0:
					cut = &logCut{at: g.trim.given, grown: math.MaxInt64, strangers: map[derecho.ChannelID]bool{}, last: map[derecho.ChannelID]storage.Version{ch: g.trim.given}}
					switch rapid.SampledFrom([]string{"history", "kept", "messages"}).Draw(t, "base") {
					case "history":
						cut.stored = map[derecho.ChannelID]bool{ch: true}
						fallthrough
					case "kept":
						cut.histories = cutsOf(ch, live)
					default:
						cut.strangers[ch] = true
					}
				}
				if cut != nil && cut.histories[ch] != nil {
					cut.histories[ch].take(rapid.IntRange(0, 2).Draw(t, "taken"))
				}
				id := rapid.Int32Range(0, 3).Draw(t, "instance")
				late = rapid.Int64Range(0, 3).Draw(t, "late")
				switch rapid.IntRange(0, 14).Draw(t, "what") {
				case 0:
					send(e, kindDispose, 0, id)
				case 1:
					send(e, kindUnregister, 0, id)
				case 2, 3:
					send(e, kindData, flagInSet, id)
				case 4:
					send(e, kindSetEnd, 0, id)
				case 5:
					gone[e] = true
					send(e, kindClosing, 0, id)
					require.False(t, live.end(e.key), "it is known")
				case 6: // its process ends, and an epoch
					gone[e] = true
					if live.end(e.key) {
						set.ended(1, e.key)
					}
					begin(nil)
					seq = 0
				case 7:
					send(e, kindDispose, flagAgain, id)
				case 8: // another QoS
					a := *e.ann
					a.writer.OwnershipStrength.Value++
					e.ann, e.info = &a, a.encode()
					set.announced.Store(e.key, e.info)
					set.renewed.Add(1)
					write() // what is in a batch is from before
					live.rewrite(e.key, e.info, e.ann)
					send(e, kindData, 0, id)
				default:
					send(e, kindData, 0, id)
				}
			}
			trim()
			live.endAll()
			write()
			require.NoError(t, g.Close())
			var read atomic.Uint64
			past, err := recoverHistory(dir, ch, local, &read)
			require.NoError(t, err)
			require.Equal(t, live.count, past.count)
			require.GreaterOrEqual(t, read.Load(), uint64(1), "who waits for it sees that it is read")
			for _, s := range []*store{live, past} {
				size := int64(0)
				for _, in := range s.instances {
					for _, l := range in.lines {
						for _, r := range l.all() {
							size += r.size()
						}
					}
				}
				require.Equal(t, size, s.size)
			}
			require.Equal(t, live.save(), past.save())
		}
	})
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left, "each history is removed before the next is made")
}

// keptBy is what a reader of a node gets that comes now.
func keptBy(t *testing.T, n *node) string {
	t.Helper()
	r := n.reader(t, durableReader(qos.DurabilityPersistent))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	s, err := r.Take()
	require.NoError(t, err)
	var all []string
	for _, x := range s.All() {
		if d := x.Data(); d != nil {
			all = append(all, fmt.Sprintf("%d:%d", d.ID, d.Value))
		}
	}
	require.NoError(t, r.Close())
	return strings.Join(all, " ")
}

// twoSamples keeps one sample of an instance, and two in all.
func twoSamples(q *qos.DataWriter) {
	q.Durability.Kind = qos.DurabilityPersistent
	q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	q.DurabilityService.HistoryKind = qos.HistoryKeepLast
	q.DurabilityService.HistoryDepth = 1
	q.DurabilityService.MaxSamples, q.DurabilityService.MaxInstances, q.DurabilityService.MaxSamplesPerInstance = 2, 2, 1
}

// A writer has ended, and another one takes its place in a history that has room for two: what is kept then is there again when
// all come back.
func TestCoreLogKnowsWhoHasEnded(t *testing.T) {
	for _, how := range []string{"closes", "crashes"} {
		t.Run("it "+how, func(t *testing.T) {
			d := onCore(t, Settings{})
			dirs := []string{t.TempDir(), t.TempDir()}
			a, b := d.nodeAt(t, dirs[0], WithName("a")), d.nodeAt(t, dirs[1], WithName("b"))
			stays := a.reader(t, durableReader(qos.DurabilityPersistent))
			first := b.writer(t, writerQos(blocking(patience), twoSamples))
			write(t, first, 1, 10)
			require.NoError(t, first.WaitForAcknowledgments(patiently(t)))
			if how == "closes" {
				require.NoError(t, first.Close())
			} else {
				d.crash(b)
			}
			require.Eventually(t, func() bool { return len(stays.MatchedPublications()) == 0 }, patience, time.Millisecond)
			second := a.writer(t, writerQos(blocking(patience), twoSamples))
			write(t, second, 1, 11)
			write(t, second, 2, 22)
			require.NoError(t, second.WaitForAcknowledgments(patiently(t)))
			require.Equal(t, "1:11 2:22", keptBy(t, a))
			entries, _, err := readEpochs(epochsFile(a.p.logDir(second.at.sg)))
			require.NoError(t, err)
			ended := slices.ContainsFunc(entries, func(x epochEntry) bool { return x.kind == entryEnded })
			require.Equal(t, how == "crashes", ended, "of one that is closed the log has the last message")
			require.NoError(t, a.p.Close())
			require.Equal(t, "1:11 2:22", keptBy(t, d.nodeAt(t, dirs[0], WithName("a"))))
		})
	}
}

// A history is full of what writers have left that have ended: what comes then takes its place.
func TestCoreFullHistoryGivesWay(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	for value := int32(0); value < 30; value += 10 { // in one run after the other
		n := d.nodeAt(t, dir)
		w := n.writer(t, writerQos(blocking(patience), twoSamples))
		write(t, w, 1, value+1)
		write(t, w, 2, value+2)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		require.Equal(t, fmt.Sprintf("1:%d 2:%d", value+1, value+2), keptBy(t, n))
		require.NoError(t, n.p.Close())
	}
}

// A coherent set is open when another process is given the history, and ends then: it is in that one's log.
func TestCoreSetIsOpenInAState(t *testing.T) {
	d := onCore(t, Settings{})
	dirs := []string{t.TempDir(), t.TempDir()}
	a := d.nodeAt(t, dirs[0], WithName("a"))
	q := qos.DefaultPublisher()
	q.Presentation = present(qos.PresentationTopic, true, false)
	pub, err := a.p.NewPublisher(WithPublisherQos(q))
	require.NoError(t, err)
	w := writerOn(t, a, pub, "Track", writerQos(blocking(patience), func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}))
	write(t, w, 0, 0)
	require.NoError(t, pub.BeginCoherentChanges())
	write(t, w, 1, 1)
	b := d.nodeAt(t, dirs[1], WithName("b"))
	subQos := qos.DefaultSubscriber()
	subQos.Presentation = q.Presentation
	sub, err := b.p.NewSubscriber(WithSubscriberQos(subQos))
	require.NoError(t, err)
	whole := readerOn(t, b, sub, "Track", durableReader(qos.DurabilityPersistent))
	require.Equal(t, "0:0", values(t, whole, 1))
	require.NoError(t, whole.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1", keptBy(t, b), "who does not ask for sets is given what those have who were there")
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	write(t, w, 2, 2)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.Equal(t, "no data", takeText(t, whole))
	require.NoError(t, pub.EndCoherentChanges(patiently(t)))
	require.Equal(t, "1:1 2:2", values(t, whole, 2))
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, a.p.Close())
	require.Eventually(t, func() bool {
		s := b.p.logs.logState(w.at.sg, w.at.ch)
		return slices.Equal(s.Logs, []uint64{s.ID})
	}, patience, time.Millisecond, "it goes on alone")
	require.NoError(t, b.p.Close())
	b = d.nodeAt(t, dirs[1], WithName("b"))
	b.reader(t, durableReader(qos.DurabilityPersistent))
	require.Equal(t, "0:0 1:1 2:2", keptBy(t, b), "alone")
	require.Equal(t, "0:0 1:1 2:2", keptBy(t, d.nodeAt(t, dirs[0], WithName("a"))), "from the other")
}

// A process is excluded when it has been given a history, and that is not on its disk yet: what it knows is not forgotten
// when it is.
func TestHistoryOutlivesAnExclusion(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, persistentQos())
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	logs, key := &n.p.logs, w.at
	d.bus.exclude(n)
	require.NoError(t, logs.log(key.sg).Begin(&derecho.EpochStart{Epoch: 1000, Channels: []derecho.ChannelStart{{Channel: key.ch, Loaded: true}}}))
	past, kept := logs.recovered.Load(key)
	require.True(t, kept)
	require.Equal(t, 1, past.(recovered).count)

	logs.recovered.Store(key, recovered{newStore(), true})
	require.NoError(t, logs.log(key.sg).Begin(&derecho.EpochStart{Epoch: 1001, Channels: []derecho.ChannelStart{{Channel: key.ch, Loaded: true}}}))
	_, kept = logs.recovered.Load(key)
	require.False(t, kept, "what was found on disk before is not what the disk holds now")
}

// Whatever an entry of a file of epochs says, it is refused or means what it was written as, and nobody panics at it.
func FuzzEpochsFile(f *testing.F) {
	le := binary.LittleEndian
	start := startEntry(&derecho.EpochStart{Epoch: 4, Channels: []derecho.ChannelStart{
		{Channel: 7, Logs: []uint64{4, 5}, Openings: []uint32{9, 2}, Past: []derecho.Opening{{Log: 3, Count: 8}}, History: 9, Since: 4, Loaded: true, State: newStore().save()},
	}})
	ended := endedWriters{storage.Version{Epoch: 4, Seq: 2}, []endpointKey{{3, 1}, {5, 2}}}.entry()
	first := epochEntry{kind: entryLog, body: le.AppendUint64(nil, 5)}
	for _, x := range []epochEntry{first, {kind: entryOpened, ch: 1}, afterEntry(storage.Version{Epoch: 3, Seq: 9}), start, ended} {
		f.Add(x.kind, x.epoch, uint64(x.ch), x.body)
	}
	f.Fuzz(func(t *testing.T, kind byte, epoch uint32, ch uint64, body []byte) {
		var b []byte
		for _, x := range []epochEntry{first, start, {kind, epoch, derecho.ChannelID(ch), body}, {kind: entryOpened, ch: 2}, start} {
			b = x.append(b)
		}
		entries, rest := parseEpochs(b)
		var again []byte
		for _, x := range entries {
			again = x.append(again)
		}
		require.Equal(t, string(b[:len(b)-len(rest)]), string(again))
		require.LessOrEqual(t, len(endingsOf(entries, 7)), len(entries))
		_, _ = loadStore(stateOf(entries, 7))
		kept, _ := dropSuperseded(entries)
		require.Equal(t, indexOf(entries), indexOf(kept))
		require.Equal(t, endingsOf(entries, 7), endingsOf(kept, 7))
	})
}
