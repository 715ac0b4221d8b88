package cdr

// Collections that are written element by element.

// element is the shape of a collection within another: it has one member, the elements.
var element = Shape{Slots: []Slot{{}}}

// NestSequence gives the writer of a sequence of n elements that is an element itself.
func NestSequence(up *Writer, p Place, n, bound int, primitive bool) Writer {
	w := Writer{Leaf: up.Begin(p, &element)}
	if e := w.Next(0); e != nil {
		w.elements(0, n, e.BeginSequence("", n, bound, primitive))
	}
	return w
}

// NestArray is NestSequence for an array.
func NestArray(up *Writer, p Place, n int, primitive bool) Writer {
	w := Writer{Leaf: up.Begin(p, &element)}
	if e := w.Next(0); e != nil {
		var mark Mark
		if !primitive {
			mark = e.BeginArray()
		}
		w.elements(0, n, mark)
	}
	return w
}

// NestMap is NestSequence for a map of n pairs.
func NestMap(up *Writer, p Place, n, bound int, primitive bool) Writer {
	w := Writer{Leaf: up.Begin(p, &element)}
	if e := w.Next(0); e != nil {
		w.elements(0, n, e.BeginMap("", n, bound, primitive))
	}
	return w
}

// BeginSequence starts member i, a sequence of n elements.
func (w *Writer) BeginSequence(i, n, bound int) {
	if e := w.Next(i); e != nil {
		w.elements(i, n, e.BeginSequence("", n, bound, false))
	}
}

// BeginArray starts member i, an array of n elements.
func (w *Writer) BeginArray(i, n int) {
	if e := w.Next(i); e != nil {
		w.elements(i, n, e.BeginArray())
	}
}

// BeginMap starts member i, a map of n pairs.
func (w *Writer) BeginMap(i, n, bound int, primitive bool) {
	if e := w.Next(i); e != nil {
		w.elements(i, n, e.BeginMap("", n, bound, primitive))
	}
}

func (w *Writer) elements(i, n int, mark Mark) {
	s := w.s
	w.at = i + 1
	w.header, s.header.start = s.header, 0
	w.list.n, w.list.left, w.list.mark, w.list.leaf = n, n, mark, nil
	if n == 0 || s.e.err != nil {
		w.endElements()
		return
	}
	w.toElement()
}

// toElement has the next element follow.
func (w *Writer) toElement() {
	s := w.s
	w.list.pos = s.e.pos
	s.left, s.total = uint32(w.list.left), uint32(w.list.n)
	s.next = w.key + listOpen + uint64(w.at)
}

// Element gives the encoder for the next element of member i; nil means that an error has been kept. DoneElement follows.
func (w *Writer) Element(i int) *Encoder {
	s := w.s
	if s == nil || s.next != w.key+listOpen+uint64(i)+1 || s.e.pos != w.list.pos || w.list.left == 0 {
		w.noElement(i)
		return nil
	}
	e := w.encoder()
	if e.depth >= MaxDepth {
		e.Enter()
		w.locateElement()
		return nil
	}
	e.depth++
	s.next = 0
	return e
}

// noElement says why there is no next element of member i.
func (w *Writer) noElement(i int) {
	s := w.s
	if s == nil || s.e.err != nil {
		return
	}
	name := w.shape.Slots[i].Name
	switch at := s.next - w.key; {
	case s.next>>upperHalf != w.key>>upperHalf:
		w.usable(name)
	case at == listOpen+uint64(i)+1:
		w.fail(name, "by a copy of a writer that has gone on; writers are not to be copied")
	default:
		w.fail(name, "an element more than it was begun with")
	}
}

// DoneElement ends what Element began.
func (w *Writer) DoneElement() {
	e := w.encoder()
	e.depth--
	if e.err != nil {
		w.locateElement()
		return
	}
	w.ended()
}

// ended takes the turn back from a value within.
func (w *Writer) ended() {
	if w.list.left > 1 {
		w.list.left--
		w.toElement()
		return
	}
	w.endElements()
}

// endElements ends the member that was begun last.
func (w *Writer) endElements() {
	s := w.s
	w.encoder().End(w.list.mark)
	w.list.left, w.list.mark, w.list.leaf = 0, Mark{}, nil
	s.header, s.member = w.header, uint32(w.at-1)
	w.Done()
}
