package dcps

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// past is the history of a channel as it is given to readers that come late: all that is kept, in the order in which it came,
// then what was disposed, then what was unregistered, then the sets that are open.
//
//	the polling goroutine  takes its cut, and gives it
//	anybody in between     prepares it, once the cut is whole
type past struct {
	cut   *cut
	users atomic.Int32 // those who prepare it among them; the cut ends with the last one

	once     sync.Once
	records  []recordRef
	disposed []recordRef // the latest of each instance that is disposed and not forgotten, in the order of that
	ended    []recordRef // the latest of each line whose writer unregistered the instance, or is gone
	open     map[*storedWriter][]cutRecord
	beside   map[int][]*cutLine // the lines of an instance that several writers have written
}

// newPast has one user: who makes it.
func newPast(c *cut) *past {
	p := &past{cut: c}
	p.users.Add(1)
	return p
}

// drop ends a user.
func (p *past) drop() {
	if p.users.Add(-1) == 0 {
		p.cut.end()
	}
}

// prepare sorts what the cut holds.
func (p *past) prepare() {
	p.once.Do(func() {
		gone := make(map[*storedWriter]bool)
		for _, w := range p.cut.writers {
			gone[w.w] = w.gone
		}
		p.open, p.beside = make(map[*storedWriter][]cutRecord), make(map[int][]*cutLine)
		var before *cutLine
		for _, l := range p.cut.each() {
			if before != nil && before.instance == l.instance {
				if p.beside[l.instance] == nil {
					p.beside[l.instance] = []*cutLine{before}
				}
				p.beside[l.instance] = append(p.beside[l.instance], l)
			}
			before = l
		}
		p.records = p.cut.records()
		for _, ref := range p.records {
			r := p.cut.record(ref)
			if r.disposed() != nil {
				p.disposed = append(p.disposed, ref)
			}
			if r.last() && (r.line.unregistered || gone[r.w]) {
				p.ended = append(p.ended, ref)
			}
			if r.open() {
				p.open[r.w] = append(p.open[r.w], r)
			}
		}
		slices.SortFunc(p.disposed, func(x, y recordRef) int {
			a, b := p.cut.record(x), p.cut.record(y)
			return cmp.Or(cmp.Compare(a.disposed().ns, b.disposed().ns), slices.Compare(a.handle[:], b.handle[:]))
		})
	})
}

// length is how much there is to give.
func (p *past) length() int {
	return len(p.records) + len(p.disposed) + len(p.ended) + len(p.cut.writers)
}

// writtenAfter tells whether something is kept that came after a record, which is the latest of its writer in the instance, of
// another writer for which of is true: of one of several incarnations that serve a reader as one, the latest counts, and what an
// earlier one has unregistered does not.
func (p *past) writtenAfter(r cutRecord, of func(*storedWriter) bool) bool {
	return slices.ContainsFunc(p.beside[r.line.instance], func(o *cutLine) bool {
		return o != r.line && of(o.w) && len(o.records) > 0 && o.records[len(o.records)-1].arrival > r.arrival
	})
}

// owed is a history that a reader is to be given: as what matched it when that was put off, and as of that moment.
type owed struct {
	past     *past
	coherent bool
	at       int64 // that moment, which is when the reader is said to have received all of it
	matches  map[*storedWriter]match
	given    int
	prepared bool // it is, or will be when it goes on
}

// oweOf makes what a reader is owed of a history. Writers that have left are matched by what they announced when they lived.
func (h *hub) oweOf(b *backlog, p *past) *owed {
	p.users.Add(1)
	a := b.r.reader.sub.access
	o := &owed{past: p, coherent: a != nil && a.coherent, at: now(), matches: make(map[*storedWriter]match)}
	for i := range p.cut.writers {
		w := p.cut.writers[i].w
		if m := h.matchWith(b, w); m != nil {
			o.matches[w] = *m
		}
	}
	return o
}

// give gives up to n more of it, and tells whether that is all; left is how many more it could have given.
func (o *owed) give(h *hub, n int) (left int, all bool) {
	p := o.past
	for ; n > 0; n-- {
		i := o.given
		o.given++
		if i < len(p.records) {
			o.giveSample(h, p.cut.record(p.records[i]))
			continue
		}
		if i -= len(p.records); i < len(p.disposed) {
			o.giveDisposal(h, p.cut.record(p.disposed[i]))
			continue
		}
		if i -= len(p.disposed); i < len(p.ended) {
			o.giveEnd(h, p.cut.record(p.ended[i]))
			continue
		}
		if i -= len(p.ended); i == len(p.cut.writers) {
			return n, true
		}
		o.giveSet(h, &p.cut.writers[i])
	}
	return 0, false
}

// apart: of a set that is open nothing is seen before its end, if the reader asks for that; else as at readers that were there.
func (o *owed) apart(r cutRecord) bool { return o.coherent && r.open() }

func (o *owed) giveSample(h *hub, r cutRecord) {
	if m, of := o.matches[r.w]; of && !r.line.disposed.over(o.at) && !o.apart(r) && !m.stream.has(r.message.WriterSeq) {
		sample := r.message
		sample.Flags = flagPast
		h.enqueue(m, &sample, itemData, r.handle, o.at)
	}
}

func (o *owed) giveDisposal(h *hub, r cutRecord) {
	by := r.disposed()
	if m, of := o.matches[by.w]; of && !by.over(o.at) && !(o.apart(r) && r.w == by.w) {
		h.enqueue(m, r.since(by.ns, flagPast), itemDispose, r.handle, o.at)
	}
}

// giveEnd tells that the writer of a record has unregistered its instance, or is gone.
func (o *owed) giveEnd(h *hub, r cutRecord) {
	m, of := o.matches[r.w]
	if !of || r.line.disposed.over(o.at) || o.apart(r) || !r.line.unregistered && m.src.key != r.w.key {
		return
	}
	same := func(w *storedWriter) bool {
		other, of := o.matches[w]
		return of && other.src == m.src
	}
	if !o.past.writtenAfter(r, same) {
		h.enqueue(m, r.since(r.message.Timestamp, flagPast), itemUnregister, r.handle, o.at)
	}
}

func (o *owed) giveSet(h *hub, w *cutWriter) {
	if w.set.first == 0 || !o.coherent {
		return
	}
	if m, of := o.matches[w.w]; of && m.stream != nil && m.stream.key == w.w.key {
		h.giveOpen(m, w, o.past.open[w.w], o.at)
	}
}

// giveOpen puts what a history has of a set that is open into the stream of a match, for what comes of the set to join it. For
// what was sent in it and is not kept, the numbers of its first and its latest message stand: so the set has its beginning, and
// what comes later has to follow without a gap. The stream of a reader that is given the history anew may have it already.
func (h *hub) giveOpen(m match, w *cutWriter, open []cutRecord, at int64) {
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
	for _, r := range open {
		sample := r.message
		give(&sample, itemData, r.handle)
		if by := r.disposed(); by != nil && by.w == w.w {
			give(r.since(by.ns, 0), itemDispose, r.handle)
		}
		if r.last() && r.line.unregistered {
			give(r.since(r.message.Timestamp, 0), itemUnregister, r.handle)
		}
	}
	if last < w.set.last {
		give(&derecho.Message{Header: derecho.Header{WriterSeq: w.set.last}}, itemNothing, HandleNil)
	}
}
