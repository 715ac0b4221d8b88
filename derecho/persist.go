package derecho

import (
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// Log is where a Logged subgroup's messages go. One goroutine calls it. An error is final.
type Log interface {
	// Begin says that the messages that follow are of an epoch, and which logs belong to it. It is
	// called before the first of them, also if none comes.
	Begin(epoch uint32, logs []uint64) error
	// State says what the state of a channel was when an epoch that has begun did: what the log held of
	// the channel before is superseded. It comes before any message of that epoch.
	State(ch ChannelID, epoch uint32, state []byte) error
	// Append takes a message; it may keep it in memory until Sync. Payload is valid for the call.
	Append(m *Message) error
	// Sync makes everything that was appended durable.
	Sync() error
	Close() error
}

// loggerLimit bounds the bytes that wait for the disk; a subgroup that reaches it stops delivering
// until the disk has caught up, which stops its senders when their rings are full.
const loggerLimit = 32 << 20

// logger appends what the poller delivers and syncs behind it: one sync for everything that came
// while the last one was under way (group commit). The poller copies into pending; the log itself
// is the logger goroutine's alone.
type logger struct {
	log  Log
	bell *rdma.Bell
	fail func(error) // called once, on the logger's goroutine
	done chan struct{}
	wake chan struct{}
	// schedule, if not nil, is called instead of waking the goroutine: somebody else calls turn.
	schedule func()
	size     atomic.Int64 // bytes in pending; stored under mu
	err      atomic.Pointer[error]

	mu      sync.Mutex // between the poller and the logger's goroutine, no application thread
	pending logBatch
	states  []channelState // that go behind the beginning of their epoch
	paused  bool
	closed  bool

	writing logBatch // of turn
}

// logBatch is messages with their payloads in one buffer, and how far they get each epoch.
type logBatch struct {
	messages []Message // Payload is set when the batch is written
	offsets  []int
	bytes    []byte
	marks    []logMark
	begins   []logBegin
}

type logMark struct {
	e         *epoch
	delivered uint64
}

// logBegin is an epoch that begins before the message at a position.
type logBegin struct {
	at    int
	epoch uint32
	logs  []uint64
}

func (b *logBatch) reset() {
	clear(b.messages)
	clear(b.marks)
	clear(b.begins)
	b.begins = b.begins[:0]
	b.messages, b.offsets, b.bytes, b.marks = b.messages[:0], b.offsets[:0], b.bytes[:0], b.marks[:0]
}

func newLogger(log Log, bell *rdma.Bell, fail func(error)) *logger {
	return &logger{log: log, bell: bell, fail: fail, done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (l *logger) failed() error {
	if p := l.err.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *logger) full() bool { return l.size.Load() > loggerLimit && l.failed() == nil }

// append copies a batch. The poller's.
func (l *logger) append(batch []Message) {
	if l.failed() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.pending
	for i := range batch {
		p.messages = append(p.messages, batch[i])
		p.messages[len(p.messages)-1].Payload = nil
		p.offsets = append(p.offsets, len(p.bytes))
		p.bytes = append(p.bytes, batch[i].Payload...)
	}
	l.size.Store(int64(len(p.bytes)))
}

// begin says that an epoch begins.
func (l *logger) begin(epoch uint32, logs []uint64) {
	l.mu.Lock()
	l.pending.begins = append(l.pending.begins, logBegin{len(l.pending.messages), epoch, logs})
	l.mu.Unlock()
	l.nudge()
}

// pause keeps everything in memory, or writes it. While a state is on its way the log must not hold what
// follows it: it would look longer than it is.
func (l *logger) pause(on bool) {
	l.mu.Lock()
	l.paused = on && !mutant.Is("log-unpaused")
	l.mu.Unlock()
	if !on {
		l.nudge()
	}
}

// drop forgets what was kept in memory, and goes on with what comes.
func (l *logger) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.reset()
	l.states, l.paused = nil, false
	l.size.Store(0)
}

// state stores the state of a channel at the beginning of an epoch.
func (l *logger) state(s channelState) {
	if mutant.Is("state-unlogged") {
		return
	}
	l.mu.Lock()
	l.states = append(l.states, s)
	l.mu.Unlock()
}

// mark says that everything of e below delivered was appended, if it needs a log at all: the
// frontier also passes nulls.
func (l *logger) mark(e *epoch, delivered uint64) {
	l.mu.Lock()
	if n := len(l.pending.marks); n > 0 && l.pending.marks[n-1].e == e {
		l.pending.marks[n-1].delivered = delivered
	} else {
		l.pending.marks = append(l.pending.marks, logMark{e, delivered})
	}
	l.mu.Unlock()
	l.nudge()
}

func (l *logger) nudge() {
	if l.schedule != nil {
		l.schedule()
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *logger) run() {
	defer close(l.done)
	for range l.wake {
		l.turn()
		l.mu.Lock()
		closed := l.closed && len(l.pending.marks) == 0
		l.mu.Unlock()
		if closed {
			return
		}
	}
}

// turn writes what is pending.
func (l *logger) turn() {
	l.mu.Lock()
	if l.paused {
		l.mu.Unlock()
		return
	}
	l.writing, l.pending = l.pending, l.writing
	l.size.Store(0)
	l.mu.Unlock()
	batch := &l.writing
	if l.failed() == nil {
		if err := l.write(batch); err != nil {
			l.err.Store(&err)
			l.fail(err)
		} else {
			for _, m := range batch.marks {
				m.e.persisted.Store(m.delivered)
			}
		}
	}
	batch.reset()
	l.bell.Ring()
}

func (l *logger) write(b *logBatch) error {
	if len(b.messages) == 0 && len(b.begins) == 0 {
		return nil
	}
	begins := b.begins
	for i := 0; i <= len(b.messages); i++ {
		for ; len(begins) > 0 && begins[0].at == i; begins = begins[1:] {
			if err := l.begins(begins[0]); err != nil {
				return err
			}
		}
		if i == len(b.messages) {
			break
		}
		end := len(b.bytes)
		if i+1 < len(b.offsets) {
			end = b.offsets[i+1]
		}
		b.messages[i].Payload = b.bytes[b.offsets[i]:end]
		if err := l.log.Append(&b.messages[i]); err != nil {
			return err
		}
	}
	if mutant.Is("log-unsynced") {
		return nil
	}
	return l.log.Sync()
}

// begins writes the beginning of an epoch, and the states that were taken then.
func (l *logger) begins(b logBegin) error {
	if err := l.log.Begin(b.epoch, b.logs); err != nil {
		return err
	}
	l.mu.Lock()
	states := l.states
	l.states = nil
	l.mu.Unlock()
	for _, s := range states {
		if s.epoch > b.epoch {
			l.state(s)
		} else if err := l.log.State(s.channel, b.epoch, s.state); err != nil {
			return err
		}
	}
	return nil
}

// close writes what is pending and closes the log.
func (l *logger) close() error {
	l.mu.Lock()
	l.closed = true
	if l.paused { // the state will not come any more
		l.pending, l.paused = logBatch{}, false
	}
	l.mu.Unlock()
	if l.schedule == nil {
		l.nudge()
		<-l.done
	}
	return l.log.Close()
}

// logs are logs that were opened but whose subgroup has no epoch here yet. AddEndpoint opens them
// on the application's goroutine, so that an error reaches the caller, and no disk is waited for on
// the poller.
type logs struct {
	opening sync.Mutex          // held by applications while a log is opened, never by the poller
	have    map[SubgroupID]bool // opened once already; guarded by opening

	mu   sync.Mutex
	open map[SubgroupID]Log
}

func (s *logs) take(sg SubgroupID) Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.open[sg]
	delete(s.open, sg)
	return l
}

// prepare opens the log of a subgroup, once.
func (s *logs) prepare(sg SubgroupID, open func(SubgroupID) (Log, error)) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.have[sg] {
		return nil
	}
	if open == nil {
		return ErrLog
	}
	l, err := open(sg)
	if err != nil {
		return err
	}
	if s.have == nil {
		s.have = map[SubgroupID]bool{}
	}
	s.have[sg] = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[SubgroupID]Log{}
	}
	s.open[sg] = l
	return nil
}

func (s *logs) closeUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.open {
		_ = l.Close()
	}
	s.open = nil
}
