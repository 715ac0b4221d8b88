package dcps

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// A log is trimmed when it has grown by Settings.LogTrimBytes: what the histories of its channels are at one message is
// written to disk (logbase.go), and files of the log that end before that message go. It is done beside all else: the polling
// goroutine takes references to what is kept, as for a process that joins, and who writes the log does not wait.
//
// The base has to stand for all that the log has up to its message, for each channel, or nothing is trimmed:
//
//   - What the log has of the channel counts, in the epoch of the message, and this process has its history, up to the message.
//   - Or the log never had the channel, and this process does not store it: what came of it will never count (LogIndex.Has).
//
// Of a channel that an earlier run stored and this one does not nobody here has the history: a log with one is not trimmed.
// Nor is one of which most is kept.
type trimming struct {
	limit int64 // by how much the log grows until it is trimmed; 0: it is not. Constant

	// The polling goroutine's:
	channels map[derecho.ChannelID]struct{} // of messages that the log was given, or had; nil: as it is on disk
	last     derecho.ChannelID              // of the latest
	given    storage.Version                // the latest message

	grown atomic.Int64  // bytes that the log has got and that were not trimmed; raised by who writes it, lowered by who trims
	due   atomic.Int64  // of grown: then it is to be trimmed; stored by who trims
	busy  atomic.Bool   // somebody does: one at a time
	wrote chan struct{} // of one: something has become durable

	over context.Context // ended when the log is closed
	end  context.CancelFunc
	work sync.WaitGroup // added to while the log is not closed, with groupLog.mu held
}

// besideSample is about what a log, or a history that travels, has of a sample besides its bytes, in bytes.
const besideSample = 64

func newGroupLog(s *logSet, sg derecho.SubgroupID) *groupLog {
	g := &groupLog{set: s, sg: sg}
	t := &g.trim
	t.limit = max(s.p.settings.LogTrimBytes, 0)
	t.wrote = make(chan struct{}, 1)
	t.over, t.end = context.WithCancel(context.Background())
	return g
}

// opened says what the log has that was opened, before anybody else knows of it.
func (t *trimming) opened(d *diskLog) {
	t.grown.Store(d.found)
	t.due.Store(max(t.limit, 2*d.base))
}

// note takes note of a message that the log is given.
func (t *trimming) note(d *diskLog, m *derecho.Message) {
	t.given = storage.Version{Epoch: m.Epoch, Seq: m.Seq}
	if t.channels == nil {
		t.channels = make(map[derecho.ChannelID]struct{})
		for ch := range d.channels {
			t.channels[ch] = struct{}{}
		}
	} else if m.Channel == t.last {
		return
	}
	t.last = m.Channel
	t.channels[m.Channel] = struct{}{}
}

// grow takes note of what has become durable, and has the log trimmed if it is time. Who writes the log calls it.
func (g *groupLog) grow(bytes int) {
	t := &g.trim
	if t.limit == 0 {
		return
	}
	select {
	case t.wrote <- struct{}{}:
	default:
	}
	if t.grown.Add(int64(bytes)) < t.due.Load() || !t.busy.CompareAndSwap(false, true) {
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
	t := &g.trim
	var c logCut
	due := t.grown.Load() + t.limit
	if g.set.p.core.Upcall(t.over, func() { c = g.set.p.hub.cutLog(g) }) == nil {
		size, err := g.rebase(&c)
		switch {
		case err != nil:
			g.set.p.problem(fmt.Errorf("the log in %s can not be trimmed, and grows: %w", g.disk.Load().log.Dir(), err))
		case size > 0:
			t.grown.Add(-c.grown)
			due = max(t.limit, 2*int64(size))
		default:
			due = max(due, 2*c.kept)
		}
	}
	t.due.Store(due)
}

// logCut is what histories are at one message.
type logCut struct {
	at        storage.Version
	grown     int64 // what the log had got by then
	kept      int64 // bytes of samples in the histories
	histories map[derecho.ChannelID]func() []byte
	strangers []derecho.ChannelID // of which the log has messages, and that this process does not store
}

// cutLog takes the histories of the channels of a log, as of the latest message that it was given. It is empty if one is on
// its way, or not here, or if it is not worth it.
func (h *hub) cutLog(g *groupLog) (c logCut) {
	t := &g.trim
	if g.isClosed() || h.p.logs.log(g.sg) != g {
		return c
	}
	c.at, c.grown = t.given, t.grown.Load()
	for ch := range t.channels {
		if !h.p.stores(ch) {
			c.strangers = append(c.strangers, ch)
			continue
		}
		k := h.channels[channelKey{g.sg, ch}]
		if k == nil || k.awaiting || len(k.putOff) > 0 {
			return c
		}
		c.kept += k.history.size
	}
	if 2*c.kept > c.grown {
		return c
	}
	c.histories = make(map[derecho.ChannelID]func() []byte)
	for ch := range t.channels {
		if k := h.channels[channelKey{g.sg, ch}]; k != nil && h.p.stores(ch) {
			c.histories[ch] = k.history.snapshot()
		}
	}
	return c
}

// rebase makes a cut the base of the log, and removes what the log has before it. It gives the size of the base, 0 if it was
// not to be.
func (g *groupLog) rebase(c *logCut) (size int, err error) {
	if c.histories == nil {
		return 0, nil
	}
	d := g.disk.Load()
	b := logBase{at: c.at, states: make(map[derecho.ChannelID][]byte)}
	for ch, encode := range c.histories {
		b.states[ch] = encode()
	}
	// A base is never ahead of its log: that would tell less than the process has, and others would go on from elsewhere.
	for d.log.Durable().Compare(c.at) < 0 {
		select {
		case <-g.trim.wrote:
		case <-g.trim.over.Done():
			return 0, nil
		}
	}
	index := d.holds.Load().index // which has the epoch of the message: it began before that was written
	b.log = index.ID
	for ch := range c.histories {
		if !index.Counts(ch, c.at.Epoch) {
			return 0, nil
		}
	}
	for _, ch := range c.strangers {
		if index.Has(ch) {
			return 0, nil
		}
	}
	g.files.Lock()
	defer g.files.Unlock()
	if size, err = b.write(d.log.Dir()); err == nil {
		_, err = d.log.Trim(c.at)
	}
	return size, err
}

// stop ends what is under way, and waits for it. The log is closed then, and nobody begins anew.
func (t *trimming) stop() {
	if t.end != nil {
		t.end()
	}
	t.work.Wait()
}
