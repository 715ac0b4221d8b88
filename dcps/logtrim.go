package dcps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
	"github.com/omg-dds-go/dds/topic"
)

// A log is trimmed when it has grown by Settings.LogTrimBytes: what its channels are at one message is written to disk, its
// base (logbase.go), and files of the log that end before that message go. It is done beside all else: the polling goroutine
// takes references to what is kept, as for a process that joins, and who writes the log does not wait.
//
// The base stands for all that the log has up to its message:
//
//   - Of a channel that this process keeps it has the history, if what the log has of it counts in the epoch of the message. If it
//     stores the channel, and that does not count yet, or the history is on its way, nothing is trimmed now.
//   - Of another one that the log has it has the messages, as nobody here knows what they amount to.
//   - Of one that the log never had, and that this process does not store, it has nothing: what came of it will never count
//     (LogIndex.Has).
//
// A log of which most is kept is not trimmed: its base would be another log.
type trimming struct {
	limit int64 // by how much the log grows until it is trimmed; 0: it is not. Constant

	// The polling goroutine's:
	channels map[derecho.ChannelID]storage.Version // the last message of each that the log has; nil: as it is on disk
	latest   derecho.ChannelID                     // of the latest message; its entry in channels is of an earlier one
	given    storage.Version                       // the latest message

	// Bytes of the disk that the log has got and that were not trimmed, raised by who writes the log and lowered by who trims; and
	// how many are to be there until it is trimmed, stored by who opens it and then by who trims. A look at both that comes
	// between two stores is harmless: somebody trims too early, or the next write looks again.
	grown, due atomic.Int64
	// busy: somebody trims; who sets it does, and clears it after all else.
	busy atomic.Bool
	// wrote, of one, tells who trims that something has become durable.
	wrote chan struct{}

	over context.Context // ended when the log has failed, or is closed
	end  context.CancelFunc
	work sync.WaitGroup // added to with groupLog.mu held, while the log is not closed
}

// besideSample is about what a log, or a history that travels, has of a sample besides its bytes, in bytes.
const besideSample = 64

// trimOf is a log that can not be trimmed, as what a problem is about.
type trimOf struct{ sg derecho.SubgroupID }

// init is called before anybody knows of the log.
func (t *trimming) init(limit int64) {
	t.limit = max(limit, 0)
	t.wrote = make(chan struct{}, 1)
	t.over, t.end = context.WithCancel(context.Background())
}

// opened says what the log has, before it is given anything.
func (t *trimming) opened(d *diskLog) {
	t.grown.Store(d.bytes)
	t.due.Store(max(t.limit, 2*d.base.size))
}

// note takes note of a message that the log is given.
func (t *trimming) note(d *diskLog, m *derecho.Message) {
	if t.channels == nil {
		t.channels = maps.Clone(d.channels)
	}
	if m.Channel != t.latest {
		t.settle()
		t.latest = m.Channel
	}
	t.given = storage.Version{Epoch: m.Epoch, Seq: m.Seq}
}

// settle makes channels right for the latest message.
func (t *trimming) settle() {
	if t.given != (storage.Version{}) {
		t.channels[t.latest] = t.given
	}
}

// grow takes note of what has become durable, and has the log trimmed if it is time. Who writes the log calls it.
func (g *groupLog) grow(bytes int64) {
	t := &g.trim
	if t.limit == 0 {
		return
	}
	select {
	case t.wrote <- struct{}{}:
	default:
	}
	if t.grown.Add(bytes) < t.due.Load() || !t.busy.CompareAndSwap(false, true) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	t.work.Add(1)
	g.set.p.spawn("dcps log", func() {
		defer t.work.Done()
		defer t.busy.Store(false)
		g.shorten()
	})
}

// shorten trims the log. If that is not to be now it is tried again when the log has grown as much again.
func (g *groupLog) shorten() {
	t, p := &g.trim, g.set.p
	due := t.grown.Load() + t.limit
	switch c := g.cut(); {
	case c == nil:
	case 2*c.kept > c.grown:
		due = max(due, 2*c.kept)
	default:
		size, err := g.rebase(c)
		switch {
		case err == nil && size > 0:
			t.grown.Add(-c.grown)
			due = max(t.limit, 2*size)
			p.problems.ended(trimOf{g.sg})
		case errors.Is(err, errTooMuchKept):
			due = max(due, 2*size)
		case err != nil && t.over.Err() == nil:
			p.problems.tell(trimOf{g.sg}, fmt.Errorf("the log in %s can not be trimmed, and grows: %w", g.disk.Load().log.Dir(), err))
		}
	}
	t.due.Store(due)
}

// logCut is what a log and its channels are at one message.
type logCut struct {
	at        storage.Version
	grown     int64 // what the log had got by then
	kept      int64 // about how much of that is kept
	histories map[derecho.ChannelID]*cut
	strangers map[derecho.ChannelID]bool            // of which nobody here has the history
	stored    map[derecho.ChannelID]bool            // by an endpoint of this process, with a log
	last      map[derecho.ChannelID]storage.Version // message of each
}

// cut has the polling goroutine cut the log; nil if that is not to be now.
func (g *groupLog) cut() *logCut {
	cuts := make(chan *logCut, 1)
	err := g.set.p.core.Upcall(g.trim.over, func() { cuts <- g.set.p.hub.cutLog(g) })
	if err == nil {
		return <-cuts
	}
	select {
	case c := <-cuts: // it was made all the same
		c.giveUp()
	default:
	}
	return nil
}

// giveUp ends what was lent.
func (c *logCut) giveUp() {
	if c != nil {
		for _, cut := range c.histories {
			cut.end()
		}
	}
}

// cutLog takes the histories of the channels of a log, as of the latest message that it was given: none if it is not worth it. It
// is nil if one is on its way, or not here.
func (h *hub) cutLog(g *groupLog) *logCut {
	t := &g.trim
	if g.isClosed() || h.p.logs.log(g.sg) != g || t.given == (storage.Version{}) {
		return nil
	}
	t.settle()
	c := &logCut{at: t.given, grown: t.grown.Load(), histories: map[derecho.ChannelID]*cut{},
		strangers: map[derecho.ChannelID]bool{}, stored: map[derecho.ChannelID]bool{}, last: maps.Clone(t.channels)}
	kept := make(map[derecho.ChannelID]*channel, len(t.channels))
	for ch := range t.channels {
		k := h.channels[channelKey{g.sg, ch}]
		c.stored[ch] = h.stores(ch) // asked once: endpoints end on goroutines of the application
		switch {
		case k == nil && c.stored[ch], k != nil && (k.awaiting || len(k.putOff) > 0 || k.from > c.at.Epoch):
			return nil
		case k == nil:
			c.strangers[ch] = true
		default:
			kept[ch] = k
			c.kept += k.history.size
		}
	}
	if 2*c.kept > c.grown {
		return c
	}
	for ch, k := range kept {
		c.histories[ch] = k.history.cut()
	}
	return c
}

// stores tells whether an endpoint of this process, about to be announced, announced, or closing, is a replica of a channel
// with a log.
func (h *hub) stores(ch derecho.ChannelID) bool {
	if h.p.stores(ch) {
		return true
	}
	for _, e := range h.endpoints {
		if e.writer != nil && e.path == topic.Logged && e.at.ch == ch || e.reader != nil && e.reader.stored && e.reader.channel == ch {
			return true
		}
	}
	return false
}

// errTooMuchKept: a base would be more than half of what the log has got.
var errTooMuchKept = errors.New("most of it is kept")

// rebase makes a cut the base of the log, and removes what the log has before it. It gives the size of the base; 0 if it was
// not to be.
func (g *groupLog) rebase(c *logCut) (size int64, err error) {
	d, t := g.disk.Load(), &g.trim
	dir := d.log.Dir()
	w, err := startBase(dir, d.holds.Load().index.ID, func() error {
		if t.over.Err() != nil {
			return errStopped
		}
		return nil
	})
	if w != nil {
		defer func() { err = errors.Join(err, w.close(dir)) }()
	}
	later := make(map[derecho.ChannelID][]byte) // of channels that this process keeps, and does not store
	// Each is ended: until then its records are lent.
	for ch, cut := range c.histories {
		switch {
		case err != nil:
			cut.end()
			continue
		case g.set.p.takeAll(t.over, cut) != nil:
			err = errStopped
			continue
		}
		if state := cut.encode(); c.stored[ch] {
			err = w.state(ch, stateAt{c.at, state})
		} else {
			later[ch] = state
		}
	}
	if err != nil {
		return 0, err
	}
	// A base is never ahead of its log: that would tell less than the process has, and others would go on from elsewhere.
	for d.log.Durable().Compare(c.at) < 0 {
		select {
		case <-t.wrote:
		case <-t.over.Done():
			return 0, errStopped
		}
	}
	index := d.holds.Load().index // which has the epoch of the message: it began before that was written
	for ch, stored := range c.stored {
		if stored && !index.Counts(ch, c.at.Epoch) {
			return 0, nil
		}
	}
	old, err := readBase(dir)
	if err != nil {
		return 0, err
	}
	for ch, state := range later {
		if !index.Counts(ch, c.at.Epoch) {
			c.strangers[ch] = true
		} else if err := w.state(ch, stateAt{c.at, state}); err != nil {
			return 0, err
		}
	}
	if err := w.strangers(dir, &old, c, index); err != nil {
		return 0, err
	}
	if err := w.finish(c.at); err != nil {
		return 0, err
	}
	if 2*w.size > c.grown {
		return w.size, errTooMuchKept
	}
	g.files.Lock()
	defer g.files.Unlock()
	if t.over.Err() != nil {
		return 0, errStopped
	}
	if err := w.adopt(dir); err != nil {
		return 0, err
	}
	_, err = d.log.Trim(c.at)
	return w.size, err
}

// strangers writes what is known of channels of which nobody here has the history: what the base before has, and messages since.
func (w *baseWriter) strangers(dir string, old *logBase, c *logCut, index *derecho.LogIndex) error {
	maps.DeleteFunc(c.strangers, func(ch derecho.ChannelID, _ bool) bool { return !index.Has(ch) })
	since := map[derecho.ChannelID]bool{} // there are messages of it behind the base before
	for ch := range c.strangers {
		if s, has := old.states[ch]; has {
			if err := w.state(ch, s); err != nil {
				return err
			}
		}
		since[ch] = c.last[ch].Compare(old.at) > 0
	}
	messages := old.messages
	if messages == nil {
		messages = make(map[derecho.ChannelID][]byte)
	}
	if slices.Contains(slices.Collect(maps.Values(since)), true) {
		for r, err := range old.logged(dir, func(ch derecho.ChannelID) bool { return since[ch] }) {
			if err != nil {
				return err
			}
			if r.Compare(c.at) > 0 {
				break
			}
			ch := derecho.ChannelID(r.Channel)
			messages[ch] = appendMessage(messages[ch], r)
		}
	}
	for ch := range c.strangers {
		if m := messages[ch]; len(m) > 0 {
			if err := w.put(epochEntry{kind: entryMessages, ch: ch, body: m}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stop ends what is under way, and waits for it. The log is closed by then, and nobody begins anew.
func (t *trimming) stop() {
	t.end()
	t.work.Wait()
}
