package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// relation is what a writer and a reader of one topic are to each other.
type relation struct {
	matched bool
	bad     []qos.Incompatibility // why not, if it is the QoS; of types that do not fit nothing else is compared
}

// relate compares a writer and a reader, of which one at least lives here or lived here.
func (h *hub) relate(w, r *endpoint) relation {
	if w.ignored || r.ignored || !qos.PartitionsMatch(w.ann.pub.Partition.Name, r.ann.sub.Partition.Name) {
		return relation{}
	}
	types := h.typesOf(w.ann, r.ann)
	if !types.ok() {
		return relation{bad: types.refused(w.ann, r.ann)}
	}
	bad := incompatible(w.ann, r.ann)
	return relation{matched: len(bad) == 0, bad: bad}
}

// adjust tells the writer and the reader, as far as they live here, what has become of their relation.
func (h *hub) adjust(w, r *endpoint, was, is relation) {
	if w.writer == nil && r.reader == nil {
		return
	}
	if w.writer != nil && r.ignored && w.owesMark(r) {
		w.writer.mark() // where the reader lives it may be matched, and wait for what is not told here
	}
	switch {
	case was.matched && is.matched:
		h.alter(w, r)
	case is.matched:
		h.pair(w, r)
	case was.matched:
		h.separate(w, r)
	}
	if len(is.bad) > 0 && !slices.Equal(was.bad, is.bad) {
		h.tell(w, r, itemIncompatible, is.bad, nil)
	}
}

// alter tells a reader of this process that its writer has another QoS.
func (h *hub) alter(w, r *endpoint) {
	for _, m := range w.matches {
		if m.r == r.reader {
			it := &item{kind: itemAltered, src: m.src, ctl: &control{
				strength: w.ann.writer.OwnershipStrength.Value, lifespan: finite(w.ann.writer.Lifespan.Duration),
			}}
			h.inform(w, m, it)
		}
	}
}

// separate ends a match while both go on.
func (h *hub) separate(w, r *endpoint) {
	if w.writer != nil {
		it := &item{kind: itemUnmatched, ctl: &control{handle: r.handle, peer: r.peer}}
		w.writer.post(it, it)
	}
	for i, m := range w.matches {
		if r.reader != nil && m.r == r.reader {
			w.matches = slices.Delete(slices.Clone(w.matches), i, i+1)
			it := &item{kind: itemUnmatched, src: m.src, receiveNs: now(), ctl: &control{handle: w.handle, peer: w.peer}}
			h.inform(w, m, it)
			return
		}
	}
}

// EndpointChanged implements derecho.Handler: a writer or reader has another QoS. It is compared anew with all others of
// its topic. Of a writer that is at its place among the samples.
func (h *hub) EndpointChanged(ep derecho.Endpoint) {
	if h.userDataOf(ep) {
		return
	}
	key := endpointKey{ep.Node, ep.ID}
	e := h.endpoints[key]
	if e == nil {
		return
	}
	ann, err := decodeAnnouncement(ep.Info)
	if err == nil && (ann.writes != e.ann.writes || ann.topic != e.ann.topic || !ann.sameType(e.ann)) {
		err = errAnnouncement
	}
	if err != nil {
		h.p.problems.tell(key, h.misannounced(key, err))
		return
	}
	h.p.problems.ended(key)
	peers := h.topics[e.ann.topic]
	others := peers.readers
	if !ann.writes {
		others = peers.writers
	}
	pairOf := func(o *endpoint) (w, r *endpoint) {
		if ann.writes {
			return e, o
		}
		return o, e
	}
	was := make([]relation, len(others))
	for i, o := range others {
		was[i] = h.relate(pairOf(o))
	}
	if ann.writes {
		h.weigh(e.at.sg, e.ann.writer.TransportPriority, -1)
		h.weigh(e.at.sg, ann.writer.TransportPriority, 1)
	}
	e.ann, e.info, e.peer = ann, ep.Info, ann.peer(e.handle)
	e.past = nil // a writer that has left may not match any more
	h.show(e)
	if ann.writes {
		h.rewriteHistory(e)
	}
	for i, o := range others {
		w, r := pairOf(o)
		is := h.relate(w, r)
		h.adjust(w, r, was[i], is)
		if is.matched && !was[i].matched {
			h.catchUp(w, r)
		}
	}
	if m := h.members[ep.Node]; m != nil && ann.writes {
		h.look(m)
	}
}

// rewriteHistory notes the new announcement of a writer where its samples are kept.
func (h *hub) rewriteHistory(w *endpoint) {
	if w.path == topic.Logged {
		h.p.logs.announced.Store(w.key, w.info)
		h.p.logs.renewed.Add(1)
	}
	switch c := h.channels[w.at]; {
	case c == nil:
	case c.awaiting: // behind what was put off
		c.put(&putOff{kind: putOffChange, w: w})
	default:
		c.history.rewrite(w.key, w.info, w.ann)
	}
}

// catchUp gives a reader of this process what is kept of a writer that it is matched with only now. What it has of the
// history already it does not take twice.
func (h *hub) catchUp(w, r *endpoint) {
	if r.reader == nil || !r.reader.durable {
		return
	}
	key := channelKey{w.at.sg, r.reader.channel}
	if c := h.channels[key]; c != nil && !c.awaiting {
		h.work(h.owe(r, key, c))
	}
}

// The announcement of a participant's USER_DATA is that of an endpoint that neither writes nor reads. Wire format, version 1: the
// byte 'P', the version, and the octets.
const (
	userDataMagic   = 'P'
	userDataVersion = 1
)

func userDataInfo(data []byte) []byte { return append([]byte{userDataMagic, userDataVersion}, data...) }

// userDataOf notes the USER_DATA of a participant, if that is what an endpoint stands for.
func (h *hub) userDataOf(ep derecho.Endpoint) bool {
	if len(ep.Info) < 2 || ep.Info[0] != userDataMagic {
		return false
	}
	if ep.Info[1] == userDataVersion {
		who, data := handleOfParticipant(endpointKey{node: ep.Node}), slices.Clone(ep.Info[2:])
		h.p.directory.learn(func(d *directory) { d.said(who, data) })
	}
	return true
}

// show tells the directory of a writer or reader.
func (h *hub) show(e *endpoint) {
	if e.ignored {
		return
	}
	own, of := e.writer != nil || e.reader != nil, e.topicData()
	if e.ann.writes {
		data := e.publication()
		h.p.directory.learn(func(d *directory) { d.publication(data, of, own) })
	} else {
		data := e.subscription()
		h.p.directory.learn(func(d *directory) { d.subscription(data, of, own) })
	}
}

// showMembers tells the directory of the view.
func (h *hub) showMembers() {
	members := h.view.members
	self := handleOfParticipant(endpointKey{node: derecho.NodeID(h.self.Load())})
	h.p.directory.learn(func(d *directory) { d.members(members, self, h.p.ignoresHandle) })
}
