package dcps

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// PRESENTATION at the readers' side: the hub holds back what may not be seen yet, before it reaches a reader. See
// docs/adr/0023 for the whole, and coherent.go for what travels.
//
// What a writer sends to a reader whose Subscriber asks for coherent_access, or for ordered_access in GROUP scope, passes a
// stream. It leaves the stream
//
//   - if it is of a coherent set: when all parts of the set that this Subscriber's readers get are there, all at once. Of
//     a set that can not become complete, because its writer or a message is lost, or because the reader came in the
//     midst of it and asks for no history, nothing is seen: SAMPLE_LOST. A history brings what it has of a set that is open
//     (hub.giveOpen), so who asks for one misses none.
//   - in GROUP scope with ordered_access: behind all that the Publisher's writers had sent before it to readers of
//     this Subscriber: the others, and the same one to other readers of its topic. A reader that came late waits for the writer's mark, which tells what it has no right to.

// access is what the hub knows of a Subscriber. It belongs to the polling goroutine, except what says otherwise.
type access struct {
	coherent, ordered, group bool // never change

	streams map[endpointKey][]*stream // by writer
	all     []*stream                 // in the order in which they came
	// buried are writers that do not exist any more, or not for this process, as it was excluded, and whose streams
	// have ended, while there are others of their process: of a set that has a part of theirs nothing can be seen any
	// more. What comes of one topic may be far behind another's, but not by more than maxBuried writers that have ended
	// since: older ones are forgotten. The oldest is first in graves.
	buried   map[endpointKey]bool
	graves   []endpointKey
	released uint64    // samples that left the streams: one that several readers get side by side counts once
	latest   sampleID  // that left a stream
	broken   [64]setID // sets of which nothing more is seen: the latest ones
	nBroken  int
	touched  bool

	// visible is the cut up to which all readers have been posted what is to be seen: stored after the posts, so who
	// loads a cut and looks into the inboxes after that finds everything up to it.
	visible atomic.Uint64
	cut     uint64
	cutting []*reader // that were posted something of the cut which is made now

	veil   *veil       // nil if none hangs
	veiled atomic.Bool // one does. A reader that loads what was so a moment ago makes writers wait, or not, for one item more
	lags   *veil       // more may leave the streams than is let out at once: behind this veil
	held   int         // so many entries have come since it was looked what may leave
}

// maxBuried bounds what a process that makes and closes writers for ever leaves behind at others.
const maxBuried = 1024

// newAccess gives nil if samples need not be held back.
func newAccess(q qos.Presentation) *access {
	a := &access{coherent: q.CoherentAccess, group: q.AccessScope == qos.PresentationGroup}
	a.ordered = a.group && q.OrderedAccess
	if !a.coherent && !a.ordered {
		return nil
	}
	a.streams, a.buried = make(map[endpointKey][]*stream), make(map[endpointKey]bool)
	return a
}

// setID names a coherent set.
type setID struct {
	writer endpointKey // that of its first part
	number uint64
}

// sampleID names a message of a writer.
type sampleID struct {
	writer endpointKey
	seq    uint64 // 0: it has none
}

// stream is what comes from one writer to one reader.
type stream struct {
	a      *access
	r      *reader
	src    *source
	key    endpointKey // the writer
	member *member     // its process
	known  bool        // the reader gets all that the writer sends, from its first message on
	lossy  bool        // unordered path: what does not come may never do so
	heard  bool
	first  uint64 // number of the first message that was heard
	last   uint64 // latest number that left the stream
	past   uint64 // latest number of what a history brought; of sets, it brings what has ended
	// floor is a number up to which nothing more comes than what is in the queue: this process was handed all that
	// before the match, or does not give it to this reader.
	floor uint64
	gone  bool // the writer is
	shown bool // something of it was seen
	// lostFrom and lostTo are the numbers of the latest part of a set whose end was lost, so that nothing tells which
	// set that was; 0 for none.
	lostFrom, lostTo uint64
	queue            []waiting
	set              []*item // of the set that is leaving
}

// waiting is an entry of a stream.
type waiting struct {
	it    *item
	after []latest
	inSet bool
	begin bool // it is the first of its part
	past  bool // a history brought it, which keeps not all: there may be no entry for numbers before it
	end   *setEnd
	// unheard: its match ended within its set, which the reader gets from a history if it is matched anew before the set ends.
	// So it must not take the number for one that it had.
	unheard bool
	// acquainted: this process was told of the writers that it names, or will be; see met.go.
	acquainted bool
}

// newMatch makes what a reader of this process gets from a writer.
func (h *hub) newMatch(w *endpoint, r *reader, src *source) match {
	m := match{r: r, src: src}
	if a := r.sub.access; a != nil {
		m.stream = &stream{
			a: a, r: r, src: src, key: w.key, member: h.member(w.key.node), lossy: w.path == topic.Unordered,
			known: w.knows(),
		}
		if !r.durable || !w.path.Keeps() {
			m.stream.floor = w.handed // the others are given that with a history
		}
		a.streams[w.key] = append(a.streams[w.key], m.stream)
		a.all = append(a.all, m.stream)
	}
	return m
}

// beside is what goes with the message that is delivered now.
type beside struct {
	after []latest
	end   *setEnd
}

// unwrap takes from a message what PRESENTATION has added.
func unwrap(m *derecho.Message) (b beside, err error) {
	if m.Flags&flagOrdered != 0 {
		b.after, err = cutTrailer(m)
	} else if m.Kind == kindSetEnd {
		b.end, err = decodeSetEnd(m.Payload)
	}
	return b, err
}

// hold puts an item into a stream.
func (h *hub) hold(s *stream, it *item, m *derecho.Message) {
	if !s.heard && it.writerSeq > 0 { // a disposal of the past has none
		s.heard, s.first = true, it.writerSeq
	}
	e := waiting{
		it: it, after: h.beside.after, end: h.beside.end, inSet: s.a.coherent && m.Flags&flagInSet != 0, begin: m.Flags&flagSetBegin != 0,
		past: m.Flags&flagPast != 0, acquainted: m.Flags&(flagPast|flagAgain) == 0,
	}
	if e.past && !e.inSet { // what the history anew says: it must not stand behind a set that is open, as if its end were lost
		s.past = max(s.past, it.writerSeq)
		s.queue = slices.Insert(s.queue, s.openFrom(), e)
	} else {
		s.queue = append(s.queue, e)
	}
	s.a.held++
	h.touch(s.a)
}

// openFrom is where the set begins, with which the queue ends, whose end is still to come; the end of the queue if there is none.
func (s *stream) openFrom() int {
	i := len(s.queue)
	for i > 0 && s.queue[i-1].inSet && s.queue[i-1].end == nil {
		i--
	}
	return i
}

// has tells whether a message, or a later one, has come to the stream: of what it has, a history must bring nothing again.
func (s *stream) has(seq uint64) bool {
	if s == nil {
		return false // the reader looks
	}
	for i := range slices.Backward(s.queue) {
		if n := s.queue[i].it.writerSeq; n > 0 {
			return n >= seq
		}
	}
	return s.last >= seq
}

// pass notes that the reader of a match gets nothing more up to a number than what is in its stream.
func (h *hub) pass(m match, seq uint64) {
	if s := m.stream; s != nil && s.floor < seq {
		s.floor = seq
		h.touch(s.a)
	}
}

func (h *hub) touch(a *access) {
	if !a.touched {
		a.touched = true
		h.accesses = append(h.accesses, a)
	}
}

// endMatch tells a reader that its writer is not matched any more, behind what is held back of it, and what became of the
// writer since.
func (h *hub) endMatch(m match, items ...*item) {
	s := m.stream
	if s == nil {
		for _, it := range items {
			m.r.post(it, it)
		}
		return
	}
	s.gone = true
	for i := s.openFrom(); i < len(s.queue); i++ {
		s.queue[i].lose() // no end can come
		s.queue[i].unheard = true
	}
	for _, it := range items {
		s.queue = append(s.queue, waiting{it: it})
	}
	h.touch(s.a)
	h.flush()
}

// alterMatch tells a reader that its writer has another QoS, behind what is held back of it; but before a set that is open, of
// which all counts by what the writer is when the set ends.
func (h *hub) alterMatch(m match, it *item) {
	s := m.stream
	if s == nil {
		m.r.post(it, it)
		return
	}
	s.queue = slices.Insert(s.queue, s.openFrom(), waiting{it: it})
	h.touch(s.a)
	h.flush()
}

// bury notes that the writer of a match, which has ended, does not exist any more.
func (m match) bury() {
	if s := m.stream; s != nil && s.a.group {
		s.a.bury(s.key)
	}
}

func (a *access) bury(key endpointKey) {
	if a.buried[key] {
		return
	}
	a.buried[key] = true
	a.graves = append(a.graves, key)
	if len(a.graves) > maxBuried {
		delete(a.buried, a.graves[0])
		a.graves = a.graves[1:]
	}
}

// exhume forgets the writers of a process of which no stream is left.
func (a *access) exhume(node derecho.NodeID) {
	for _, s := range a.all {
		if s.key.node == node {
			return
		}
	}
	a.graves = slices.DeleteFunc(a.graves, func(key endpointKey) bool {
		of := key.node == node
		if of {
			delete(a.buried, key)
		}
		return of
	})
}

// dropStream forgets a stream whose reader is gone.
func (h *hub) dropStream(m match) {
	if s := m.stream; s != nil {
		s.queue = nil
		s.a.remove(s)
		h.touch(s.a)
		h.flush()
	}
}

// clear takes from a stream what has not left it; but not what became of the writer.
func (h *hub) clear(s *stream) {
	for i := range s.queue {
		it := s.queue[i].it
		if it.kind == itemData && !s.r.durable {
			it.kind = itemLost
		}
		if it.kind > itemGone {
			h.push(s.r, it)
		}
	}
	s.queue = nil
	h.touch(s.a)
}

func (a *access) remove(s *stream) {
	of := a.streams[s.key]
	for i, o := range of {
		if o == s {
			of = append(of[:i:i], of[i+1:]...)
		}
	}
	if a.streams[s.key] = of; len(of) == 0 {
		delete(a.streams, s.key)
	}
	for i, o := range a.all {
		if o == s {
			a.all = append(a.all[:i:i], a.all[i+1:]...)
			break
		}
	}
	a.exhume(s.key.node)
}

// lose makes of an entry that nobody sees what counts it.
func (e *waiting) lose() {
	if e.inSet = false; e.it.kind == itemData {
		e.it.kind = itemLost
	} else {
		e.it.kind = itemNothing
	}
}

// advance lets out what may leave the streams of the Subscribers that got something. flush posts it.
func (h *hub) advance() {
	for i, a := range h.accesses {
		h.accesses[i], a.touched = nil, false
		n := math.MaxInt
		if a.group && h.atOnce > 0 { // in the others nothing waits for what comes to other readers
			n = h.piece(a.held)
		}
		a.held = 0
		for again := true; again; {
			again = false
			for _, s := range a.all {
				for len(s.queue) > 0 && n > 0 {
					did := h.step(s)
					if did == 0 {
						break
					}
					n -= did
					again = true
				}
			}
		}
		h.lag(a, n <= 0)
		for i := 0; i < len(a.all) && n > 0; { // a set that is not looked at yet may have a part there
			if s := a.all[i]; s.gone && len(s.queue) == 0 {
				a.remove(s)
				continue
			}
			i++
		}
		if len(a.cutting) > 0 && a.veil == nil {
			h.cuts = append(h.cuts, a)
		}
	}
	h.accesses = h.accesses[:0]
}

// step does what can be done about the first entry of a stream, and tells about how much that was: 0 if it has to wait.
func (h *hub) step(s *stream) int {
	switch e := &s.queue[0]; {
	case e.inSet:
		set, acted := s.a.judge(s)
		if !acted {
			return 0
		}
		return 1 + h.releaseSet(s.a, set)
	case !s.a.inTurn(s, e, nil):
		return 0
	}
	h.release(s, false)
	return 1
}

// releaseSet lets out a set, of which so many entries of each stream are, each in its turn and nothing in between: what several
// Publishers send is at each reader in the order in which it is numbered.
func (h *hub) releaseSet(a *access, lengths map[*stream]int) (did int) {
	of := slices.SortedFunc(maps.Keys(lengths), func(s, o *stream) int {
		return cmp.Or(cmp.Compare(s.key.id, o.key.id), cmp.Compare(s.r.id, o.r.id))
	})
	for again := true; again; {
		again = false
		for _, s := range of {
			for lengths[s] > 0 && a.inTurn(s, &s.queue[0], nil) {
				h.release(s, true)
				lengths[s]--
				did++
				again = true
			}
		}
	}
	return did
}

// release gives the first entry of a stream to the reader, or if it is of a set that leaves keeps it until that ends.
func (h *hub) release(s *stream, ofSet bool) {
	e := s.queue[0]
	s.queue[0] = waiting{}
	s.queue = s.queue[1:]
	a, it := s.a, e.it
	if it.writerSeq > s.last {
		s.last = it.writerSeq
	}
	if id := (sampleID{s.key, it.writerSeq}); id.seq == 0 || id != a.latest {
		a.released++
		a.latest = id
	}
	if it.kind == itemData || it.kind == itemDispose || it.kind == itemUnregister {
		s.shown = true
	}
	if e.unheard {
		it.writerSeq = 0
	}
	switch it.order = a.released; {
	case it.kind > itemGone && !ofSet: // of a status
		h.push(s.r, it)
	case ofSet:
		s.set = append(s.set, it)
		if e.end != nil {
			set := s.set
			s.set = nil
			h.let(a, s.r, &item{kind: itemSet, refs: 1, src: s.src, receiveNs: it.receiveNs, flags: set[0].flags & noSign, set: &set})
		}
	default:
		h.let(a, s.r, it)
	}
}

// let gives a reader an item, which a Subscriber with GROUP access does not see before those of its other readers are there, and
// nobody through a veil.
func (h *hub) let(a *access, r *reader, it *item) {
	if a.group || r.veiled {
		if len(a.cutting) == 0 {
			a.cut++
		}
		if !slices.Contains(a.cutting, r) {
			a.cutting = append(a.cutting, r)
		}
		it.link = a.cut
		if a.veil != nil {
			h.grow(a.veil, r, it)
		}
	}
	h.push(r, it)
}

// reveal has the readers show what was posted to all of them.
func (h *hub) reveal() {
	for i, a := range h.cuts {
		h.cuts[i] = nil
		a.reveal()
	}
	h.cuts = h.cuts[:0]
}

func (a *access) reveal() {
	a.visible.Store(a.cut)
	for i, r := range a.cutting {
		a.cutting[i] = nil
		it := &item{kind: itemVisible, link: a.cut}
		r.post(it, it)
	}
	a.cutting = a.cutting[:0]
}

// inTurn tells whether all has left that was sent before an entry. left is how many entries of streams count as if they had, too.
func (a *access) inTurn(s *stream, e *waiting, left map[*stream]int) bool {
	if !a.ordered {
		return true
	}
	for _, l := range e.after {
		if s.awaits(e, l.writer) {
			return false
		}
		for _, o := range a.streams[endpointKey{s.key.node, l.writer}] {
			if n := left[o]; o.reached(n) < l.seq && o.owes(l.seq, n) {
				return false
			}
		}
	}
	// Other readers of the same topic; but what a history brings does not wait until they have theirs.
	if of := a.streams[s.key]; len(of) > 1 && e.it.writerSeq > 1 && !e.past {
		before := e.it.writerSeq - 1
		for _, o := range of {
			if n := left[o]; o != s && o.reached(n) < before && (o.holds(before, n) || o.owes(before, n)) {
				return false
			}
		}
	}
	return true
}

// reached is how far the stream is when so many entries have left.
func (s *stream) reached(left int) uint64 {
	if left == 0 {
		return s.last
	}
	return max(s.last, s.queue[left-1].it.writerSeq)
}

// holds tells whether something up to a number is in the stream, behind so many entries. There need not be an entry for each
// number: see waiting.past.
func (s *stream) holds(seq uint64, left int) bool {
	return len(s.queue) > left && s.queue[left].it.writerSeq <= seq
}

// owes tells whether something that has not left the stream, up to a number, is in it or may still come. A writer's
// numbers ascend, so nothing below the first one in the queue does, and no two streams wait for each other: the first
// sample of each would be older than the other's. A stream in which nothing was heard yet may owe anything until the
// writer's mark is there.
func (s *stream) owes(seq uint64, left int) bool {
	switch {
	case s.lossy:
		return false
	case len(s.queue) > left:
		return s.holds(seq, left)
	}
	return !s.gone && s.floor < seq
}

// judge looks at the set with which the queue of a stream begins. If it may be let out it tells how many entries of which streams
// it has. Else it is lost, or has to wait, of which acted is false.
func (a *access) judge(s *stream) (set map[*stream]int, acted bool) {
	n := s.ends()
	if n == 0 {
		return nil, s.endless()
	}
	last := &s.queue[n-1]
	end := last.end
	if own, ok := end.of(s.key.id); !ok {
		s.discard(n)
		return nil, true
	} else if earlier := s.before(own.first); earlier > 0 {
		s.discard(earlier) // of a set whose end was lost
		return nil, true
	}
	if own, _ := end.of(s.key.id); s.misses(own) {
		s.discard(n) // the others do not wait for it
		return nil, true
	}
	id := setID{endpointKey{s.key.node, end.parts[0].writer}, end.number}
	lengths, ok := a.partsOf(s, last, id)
	if !ok {
		if lengths != nil {
			a.broken[a.nBroken%len(a.broken)] = id
			a.nBroken++
			s.discard(n)
		}
		return nil, lengths != nil
	}
	if lengths[s] == 0 { // a history brought its beginning to a stream that had it, which none does
		s.discard(n)
		return nil, true
	}
	return lengths, a.orderly(lengths)
}

// partsOf finds the parts of a set, with the number of their entries: all are there if ok; if lengths is nil the set has to
// wait, and otherwise it is broken.
func (a *access) partsOf(s *stream, last *waiting, id setID) (lengths map[*stream]int, ok bool) {
	for _, b := range a.broken {
		if b == id {
			return map[*stream]int{}, false
		}
	}
	end := last.end
	lengths = make(map[*stream]int)
	// Who has seen nothing of the Publisher yet sees whole sets from the first on. Who has does not lose a set by a
	// reader that comes.
	missed, seen := false, false
	for _, p := range end.parts {
		key := endpointKey{s.key.node, p.writer}
		if len(a.streams[key]) == 0 && a.buried[key] {
			return map[*stream]int{}, false
		}
		if a.group && s.strange(last, p.writer) {
			if !p.lost() && s.awaits(last, p.writer) {
				return nil, false
			}
			return map[*stream]int{}, false
		}
		for _, o := range a.streams[key] {
			if !a.group && o != s {
				continue
			}
			if o.past >= p.first { // it was shown what its topic keeps of the part
				seen = true
				continue
			}
			n := o.ends()
			if n > 0 && o.queue[n-1].end.number == end.number {
				if earlier := o.before(p.first); earlier > 0 { // of a set whose end was lost: they leave first
					o.discard(earlier)
					return nil, false
				}
			}
			switch {
			case o.misses(p):
				missed = true
				continue
			case n > 0 && o.queue[n-1].end.number == end.number && o.complete(n, p):
				lengths[o] = n
			case n > 0 && o.queue[n-1].end.number == end.number, o.lost(p), o.passed(p), p.lost() && o.expects(p):
				return map[*stream]int{}, false
			case o.gone && (len(o.queue) == 0 || !o.expects(p)): // what is before the part, as a set that is free, leaves first
				return map[*stream]int{}, false
			case o.expects(p):
				return nil, false
			}
			// Who was given the beginning of the part with a history has a right to the set.
			seen = seen || o.known || o.shown || n > 0 && o.queue[0].past
		}
	}
	if missed && !seen {
		return map[*stream]int{}, false
	}
	return lengths, true
}

// ends is how many entries the set has with which the queue begins, its end included; 0 if that is not there.
func (s *stream) ends() int {
	for i := range s.queue {
		switch e := &s.queue[i]; {
		case e.end != nil:
			return i + 1
		case e.follows(i):
			return 0
		}
	}
	return 0
}

// lost tells whether some of a part was given up because its end was lost.
func (s *stream) lost(p part) bool {
	return s.lostTo >= p.first && s.lostFrom != 0 && s.lostFrom <= p.last
}

// passed tells whether a part that the reader was to get has left the stream without the others: it was given up there.
func (s *stream) passed(p part) bool {
	return (s.known || s.heard && s.first <= p.first) && s.last >= p.first
}

// follows tells whether the i-th entry is not of the part with which the queue begins.
func (e *waiting) follows(i int) bool { return !e.inSet || i > 0 && e.begin }

// endless gives up a set whose end was lost: something else follows.
func (s *stream) endless() bool {
	for i := range s.queue {
		if s.queue[i].follows(i) {
			s.lostFrom, s.lostTo = s.queue[0].it.writerSeq, s.queue[i-1].it.writerSeq
			s.discard(i)
			return true
		}
	}
	return false
}

// before is how many entries have a smaller number.
func (s *stream) before(seq uint64) int {
	for i := range s.queue {
		if s.queue[i].it.writerSeq >= seq {
			return i
		}
	}
	return len(s.queue)
}

// complete tells whether the first n entries are a whole part: each follows the one before it. What a history has brought begins
// where the part does, and ends where the history was cut, and what it does not keep is missing in between.
func (s *stream) complete(n int, p part) bool {
	next := p.first
	for i := range s.queue[:n-1] {
		e := &s.queue[i]
		seq := e.it.writerSeq
		if seq != next && (i == 0 || !e.past || seq != 0 && seq < next) {
			return false
		}
		next = max(next, seq+1)
	}
	return next == p.last+1
}

// misses tells whether the reader was matched after a part had begun.
func (s *stream) misses(p part) bool {
	return !s.known && (s.heard && s.first > p.first || !s.heard && s.floor >= p.first)
}

// expects tells whether a part that is not there, or not whole, is still to come. It is not if the reader was matched in
// the midst of the set, or after it. Before anything was heard that can not be told, and the writer's mark is waited for.
func (s *stream) expects(p part) bool {
	if len(s.queue) > 0 {
		return s.queue[0].it.writerSeq <= p.first
	}
	return max(s.last, s.floor) < p.first && (s.known || !s.heard || s.first <= p.first)
}

// discard counts the first n entries as lost.
func (s *stream) discard(n int) {
	for i := range s.queue[:n] {
		s.queue[i].lose()
		s.queue[i].end = nil
	}
}

// orderly tells whether the entries of a set can leave one after the other, each in its turn.
func (a *access) orderly(lengths map[*stream]int) bool {
	left := make(map[*stream]int)
	there := 0
	for _, n := range lengths {
		there += n
	}
	for there > 0 {
		moved := false
		for s, n := range lengths {
			for left[s] < n && a.inTurn(s, &s.queue[left[s]], left) {
				left[s]++
				there--
				moved = true
			}
		}
		if !moved {
			return false
		}
	}
	return true
}
