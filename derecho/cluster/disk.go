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

// entry is the beginning of an epoch, a state, or a message.
type entry struct {
	epoch uint32
	logs  []uint64 // beginning
	state bool
	ch    derecho.ChannelID // 0: a beginning
	seq   uint64
	text  string
}

func (r *run) newDisk() *disk { return &disk{run: r, id: r.pick.Uint64() | 1} }

// crash loses some of what was not synced.
func (d *disk) crash() {
	d.entries = d.entries[:d.synced+d.run.pick.IntN(len(d.entries)-d.synced+1)]
	d.synced = len(d.entries)
}

// found is what a process finds on its disk when it starts.
func (d *disk) found() *derecho.LogState {
	s := &derecho.LogState{ID: d.id}
	for _, e := range d.entries {
		switch {
		case e.ch == 0:
			s.Epoch, s.Seq, s.Logs = e.epoch, 0, e.logs
		case !e.state:
			s.Epoch, s.Seq = e.epoch, e.seq+1
		}
	}
	return s
}

// history is the state of a channel as the log has it.
func (d *disk) history(ch derecho.ChannelID) (texts []string) {
	from := uint32(0)
	for _, e := range d.entries {
		switch {
		case e.ch == ch && e.state:
			texts, from = strings.Fields(e.text), e.epoch
		case e.ch == ch && e.epoch >= from:
			texts = append(texts, e.text)
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
		switch {
		case e.ch == 0:
			h.d.run.emit(Event{Kind: Durable, Node: h.p.id, Epoch: e.epoch, Log: h.d.id, Logs: e.logs})
		case !e.state:
			h.d.run.emit(Event{Kind: Durable, Node: h.p.id, Channel: e.ch, Epoch: e.epoch, Seq: e.seq, Log: h.d.id, Text: e.text})
		}
	}
	h.d.synced = len(h.d.entries)
	return nil
}

func (h *handle) Begin(epoch uint32, logs []uint64) error {
	return h.put(entry{epoch: epoch, logs: logs})
}

func (h *handle) State(ch derecho.ChannelID, epoch uint32, state []byte) error {
	return h.put(entry{epoch: epoch, state: true, ch: ch, text: string(state)})
}

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
