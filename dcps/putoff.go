package dcps

import (
	"math"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// What comes while the history of a topic is on its way to this process is put off for those of its readers that want
// the history. A writer that goes meanwhile, or does not match any more, is put off with that: its reader gets first
// what was sent to it, and then learns that the match is over.

// putOff is a message that waits for the history, or what became of its writer, which is at its place among the messages.
type putOff struct {
	kind putOffKind
	w    *endpoint
	info []byte        // what the writer had announced by then
	ann  *announcement // the same
	h    InstanceHandle
	m    derecho.Message // Payload is its own
	b    beside
}

type putOffKind uint8

const (
	putOffMessage putOffKind = iota
	putOffChange             // the writer has announced something else
	putOffEnd                // it is gone
)

// put puts something off.
func (c *channel) put(d putOff) {
	d.info, d.ann = d.w.info, d.w.ann
	c.putOff = append(c.putOff, d)
}

// enter does in the history what was put off.
func (c *channel) enter(d *putOff) {
	switch d.kind {
	case putOffEnd:
		c.history.end(d.w.key)
	case putOffChange:
		c.history.rewrite(d.w.key, d.info, d.ann)
	default:
		then := *d.w
		then.info, then.ann = d.info, d.ann
		c.keep(&then, &d.m, d.h)
	}
}

// ends tells whether the end of a writer is put off.
func (c *channel) ends(writer endpointKey) bool {
	return slices.ContainsFunc(c.putOff, func(d putOff) bool { return d.kind == putOffEnd && d.w.key == writer })
}

// parting is the end of a match that waits for the history, or another QoS of its writer, behind what is put off of that.
type parting struct {
	w  *endpoint
	m  match
	at int // it is behind so many of channel.putOff
	// items begin with the end. The others are what became of the writer since: it may match again, and its process may
	// have joined again. Or the other QoS is the only one.
	items []*item
}

// over: the match ends.
func (e *parting) over() bool { return e.items[0].kind == itemUnmatched }

// inform tells the reader of a match what became of the writer.
func (h *hub) inform(w *endpoint, m match, it *item) {
	switch c := h.channels[w.at]; {
	case c != nil && c.awaiting && m.r.durable && c.informLater(w, m, it):
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
	i := len(c.partings) - 1
	for i >= 0 && (c.partings[i].m.r != m.r || c.partings[i].w.key.origin() != w.key.origin()) {
		i--
	}
	placed := it.kind == itemUnmatched || it.kind == itemAltered // among the messages
	switch {
	case i >= 0 && !placed:
		c.partings[i].items = append(c.partings[i].items, it)
	case i >= 0, placed && slices.ContainsFunc(c.putOff, func(d putOff) bool { return d.w == w }):
		c.partings = append(c.partings, parting{w, m, len(c.putOff), []*item{it}})
	default:
		return false
	}
	return true
}

// recipients are the matches that a message is for which was put off: of each reader the first that is still to end, as it
// was the one when the message came, or else the one that the writer has now.
func (c *channel) recipients(w *endpoint) (all []match) {
	add := func(m match) {
		if m.r.durable && !slices.ContainsFunc(all, func(o match) bool { return o.r == m.r }) {
			all = append(all, m)
		}
	}
	for i := range c.partings {
		if e := &c.partings[i]; e.w == w {
			add(e.m)
		}
	}
	for _, m := range w.matches {
		add(m)
	}
	return all
}

// parting is the match of a reader with a stored writer that is still to end; nil if there is none.
func (c *channel) parting(r *reader, w *storedWriter) *match {
	for i := range c.partings {
		if e := &c.partings[i]; e.m.r == r && e.w.key == w.key {
			return &e.m
		}
	}
	return nil
}

// allPutOff is endPutOff's n for all.
const allPutOff = math.MaxInt

// endPutOff does what waits behind no more than n messages.
func (h *hub) endPutOff(c *channel, n int) {
	for len(c.partings) > 0 && c.partings[0].at <= n {
		e := c.partings[0]
		c.partings = c.partings[1:]
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
	for _, sg := range r.reader.subgroups {
		c := h.channels[channelKey{sg, r.reader.channel}]
		if c == nil {
			continue
		}
		c.partings = slices.DeleteFunc(c.partings, func(e parting) bool {
			of := e.m.r == r.reader
			if of {
				h.dropStream(e.m)
				e.m.stream = nil
				h.part(&e)
			}
			return of
		})
	}
}
