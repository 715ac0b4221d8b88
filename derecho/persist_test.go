package derecho

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// textLog is a Log that notes what is written, as text.
type textLog struct{ lines []string }

type textBatch []string

func (l *textLog) Begin(s *EpochStart) error {
	text := fmt.Sprint("epoch ", s.Epoch)
	for _, c := range s.Channels {
		text += fmt.Sprintf(" %d since %d", c.Channel, c.Since)
		if c.Loaded {
			text += fmt.Sprintf(" with %q", c.State)
		}
	}
	l.lines = append(l.lines, text)
	return nil
}
func (l *textLog) NewBatch() LogBatch { return &textBatch{} }
func (l *textLog) Write(b LogBatch) error {
	l.lines = append(l.lines, *b.(*textBatch)...)
	return nil
}
func (l *textLog) Close() error        { return nil }
func (b *textBatch) Append(m *Message) { *b = append(*b, fmt.Sprintf("%d: %s", m.Channel, m.Payload)) }
func (b *textBatch) Bytes() int        { return len(*b) }
func (b *textBatch) Reset()            { *b = nil }

// What a log holds is not announced while it has not written what it has taken on.
func TestLoggerOwesBeginnings(t *testing.T) {
	const a, b = ChannelID(1), ChannelID(2)
	l := newLogger(&textLog{}, rdma.NewBell(new(rdma.BellWords)), func(error) {})
	l.schedule = func() {}
	begin := func(epoch uint32) {
		l.begin(epochStarts{epoch, []channelStarts{{channelLogs: channelLogs{Channel: a}, since: epoch}}})
	}
	require.False(t, l.owes(a))
	begin(1)
	require.True(t, l.owes(a))
	require.False(t, l.owes(b))
	l.hold(2)
	begin(2)
	l.writePending()
	require.True(t, l.owes(a), "one of two is written, the other is held")
	l.hold(0)
	l.writePending()
	require.False(t, l.owes(a))

	begin(3)
	l.err.Store(new(error(errors.New("disk failed"))))
	require.False(t, l.owes(a), "nothing is written any more")
}

// A log is given up when one call of it stands, not when many take long together, and not for time in which its node did not run.
func TestLoggerIsWatched(t *testing.T) {
	const limit = 10 * time.Second
	var failed error
	l := newLogger(&textLog{}, rdma.NewBell(new(rdma.BellWords)), func(err error) { failed = err })
	l.schedule = func() {}
	in, out := make(chan struct{}), make(chan struct{})
	call := func() {
		go func() {
			_ = l.call(func() error { in <- struct{}{}; out <- struct{}{}; return nil })
			in <- struct{}{}
		}()
		<-in
	}
	ends := func() { <-out; <-in }
	for range 3 {
		call()
		l.watch(limit, limit) // when it was seen first
		l.watch(limit, limit)
		ends()
		l.watch(limit, limit)
	}
	require.NoError(t, failed)
	call()
	l.watch(limit, limit)
	l.watch(limit, limit)
	l.watch(1, limit)
	require.ErrorContains(t, failed, "the disk has not answered for 10s")
	failed = nil
	l.watch(limit, limit)
	require.NoError(t, failed, "it is told once")
	ends()
	require.Error(t, l.failed(), "an error is final")
}

// A beginning with a large state may take a slow disk longer than a call of the log may take, if it gets on.
func TestLoggerIsWatchedByParts(t *testing.T) {
	const limit = 10 * time.Second
	var failed error
	log := &slowLog{}
	l := newLogger(log, rdma.NewBell(new(rdma.BellWords)), func(err error) { failed = err })
	l.schedule = func() {}
	log.part = func() {
		l.watch(limit-1, limit)
		l.watch(limit-1, limit)
	}
	l.begin(epochStarts{1, []channelStarts{{channelLogs: channelLogs{Channel: 1}, since: 1}}})
	l.writePending()
	require.NoError(t, failed)
	require.True(t, l.has(1, 1))
	log.part = func() {
		l.watch(1, limit)
		l.watch(limit, limit)
		l.watch(1, limit)
	}
	l.begin(epochStarts{2, []channelStarts{{channelLogs: channelLogs{Channel: 1}, since: 2}}})
	l.writePending()
	require.ErrorContains(t, failed, "the disk has not answered for 10s", "a part may not")
}

// slowLog is a Log that writes a beginning in parts.
type slowLog struct {
	textLog
	part func() // takes the time of one
}

func (l *slowLog) Begin(s *EpochStart) error {
	for range 3 {
		l.part()
		s.Moves()
	}
	return l.textLog.Begin(s)
}

// A log has nothing of an epoch before the states with which it begins have come, and no channel whose state has not.
func TestLoggerHolds(t *testing.T) {
	const a, b = ChannelID(1), ChannelID(2)
	starts := func(epoch uint32, awaits uint32) epochStarts { // channel a is there, b awaits a state
		return epochStarts{epoch, []channelStarts{{channelLogs: channelLogs{Channel: a}, since: epoch}, {channelLogs: channelLogs{Channel: b}, since: epoch, awaits: awaits}}}
	}
	tests := []struct {
		name string
		do   func(l *logger)
		want []string
	}{
		{"what is before does not wait", func(*logger) {}, []string{"epoch 1 1 since 1", "1: one", "2: one"}},
		{"the state comes", func(l *logger) {
			l.state(channelState{epoch: 2, channel: b, state: []byte("then")})
			l.hold(0)
		}, []string{"epoch 1 1 since 1", "1: one", "2: one", `epoch 2 1 since 2 2 since 2 with "then"`, "1: two", "2: two", "epoch 3 1 since 3 2 since 3", "1: three", "2: three"}},
		{"it does not come any more", func(l *logger) { l.hold(0) },
			[]string{"epoch 1 1 since 1", "1: one", "2: one", "epoch 2 1 since 2", "1: two", "2: two", "epoch 3 1 since 3", "1: three", "2: three"}},
		{"it comes as of a later epoch", func(l *logger) {
			l.hold(4)
			l.writePending()
			l.begin(starts(4, 4))
			l.writePending()
			l.state(channelState{epoch: 4, channel: b, state: []byte("later")})
			l.hold(0)
		}, []string{"epoch 1 1 since 1", "1: one", "2: one", "epoch 2 1 since 2", "1: two", "2: two", "epoch 3 1 since 3", "1: three", "2: three",
			`epoch 4 1 since 4 2 since 4 with "later"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := &textLog{}
			l := newLogger(log, rdma.NewBell(new(rdma.BellWords)), func(error) {})
			l.schedule = func() {}
			both := func(number uint32, text string) {
				batch := []Message{{Channel: a, Epoch: number, Payload: []byte(text)}, {Channel: b, Epoch: number, Payload: []byte(text)}, {Channel: 3, Epoch: number, Payload: []byte("not received")}}
				l.append(&epoch{desc: &descriptor{Epoch: number}, start: starts(number, 0)}, batch)
			}
			first := starts(1, 0)
			first.channels = first.channels[:1]
			l.begin(first)
			both(1, "one")
			l.hold(2)
			l.begin(starts(2, 2))
			both(2, "two")
			l.writePending()
			require.Equal(t, test.want[:3], log.lines)
			l.begin(starts(3, 2))
			both(3, "three")
			test.do(l)
			l.writePending()
			require.Equal(t, test.want, log.lines)
		})
	}
}

// What is written behind a beginning that left a channel out is told to be stored when it counts, and not before; or
// never, if it is not to.
func TestLoggerTellsWhatCounts(t *testing.T) {
	const a, b = ChannelID(1), ChannelID(2)
	start := func(epoch, since, awaits uint32, channels ...ChannelID) epochStarts {
		s := epochStarts{epoch: epoch}
		for _, ch := range channels {
			s.channels = append(s.channels, channelStarts{channelLogs: channelLogs{Channel: ch}, since: since, awaits: awaits})
		}
		return s
	}
	tests := []struct {
		name  string
		do    func(l *logger)
		tells uint64 // of epoch 2
	}{
		{"it goes on with what came since", func(l *logger) { l.begin(start(3, 2, 0, a)) }, 5},
		{"it gets the state", func(l *logger) {
			l.state(channelState{epoch: 3, channel: a})
			l.begin(start(3, 3, 3, a))
		}, 5},
		{"it goes on without", func(l *logger) { l.begin(start(3, 3, 0, a)) }, 2},
		{"it keeps another only", func(l *logger) { l.begin(start(3, 3, 0, b)) }, 2},
		{"it keeps nothing any more", func(l *logger) {
			l.writePending()
			l.forgo(a)
		}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLogger(&textLog{}, rdma.NewBell(new(rdma.BellWords)), func(error) {})
			l.schedule = func() {}
			one, two := &epoch{desc: &descriptor{Epoch: 1}, start: start(1, 1, 0, a)}, &epoch{desc: &descriptor{Epoch: 2}, start: start(2, 2, 2, a)}
			put := func(e *epoch) { l.append(e, []Message{{Channel: a, Payload: []byte("m")}}) }
			l.begin(start(1, 1, 0, a))
			put(one)
			l.mark(one, 3)
			l.begin(start(2, 2, 2, a)) // its state does not come
			l.mark(two, 2)
			l.writePending()
			require.EqualValues(t, 2, two.persisted.Load(), "nothing has come of the channel")
			put(two)
			l.mark(two, 4)
			l.writePending()
			require.EqualValues(t, 3, one.persisted.Load(), "what is before does not wait")
			require.EqualValues(t, 4, two.written.Load())
			require.EqualValues(t, 2, two.persisted.Load())
			require.True(t, l.lags(two, true, nil))
			require.False(t, l.lags(one, true, nil))
			require.False(t, l.lags(two, true, map[ChannelID]bool{a: true}), "nobody is known to have the state")

			// In one turn with what follows, too.
			l.mark(two, 5)
			test.do(l)
			l.writePending()
			require.EqualValues(t, test.tells, two.persisted.Load())
			require.False(t, l.lags(two, true, nil), "nothing is waited for any more")

			three := &epoch{desc: &descriptor{Epoch: 3}}
			l.mark(three, 1)
			l.writePending()
			require.EqualValues(t, 1, three.persisted.Load())
		})
	}
}

// Whoever is done with an epoch has told before what it has stored of it: the others may give the epoch up as soon as
// they see that it is done, and who waits for the log looks no more.
func TestDrainedTellsWhatIsStored(t *testing.T) {
	d := &descriptor{Mode: Logged, Epoch: 1, Members: []memberDesc{{Node: 1}}}
	own := rdma.NewHeapRegion(rdma.Shape{Cells: d.layout().Cells()})
	e := &epoch{desc: d, receiving: true, delivered: 7, g: &subgroup{id: 1, newest: d, m: newMachine(&Config{}, 1, newRecorder(), nil)}}
	e.g.m.bell = rdma.NewBell(new(rdma.BellWords))
	e.g.log = newLogger(&textLog{}, e.g.m.bell, func(error) {})
	e.table = sst.NewTable(d.layout(), 1, 0, own, func() {})
	e.table.Stored = func() {
		if e.table.Row(0).Load(e.table.Drained()) != 0 {
			require.EqualValues(t, 7, e.table.Row(0).Load(e.table.Persisted()))
		}
	}
	e.out.Store(&[]target{})
	e.g.log.settle(logMark{e, 7}) // the log is done while the poller looks at something else
	e.drain()
	require.EqualValues(t, sst.DrainedWhole, e.table.Row(0).Load(e.table.Drained()))
}

// What a log had of one channel says nothing of another.
func TestLogIndex(t *testing.T) {
	var x LogIndex
	x.ID = 5
	require.Equal(t, &LogState{ID: 5}, x.Holds(7, 0))
	begin := func(epoch uint32, channels ...ChannelStart) { x.Begin(&EpochStart{Epoch: epoch, Channels: channels}) }
	both := []uint64{5, 6}
	begin(1, ChannelStart{Channel: 7, Logs: both, History: 5, Written: true, Since: 1})
	begin(2, ChannelStart{Channel: 7, Logs: both, History: 5, Written: true, Since: 2}, ChannelStart{Channel: 8, Logs: both, History: 6, Since: 2, Loaded: true})
	begin(4, ChannelStart{Channel: 8, Logs: both, History: 6, Written: true, Since: 4})

	// It had all of 7 when it went on without it, however little has come since.
	require.Equal(t, &LogState{ID: 5, Begun: 4, Epoch: 2, Seq: ^uint64(0), Logs: both, History: 5, Written: true}, x.Holds(7, 3))
	require.Equal(t, &LogState{ID: 5, Begun: 4, Epoch: 4, Seq: 3, Logs: both, History: 6, Written: true}, x.Holds(8, 3))
	require.Equal(t, &LogState{ID: 5, Begun: 4}, x.Holds(9, 3))

	// But no more than was there then, if the log says what that was.
	for _, c := range []struct {
		epoch     uint32
		seq, has7 uint64
	}{{0, 0, 0}, {1, 9, 0}, {2, 4, 5}} {
		y := LogIndex{ID: 5}
		y.Begin(&EpochStart{Epoch: 2, Channels: []ChannelStart{{Channel: 7, Since: 2}}})
		y.After(c.epoch, c.seq)
		y.Begin(&EpochStart{Epoch: 4, Channels: []ChannelStart{{Channel: 8, Since: 4}}})
		require.Equal(t, c.has7, y.Holds(7, 3).Seq, "%d:%d", c.epoch, c.seq)
	}

	counts := func(ch ChannelID) (epochs []uint32) {
		for e := range uint32(12) {
			if x.Counts(ch, e) {
				epochs = append(epochs, e)
			}
		}
		return epochs
	}
	require.Equal(t, []uint32{1, 2}, counts(7))
	require.Equal(t, []uint32{2, 4}, counts(8))
	// 7 goes on after a while with what has come since epoch 6; 8 gets a state, which supersedes what it had.
	before := x.Clone()
	begin(9, ChannelStart{Channel: 7, Since: 6}, ChannelStart{Channel: 8, Since: 9, Loaded: true})
	require.Equal(t, []uint32{1, 2, 6, 7, 8, 9}, counts(7))
	require.Equal(t, []uint32{9}, counts(8))
	x = *before
	require.Equal(t, []uint32{1, 2}, counts(7), "the copy is one of its own")
	require.Equal(t, []uint32{2, 4}, counts(8))
}
