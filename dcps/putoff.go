package dcps

import (
	"math"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// What comes while the history of a topic is on its way to this process is put off for those of its readers that want
// the history; and for each of these on, while it is given what there is (backlog.go). A writer that goes meanwhile, or does not
// match any more, is put off with that: its reader gets first what was sent to it, and then learns that the match is over.

// deferral is what is put off, and what waits behind that.
type deferral struct {
	putOff   []*putOff
	partings []parting // in the order of where they are
	done     int       // so many were in putOff before, and are done
}

// putOff is a message that waits for the history, or what became of its writer, which is at its place among the messages; or that
// history, which a reader has not been given yet.
type putOff struct {
	kind putOffKind
	w    *endpoint
	info []byte        // what the writer had announced by then
	ann  *announcement // the same
	h    InstanceHandle
	m    derecho.Message // Payload is its own
	b    beside
	lost bool // the message can not be read
	owed *owed
}

type putOffKind uint8

const (
	putOffMessage putOffKind = iota
	putOffChange             // the writer has announced something else
	putOffEnd                // it is gone
	putOffHistory
)

// put puts something off.
func (d *deferral) put(p *putOff) {
	p.info, p.ann = p.w.info, p.w.ann
	d.putOff = append(d.putOff, p)
}

// enter does in a history what was put off, but for the end of a writer, which is still to be followed then.
func (c *channel) enter(s *store, d *putOff) *writerEnd {
	switch {
	case d.kind == putOffEnd:
		return s.ending(d.w.key)
	case d.kind == putOffChange:
		s.rewrite(d.w.key, d.info, d.ann)
	case !d.lost && !c.covers(&d.m):
		then := *d.w
		then.info, then.ann = d.info, d.ann
		return s.follow(&then, &d.m, d.h)
	}
	return nil
}

// kept tells the writer of what was put off that it is in a history: what it has sent again is not lost any more by that.
func (d *putOff) kept() {
	if d.kind == putOffMessage && d.w.writer != nil && d.m.Flags&flagAgain != 0 {
		d.w.writer.kept(d.m.WriterSeq)
	}
}

// ends tells whether the end of a writer is put off.
func (d *deferral) ends(writer endpointKey) bool {
	return slices.ContainsFunc(d.putOff, func(p *putOff) bool { return p.kind == putOffEnd && p.w.key == writer })
}

// parting is the end of a match that waits for the history, or another QoS of its writer, behind what is put off of that.
type parting struct {
	w  *endpoint
	m  match
	at int // it is behind so many that were put off, with those that are done
	// items begin with the end. The others are what became of the writer since: it may match again, and its process may
	// have joined again. Or the other QoS is the only one.
	items []*item
}

// over: the match ends.
func (e *parting) over() bool { return e.items[0].kind == itemUnmatched }

// inform tells the reader of a match what became of the writer.
func (h *hub) inform(w *endpoint, m match, it *item) {
	switch c := h.channels[w.at]; {
	case c != nil && m.r.durable && c.informLater(w, m, it):
	case it.kind == itemUnmatched:
		h.endMatch(m, it)
	case it.kind == itemAltered:
		h.alterMatch(m, it)
	default:
		m.r.post(it, it)
	}
}

// informLater is false if nothing is put off that the reader is to have before.
func (c *channel) informLater(w *endpoint, m match, it *item) bool {
	if c.awaiting && c.later(w, m, it) {
		return true
	}
	b := c.backlogOf(m.r)
	return b != nil && b.later(w, m, it)
}

func (d *deferral) later(w *endpoint, m match, it *item) bool {
	i := len(d.partings) - 1
	for i >= 0 && (d.partings[i].m.r != m.r || d.partings[i].w.key.origin() != w.key.origin()) {
		i--
	}
	placed := it.kind == itemUnmatched || it.kind == itemAltered // among the messages
	of := func(p *putOff) bool { return p != nil && (p.w == w || p.kind == putOffHistory) }
	switch {
	case i >= 0 && !placed:
		d.partings[i].items = append(d.partings[i].items, it)
	case i >= 0, placed && slices.ContainsFunc(d.putOff, of):
		d.partings = append(d.partings, parting{w, m, d.done + len(d.putOff), []*item{it}})
	default:
		return false
	}
	return true
}

// allPutOff is endPutOff's n for all.
const allPutOff = math.MaxInt

// endPutOff does what waits behind no more than n messages.
func (h *hub) endPutOff(d *deferral, n int) {
	for len(d.partings) > 0 && d.partings[0].at <= n {
		e := d.partings[0]
		d.partings = d.partings[1:]
		h.flush() // what was before it
		h.part(&e)
	}
}

// part does what was put off of a match.
func (h *hub) part(e *parting) {
	if e.over() {
		h.endMatch(e.m, e.items...)
		return
	}
	h.alterMatch(e.m, e.items[0])
	for _, it := range e.items[1:] {
		e.m.r.post(it, it)
	}
}

// endPutOffOf does it for a reader that goes, or whose process was excluded: nothing that was put off comes to it.
func (h *hub) endPutOffOf(r *endpoint) {
	if a := r.reader.sub.access; a != nil && !r.withdrawn() && r.reader.enabled.Load() {
		h.abandon(a)
	}
	for _, sg := range r.reader.subgroups {
		c := h.channels[channelKey{sg, r.reader.channel}]
		if c == nil {
			continue
		}
		if b := c.backlogOf(r.reader); b != nil {
			h.closeBacklog(b)
			h.partAll(&b.deferral, r.reader)
		}
		h.partAll(&c.deferral, r.reader)
	}
}

// partAll does what was put off of the matches of a reader.
func (h *hub) partAll(d *deferral, r *reader) {
	d.partings = slices.DeleteFunc(d.partings, func(e parting) bool {
		of := e.m.r == r
		if of {
			h.dropStream(e.m)
			e.m.stream = nil
			h.part(&e)
		}
		return of
	})
}
