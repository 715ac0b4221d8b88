package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// disk is what survives a process: its log of the Logged subgroup. It fails as disks do: what was not
// synced may be lost, in any length; a whole disk may be.
type disk struct {
	run     *run
	id      uint64
	entries []entry
	synced  int   // of entries
	err     error // of all that is written from now on
}

// entry is the beginning of an epoch, or a message.
type entry struct {
	start *derecho.EpochStart // nil: a message
	epoch uint32
	ch    derecho.ChannelID
	seq   uint64
	text  string
}

func (r *run) newDisk() *disk { return &disk{run: r, id: r.pick.Uint64() | 1} }

// crash loses some of what was not synced.
func (d *disk) crash() {
	d.entries = d.entries[:d.synced+d.run.pick.IntN(len(d.entries)-d.synced+1)]
	d.synced = len(d.entries)
}

// index is what the log has of its channels, and how far it has come in the last epoch.
func (d *disk) index() (x derecho.LogIndex, seq uint64) {
	x.ID = d.id
	for _, e := range d.entries {
		if e.start != nil {
			x.Begin(e.start)
			seq = 0
		} else {
			seq = e.seq + 1
		}
	}
	return x, seq
}

// found is what a process finds of a channel on its disk when it starts.
func (d *disk) found(ch derecho.ChannelID) *derecho.LogState {
	x, seq := d.index()
	return x.Holds(ch, seq)
}

// history is the state of a channel as the log has it.
func (d *disk) history(ch derecho.ChannelID) (texts []string) {
	x, _ := d.index()
	for _, e := range d.entries {
		if e.start == nil {
			if e.ch == ch && x.Counts(ch, e.epoch) {
				texts = append(texts, e.text)
			}
			continue
		}
		for _, c := range e.start.Channels {
			if c.Channel == ch && c.Loaded {
				texts = strings.Fields(string(c.State))
			}
		}
	}
	return texts
}

// handle is a disk as one node has opened it.
type handle struct {
	d      *disk
	p      *process
	closed bool
}

var errClosed = errors.New("closed")

// put writes entries and makes them durable.
func (h *handle) put(entries ...entry) error {
	switch {
	case h.closed:
		return errClosed
	case h.d.err != nil:
		return h.d.err
	}
	h.d.entries = append(h.d.entries, entries...)
	for _, e := range entries {
		if e.start == nil {
			h.d.run.emit(Event{Kind: Durable, Node: h.p.id, Channel: e.ch, Epoch: e.epoch, Seq: e.seq, Log: h.d.id, Text: e.text})
			continue
		}
		for _, c := range e.start.Channels {
			h.d.run.emit(Event{Kind: Begun, Node: h.p.id, Channel: c.Channel, Epoch: e.epoch, Log: h.d.id, Logs: c.Logs, History: c.History, Written: c.Written, Text: string(c.State)})
		}
	}
	h.d.synced = len(h.d.entries)
	return nil
}

func (h *handle) Begin(s *derecho.EpochStart) error { return h.put(entry{start: s, epoch: s.Epoch}) }

// batch is messages on their way to a disk.
type batch []entry

func (h *handle) NewBatch() derecho.LogBatch { return &batch{} }

func (b *batch) Append(m *derecho.Message) {
	*b = append(*b, entry{epoch: m.Epoch, ch: m.Channel, seq: m.Seq, text: string(m.Payload)})
}

func (b *batch) Bytes() int { return len(*b) }

func (b *batch) Reset() { *b = nil }

func (h *handle) Write(b derecho.LogBatch) error { return h.put(*b.(*batch)...) }

func (h *handle) Close() error {
	h.closed = true
	return nil
}

var errDisk = errors.New("disk failed")

// diskFault makes the disk of a process fail until the process ends.
func (p *process) diskFault() { p.disk.err = fmt.Errorf("%w at %s", errDisk, p.name) }
