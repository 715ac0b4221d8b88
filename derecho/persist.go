package derecho

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// Log is where a Logged subgroup's messages go. One goroutine calls it, and another one appends to a batch meanwhile. An
// error is final.
type Log interface {
	// Begin says that the messages that follow are of an epoch, and what the log has in it. It is
	// called before the first of them, also if none comes. It is durable when Begin returns, and as one (EpochStart).
	Begin(s *EpochStart) error
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
	fail func(error) // called once, on the logger's goroutine or the poller's
	done chan struct{}
	wake chan struct{}
	// calls counts beginnings and ends of calls of the log that write, and two for each part of one that is done: odd
	// while one is under way. Stored by the logger's goroutine alone. The poller loads it to see whether something
	// moves, and nothing else goes by it.
	calls atomic.Uint64
	seen  uint64        // calls when the poller looked last
	stood time.Duration // how long it has seen the same call under way
	// schedule, if not nil, is called instead of waking the goroutine: somebody else calls writePending.
	schedule func()
	size     atomic.Int64 // bytes in pending; stored under mu
	err      atomic.Pointer[error]

	mu      sync.Mutex // between the poller and the logger's goroutine, no application thread
	pending []logPart
	states  []channelState       // that are written with the beginning of their epoch
	came    map[ChannelID]uint32 // the epoch of the state that came last
	held    uint32               // what is of this epoch or a later one stays in memory; 0: nothing does
	unbegun map[ChannelID]int    // beginnings that are not written yet, of each channel that has some
	wrote   map[ChannelID]uint32 // the last epoch whose beginning is written
	gaps    map[ChannelID]uint32 // the first of the epochs whose messages are written and do not count in the log yet (settle)
	late    []logMark            // what is told when they do
	closed  bool
	spare   []LogBatch // empty

	writing []logPart // of writePending
}

// logMark is how far an epoch is in the log.
type logMark struct {
	of        *epoch // nil: not known yet
	delivered uint64
}

// logPart is a piece of an epoch.
type logPart struct {
	epoch    uint32
	start    *epochStarts // it begins here; nil: it goes on
	messages LogBatch
	// mark: all below was appended, if it needs a log at all: the frontier also passes nulls.
	mark logMark
}

// epochStarts is the beginning of an epoch before it is known which states have come.
type epochStarts struct {
	epoch    uint32
	channels []channelStarts // that the node keeps
}

// awaits: a state of the channel is on its way, so what comes of it may not count.
func (s *epochStarts) awaits(ch ChannelID) bool {
	i, in := slices.BinarySearchFunc(s.channels, ch, channelStarts.compare)
	return in && s.channels[i].awaits != 0
}

func (c channelStarts) compare(ch ChannelID) int { return cmp.Compare(c.Channel, ch) }

type channelStarts struct {
	channelLogs
	since  uint32 // EpochStart
	awaits uint32 // the epoch whose state of the channel is on its way; 0 if the node has the channel
}

func newLogger(log Log, bell *rdma.Bell, fail func(error)) *logger {
	return &logger{log: log, bell: bell, fail: fail, came: map[ChannelID]uint32{}, unbegun: map[ChannelID]int{},
		wrote: map[ChannelID]uint32{}, gaps: map[ChannelID]uint32{}, done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (l *logger) failed() error {
	if p := l.err.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *logger) full() bool { return l.size.Load() > loggerLimit && l.failed() == nil }

// part is where what comes of an epoch goes. Called with mu held.
func (l *logger) part(epoch uint32) *logPart {
	if n := len(l.pending); n == 0 || l.pending[n-1].epoch != epoch {
		l.add(logPart{epoch: epoch})
	}
	return &l.pending[len(l.pending)-1]
}

// add begins a part. Called with mu held.
func (l *logger) add(p logPart) {
	if n := len(l.spare); n > 0 {
		p.messages, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		p.messages = l.log.NewBatch()
	}
	l.pending = append(l.pending, p)
}

// append copies what a batch has of the channels that are stored. The poller's.
func (l *logger) append(e *epoch, batch []Message) {
	if l.failed() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.part(e.desc.Epoch)
	before := p.messages.Bytes()
	var last ChannelID
	var stored bool
	for i := range batch {
		if ch := batch[i].Channel; i == 0 || ch != last {
			last, stored = ch, e.stores(ch)
			if stored && e.start.awaits(ch) && !slices.Contains(e.put, ch) {
				e.put = append(e.put, ch)
			}
		}
		if stored {
			p.messages.Append(&batch[i])
		}
	}
	l.size.Add(int64(p.messages.Bytes() - before))
}

// begin says that an epoch begins.
func (l *logger) begin(s epochStarts) {
	l.mu.Lock()
	l.add(logPart{epoch: s.epoch, start: &s})
	for _, c := range s.channels {
		l.unbegun[c.Channel]++
	}
	l.mu.Unlock()
	l.nudge()
}

// owes reports whether the beginning of an epoch of the channel is not written yet. Until it is, what the log holds of the
// channel is less than what it has taken on.
func (l *logger) owes(ch ChannelID) bool {
	if l.failed() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unbegun[ch] > 0
}

// has reports whether the beginning of an epoch of the channel is written.
func (l *logger) has(ch ChannelID, epoch uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrote[ch] >= epoch
}

// begun: the beginning of an epoch is written.
func (l *logger) begun(s *epochStarts, written *EpochStart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[ChannelID]uint32{} // from which epoch on
	for _, c := range written.Channels {
		if counts[c.Channel] = c.Since; c.Loaded {
			counts[c.Channel] = 0 // what came before is in the state
		}
	}
	awaited := map[ChannelID]bool{}
	for _, c := range s.channels {
		l.wrote[c.Channel] = s.epoch
		if l.unbegun[c.Channel]--; l.unbegun[c.Channel] == 0 {
			delete(l.unbegun, c.Channel)
		}
		if _, in := counts[c.Channel]; !in {
			awaited[c.Channel] = true
			if _, known := l.gaps[c.Channel]; !known {
				l.gaps[c.Channel] = s.epoch
			}
		}
	}
	for ch := range l.gaps {
		if since, in := counts[ch]; in {
			l.fill(ch, since)
		} else if !awaited[ch] { // the node does not keep it any more
			l.fill(ch, ^uint32(0))
		}
	}
}

// fill: of what was written of a channel and did not count, that of an epoch and of all that follow does from now on.
// What is older never will. Called with mu held.
func (l *logger) fill(ch ChannelID, since uint32) {
	from, open := l.gaps[ch]
	if !open {
		return
	}
	delete(l.gaps, ch)
	late := l.late
	l.late = nil
	for _, m := range late {
		if e := m.of.desc.Epoch; e < from || e >= since {
			l.settle(m)
		}
	}
}

// settle: the log has an epoch up to a mark. That is told when it counts in the log, of all channels: there may be
// messages behind a beginning that left their channel out (resolve), and what makes them count is the beginning of a
// later epoch, with the state, or with Since. If the process ended before that is on disk the log would have forgotten
// what it has told. Called with mu held.
func (l *logger) settle(m logMark) {
	if len(l.gapsIn(m.of, nil)) > 0 && !mutant.Is("told-uncounted") {
		l.late = append(l.late, m)
		return
	}
	m.of.persisted.Store(m.delivered)
}

// gapsIn are the channels, but for some, of which messages of an epoch are written and do not count. Called with mu held.
func (l *logger) gapsIn(e *epoch, but map[ChannelID]bool) (channels []ChannelID) {
	for _, ch := range e.put {
		if from, open := l.gaps[ch]; open && from <= e.desc.Epoch && !but[ch] {
			channels = append(channels, ch)
		}
	}
	return channels
}

// lags reports whether it is not told yet of an epoch that all of it is stored, and soon may be: another beginning is
// to be written, or will come (more). What is bereft is not waited for.
func (l *logger) lags(e *epoch, more bool, bereft map[ChannelID]bool) bool {
	if l.failed() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return (more || len(l.unbegun) > 0) && len(l.gapsIn(e, bereft)) > 0 && slices.ContainsFunc(l.late, func(m logMark) bool { return m.of == e })
}

// forgo: no state of a channel comes any more that it could count with.
func (l *logger) forgo(ch ChannelID) {
	l.mu.Lock()
	l.fill(ch, ^uint32(0))
	l.mu.Unlock()
	l.bell.Ring()
}

// hold keeps everything in memory from an epoch on; 0: from none. While a state is on its way the log must not hold what
// follows it: it would look longer than it is. What is before it does not wait: the node could not end those epochs, and somebody
// from whom it gets the state may wait, by way of other channels, for a state that this node gives when it has ended one.
func (l *logger) hold(from uint32) {
	l.mu.Lock()
	if !mutant.Is("log-unpaused") {
		l.held = from
	}
	l.mu.Unlock()
	l.nudge()
}

// state stores the state of a channel at the beginning of an epoch.
func (l *logger) state(s channelState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came[s.channel] = s.epoch
	if !mutant.Is("state-unlogged") {
		l.states = append(l.states, s)
	}
}

// mark says that everything of e below delivered was appended.
func (l *logger) mark(e *epoch, delivered uint64) {
	l.mu.Lock()
	l.part(e.desc.Epoch).mark = logMark{e, delivered}
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
		l.writePending()
		l.mu.Lock()
		closed := l.closed && len(l.pending) == 0
		l.mu.Unlock()
		if closed {
			return
		}
	}
}

// writePending writes what is pending and not held.
func (l *logger) writePending() {
	l.mu.Lock()
	n := slices.IndexFunc(l.pending, func(p logPart) bool { return l.held != 0 && p.epoch >= l.held })
	if n < 0 {
		n = len(l.pending)
	}
	l.writing = append(l.writing[:0], l.pending[:n]...)
	l.pending = slices.Delete(l.pending, 0, n)
	size := 0
	for i := range l.pending {
		size += l.pending[i].messages.Bytes()
	}
	l.size.Store(int64(size))
	l.mu.Unlock()
	if n == 0 {
		return
	}
	if l.failed() == nil {
		if err := l.write(l.writing); err != nil {
			l.giveUp(err)
		}
	}
	l.mu.Lock()
	const spares = 2 // one is filled while the other is written
	for i := range l.writing {
		if len(l.spare) < spares {
			l.writing[i].messages.Reset()
			l.spare = append(l.spare, l.writing[i].messages)
		}
	}
	l.mu.Unlock()
	clear(l.writing)
	l.bell.Ring()
}

func (l *logger) write(parts []logPart) error {
	for i := range parts {
		p := &parts[i]
		if p.start != nil {
			s := l.resolve(p.start)
			s.Moves = l.moves
			if err := l.call(func() error { return l.log.Begin(s) }); err != nil {
				return err
			}
			l.begun(p.start, s)
		}
		if p.messages.Bytes() > 0 && !mutant.Is("log-unsynced") {
			if err := l.call(func() error { return l.log.Write(p.messages) }); err != nil {
				return err
			}
		}
		if e := p.mark.of; e != nil {
			l.mu.Lock()
			l.settle(p.mark)
			l.mu.Unlock()
			e.written.Store(p.mark.delivered) // after settle: who sees it and finds nothing late (lags) sees what is told
		}
	}
	return nil
}

func (l *logger) call(f func() error) error {
	l.calls.Store(l.calls.Load() + 1)
	defer func() { l.calls.Store(l.calls.Load() + 1) }()
	if err := f(); err != nil {
		return err
	}
	return l.failed() // it may have been given up meanwhile, and an error is final
}

// moves: the call that is under way gets on. The logger's goroutine's.
func (l *logger) moves() { l.calls.Store(l.calls.Load() + 2) }

// giveUp: nothing is written from now on.
func (l *logger) giveUp(err error) {
	if l.err.CompareAndSwap(nil, &err) {
		l.fail(err)
	}
}

// watch gives the log up if one call of it, or a part of one, takes longer than limit. The poller calls it now and
// then, and says how much time has passed since, in which it was running itself.
func (l *logger) watch(passed, limit time.Duration) {
	calls := l.calls.Load()
	if calls%2 == 0 || calls != l.seen {
		l.seen, l.stood = calls, 0
		return
	}
	if l.stood += passed; l.stood > limit && l.failed() == nil {
		l.giveUp(hung(limit))
	}
}

func hung(limit time.Duration) error {
	return fmt.Errorf("the disk has not answered for %v", limit)
}

// resolve is the beginning of an epoch, with the states that were taken then. A channel whose state never came, because the
// node got a later one, or does not keep the channel any more, is left out: the log would look longer than it is.
func (l *logger) resolve(b *epochStarts) *EpochStart {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &EpochStart{Epoch: b.epoch}
	for _, c := range b.channels {
		if c.awaits != 0 && c.awaits != l.came[c.Channel] && !mutant.Is("log-unpaused") {
			continue
		}
		start := ChannelStart{Channel: c.Channel, Logs: c.Logs, Openings: c.Openings, Past: c.Past, History: c.History,
			Written: c.Written, Since: c.since}
		for _, state := range l.states {
			if state.channel == c.Channel && state.epoch == b.epoch {
				start.Loaded, start.State = true, state.state
			}
		}
		s.Channels = append(s.Channels, start)
	}
	l.states = slices.DeleteFunc(l.states, func(s channelState) bool { return s.epoch <= b.epoch })
	return s
}

// close writes what is pending and closes the log, if that takes no longer than limit.
func (l *logger) close(limit time.Duration) error {
	l.mu.Lock()
	l.closed = true
	if l.held != 0 { // the state will not come any more
		l.pending = slices.DeleteFunc(l.pending, func(p logPart) bool { return p.epoch >= l.held })
		l.held = 0
	}
	l.mu.Unlock()
	if l.schedule != nil {
		return l.log.Close()
	}
	l.nudge()
	if l.stood > limit {
		limit = 0 // it was waited for already
	}
	closed := make(chan error, 1)
	go func() { // it ends with the call that hangs, be that the last: to close a log is to write, too
		<-l.done
		closed <- l.log.Close()
	}()
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case err := <-closed:
		return err
	case <-patience.C:
		return fmt.Errorf("%w: %w", ErrLog, hung(limit))
	}
}

// logs are the logs that this node opens. AddEndpoint waits for that, so that an error reaches the caller, and no disk
// is waited for on the poller. Each is opened by itself: a disk that does not answer keeps nobody from logs that are
// elsewhere.
type logs struct {
	mu       sync.Mutex // held for a look
	openings map[SubgroupID]*logOpening
	open     map[SubgroupID]Log // whose subgroup has no epoch here yet
	closed   bool               // the incarnation is over: nobody takes them any more

	before map[SubgroupID]*logOpening // of incarnations before; it does not change
}

// logOpening is what has become of opening a log.
type logOpening struct {
	done chan struct{} // closed when it is open, or could not be opened, for the reason in err
	err  error
}

func (s *logs) take(sg SubgroupID) Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.open[sg]
	delete(s.open, sg)
	return l
}

// prepare has the log opened that an endpoint may need, by way of run, unless it is open or is being opened; nil if it
// needs none. One that could not be opened is tried again.
func (s *logs) prepare(ep *Endpoint, open func(SubgroupID) (Log, error), run func(open func())) *logOpening {
	sg := ep.logged()
	if sg == 0 || !ep.Replica && !mutant.Is("log-unannounced") {
		return nil
	}
	o, first := s.openingOf(sg)
	if first {
		run(func() {
			o.err = s.openNow(sg, open)
			close(o.done)
		})
	}
	return o
}

// succeeds is called when the incarnation before has closed its logs. What it is still opening it closes at once, and
// then it can be opened here: a log can not be open twice.
func (s *logs) succeeds(over *logs) {
	over.mu.Lock()
	defer over.mu.Unlock()
	s.before = map[SubgroupID]*logOpening{}
	maps.Copy(s.before, over.before)
	maps.Copy(s.before, over.openings)
}

// openingOf reports true if nobody has begun to open the log: the caller does.
func (s *logs) openingOf(sg SubgroupID) (o *logOpening, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o = s.openings[sg]; o != nil {
		return o, false
	}
	o = &logOpening{done: make(chan struct{})}
	if s.closed {
		o.err = ErrClosed
		close(o.done)
		return o, false
	}
	if s.openings == nil {
		s.openings, s.open = map[SubgroupID]*logOpening{}, map[SubgroupID]Log{}
	}
	s.openings[sg] = o
	return o, true
}

func (s *logs) openNow(sg SubgroupID, open func(SubgroupID) (Log, error)) error {
	if o := s.before[sg]; o != nil {
		<-o.done
	}
	var l Log
	err := ErrLog
	if open != nil {
		l, err = open(sg)
	}
	s.mu.Lock()
	late := s.closed
	switch {
	case err != nil:
		delete(s.openings, sg)
	case !late:
		s.open[sg] = l
	}
	s.mu.Unlock()
	if err == nil && late { // it was closed while it was being opened
		return errors.Join(ErrClosed, l.Close())
	}
	return err
}

// closeUnused closes those that no subgroup has taken, if that takes no longer than limit; else they are closed when
// their disks answer.
func (s *logs) closeUnused(limit time.Duration) {
	s.mu.Lock()
	unused := s.open
	s.open, s.closed = nil, true
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, l := range unused {
		closing.Go(func() { _ = l.Close() })
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-closed:
	case <-late.C:
	}
}
