package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// disk is what survives a process: its log of the Logged subgroup, in two files, as in reality: the beginnings of
// epochs, and the messages. It fails as disks do: of what was not synced, each file keeps the first entries, any number
// of them; a sync may be a lie (lie.go); a whole disk may be lost.
type disk struct {
	run      *run
	id       uint64
	starts   file
	messages file
	err      error         // of all that is written from now on
	copied   bool          // from another, which lives
	slow     bool          // and counted as such
	openings []int         // of each time that it was opened: how many beginnings there were
	crashIn  int           // operations until the process ends in the middle of its writing; 0: it does not
	stuck    time.Duration // until when it does not answer
	waits    time.Duration // since when a call waits for that, or has waited first; 0: none has
	// For tests of lies: how many of the entries that a file lied about are there (nil: it is drawn), and what the log
	// says of itself (nil: what it holds).
	honest func(f *file) int
	claims *derecho.LogState
}

// file is a file, and how many of its entries are synced.
type file struct {
	entries []entry
	synced  int
	lies    bool
	real    int // if it lies: how many of what it calls synced it has
}

// entry is the beginning of an epoch, or a message.
type entry struct {
	start *derecho.EpochStart // nil: a message
	after int                 // messages that were there when it began
	epoch uint32
	ch    derecho.ChannelID
	seq   uint64
	text  string
}

func (r *run) newDisk() *disk { return &disk{run: r, id: r.pick.Uint64() | 1} }

// copy is what somebody has who copies the directory: all that was written, on a disk that has it, whatever the
// original does with it.
func (d *disk) copy() *disk {
	of := func(f file) file { return file{entries: slices.Clone(f.entries), synced: len(f.entries)} }
	return &disk{run: d.run, id: d.id, copied: true, starts: of(d.starts), messages: of(d.messages), openings: slices.Clone(d.openings)}
}

// open counts an opening. It is durable before anybody is told of the log. What a node before was writing when it gave
// the log up is not there: nobody waits for that any more, and what comes now does not come behind it.
func (d *disk) open() {
	for _, f := range []*file{&d.starts, &d.messages} {
		f.entries = f.entries[:f.synced]
	}
	d.openings = append(d.openings, len(d.starts.entries))
}

// medium is what the trace calls the log by what is on the disk: a copy has the identity of the original, which is odd,
// and a content of its own.
func (d *disk) medium() uint64 {
	if d.copied {
		return d.id + 1
	}
	return d.id
}

// crash loses some of what was not synced. What is left is on disk, though the process has told nobody.
func (d *disk) crash(p *process) {
	messages, starts := d.messages, d.starts
	d.messages.lose(d.run.pick.IntN)
	d.starts.lose(d.run.disks.IntN)
	if messages.lies || starts.lies {
		d.bare(p, messages, starts)
	}
	d.crashIn = 0
	d.starts.sync(p)
	d.messages.sync(p)
}

func (f *file) lose(pick func(n int) int) {
	f.entries = f.entries[:f.synced+pick(len(f.entries)-f.synced+1)]
}

// sync makes all entries durable, and puts that into the trace.
func (f *file) sync(p *process) {
	for _, e := range f.entries[f.synced:] {
		if e.start == nil {
			p.run.emit(Event{Kind: Durable, Node: p.id, Channel: e.ch, Epoch: e.epoch, Seq: e.seq, Log: p.disk.medium(), Text: e.text})
			continue
		}
		for _, c := range e.start.Channels {
			since := c.Since
			if c.Loaded {
				since = 0
			}
			p.run.emit(Event{Kind: Begun, Since: since, Node: p.id, Channel: c.Channel, Epoch: e.epoch, Log: p.disk.medium(),
				Logs: c.Logs, Openings: c.Openings, Past: c.Past, History: c.History, Written: c.Written, Text: string(c.State)})
		}
	}
	f.synced = len(f.entries)
}

// index is what the log has of its channels, and how far it has come in the last epoch.
func (d *disk) index() (x derecho.LogIndex, seq uint64) {
	x.ID = d.id
	x.Open(uint32(len(d.openings)))
	for _, e := range d.starts.entries {
		if x.After(0, 0); e.after > 0 {
			m := d.messages.entries[e.after-1]
			x.After(m.epoch, m.seq)
		}
		x.Begin(e.start)
	}
	if n := len(d.messages.entries); n > 0 && d.messages.entries[n-1].epoch == x.Begun() {
		seq = d.messages.entries[n-1].seq + 1
	}
	return x, seq
}

// found is what a process finds of a channel on its disk when it starts.
func (d *disk) found(ch derecho.ChannelID) *derecho.LogState {
	if d.claims != nil {
		return d.claims
	}
	x, seq := d.index()
	return x.Holds(ch, seq)
}

// history is the state of a channel as the log has it: the latest that it was given, and the messages that count since.
func (d *disk) history(ch derecho.ChannelID) (texts []string) {
	for _, e := range d.starts.entries {
		for _, c := range e.start.Channels {
			if c.Channel == ch && c.Loaded {
				texts = strings.Fields(string(c.State))
			}
		}
	}
	x, _ := d.index()
	for _, e := range d.messages.entries {
		if e.ch == ch && x.Counts(ch, e.epoch) {
			texts = append(texts, e.text)
		}
	}
	return texts
}

// handle is a disk as one node has opened it.
type handle struct {
	d       *disk
	p       *process
	closed  bool
	busy    bool     // a call of it is under way
	waiting []func() // what comes meanwhile: one goroutine writes a log
}

var errClosed = errors.New("closed")

// put writes entries to a file and makes them durable: two operations, and the process may end before each of them.
func (h *handle) put(f *file, entries ...entry) error {
	switch {
	case h.closed:
		return errClosed
	case h.d.err != nil:
		return h.d.err
	}
	if h.operate(); h.closed || h.p.gone {
		return errClosed
	}
	f.entries = append(f.entries, entries...)
	if h.operate(); h.closed || h.p.gone {
		return errClosed
	}
	if errors.Is(h.d.err, errDisk) { // it has failed while it did not answer
		return h.d.err
	}
	f.sync(h.p)
	return nil
}

// operate counts an operation of the disk, before which the process may end. It may take long: all else goes on
// meanwhile, the process too.
func (h *handle) operate() {
	h.await()
	if h.p.run.sweeps && !h.p.run.calm {
		h.p.f.Stored()
	}
	if h.d.crashIn == 0 || h.p.run.calm {
		return
	}
	if h.d.crashIn--; h.d.crashIn == 0 {
		panic(sim.Crash{Fabric: h.p.f})
	}
}

func (h *handle) Begin(s *derecho.EpochStart) error {
	return h.put(&h.d.starts, entry{start: s, epoch: s.Epoch, after: len(h.d.messages.entries)})
}

// batch is messages on their way to a disk.
type batch []entry

func (h *handle) NewBatch() derecho.LogBatch { return &batch{} }

func (b *batch) Append(m *derecho.Message) {
	*b = append(*b, entry{epoch: m.Epoch, ch: m.Channel, seq: m.Seq, text: string(m.Payload)})
}

func (b *batch) Bytes() int { return len(*b) }

func (b *batch) Reset() { *b = nil }

func (h *handle) Write(b derecho.LogBatch) error { return h.put(&h.d.messages, *b.(*batch)...) }

func (h *handle) Close() error {
	h.closed = true
	return nil
}

var errDisk = errors.New("disk failed")

// diskFault makes the disk of a process fail until the process ends.
func (p *process) diskFault() { p.disk.err = fmt.Errorf("%w at %s", errDisk, p.name) }

// logs does what a process's log has to do, in which the process may end.
func (p *process) logs(write func()) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case sim.Crash:
			r := p.run
			r.faults[CrashSync]++
			p.crash("in the middle of writing its log")
			if p.returns = true; r.plan.Storm == "restart" || r.directed {
				return // its script says when
			}
			r.w.After(time.Duration(r.disks.Int64N(int64(4*r.plan.Lease))), func() {
				if p.crashed && !r.calm {
					r.restart(p)
				}
			})
		default:
			panic(x)
		}
	}()
	h := p.log
	h.waiting = append(h.waiting, write)
	for !h.busy && len(h.waiting) > 0 {
		next := h.waiting[0]
		h.waiting, h.busy = h.waiting[1:], true
		next()
		h.busy = false
	}
}
