package dcps

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// hub is the participant's side that the core calls: it knows the endpoints of the domain, matches writers and
// readers, keeps the history of topics, and hands messages to the readers of this process.
//
// All of it belongs to the polling goroutine, except where a field says otherwise. It never blocks: what it has to
// say to an entity it posts (see entity).
type hub struct {
	p         *DomainParticipant
	self      atomic.Uint64 // this node; 0 until the core is up
	placement topic.Placement

	endpoints map[endpointKey]*endpoint
	topics    map[string]*topicPeers
	members   map[derecho.NodeID]*member
	channels  map[channelKey]*channel
	names     topic.Names
	urgent    map[derecho.SubgroupID]map[int32]int // how many writers have a TRANSPORT_PRIORITY
	types     typeMatcher
	failed    []failedLog
	latest    *endpoint // the writer of the latest message, which is likely that of the next
	touched   []*reader // readers with items to post
	accesses  []*access // with something new that they hold back
	cuts      []*access // with something to be seen once it is posted
	veiled    []*access // before which a veil hangs
	beside    beside    // of the message that is delivered
	excluding bool      // an endpoint of this process was removed that was not withdrawn, and none was added since: Excluded comes next
	isolated  bool      // too few of the others are heard
	view      hubView
	// shortestLease is the lease_duration that is told from an even shorter one: two heartbeats of the core.
	shortestLease time.Duration
	// atOnce is how many samples of a history are taken, or given to a reader, between two passes.
	atOnce int
}

// historyAtOnce is atOnce, but in tests: a millisecond or two, with what the readers' caches do with it.
var historyAtOnce = 500

type channelKey struct {
	sg derecho.SubgroupID
	ch derecho.ChannelID
}

// endpoint is a writer or reader of the domain. What matching needs of it is in ann.
type endpoint struct {
	key     endpointKey
	handle  InstanceHandle
	alive   bool // of a writer: see hub.lives
	ignored bool // DomainParticipant.IgnorePublication and its kin
	info    []byte
	ann     *announcement
	peer    Peer
	at      channelKey // of a writer: where its samples travel
	path    topic.Path
	keys    *topic.Keys // of a writer: set once an endpoint of this process has a type that can read its samples
	fresh   bool        // of a writer: it has sent nothing yet
	// of a writer: the latest number that this process was handed, of a message that PRESENTATION or the path adds
	// something to
	handed  uint64
	matches []match                // of a writer: the readers of this process that it serves
	writer  *writer                // if it is a writer of this process
	reader  *reader                // if it is a reader of this process
	past    map[endpointKey]*match // of a reader of this process: stored writers that have left
}

// match is one reader of this process as a writer of the domain serves it.
type match struct {
	r      *reader
	src    *source
	stream *stream // nil if nothing is held back
}

// topicPeers are the endpoints of a topic.
type topicPeers struct {
	writers []*endpoint
	readers []*endpoint
	local   *localType // nil if no endpoint of this process has been there
}

// channel is a topic that this process keeps the history of, on one subgroup.
type channel struct {
	history *store
	// awaiting is true from AwaitState to ReadState; what arrives in between is put off for readers of the history.
	awaiting bool
	deferral
	backlogs []*backlog // of readers of this process
	// from is the epoch that the history begins with: what still comes of earlier ones is in it already. 0 if no state
	// has come, and none will.
	from uint32
}

// covers tells whether a message is in the state that the history begins with.
func (c *channel) covers(m *derecho.Message) bool { return m.Epoch < c.from }

func newHub(p *DomainParticipant) *hub {
	return &hub{
		p:             p,
		placement:     topic.Placement{Subgroups: p.settings.Subgroups},
		endpoints:     make(map[endpointKey]*endpoint),
		topics:        make(map[string]*topicPeers),
		members:       make(map[derecho.NodeID]*member),
		channels:      make(map[channelKey]*channel),
		shortestLease: 2 * p.settings.Lease / derecho.Heartbeats,
		atOnce:        historyAtOnce,
	}
}

// EndpointAdded learns of a writer or reader: it is compared with all others of its topic.
func (h *hub) EndpointAdded(ep derecho.Endpoint) {
	defer h.introduced(ep)
	h.excluding = false // what was removed had been given up
	if h.userDataOf(ep) {
		return
	}
	key := endpointKey{ep.Node, ep.ID}
	ann, err := decodeAnnouncement(ep.Info)
	if err == nil {
		err = h.names.Add(ann.topic)
	}
	if err != nil {
		h.p.problems.tell(key, h.misannounced(key, err))
		return
	}
	handle := topic.HandleOfEntity(uint64(origin(ep.Node)), uint32(ep.ID))
	e := &endpoint{key: key, handle: handle, info: ep.Info, ann: ann, peer: ann.peer(handle)}
	if ann.writes {
		e.at = channelKey{ep.Writes.ID, ep.Channel}
		e.path, _ = h.placement.PathOf(uint32(ep.Writes.ID))
	}
	if uint64(ep.Node) == h.self.Load() {
		e.writer, e.reader = h.p.writers.find(ep.ID), h.p.readers.find(ep.ID)
		if e.reader != nil {
			e.reader.self = e
			h.accepted(&e.reader.entity)
		}
		if e.writer != nil {
			e.writer.known.Store(true)
			if e.writer.ended.Load() { // looked at after the store: Close stores ended, then known
				e.writer.known.Store(false)
			}
			h.accepted(&e.writer.entity)
		}
	}
	e.ignored = h.ignores(e)
	h.show(e)
	h.endpoints[key] = e
	h.latest = nil
	m := h.member(ep.Node)
	if ann.writes {
		m.writers.Add(e)
		h.weigh(e.at.sg, ann.writer.TransportPriority, 1)
		e.alive = h.lives(e, m)
	}
	if e.path == topic.Logged && ann.writes {
		h.p.logs.announced.Store(key, ep.Info)
	}
	h.join(e)
}

// misannounced is the problem with what a peer announced.
func (h *hub) misannounced(key endpointKey, err error) error {
	return &Error{Op: "discovery", Entity: fmt.Sprintf("writer or reader %d of %s", key.id, h.view.member(key.node)),
		Code: ErrPreconditionNotMet, Err: err,
		Detail: "its announcement can not be used, so it is matched with nothing here: is that process of another version?"}
}

func (h *hub) join(e *endpoint) {
	peers := h.topics[e.ann.topic]
	if peers == nil {
		peers = new(topicPeers)
		h.topics[e.ann.topic] = peers
	}
	h.settleType(peers, e)
	for _, o := range peers.writers {
		h.compareTypes(e, o)
	}
	for _, o := range peers.readers {
		h.compareTypes(e, o)
	}
	if e.ann.writes {
		e.keys = peers.local.keysOf(&h.types, e.ann)
		peers.writers = append(peers.writers, e)
		e.fresh = true
		for _, r := range peers.readers {
			h.consider(e, r)
		}
		e.fresh = false
		return
	}
	peers.readers = append(peers.readers, e)
	for _, w := range peers.writers {
		h.consider(w, e)
	}
	if e.reader != nil {
		h.startHistory(e)
	}
}

// local is the topic of an endpoint of this process, nil for others.
func (e *endpoint) local() *topicEntity {
	switch {
	case e.writer != nil:
		return e.writer.topic
	case e.reader != nil:
		return e.reader.topic
	}
	return nil
}

// withdrawn tells whether an endpoint of this process was closed. The group removes the others too, before it tells that
// it went on without this process.
func (e *endpoint) withdrawn() bool {
	if e.writer != nil {
		return e.writer.ended.Load()
	}
	return e.reader.ended.Load()
}

// compareTypes reports two endpoints of one topic that do not agree on its type to the topics of this process
// (INCONSISTENT_TOPIC).
func (h *hub) compareTypes(a, b *endpoint) {
	if a.ignored || b.ignored || a.ann.sameType(b.ann) {
		return
	}
	v := h.differ(a.ann, b.ann)
	if v.ok() {
		return
	}
	for _, side := range [2][2]*endpoint{{a, b}, {b, a}} {
		here, there := side[0], side[1]
		if t := here.local(); t != nil {
			it := &item{kind: itemInconsistent, ctl: &control{peer: there.peer, text: v.explain(here.ann, there.ann, there.peer)}}
			t.post(it, it)
		}
	}
}

// consider matches a writer and a reader if their types, partitions and QoS allow it, and tells the one of this
// process, or both.
func (h *hub) consider(w, r *endpoint) { h.adjust(w, r, relation{}, h.relate(w, r)) }

// pair introduces a writer and a reader to each other.
func (h *hub) pair(w, r *endpoint) {
	var src *source
	if r.reader != nil {
		src = h.newSource(w, r)
		w.matches = append(w.matches, h.newMatch(w, r.reader, src))
	}
	h.tell(w, r, itemMatched, nil, src)
	if src != nil && !w.alive {
		h.tellLife(w, match{r: r.reader, src: src})
	}
}

func (h *hub) newSource(w, r *endpoint) *source {
	s := &source{
		key: w.key, sg: w.at.sg, handle: w.handle, peer: w.peer,
		strength: w.ann.writer.OwnershipStrength.Value,
		lifespan: finite(w.ann.writer.Lifespan.Duration),
		lease:    leaseOf(&w.ann.writer.Liveliness),
		gaps:     w.path == topic.Unordered,
	}
	if h.typesOf(w.ann, r.ann).partial {
		s.trial = r.reader.topic.support.New()
	}
	return s
}

// knows tells whether a reader that is matched with a writer now gets all that it sends, from its first message on. All
// processes agree.
func (w *endpoint) knows() bool { return w.fresh && w.key.node.Incarnation() == 1 }

// owesMark tells whether a reader has to learn where its stream of a writer begins.
func (w *endpoint) owesMark(r *endpoint) bool {
	p := &r.ann.sub.Presentation
	return (p.CoherentAccess || p.OrderedAccess) && p.AccessScope == qos.PresentationGroup && !w.knows()
}

// tell posts what happened between a writer and a reader to those of them that live here.
func (h *hub) tell(w, r *endpoint, k itemKind, bad []qos.Incompatibility, src *source) {
	if w.writer != nil {
		it := &item{kind: k, ctl: &control{handle: r.handle, peer: r.peer, bad: bad}}
		w.writer.post(it, it)
		if k == itemMatched && w.owesMark(r) {
			w.writer.mark()
		}
	}
	if r.reader != nil {
		it := &item{kind: k, src: src, receiveNs: now(), ctl: &control{handle: w.handle, peer: w.peer, bad: bad}}
		if k == itemMatched {
			h.inform(w, match{r: r.reader}, it)
		} else {
			r.reader.post(it, it)
		}
	}
}

// EndpointRemoved forgets a writer or reader; who was matched with it is told.
func (h *hub) EndpointRemoved(ep derecho.Endpoint) {
	key := endpointKey{ep.Node, ep.ID}
	h.p.problems.ended(key)
	e := h.endpoints[key]
	if e == nil {
		return
	}
	delete(h.endpoints, key)
	h.latest = nil
	peers := h.topics[e.ann.topic]
	if !peers.have(e) {
		h.p.directory.learn(func(d *directory) { d.forget(e.handle) })
	}
	if e.path == topic.Logged && e.ann.writes {
		h.p.logs.gone(e.at.sg, key)
	}
	if e.ann.writes {
		peers.writers = without(peers.writers, e)
		h.weigh(e.at.sg, e.ann.writer.TransportPriority, -1)
		if m := h.members[ep.Node]; m != nil {
			m.writers.Remove(e)
		}
		h.writerGone(e, peers)
	} else {
		peers.readers = without(peers.readers, e)
		if e.reader != nil {
			h.endPutOffOf(e)
		}
		for _, w := range peers.writers {
			h.readerGone(w, e)
		}
	}
	if len(peers.writers) == 0 && len(peers.readers) == 0 {
		delete(h.topics, e.ann.topic)
	}
	switch {
	case e.local() == nil:
	case !e.withdrawn():
		h.excluding = true
	case !h.excluding || !h.p.replicates(ep.Channel): // else Excluded saves what this process goes on to keep
		h.dropChannels(e.ann.topic, ep.Channel)
	}
}

// have tells whether an endpoint is there in its next incarnation: its process has joined again, and it may be introduced
// before the one of before is removed, as that waits for what it has sent.
func (p *topicPeers) have(e *endpoint) bool {
	again := func(o *endpoint) bool { return o != e && o.handle == e.handle }
	return slices.ContainsFunc(p.writers, again) || slices.ContainsFunc(p.readers, again)
}

func without[E comparable](list []E, e E) []E {
	for i, o := range list {
		if o == e {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

func (h *hub) writerGone(w *endpoint, peers *topicPeers) {
	if w.writer != nil {
		w.writer.known.Store(false)
	}
	if w.writer != nil && !w.withdrawn() {
		h.keepOwn(w)
		w.writer.outlived()
	}
	c := h.channels[w.at]
	if c != nil && c.awaiting { // first: its readers lose it behind that
		c.put(&putOff{kind: putOffEnd, w: w})
	}
	for _, m := range w.matches {
		it := &item{kind: itemUnmatched, src: m.src, receiveNs: now(), ctl: &control{handle: w.handle, peer: w.peer}}
		m.bury()
		h.inform(w, m, it)
		if m.r.durable && w.path.Keeps() && m.r.self != nil {
			m.r.self.remember(&match{r: m.r, src: m.src})
		}
	}
	w.matches = nil // what is put off of it is for those that still end: see backlog.matchOf
	if w.writer != nil {
		for _, r := range peers.readers {
			if h.matched(w, r) {
				it := &item{kind: itemUnmatched, ctl: &control{handle: r.handle, peer: r.peer}}
				w.writer.post(it, it)
			}
		}
	}
	if c != nil && (c.awaiting || c.history.end(w.key)) {
		h.p.logs.ended(w.at.sg, w.key)
	}
}

func (h *hub) readerGone(w, r *endpoint) {
	if !h.matched(w, r) {
		return
	}
	if w.writer != nil {
		it := &item{kind: itemUnmatched, ctl: &control{handle: r.handle, peer: r.peer}}
		w.writer.post(it, it)
	}
	if r.reader == nil {
		return
	}
	for i, m := range w.matches {
		if m.r == r.reader {
			w.matches = append(w.matches[:i:i], w.matches[i+1:]...)
			if !r.withdrawn() {
				m.bury() // its process was excluded: the other readers, which lose the writers next, do not show sets without this one's part
			}
			h.dropStream(m)
			if r.withdrawn() {
				return
			}
			// Its process was excluded: it is to know, and takes nothing twice when it is back.
			if m.r.durable && w.path.Keeps() {
				r.remember(&match{r: m.r, src: m.src})
			}
			it := &item{kind: itemUnmatched, src: m.src, receiveNs: now(), ctl: &control{handle: w.handle, peer: w.peer}}
			m.r.post(it, it)
			return
		}
	}
}

// matched computes again what consider found: it depends on the announcements, and on what this process ignores, only.
func (h *hub) matched(w, r *endpoint) bool { return h.relate(w, r).matched }

// dropChannels forgets the history of a topic once no endpoint of this process is a replica of it. Of one that is being
// announced, and was not told of yet, the history of what is logged is kept for it.
func (h *hub) dropChannels(name string, ch derecho.ChannelID) {
	if peers := h.topics[name]; peers != nil {
		for _, w := range peers.writers {
			if w.writer != nil && w.path.Keeps() {
				return
			}
		}
		for _, r := range peers.readers {
			if r.reader != nil && r.reader.durable {
				return
			}
		}
	}
	h.p.logs.forget(ch) // first: who is not found below finds it forgotten (logSet.beginAgain)
	for key, c := range h.channels {
		if key.ch != ch {
			continue
		}
		if path, _ := h.placement.PathOf(uint32(key.sg)); path == topic.Logged && !c.awaiting && h.p.replicates(ch) {
			c.history.endAll() // somebody is being announced, who may have looked at the log before
			h.p.logs.recovered.Store(key, recovered{store: c.history})
		}
		delete(h.channels, key)
	}
}

// NodeJoined has no effect here: endpoints tell all that matters.
func (h *hub) NodeJoined(derecho.NodeID) {}

// NodeLeft forgets a node; its endpoints were removed before.
func (h *hub) NodeLeft(id derecho.NodeID) {
	if m := h.members[id]; m != nil {
		m.left = true
		delete(h.members, id)
		h.reconsider(m)
	}
	h.forgetLogs(id)
}

// Deliver hands one batch to the readers of this process, and to the histories.
func (h *hub) Deliver(sg derecho.SubgroupID, batch []derecho.Message) {
	at := time.Now().UnixNano()
	for i := range batch {
		m := &batch[i]
		if m.Kind == kindNothing && m.Flags == 0 && !h.unordered(sg) {
			continue
		}
		w := h.writerOf(m)
		if w == nil {
			continue
		}
		if len(w.matches) == 0 && !w.path.Keeps() {
			w.handed = max(w.handed, m.WriterSeq)
			continue
		}
		if m.Kind != kindData || m.Flags != 0 || !w.simple() {
			h.deliver(w, m, at)
			continue
		}
		for j := range w.matches {
			h.extend(&w.matches[j], m, at)
		}
	}
	h.flush()
}

func (h *hub) unordered(sg derecho.SubgroupID) bool {
	p, ok := h.placement.PathOf(uint32(sg))
	return ok && p == topic.Unordered
}

func (h *hub) writerOf(m *derecho.Message) *endpoint {
	key := endpointKey{m.Sender, m.Writer}
	if h.latest != nil && h.latest.key == key {
		return h.latest
	}
	e := h.endpoints[key]
	if e == nil || !e.ann.writes {
		return nil
	}
	h.latest = e
	return e
}

func (h *hub) deliver(w *endpoint, m *derecho.Message, at int64) {
	w.handed = max(w.handed, m.WriterSeq) // what is sent again has a number of before
	ok := true
	if m.Flags&flagOrdered != 0 || m.Kind == kindSetEnd {
		var err error
		h.beside, err = unwrap(m)
		ok = err == nil
		defer func() { h.beside = beside{} }()
	}
	handle := HandleNil
	if ok {
		handle, ok = instanceOf(w.keys, m)
	}
	kind := itemOf(m.Kind)
	if !ok {
		kind = itemLost
	}
	c := (*channel)(nil)
	if w.path.Keeps() {
		c = h.channels[w.at]
	}
	covered := c != nil && c.covers(m)
	again := m.Flags&flagAgain != 0
	var later *putOff
	if c != nil && (c.awaiting || len(c.backlogs) > 0 && !covered) {
		later = &putOff{w: w, h: handle, m: m.With(slices.Clone(m.Payload)), b: h.beside, lost: !ok}
	}
	switch {
	case c == nil:
	case c.awaiting: // also what the state covers, as that may never come
		c.put(later)
	case ok:
		c.keep(w, m, handle)
	}
	for _, t := range w.matches {
		b := (*backlog)(nil)
		if c != nil && !c.awaiting {
			b = c.backlogOf(t.r)
		}
		switch {
		case !t.r.durable && again && m.Kind == kindData:
			h.pass(t, m.WriterSeq)
		case c == nil || !t.r.durable || b == nil && !c.awaiting && !covered:
			h.enqueue(t, m, kind, handle, at)
		case covered && !c.awaiting:
			if b == nil { // else at its end
				h.pass(t, m.WriterSeq)
			}
		default:
			if b != nil {
				b.put(later)
			}
			h.showLife(t, m, at)
		}
	}
}

// keep adds a message to the history. What a writer of this process has sent again is not lost any more by that.
func (c *channel) keep(w *endpoint, m *derecho.Message, handle InstanceHandle) {
	if !c.covers(m) {
		c.history.add(w, m, handle)
	}
	if w.writer != nil && m.Flags&flagAgain != 0 {
		w.writer.kept(m.WriterSeq)
	}
}

// instanceOf finds the instance that a message is about; false if its bytes make no sense, or if the type is not known
// here.
func instanceOf(keys *topic.Keys, m *derecho.Message) (InstanceHandle, bool) {
	switch m.Kind {
	case kindNothing, kindClosing, kindAlive, kindSetEnd:
		return HandleNil, true
	case kindData, kindDispose, kindUnregister, kindRegister:
	default:
		return HandleNil, false
	}
	if keys == nil {
		return HandleNil, false
	}
	var handle InstanceHandle
	var err error
	if m.Kind == kindData {
		handle, err = keys.OfSample(m.Payload)
	} else {
		handle, err = keys.OfEncodedKey(m.Payload)
	}
	return handle, err == nil
}

func itemOf(k derecho.Kind) itemKind {
	switch k {
	case kindDispose:
		return itemDispose
	case kindUnregister:
		return itemUnregister
	case kindRegister:
		return itemRegister
	case kindNothing, kindSetEnd:
		return itemNothing
	case kindClosing:
		return itemClosing
	case kindAlive:
		return itemShown
	}
	return itemData
}

// enqueue makes an item of a message, to be posted to the reader by flush.
func (h *hub) enqueue(t match, m *derecho.Message, k itemKind, handle InstanceHandle, at int64) {
	var it *item
	if k == itemData && !t.r.passes(m.Payload) {
		k = itemFiltered
	}
	if k == itemData && !t.src.constructs(m.Payload) {
		k = itemLost
	}
	if k == itemData {
		it = t.r.receive(m, t.stream == nil)
	} else {
		it = t.r.pool.get(0)
	}
	it.kind, it.src, it.handle = k, t.src, handle
	it.seq, it.writerSeq, it.epoch, it.flags = m.Seq, m.WriterSeq, m.Epoch, m.Flags
	it.sourceNs, it.receiveNs = m.Timestamp, at
	if t.stream != nil && k != itemShown {
		h.showLife(t, m, at)
		h.hold(t.stream, it, m)
		return
	}
	if a := t.r.sub.access; a != nil && k != itemShown && k <= itemGone { // of a writer that has left, from a history
		a.released++
		it.order = a.released
		h.let(a, t.r, it)
		h.touch(a)
		return
	}
	h.push(t.r, it)
}

// showLife tells a reader that the writer of a message lives, whatever the message waits for.
func (h *hub) showLife(t match, m *derecho.Message, at int64) {
	if t.src.lease != 0 && m.Flags&noSign == 0 {
		h.push(t.r, &item{kind: itemShown, refs: 1, src: t.src, receiveNs: at})
	}
}

// push adds an item to those that flush posts to a reader.
func (h *hub) push(r *reader, it *item) {
	if r.pendingHead == nil {
		h.touched = append(h.touched, r)
		r.pendingTail = it
	}
	it.next = r.pendingHead
	r.pendingHead = it
}

// flush posts what enqueue gathered: one post, and at most one wake-up, for each reader.
func (h *hub) flush() {
	if len(h.accesses) > 0 {
		h.advance()
		defer h.reveal()
	}
	for i, r := range h.touched {
		head, tail := r.pendingHead, r.pendingTail
		r.pendingHead, r.pendingTail = nil, nil
		h.touched[i] = nil
		r.post(head, tail)
	}
	h.touched = h.touched[:0]
}

// weigh counts a writer of a subgroup by its TRANSPORT_PRIORITY.
func (h *hub) weigh(sg derecho.SubgroupID, p qos.TransportPriority, n int) {
	if h.urgent == nil {
		h.urgent = make(map[derecho.SubgroupID]map[int32]int)
	}
	if h.urgent[sg] == nil {
		h.urgent[sg] = make(map[int32]int)
	}
	if h.urgent[sg][p.Value] += n; h.urgent[sg][p.Value] == 0 {
		delete(h.urgent[sg], p.Value)
	}
}

// Priority of a subgroup is the highest of its writers' (derecho.Prioritizer).
func (h *hub) Priority(sg derecho.SubgroupID) int32 {
	if len(h.urgent[sg]) == 0 {
		return 0
	}
	return slices.Max(slices.Collect(maps.Keys(h.urgent[sg])))
}

// Failed passes on that the domain can not go on.
func (h *hub) Failed(err error) { h.p.fail(err) }
