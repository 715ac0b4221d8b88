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
	r        *endpoint
	c        *channel
	key      channelKey
	given    int  // of the history that is first in putOff
	came     int  // so many were put off when the piece before was given
	prepared bool // that one is, or will be when it goes on
	driven   bool // a goroutine has it given
	over     bool // all is given, or the reader has gone
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

// history puts off a history.
func (b *backlog) history(p *past) {
	p.users++
	b.putOff = append(b.putOff, putOff{kind: putOffHistory, past: p})
}

// behind puts off what was put off until there was a history.
func (b *backlog) behind(d *deferral) {
	at := b.done + len(b.putOff)
	b.putOff = append(b.putOff, d.putOff...)
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
func (h *hub) drive(b *backlog, prepare func()) {
	for done := false; !done; {
		if prepare != nil {
			prepare()
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

// giveSome gives a piece of a backlog. If it is not done it may ask for something to be done by somebody else first.
func (h *hub) giveSome(b *backlog) (prepare func(), done bool) {
	if b.over {
		return nil, true
	}
	defer h.flush()
	n, at := h.piece(b.done+len(b.putOff)-b.came), now()
	b.came = b.done + len(b.putOff)
	for n > 0 && len(b.putOff) > 0 {
		h.endPutOff(&b.deferral, b.done)
		switch d := &b.putOff[0]; d.kind {
		case putOffHistory:
			p := d.past
			if !p.cut.whole {
				if n = p.cut.take(n); !p.cut.whole {
					return nil, false
				}
			}
			if !b.prepared {
				b.prepared = true
				if p.cut.count > h.atOnce {
					return p.prepare, false
				}
				p.prepare()
			}
			var all bool
			if n, all = p.give(h, b, n); !all {
				return nil, false
			}
			p.drop()
			b.given, b.prepared = 0, false
		case putOffMessage:
			n--
			if m := b.matchOf(d.w); m != nil {
				h.beside = d.b
				h.enqueue(*m, &d.m, itemOf(d.m.Kind), d.h, at)
				h.beside = beside{}
			}
		}
		b.putOff[0] = putOff{}
		b.putOff = b.putOff[1:]
		b.done++
	}
	if len(b.putOff) > 0 {
		return nil, false
	}
	h.endPutOff(&b.deferral, allPutOff)
	b.close()
	for _, w := range h.topics[b.r.ann.topic].writers {
		for _, m := range w.matches {
			if m.r == b.r.reader && w.at == b.key {
				h.pass(m, w.handed)
			}
		}
	}
	h.flush()
	h.endHistory(b.r) // who waits for the history sees also what was delivered, and acknowledged, meanwhile
	return nil, true
}

// close ends a backlog.
func (b *backlog) close() {
	b.over = true
	b.c.backlogs = slices.DeleteFunc(b.c.backlogs, func(o *backlog) bool { return o == b })
	for i := range b.putOff {
		if p := b.putOff[i].past; p != nil {
			p.drop()
		}
	}
	b.putOff = nil
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
