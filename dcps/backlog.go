package dcps

import (
	"context"
	"slices"
)

// backlog is what a reader of this process is still to be given of a channel: the history, and what was put off behind it. It is
// given little by little, with passes of the polling goroutine in between, as there may be millions of samples: what takes longer
// than one piece a goroutine of its own has done. What comes meanwhile is put off, too. Other readers of the topic do not wait.
//
// It belongs to the polling goroutine.
type backlog struct {
	deferral
	r      *endpoint
	c      *channel
	key    channelKey
	came   int  // so many were put off when the piece before was given
	driven bool // a goroutine has it given
	over   bool // all is given, or the reader has gone
	veil   *veil
}

// backlogOf is that of a reader; nil if it has none.
func (c *channel) backlogOf(r *reader) *backlog {
	for _, b := range c.backlogs {
		if b.r.reader == r {
			return b
		}
	}
	return nil
}

// backlogFor is that of a reader, or a new one.
func (c *channel) backlogFor(r *endpoint, key channelKey) *backlog {
	b := c.backlogOf(r.reader)
	if b == nil {
		b = &backlog{r: r, c: c, key: key}
		c.backlogs = append(c.backlogs, b)
	}
	return b
}

// oweHistory puts off a history.
func (h *hub) oweHistory(b *backlog, p *past) {
	b.putOff = append(b.putOff, &putOff{kind: putOffHistory, owed: h.oweOf(b, p)})
}

// behind puts off what was put off until there was a history: of the messages those that are not in it, and that the reader is
// to have by what it is matched with now. Of the others the places stay, by which partings go.
func (b *backlog) behind(d *deferral) {
	at := b.done + len(b.putOff)
	for _, p := range d.putOff {
		if p.kind == putOffMessage && (b.c.covers(&p.m) || b.matchOf(p.w) == nil) {
			p = nil
		}
		b.putOff = append(b.putOff, p)
	}
	b.came += len(d.putOff)
	for _, e := range d.partings {
		if e.m.r == b.r.reader {
			e.at += at
			b.partings = append(b.partings, e)
		}
	}
}

// work gives a piece of a backlog, or all that is in it if that is no more.
func (h *hub) work(b *backlog) {
	if b.driven {
		return
	}
	if prepare, done := h.giveSome(b); !done {
		b.driven = true
		h.p.spawn("dcps history", func() { h.drive(b, prepare) })
	}
}

// drive has the polling goroutine give all of a backlog.
func (h *hub) drive(b *backlog, prepare *past) {
	for done := false; !done; {
		if prepare != nil {
			prepare.prepare()
			prepare.drop()
		}
		// If that fails this node has ended, or is not in the group any more, and what is put off goes with its endpoints.
		if h.p.core.Upcall(context.Background(), func() { prepare, done = h.giveSome(b) }) != nil {
			return
		}
	}
}

// piece is how many samples are given, or taken over, between two passes: twice as many as have been put off since, so that it
// comes to an end.
func (h *hub) piece(since int) int {
	if h.atOnce == 0 {
		return 0 // a test looks at what is not given yet
	}
	return max(h.atOnce, 2*since)
}

// giveSome gives a piece of a backlog. If it is not done somebody else may have to prepare a history first, and drop it then.
func (h *hub) giveSome(b *backlog) (prepare *past, done bool) {
	if b.over {
		return nil, true
	}
	defer h.flush()
	at := now()
	n := h.piece(b.done + len(b.putOff) - b.came)
	b.came = b.done + len(b.putOff)
	for n > 0 && len(b.putOff) > 0 {
		h.endPutOff(&b.deferral, b.done)
		switch d := b.putOff[0]; {
		case d == nil:
		case d.kind == putOffHistory:
			if n, prepare, done = h.giveHistory(b, d.owed, n); !done {
				return prepare, false
			}
			d.owed.past.drop()
		case d.kind == putOffMessage:
			n--
			h.givePutOff(b, d, at)
		}
		b.putOff[0] = nil
		b.putOff = b.putOff[1:]
		b.done++
	}
	if len(b.putOff) > 0 {
		return nil, false
	}
	h.endBacklog(b)
	return nil, true
}

// giveHistory gives up to n more samples of a history, and tells whether that is all.
func (h *hub) giveHistory(b *backlog, o *owed, n int) (left int, prepare *past, all bool) {
	p := o.past
	if !p.cut.whole {
		if n = p.cut.take(n); !p.cut.whole {
			return 0, nil, false
		}
	}
	if !o.prepared {
		o.prepared = true
		if p.cut.count > n {
			p.users.Add(1)
			return 0, p, false
		}
		p.prepare()
	}
	if a := b.r.reader.sub.access; a != nil && o.given == 0 && p.length() > n {
		h.veilFor(b, a) // what is of one set in it is to be seen at once, and nothing tells any more what that is
	}
	n, all = o.give(h, n)
	return n, nil, all
}

func (h *hub) givePutOff(b *backlog, d *putOff, at int64) {
	m := b.matchOf(d.w)
	if m == nil {
		return
	}
	kind := itemOf(d.m.Kind)
	if d.lost {
		kind = itemLost
	}
	h.beside = d.b
	h.enqueue(*m, &d.m, kind, d.h, at)
	h.beside = beside{}
}

// endBacklog follows the end of a backlog: the reader has all that was handed to this process.
func (h *hub) endBacklog(b *backlog) {
	h.endPutOff(&b.deferral, allPutOff)
	h.closeBacklog(b)
	if b.c.awaiting { // it owes the reader something again
		return
	}
	for _, w := range h.topics[b.r.ann.topic].writers {
		for _, m := range w.matches {
			if m.r == b.r.reader && w.at == b.key {
				h.pass(m, w.handed)
			}
		}
	}
	h.flush()
	h.endHistory(b.r) // who waits for the history sees also what was delivered, and acknowledged, meanwhile
}

// closeBacklog forgets what is left in a backlog.
func (h *hub) closeBacklog(b *backlog) {
	b.over = true
	b.c.backlogs = slices.DeleteFunc(b.c.backlogs, func(o *backlog) bool { return o == b })
	for _, d := range b.putOff {
		if d != nil && d.owed != nil {
			d.owed.past.drop()
			s := d.owed.past.cut.s
			s.cutting = s.stillCutting()
		}
	}
	b.putOff = nil
	h.unveil(b)
}

// matchOf is the match that a message is for which was put off: the first that is still to end, as it was the one when the
// message came, or else the one that the writer has now; nil if there is none.
func (b *backlog) matchOf(w *endpoint) *match {
	if m := b.parting(func(e *parting) bool { return e.w == w }); m != nil {
		return m
	}
	for i := range w.matches {
		if w.matches[i].r == b.r.reader {
			return &w.matches[i]
		}
	}
	return nil
}

// parting is the match with a writer that is still to end; nil if there is none.
func (b *backlog) parting(is func(*parting) bool) *match {
	for _, d := range [...]*deferral{&b.deferral, &b.c.deferral} {
		for i := range d.partings {
			if e := &d.partings[i]; e.m.r == b.r.reader && is(e) {
				return &e.m
			}
		}
	}
	return nil
}

// matchWith finds how a stored writer serves the reader of a backlog; nil if it does not.
func (h *hub) matchWith(b *backlog, w *storedWriter) *match {
	if m := b.parting(func(e *parting) bool { return e.w.key == w.key }); m != nil {
		return m
	}
	return h.matchPast(b.r, w)
}
