package dcps

import (
	"cmp"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/derecho"
)

// past is the history of a channel as it is given to readers that come late: all that is kept, in the order in which it came,
// then what was disposed, then what was unregistered, then the sets that are open.
//
//	the polling goroutine  takes its cut, counts its users, and gives it
//	anybody in between     prepares it, once the cut is whole
type past struct {
	cut   *cut
	users int // the cut ends with the last one

	once     sync.Once
	records  []recordRef
	disposed []recordRef // the latest of each instance that is disposed and not forgotten, in the order of that
	ended    []recordRef // the latest of each line whose writer unregistered the instance, or is gone
	open     map[*storedWriter][]cutRecord
	beside   map[int][]*cutLine // the lines of an instance that several writers have written
}

// newPast has one user, which ends with begun.
func newPast(c *cut) *past { return &past{cut: c, users: 1} }

func (p *past) begun() { p.drop() }

// drop ends a user.
func (p *past) drop() {
	if p.users--; p.users == 0 {
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

// writtenAfter tells whether something is kept that came after a record, which is the latest of its writer in the instance, of
// another writer for which of is true: of one of several incarnations that serve a reader as one, the latest counts, and what an
// earlier one has unregistered does not.
func (p *past) writtenAfter(r cutRecord, of func(*storedWriter) bool) bool {
	return slices.ContainsFunc(p.beside[r.line.instance], func(o *cutLine) bool {
		return o != r.line && of(o.w) && len(o.records) > 0 && o.records[len(o.records)-1].arrival > r.arrival
	})
}

// give gives a reader up to n more of what it is entitled to, and tells whether that is all; left is how many more it could have
// given. Writers that have left are matched by what they announced when they lived.
func (p *past) give(h *hub, b *backlog, n int) (left int, all bool) {
	at := now()
	coherent := b.r.reader.sub.access != nil && b.r.reader.sub.access.coherent
	// Of a set that is open nothing is seen before its end, if the reader asks for that; else as at readers that were there.
	apart := func(r cutRecord) bool { return coherent && r.open() }
	matches := make(map[*storedWriter]*match)
	of := func(w *storedWriter) *match {
		m, known := matches[w]
		if !known {
			m = h.matchWith(b, w)
			matches[w] = m
		}
		return m
	}
	for ; n > 0; n-- {
		i := b.given
		b.given++
		if i < len(p.records) {
			r := p.cut.record(p.records[i])
			if r.line.disposed.over(at) || apart(r) {
				continue
			}
			if m := of(r.w); m != nil && !m.stream.has(r.message.WriterSeq) {
				sample := r.message
				sample.Flags = flagPast
				h.enqueue(*m, &sample, itemData, r.handle, at)
			}
			continue
		}
		if i -= len(p.records); i < len(p.disposed) {
			r := p.cut.record(p.disposed[i])
			by := r.disposed()
			if m := of(by.w); m != nil && !by.over(at) && !(apart(r) && r.w == by.w) {
				h.enqueue(*m, r.since(by.ns, flagPast), itemDispose, r.handle, at)
			}
			continue
		}
		if i -= len(p.disposed); i < len(p.ended) {
			r := p.cut.record(p.ended[i])
			if m := of(r.w); m != nil && !r.line.disposed.over(at) && !apart(r) && (r.line.unregistered || m.src.key == r.w.key) &&
				!p.writtenAfter(r, func(w *storedWriter) bool { return of(w) == m }) {
				h.enqueue(*m, r.since(r.message.Timestamp, flagPast), itemUnregister, r.handle, at)
			}
			continue
		}
		if i -= len(p.ended); i == len(p.cut.writers) {
			return n, true
		}
		w := &p.cut.writers[i]
		if w.set.first == 0 {
			continue
		}
		if m := of(w.w); m != nil && m.stream != nil && m.stream.key == w.w.key && coherent {
			h.giveOpen(*m, w, p.open[w.w], at)
		}
	}
	return 0, false
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
