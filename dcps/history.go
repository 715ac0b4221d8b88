package dcps

import (
	"context"
	"iter"
	"math"
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
	cut := c.history.cut()
	cut.take(h.atOnce)
	return func() []byte {
		if h.p.takeAll(context.Background(), cut) != nil {
			return nil // this incarnation of the node is over, and nothing that it has encoded is sent
		}
		return cut.encode()
	}
}

// takeAll has the polling goroutine take what is left of a cut, little by little, or gives the cut up.
func (p *DomainParticipant) takeAll(ctx context.Context, c *cut) error {
	for !c.whole {
		if err := p.core.Upcall(ctx, func() { c.take(p.hub.atOnce) }); err != nil {
			c.end()
			return err
		}
	}
	return nil
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
	h.resume(c, &loading{key: key})
}

// recover takes what the log of this process, or its memory of before it joined again, has of a channel that nobody else
// knows.
func (h *hub) recover(key channelKey, c *channel) {
	if past, found := h.p.logs.recovered.LoadAndDelete(key); found {
		c.history = past.(recovered).store
	}
}

// loading is a history that is about to be taken over.
type loading struct {
	key     channelKey
	store   *store
	began   bool          // what follows is set
	rekeyed *rekeying     // under way
	left    []endpointKey // writers that are gone and still to end
	ending  *writerEnd    // of one
	before  *past         // what it was when it came: what was put off comes behind that
	entered int           // so many of those that were put off are in it
	came    int           // so many were put off when it followed the ones before
}

// ReadState reads the history of a channel; not on the polling goroutine.
func (h *hub) ReadState(sg derecho.SubgroupID, ch derecho.ChannelID, state []byte) func() bool {
	l := &loading{key: channelKey{sg, ch}}
	var err error
	if len(state) > 0 {
		l.store, err = loadStore(state)
	}
	return func() bool { return h.loadState(l, err) }
}

// loadState takes over the history of a channel, and then what was delivered since it was cut; false if it is to be called
// again, after a pass.
func (h *hub) loadState(l *loading, err error) bool {
	c := h.channels[l.key]
	if c == nil {
		return true
	}
	path, _ := h.placement.PathOf(uint32(l.key.sg))
	switch {
	case err != nil:
		h.p.problem(err)
	case l.store != nil:
		if !l.began {
			l.began, l.came = true, len(c.putOff)
			l.rekeyed, l.left = h.rekey(l.store), h.left(c, l.store)
		}
		n, tidy := l.tidy(h.piece(len(c.putOff) - l.came))
		if l.came = len(c.putOff); !tidy {
			return false
		}
		l.begin(c)
		if !c.enterSome(l, n) {
			return false
		}
		h.p.logs.recovered.Delete(l.key)
		c.history = l.store
	case path == topic.Logged:
		h.p.logs.recovered.Delete(l.key) // the members have agreed that there is nothing
	default:
		h.recover(l.key, c) // who was to send it knows nothing, or is gone
		c.from = 0
	}
	c.awaiting = false
	h.resume(c, l)
	return true
}

// tidy makes a state the one of this process: its instances have other handles, and writers have gone. It does so for up to n
// instances, and gives how many more it could have done, and whether that was all.
func (l *loading) tidy(n int) (left int, done bool) {
	if l.rekeyed != nil {
		if n = l.rekeyed.some(n); n > 0 {
			l.rekeyed = nil
		}
	}
	for n = l.end(n); n > 0 && len(l.left) > 0; n = l.end(n) {
		l.ending = l.store.ending(l.left[0])
		l.left = l.left[1:]
	}
	return n, l.rekeyed == nil && l.ending == nil && len(l.left) == 0
}

// end follows the end of a writer that is under way, if one is, in up to n instances, and gives how many more it could have done.
func (l *loading) end(n int) (left int) {
	if l.ending != nil {
		if n = l.ending.some(n); n > 0 {
			l.ending = nil
		}
	}
	return n
}

// begin looks at the history as it is, before what was put off.
func (l *loading) begin(c *channel) {
	if l.before == nil {
		l.before = newPast(l.store.cut())
	}
}

// enterSome has a history follow up to some of the messages that were put off, and tells whether it has followed all.
func (c *channel) enterSome(l *loading, n int) bool {
	for n = l.end(n); n > 0 && l.entered < len(c.putOff); n = l.end(n - 1) {
		l.ending = c.enter(l.store, c.putOff[l.entered])
		l.entered++
	}
	l.came = len(c.putOff)
	return l.entered == len(c.putOff) && l.ending == nil
}

// resume gives the history of a channel, and then what was delivered since it was cut, to the readers that wait for it.
func (h *hub) resume(c *channel, l *loading) {
	if l.store == nil {
		l.store = c.history
	}
	l.begin(c)
	c.enterSome(l, math.MaxInt)
	for i := range c.putOff {
		c.putOff[i].kept()
	}
	var all []*backlog
	for e := range h.durableReaders(l.key.ch) {
		b := c.backlogFor(e, l.key)
		h.oweHistory(b, l.before)
		b.behind(&c.deferral)
		all = append(all, b)
	}
	l.before.drop()
	c.deferral = deferral{}
	for _, key := range h.left(c, c.history) {
		c.history.end(key)
	}
	for _, b := range all {
		h.work(b)
	}
}

// rekey gives the instances of a history the handles that they have here, little by little; nil if they have them.
func (h *hub) rekey(s *store) *rekeying {
	for _, w := range s.writers {
		if peers := h.topics[w.ann.topic]; peers != nil && peers.local != nil {
			return s.rekeying(peers.local.keys) // all writers of a channel have one topic
		}
	}
	return nil
}

// left are the writers of a history whose removal this node was told of before it waited for that. Of the others the end has
// its place among what was put off.
func (h *hub) left(c *channel, s *store) []endpointKey {
	return slices.DeleteFunc(s.keys(), func(key endpointKey) bool { return h.endpoints[key] != nil || c.ends(key) })
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
	var all []*backlog // first: it has all history when the last of them is given
	if r.reader.durable {
		for _, sg := range r.reader.subgroups {
			key := channelKey{sg, r.reader.channel}
			if c := h.channels[key]; c != nil && !c.awaiting {
				all = append(all, h.owe(r, key, c))
			}
		}
	}
	for _, b := range all {
		h.work(b)
	}
	if len(all) == 0 {
		h.endHistory(r)
	}
}

// endHistory tells a reader that it has all history, once no subgroup owes it any, and it sees it.
func (h *hub) endHistory(r *endpoint) {
	if v := veilBefore(r.reader); v != nil && r.reader.durable {
		v.complete = append(v.complete, r)
		return
	}
	h.completeHistory(r)
}

func (h *hub) completeHistory(r *endpoint) {
	if r.reader.durable {
		for _, sg := range r.reader.subgroups {
			if c := h.channels[channelKey{sg, r.reader.channel}]; c == nil || c.awaiting || c.backlogOf(r.reader) != nil {
				return
			}
		}
	}
	it := &item{kind: itemHistoryComplete}
	r.reader.post(it, it)
}

// owe puts off that a reader is given the samples of a history that it is entitled to.
func (h *hub) owe(r *endpoint, key channelKey, c *channel) *backlog {
	b, p := c.backlogFor(r, key), newPast(c.history.cut())
	h.oweHistory(b, p)
	p.drop()
	return b
}

// since is what became of an instance behind a record.
func (r *record) since(ns int64, flags uint8) *derecho.Message {
	return &derecho.Message{Header: derecho.Header{Timestamp: ns, Flags: flags}, Epoch: r.message.Epoch, Seq: r.message.Seq}
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
