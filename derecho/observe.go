package derecho

import (
	"slices"

	"github.com/omg-dds-go/dds/sst"
)

// Row is what a node has told in its row of an epoch, and what it holds, as far as invariants speak of it.
type Row struct {
	RowCells
	// By rank of the sender: what is acknowledged, what was handed over, what may be reused, and the bound below which every
	// index is known here, because it is acknowledged or lies in memory that is mapped here.
	Received, Handed, Freed, Held []uint64
}

// RowCells are the single cells of a Row.
type RowCells struct {
	Subgroup SubgroupID
	Epoch    uint32
	// Of a sender; 0 for others.
	Tail, Real, Next, Ring uint64
	Delivered, Opened      uint64
	Persisted              uint64 // of a Logged subgroup
	Drained                uint64
	// Of the control subgroup: sets of the first 64 members by position, and ballots.
	Accused, Certain                    uint64
	Wedged, Promised, Accepted, Decided uint64
}

// Equal reports whether two rows say the same.
func (r *Row) Equal(o *Row) bool {
	return r.RowCells == o.RowCells && slices.Equal(r.Received, o.Received) && slices.Equal(r.Handed, o.Handed) &&
		slices.Equal(r.Freed, o.Freed) && slices.Equal(r.Held, o.Held)
}

// Clone is a row with slices of its own.
func (r *Row) Clone() *Row {
	return &Row{r.RowCells, slices.Clone(r.Received), slices.Clone(r.Handed), slices.Clone(r.Freed), slices.Clone(r.Held)}
}

// Rows shows the rows of the node's epochs that are not released. The Row is reused after visit returns.
func (d *Driven) Rows(visit func(*Row)) {
	for _, g := range d.m.order {
		for _, e := range g.epochs {
			e.observe(&d.row)
			visit(&d.row)
		}
	}
}

// RowOf is the row of one epoch, nil if it is released, or never was. It is reused by the next call.
func (d *Driven) RowOf(sg SubgroupID, epoch uint32) *Row {
	if g := d.m.groups[sg]; g != nil {
		for _, e := range g.epochs {
			if e.desc.Epoch == epoch {
				e.observe(&d.row)
				return &d.row
			}
		}
	}
	return nil
}

func (e *epoch) observe(r *Row) {
	t, own := e.table, e.table.Row(e.me)
	r.RowCells = RowCells{Subgroup: e.g.id, Epoch: e.desc.Epoch, Delivered: own.Load(t.Delivered()), Opened: own.Load(t.Opened()),
		Persisted: own.Load(t.Persisted()), Drained: own.Load(t.Drained())}
	if e.sender != nil {
		r.Tail, r.Real, r.Next = own.Load(sst.Tail), own.Load(sst.Real), own.Load(sst.Next)
		r.Ring = uint64(len(own.Region().Ring()))
	}
	r.Received, r.Handed, r.Freed, r.Held = r.Received[:0], r.Handed[:0], r.Freed[:0], r.Held[:0]
	if e.receiving {
		for rank, s := range e.senders {
			has := own.Load(t.Received(rank))
			r.Received, r.Handed = append(r.Received, has), append(r.Handed, own.Load(t.Handed(rank)))
			r.Freed = append(r.Freed, own.Load(t.Freed(rank)))
			if !e.tellsAck[rank] {
				has = e.table.Row(s).Load(sst.Next)
			}
			r.Held = append(r.Held, has)
		}
	}
	if a := e.agree; a != nil {
		r.Accused, r.Certain = own.Load(t.Accused()), own.Load(t.Certain())
		r.Wedged, r.Promised, r.Decided = own.Load(t.Wedged()), own.Load(t.Promised()), own.Load(t.Decided())
		r.Accepted = a.accepted(e.me, a.values)
	}
}

// noteReport and noteCommand tell a simulator of what goes through the control subgroup.
func (m *machine) noteReport(e *epoch, t trimReport) {
	if m.trace == nil {
		return
	}
	ev := Event{Kind: Reported, Group: m.view.group, Subgroup: t.subgroup, Epoch: t.epoch, Ends: slices.Repeat([]uint64{sst.Forever}, len(e.senders))}
	for i, rank := range t.ranks {
		ev.Ends[rank] = t.has[i]
		ev.Senders = append(ev.Senders, e.node(e.senders[rank]))
	}
	m.trace(ev)
}

func (m *machine) noteCommand(c *Message) {
	if m.trace != nil {
		m.trace(Event{Kind: Executed, Group: m.view.group, Epoch: c.Epoch, From: c.Sender, Seq: c.Seq, Command: c.Payload})
	}
}
