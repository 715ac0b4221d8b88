package derecho

import (
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// Log is where a Logged subgroup's messages go. One goroutine calls it, and another one appends to a batch meanwhile. An
// error is final.
type Log interface {
	// Begin says that the messages that follow are of an epoch, and which logs belong to it. It is
	// called before the first of them, also if none comes. It is durable when Begin returns.
	Begin(epoch uint32, logs []uint64) error
	// State says what the state of a channel was when an epoch that has begun did: what the log held of
	// the channel before is superseded. It comes before any message of that epoch, and is durable when State returns.
	State(ch ChannelID, epoch uint32, state []byte) error
	// NewBatch makes an empty batch.
	NewBatch() LogBatch
	// Write makes the messages of a batch durable.
	Write(b LogBatch) error
	Close() error
}

// LogBatch is messages in memory, in the form in which the log writes them: Append's copy is the only one on the way to
// the disk. One goroutine has it at a time.
type LogBatch interface {
	// Append takes a message. It does not wait, and what is wrong with the message is for Write to say. Payload is valid
	// for the call.
	Append(m *Message)
	// Bytes is how much there is to write, 0 if nothing.
	Bytes() int
	// Reset makes the batch empty; it keeps its memory.
	Reset()
}

// loggerLimit bounds the bytes that wait for the disk; a subgroup that reaches it stops delivering
// until the disk has caught up, which stops its senders when their rings are full. As much again is on its way to the disk
// meanwhile.
const loggerLimit = 8 << 20

// logger writes what the poller delivers, one write and one sync for everything that came while the last one was under
// way (group commit). The poller appends to pending; the log itself is the logger goroutine's alone.
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

// logBatch is what a turn writes: messages, a part for each epoch, and how far they get each epoch.
type logBatch struct {
	parts []logPart // at least one
	marks []logMark
}

// logPart is messages, and the epochs that begin before the first of them.
type logPart struct {
	begins   []logBegin
	messages LogBatch
}

type logMark struct {
	e         *epoch
	delivered uint64
}

type logBegin struct {
	epoch uint32
	logs  []uint64
}

func (b *logBatch) last() *logPart { return &b.parts[len(b.parts)-1] }

func (b *logBatch) bytes() (n int) {
	for i := range b.parts {
		n += b.parts[i].messages.Bytes()
	}
	return n
}

// reset makes the batch empty. It keeps the memory of one part: epochs are few.
func (b *logBatch) reset() {
	clear(b.parts[1:])
	b.parts = b.parts[:1]
	b.parts[0].begins = nil
	b.parts[0].messages.Reset()
	clear(b.marks)
	b.marks = b.marks[:0]
}

func newLogger(log Log, bell *rdma.Bell, fail func(error)) *logger {
	l := &logger{log: log, bell: bell, fail: fail, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.pending.parts = []logPart{{messages: log.NewBatch()}}
	l.writing.parts = []logPart{{messages: log.NewBatch()}}
	return l
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
	p := l.pending.last()
	for i := range batch {
		p.messages.Append(&batch[i])
	}
	l.size.Store(int64(l.pending.bytes()))
}

// begin says that an epoch begins.
func (l *logger) begin(epoch uint32, logs []uint64) {
	l.mu.Lock()
	if l.pending.last().messages.Bytes() > 0 {
		l.pending.parts = append(l.pending.parts, logPart{messages: l.log.NewBatch()})
	}
	p := l.pending.last()
	p.begins = append(p.begins, logBegin{epoch, logs})
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
	for _, p := range b.parts {
		for _, begin := range p.begins {
			if err := l.begins(begin); err != nil {
				return err
			}
		}
		if p.messages.Bytes() == 0 || mutant.Is("log-unsynced") {
			continue
		}
		if err := l.log.Write(p.messages); err != nil {
			return err
		}
	}
	return nil
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
		l.pending.reset()
		l.paused = false
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
