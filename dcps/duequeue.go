package dcps

// dueQueue lists elements by the time at which something is due with each: a binary heap whose elements know their place
// in it, so that setting an alarm and taking one off cost the logarithm of their number.
//
// An alarm that is set too early does no harm: who takes it looks what is due and sets it again. So what is put off with
// every sample, like DEADLINE, moves its alarm once a period and not once a sample.
type dueQueue[E dueElement] struct{ heap []dueEntry[E] }

type dueElement interface {
	comparable
	// place points to the element's index in the heap plus one; 0 means that it is not in it.
	place() *int32
}

type dueEntry[E dueElement] struct {
	at int64
	e  E
}

// next is when the earliest is due; 0 if there is none.
func (q *dueQueue[E]) next() int64 {
	if len(q.heap) == 0 {
		return 0
	}
	return q.heap[0].at
}

// by sees to it that e is taken at the given time or earlier.
func (q *dueQueue[E]) by(e E, at int64) {
	p := e.place()
	switch {
	case *p == 0:
		q.heap = append(q.heap, dueEntry[E]{at, e})
		*p = int32(len(q.heap))
	case q.heap[*p-1].at <= at:
		return
	default:
		q.heap[*p-1].at = at
	}
	q.up(int(*p - 1))
}

// remove takes e out, if it is in.
func (q *dueQueue[E]) remove(e E) {
	p := e.place()
	if *p == 0 {
		return
	}
	i, last := int(*p-1), len(q.heap)-1
	*p = 0
	moved := q.heap[last]
	q.heap[last] = dueEntry[E]{}
	q.heap = q.heap[:last]
	if i == last {
		return
	}
	q.put(i, moved)
	q.down(i)
	q.up(i)
}

// take gives and removes one whose time has come, earliest first.
func (q *dueQueue[E]) take(now int64) (e E, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at > now {
		return e, false
	}
	e = q.heap[0].e
	q.remove(e)
	return e, true
}

func (q *dueQueue[E]) put(i int, entry dueEntry[E]) {
	q.heap[i] = entry
	*entry.e.place() = int32(i + 1)
}

func (q *dueQueue[E]) up(i int) {
	entry := q.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if q.heap[parent].at <= entry.at {
			break
		}
		q.put(i, q.heap[parent])
		i = parent
	}
	q.put(i, entry)
}

func (q *dueQueue[E]) down(i int) {
	entry := q.heap[i]
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			break
		}
		if child+1 < len(q.heap) && q.heap[child+1].at < q.heap[child].at {
			child++
		}
		if q.heap[child].at >= entry.at {
			break
		}
		q.put(i, q.heap[child])
		i = child
	}
	q.put(i, entry)
}

// after is t + d, without overflow: a time that far away is never.
func after(t, d int64) int64 {
	if s := t + d; s >= t {
		return s
	}
	return never
}
