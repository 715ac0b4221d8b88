package dcps

import (
	"iter"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// How histories travel: between nodes through SaveState and ReadState, and from a node's history to a reader that
// comes late.

// SaveState gives the history of a channel to a node that joins it.
func (h *hub) SaveState(sg derecho.SubgroupID, ch derecho.ChannelID) func() []byte {
	c := h.channels[channelKey{sg, ch}]
	if c == nil {
		return nil
	}
	return c.history.snapshot()
}

// AwaitState begins, or begins anew, the history of a channel at this node.
func (h *hub) AwaitState(sg derecho.SubgroupID, ch derecho.ChannelID, from uint32, pending bool) {
	h.p.holds.repeat(sg, ch)
	if from == 0 {
		return // it has no history, or one that others still wait for
	}
	key := channelKey{sg, ch}
	if path, ok := h.placement.PathOf(uint32(sg)); !ok || !path.Keeps() {
		return
	}
	c := h.channels[key]
	if c == nil {
		c = &channel{history: newStore()}
		h.channels[key] = c
	}
	c.awaiting, c.from = pending, from
	if pending {
		return // others are alive, and know more than this process
	}
	h.recover(key, c)
	h.resume(key, c)
}

// recover takes what the log of this process, or its memory of before it joined again, has of a channel that nobody else
// knows.
func (h *hub) recover(key channelKey, c *channel) {
	if past, found := h.p.logs.recovered.LoadAndDelete(key); found {
		c.history = past.(recovered).store
	}
}

// ReadState reads the history of a channel; not on the polling goroutine.
func (h *hub) ReadState(sg derecho.SubgroupID, ch derecho.ChannelID, state []byte) func() {
	var s *store
	var err error
	if len(state) > 0 {
		s, err = loadStore(state)
	}
	return func() { h.loadState(channelKey{sg, ch}, s, err) }
}

// loadState takes over the history of a channel, and then what was delivered since it was cut.
func (h *hub) loadState(key channelKey, s *store, err error) {
	c := h.channels[key]
	if c == nil {
		return
	}
	path, _ := h.placement.PathOf(uint32(key.sg))
	switch {
	case err != nil:
		h.p.problem(err)
	case s != nil:
		h.p.logs.recovered.Delete(key)
		c.history = s
		h.rekey(s)
		h.forgetLeft(c)
	case path == topic.Logged:
		h.p.logs.recovered.Delete(key) // the members have agreed that there is nothing
	default:
		h.recover(key, c) // who was to send it knows nothing, or is gone
		c.from = 0
	}
	c.awaiting = false
	h.resume(key, c)
}

// resume gives the history of a channel, and then what was delivered since it was cut, to the readers that wait for it.
func (h *hub) resume(key channelKey, c *channel) {
	h.replayAll(key, c)
	at := now()
	later := c.putOff
	c.putOff = nil
	for i := range later {
		h.endPutOff(c, i)
		d := &later[i]
		c.enter(d)
		if d.kind != putOffMessage || c.covers(&d.m) {
			continue
		}
		h.beside = d.b
		for _, t := range c.recipients(d.w) {
			h.enqueue(t, &d.m, itemOf(d.m.Kind), d.h, at)
		}
	}
	h.beside = beside{}
	h.endPutOff(c, allPutOff)
	h.forgetLeft(c)
	for e := range h.durableReaders(key.ch) {
		for _, w := range h.topics[e.ann.topic].writers {
			for _, m := range w.matches {
				if m.r == e.reader && w.at == key {
					h.pass(m, w.handed)
				}
			}
		}
	}
	h.flush()
	h.endHistories(key) // who waits for the history sees also what was delivered, and acknowledged, meanwhile
}

// rekey gives the instances of a history the handles that they have here.
func (h *hub) rekey(s *store) {
	for _, w := range s.writers {
		if peers := h.topics[w.ann.topic]; peers != nil && peers.local != nil {
			s.rekey(peers.local.keys)
			return // all writers of a channel have one topic
		}
	}
}

// forgetLeft ends the writers of a history whose removal this node was told of before it waited for that. Of the others the
// end has its place among what was put off.
func (h *hub) forgetLeft(c *channel) {
	for _, key := range c.history.keys() {
		if h.endpoints[key] == nil && !c.ends(key) {
			c.history.end(key)
		}
	}
}

// replayAll gives the history of a channel to all readers of this process that want it. Those that have part of it
// already take what is new to them only: they know the sequence number of each writer's latest sample.
func (h *hub) replayAll(key channelKey, c *channel) {
	for e := range h.durableReaders(key.ch) {
		h.replay(e, c)
	}
}

// endHistories tells the readers that wanted the history of a channel that they have it.
func (h *hub) endHistories(key channelKey) {
	for e := range h.durableReaders(key.ch) {
		h.endHistory(e)
	}
}

// durableReaders are the readers of this process that want the history of a channel.
func (h *hub) durableReaders(ch derecho.ChannelID) iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		for _, e := range h.endpoints {
			if e.reader != nil && e.reader.durable && e.reader.channel == ch && !yield(e) {
				return
			}
		}
	}
}

// startHistory gives a new reader of this process the history that the process has already.
func (h *hub) startHistory(r *endpoint) {
	if r.reader.durable {
		for _, sg := range r.reader.subgroups {
			if c := h.channels[channelKey{sg, r.reader.channel}]; c != nil && !c.awaiting {
				h.replay(r, c)
			}
		}
	}
	h.endHistory(r)
}

// endHistory tells a reader that it has all history, once no subgroup owes it any.
func (h *hub) endHistory(r *endpoint) {
	if r.reader.durable {
		for _, sg := range r.reader.subgroups {
			if c := h.channels[channelKey{sg, r.reader.channel}]; c == nil || c.awaiting {
				return
			}
		}
	}
	it := &item{kind: itemHistoryComplete}
	r.reader.post(it, it)
}

// replay posts the samples of a history that a reader is entitled to. Writers that have left are matched by what they
// announced when they lived.
func (h *hub) replay(r *endpoint, c *channel) {
	at := now()
	// Of a set that is open nothing is seen before its end, if the reader asks for that; else as at readers that were there.
	apart := func(rec *record) bool { return rec.open && r.reader.sub.access != nil && r.reader.sub.access.coherent }
	open := make(map[*storedWriter][]*record)
	past := make(map[*storedWriter]*match)
	of := func(w *storedWriter) *match {
		m, known := past[w]
		if !known {
			if m = c.parting(r.reader, w); m == nil {
				m = h.matchPast(r, w)
			}
			past[w] = m
		}
		return m
	}
	for _, rec := range c.history.records() {
		if c.history.instances[rec.handle].over(at) {
			continue
		}
		if apart(rec) {
			open[rec.w] = append(open[rec.w], rec)
			continue
		}
		if m := of(rec.w); m != nil && !m.stream.has(rec.message.WriterSeq) {
			sample := rec.message
			sample.Flags = flagPast
			h.enqueue(*m, &sample, itemData, rec.handle, at)
		}
	}
	for _, in := range c.history.disposals() {
		if in.over(at) {
			continue
		}
		by := in.disposed
		m := of(by.w)
		if last := in.latest(); m != nil && last != nil && !(apart(last) && last.w == by.w) {
			h.enqueue(*m, last.since(by.ns, flagPast), itemDispose, in.handle, at)
		}
	}
	for _, l := range c.history.ended() {
		last := l.latest()
		in := c.history.instances[last.handle]
		if in.over(at) || apart(last) {
			continue
		}
		if m := past[l.w]; m != nil && (l.unregistered || m.src.key == l.w.key) &&
			!in.writtenAfter(l, func(w *storedWriter) bool { return past[w] == m }) {
			h.enqueue(*m, last.since(last.message.Timestamp, flagPast), itemUnregister, last.handle, at)
		}
	}
	for _, key := range c.history.keys() {
		w := c.history.writers[key]
		if w.set.first == 0 {
			continue
		}
		if m := of(w); m != nil && m.stream != nil && m.stream.key == key && m.stream.a.coherent {
			h.giveOpen(*m, c.history, w, open[w], at)
		}
	}
	h.flush()
}

// giveOpen puts what a history has of a set that is open into the stream of a match, for what comes of the set to join it. For
// what was sent in it and is not kept, the numbers of its first and its latest message stand: so the set has its beginning, and
// what comes later has to follow without a gap. The stream of a reader that is given the history anew may have it already.
func (h *hub) giveOpen(m match, c *store, w *storedWriter, open []*record, at int64) {
	if m.stream.has(w.set.first) {
		return
	}
	last, flags := uint64(0), uint8(flagPast|flagInSet|flagSetBegin)
	give := func(message *derecho.Message, k itemKind, handle InstanceHandle) {
		message.Flags = flags
		h.enqueue(m, message, k, handle, at)
		last, flags = max(last, message.WriterSeq), flagPast|flagInSet
	}
	if len(open) == 0 || open[0].message.WriterSeq > w.set.first {
		give(&derecho.Message{Header: derecho.Header{WriterSeq: w.set.first}}, itemNothing, HandleNil)
	}
	for _, rec := range open {
		sample := rec.message
		give(&sample, itemData, rec.handle)
		in := c.instances[rec.handle]
		if by := in.disposed; by != nil && by.w == w && in.latest() == rec {
			give(rec.since(by.ns, 0), itemDispose, rec.handle)
		}
		if l := in.line(w); l.unregistered && l.latest() == rec {
			give(rec.since(rec.message.Timestamp, 0), itemUnregister, rec.handle)
		}
	}
	if last < w.set.last {
		give(&derecho.Message{Header: derecho.Header{WriterSeq: w.set.last}}, itemNothing, HandleNil)
	}
}

// since is what became of an instance behind a record.
func (r *record) since(ns int64, flags uint8) *derecho.Message {
	return &derecho.Message{Header: derecho.Header{Timestamp: ns, Flags: flags}, Epoch: r.message.Epoch, Seq: r.message.Seq}
}

// writtenAfter tells whether something is kept that came after what is kept of a line, of another writer for which of is true: of
// one of several incarnations that serve a reader as one, the latest counts, and what an earlier one has unregistered does not.
func (in *storedInstance) writtenAfter(l *storedLine, of func(*storedWriter) bool) bool {
	return slices.ContainsFunc(in.lines, func(o *storedLine) bool {
		return o != l && of(o.w) && len(o.records) > 0 && o.latest().arrival > l.latest().arrival
	})
}

// matchPast finds how a stored writer serves a reader; nil if it does not. One whose process has joined again since does
// so as what it is now.
func (h *hub) matchPast(r *endpoint, w *storedWriter) *match {
	if e := h.successor(w); e != nil {
		for i := range e.matches {
			if e.matches[i].r == r.reader {
				return &e.matches[i]
			}
		}
		return nil
	}
	e := &endpoint{key: w.key, ann: w.ann, handle: topic.HandleOfEntity(uint64(origin(w.key.node)), uint32(w.key.id)), path: topic.Stored}
	if h.ignores(e) {
		return nil
	}
	if m := r.past[w.key]; m != nil {
		return m
	}
	e.peer = w.ann.peer(e.handle)
	if !h.matched(e, r) {
		return nil
	}
	return r.remember(&match{r: r.reader, src: h.newSource(e, r)})
}

// successor is a stored writer that lives, be it in another incarnation of its process; nil if it is gone.
func (h *hub) successor(w *storedWriter) *endpoint {
	if e := h.endpoints[w.key]; e != nil {
		return e
	}
	if peers := h.topics[w.ann.topic]; peers != nil {
		for _, e := range peers.writers {
			if e.key.origin() == w.key.origin() {
				return e
			}
		}
	}
	return nil
}

// remember keeps how a writer that has left served the reader, so that no history brings its samples twice.
func (e *endpoint) remember(m *match) *match {
	if e.past == nil {
		e.past = make(map[endpointKey]*match)
	}
	e.past[m.src.key] = m
	return m
}
