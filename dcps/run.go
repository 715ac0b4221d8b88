package dcps

import (
	"reflect"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// A run is samples of one writer that the core has handed over one after the other, in one item. What a reader with
// RELIABLE and KEEP_ALL that takes by loan does with samples of a topic without key is the same for all of them: they
// are of the one instance, were not read, and leave in the order in which they came. So they travel, lie in the cache
// and leave it as a run, lent together by a loan of the first, and no sample has an entry of its own.
//
// As soon as anything else is asked of the cache, runs become what they stand for (reader.unroll): an entry for each
// sample. A reader of which something else is asked again and again gets none.
//
// Samples lie in the cache in this order: those with an entry, then those of runs. The instance of those is alive, and does not
// change its state before they are unrolled.

// sampleOfRun is one sample of a run: what the others do not have in common with it.
type sampleOfRun struct {
	buf       []byte
	seq       uint64
	writerSeq uint64
	sourceNs  int64
}

// sampleOfRunBytes is what one takes.
var sampleOfRunBytes = int(reflect.TypeFor[sampleOfRun]().Size())

// runs are those in a cache, oldest first.
type runs struct {
	first, last *item // by item.after
	samples     int   // in them, and not handed out
	in          *instance
}

const (
	// maxRunBytes bounds what a run keeps its writer from using again, as all of it is given back together; so does a
	// share of the ring.
	maxRunBytes = 64 << 10
	runShare    = 16 // of the ring
	// copiedRunBytes bounds what the samples of a run that are copied take, with what is noted of each. It bounds the
	// pieces that its memory comes in, too; as they and the notes grow by doubling, a run has up to twice that.
	copiedRunBytes = 32 << 10

	// runsAfter is how many takes a run would have served make that runs are made; after they had to be unrolled, runsAgain.
	runsAfter = 2
	runsAgain = 64
)

// simple tells whether samples of a writer may come in runs, if they have no flags: all are of one instance, none is kept for
// late readers or may get lost.
func (w *endpoint) simple() bool {
	return w.keys != nil && w.keys.Form() == topic.FormNone && !w.path.Keeps() && w.path != topic.Unordered
}

// mayRun tells whether the policies of the reader treat all samples of an instance alike, and let all of them in.
// Called with mu held.
func (r *reader) mayRun() bool {
	c := r.cache
	return r.q.Reliability.Kind == qos.ReliabilityReliable && c.keepAll && c.rules == 0 && c.deadline == 0 &&
		r.join == nil && r.whole == nil && !r.builtin && r.sub.access == nil
}

// extend is enqueue for a sample of a simple writer.
func (h *hub) extend(t *match, m *derecho.Message, at int64) {
	r := t.r
	if t.stream != nil || t.src.trial != nil || !r.wantsRuns.Load() {
		h.enqueue(*t, m, itemData, HandleNil, at)
		return
	}
	if !r.passes(m.Payload) {
		h.enqueue(*t, m, itemFiltered, HandleNil, at)
		return
	}
	it := r.pendingHead
	if it == nil || !it.extends(t.src, m) {
		it = r.beginRun(t.src, m, at)
		h.push(r, it)
	}
	it.extend(m)
}

// extends tells whether a message may be the next one of a run.
func (it *item) extends(src *source, m *derecho.Message) bool {
	return it.kind == itemRun && it.src == src && it.epoch == m.Epoch && it.writerSeq < m.WriterSeq && it.takes(len(m.Payload)) <= it.room
}

// takes is what a sample of n bytes takes of the room of a run: in the ring, or of memory.
func (it *item) takes(n int) int {
	if it.loan != nil {
		return derecho.RingBytes(n)
	}
	return aligned(n) + sampleOfRunBytes
}

// aligned is the next place in memory for a sample, with 8-byte members.
func aligned(n int) int { return (n + 7) &^ 7 }

// beginRun makes an empty run that begins with a message, for the polling goroutine. If it is lent, so is what lies
// behind it in the ring, until all is given back: one loan for many samples is worth it whatever their size.
func (r *reader) beginRun(src *source, m *derecho.Message, at int64) *item {
	it := r.runPool.get(0)
	it.kind, it.src, it.handle, it.epoch, it.receiveNs = itemRun, src, HandleNil, m.Epoch, at
	it.room = copiedRunBytes
	if r.lending.lends() {
		it.loan = m.Lend()
	}
	if it.loan != nil {
		it.room = min(maxRunBytes, r.p.settings.RingBytes/runShare)
		r.lending.count.Add(1)
	}
	return it
}

func (it *item) extend(m *derecho.Message) {
	buf := m.Payload
	it.room -= it.takes(len(buf))
	if it.loan == nil {
		buf = it.copied(buf)
	}
	// Field by field: what is stored in pieces and copied as a whole keeps the processor waiting.
	n := len(it.run)
	if n == cap(it.run) {
		it.run = slices.Grow(it.run, 1)
	}
	it.run = it.run[:n+1]
	x := &it.run[n]
	x.buf, x.seq, x.writerSeq, x.sourceNs = buf, m.Seq, m.WriterSeq, m.Timestamp
	it.writerSeq = m.WriterSeq
}

// copied copies a sample into the item's memory, behind those that are there. That grows with the run: where samples of
// several writers alternate, or come one by one, there is one in each.
func (it *item) copied(sample []byte) []byte {
	from := aligned(len(it.own))
	if from+len(sample) > cap(it.own) { // those before stay where they are
		it.own, from = make([]byte, 0, max(min(2*cap(it.own), copiedRunBytes), roundUp(len(sample)))), 0
	}
	it.own = append(it.own[:from], sample...)
	return it.own[from:len(it.own):len(it.own)]
}

// deliverRun gives a run to the cache; false if it, or the rest of it, has to wait for room.
func (r *reader) deliverRun(it *item) bool {
	s, line, c := it.src, r.lineOf(it.src), r.cache
	in := c.instances[HandleNil]
	if in == nil || in.state != InstanceAlive || s.lifespan != 0 || it.run[it.from].writerSeq <= line.lastSeq || !r.mayRun() {
		return r.deliverEach(it)
	}
	room := min(c.maxSamples-c.samples, c.maxPerInstance-in.samples) - c.runs.samples
	if room <= 0 {
		return false
	}
	head, whole := it, len(it.run)-it.from <= room
	if !whole {
		head = r.split(it, room)
	}
	line.lastSeq, s.heard = head.writerSeq, true
	in.join(s)
	c.append(in, head)
	r.news()
	return whole
}

// split gives the first n samples of a run that are left, as a run of their own.
func (r *reader) split(it *item, n int) *item {
	head := r.spareRun
	if r.spareRun = nil; head == nil {
		head = &item{pooled: true}
	}
	head.kind, head.refs, head.src, head.epoch, head.receiveNs = itemRun, 1, it.src, it.epoch, it.receiveNs
	end := it.from + n
	if it.loan != nil {
		head.loan = it.loan.Share()
		r.lending.count.Add(1)
		r.lending.admit(head)
		head.run = append(head.run[:0], it.run[it.from:end]...)
	} else {
		for _, x := range it.run[it.from:end] {
			x.buf = head.copied(x.buf)
			head.run = append(head.run, x)
		}
	}
	head.writerSeq = head.run[n-1].writerSeq
	it.from = end
	return head
}

// append adds a run for which there is room.
func (c *cache) append(in *instance, it *item) {
	it.after = nil
	if c.runs.first == nil {
		c.runs.first = it
	} else {
		c.runs.last.after = it
	}
	c.runs.last, c.runs.in = it, in
	c.runs.samples += len(it.run) - it.from
	c.news = true
}

// anyRun tells whether runs have something that is selected.
func (c *cache) anyRun(s *selection) bool {
	return c.runs.first != nil && s.query == nil && s.samples&SampleNotRead != 0 && s.instance(c.runs.in)
}

// takeRuns takes from runs, if that is all there is and the selection wants any of it.
func (c *cache) takeRuns(s *selection, out *collection) bool {
	if c.first != nil || !s.takesRuns() || !c.anyRun(s) {
		return false
	}
	left := c.runs.samples
	if s.max > 0 {
		left = min(left, s.max)
	}
	in := c.runs.in
	c.runs.samples -= left
	for left > 0 {
		it := c.runs.first
		n := min(left, len(it.run)-it.from)
		out.samples = append(out.samples, it.run[it.from:it.from+n]...)
		out.runs = append(out.runs, partOfRun{it, len(out.samples)})
		left -= n
		if it.from += n; it.from < len(it.run) {
			it.refs++
			break
		}
		c.shift()
	}
	out.in, out.view = in.handle, in.view
	out.disposedGen, out.noWritersGen = in.disposedGen, in.noWritersGen
	in.view = ViewNotNew
	c.shifts++
	return true
}

// partOfRun is the part of a run that a collection has: of the collection's samples those up to end.
type partOfRun struct {
	it  *item
	end int
}

// info fills in the SampleInfo of a sample of a run, when it is asked for.
func (c *collection) info(i int) *SampleInfo {
	if n := len(c.samples); len(c.infos) < n {
		if cap(c.infos) < n {
			c.infos = make([]SampleInfo, n, cap(c.samples))
		}
		c.infos = c.infos[:n]
	}
	if c.at >= len(c.runs) || c.at > 0 && i < c.runs[c.at-1].end {
		c.at = 0
	}
	for i >= c.runs[c.at].end {
		c.at++
	}
	it, x, info := c.runs[c.at].it, &c.samples[i], &c.infos[i]
	*info = SampleInfo{
		SampleState:              SampleNotRead,
		ViewState:                c.view,
		InstanceState:            InstanceAlive,
		SourceTimestamp:          timeOf(x.sourceNs),
		InstanceHandle:           c.in,
		PublicationHandle:        it.src.handle,
		DisposedGenerationCount:  c.disposedGen,
		NoWritersGenerationCount: c.noWritersGen,
		SampleRank:               int32(len(c.samples) - 1 - i),
		ValidData:                true,
		ReceptionTimestamp:       timeOf(it.receiveNs),
		Epoch:                    it.epoch,
		Sequence:                 x.seq,
		WriterSequence:           x.writerSeq,
	}
	return info
}

// flat makes entries of the runs.
func (c *cache) flat() {
	if c.runs.first != nil {
		c.unroll(c.runs.samples, true)
	}
}

// flatFor makes entries of as much of the runs as a selection takes.
func (c *cache) flatFor(s *selection) {
	have := c.samples
	if s.samples == SampleNotRead {
		have = c.unread
	}
	switch {
	case c.runs.first == nil:
	case !s.takesRuns() || s.views != AnyViewState || s.instances != AnyInstanceState:
		c.flat()
	case s.max == 0:
		c.unroll(c.runs.samples, false)
	case s.max > have:
		c.unroll(min(s.max-have, c.runs.samples), false)
	}
}

// takesRuns tells whether a selection could be served from runs, if it wants what is in them.
func (s *selection) takesRuns() bool {
	return s.take && s.lend && s.query == nil && s.only == allInstances && s.samples&SampleNotRead != 0
}

// unroll has the first n samples of the cache's runs come one by one, as they would have without runs. They are wasted
// if the reader is asked for what they are not made for.
func (r *reader) unroll(n int, wasted bool) {
	if wasted {
		r.wantsRuns.Store(false)
		r.forRuns = -runsAgain
	}
	c := r.cache
	news := c.news
	defer func() { c.news = news }() // they were told of when they came
	c.runs.samples -= n
	for ; n > 0; n-- {
		it := c.runs.first
		c.put(r.single(it), it.receiveNs) // there is room
		if it.from == len(it.run) {
			c.shift()
			r.release(it)
		}
	}
}

// shift takes the first run out of the cache.
func (c *cache) shift() {
	it := c.runs.first
	if c.runs.first = it.after; it.after == nil {
		c.runs.last = nil
	}
	it.after = nil
	if it.loan != nil {
		c.left(it)
	}
}

// deliverEach is deliverRun, one sample after the other.
func (r *reader) deliverEach(it *item) bool {
	for it.from < len(it.run) {
		if x := r.single(it); !r.deliver(x) {
			it.from--
			r.release(x)
			return false
		}
	}
	r.release(it)
	return true
}

// single takes the next sample out of a run.
func (r *reader) single(of *item) *item {
	x := &of.run[of.from]
	of.from++
	it := &item{
		kind: itemData, pooled: true, refs: 1, src: of.src, handle: of.handle,
		seq: x.seq, writerSeq: x.writerSeq, epoch: of.epoch, sourceNs: x.sourceNs, receiveNs: of.receiveNs,
	}
	if of.loan != nil {
		it.loan, it.buf = of.loan.Share(), x.buf
		r.lending.count.Add(1)
		r.lending.admit(it)
	} else {
		it.own = append(it.own, x.buf...)
		it.buf = it.own
	}
	return it
}

// keepRun makes the bytes of a run that are not handed out its own.
func (l *lending) keepRun(it *item) {
	size := 0
	for _, x := range it.run[it.from:] {
		size = aligned(size) + len(x.buf)
	}
	it.own = slices.Grow(it.own[:0], size)
	for i := it.from; i < len(it.run); i++ {
		it.run[i].buf = it.copied(it.run[i].buf)
	}
	l.end(it)
}

// countTake follows what the application asks for: those that take all by loan get runs.
func (r *reader) countTake(s *selection) {
	if s.takesRuns() && !r.wantsRuns.Load() {
		if r.forRuns++; r.forRuns >= runsAfter && r.mayRun() {
			r.wantsRuns.Store(true)
		}
	}
}
