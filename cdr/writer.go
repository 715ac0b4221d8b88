package cdr

import (
	"fmt"
	"strings"
)

// Stream is a sample that is being written in place by generated writers, one for the sample and one for each value within it that is
// open. It is the caller's, usually a local variable, and may be used for one sample after the other.
//
// Only the innermost writer may write. Each has a number that is used once, so a writer that is not the innermost one, has ended, or belongs to
// an earlier sample is told from the one that may.
type Stream struct {
	e     Encoder
	whole []byte
	info  *TypeInfo
	enc   Encapsulation
	open  uint32 // number of the innermost writer; 0 for none
	last  uint32 // number that was given last
}

// Slot describes a member for a writer.
type Slot struct {
	Name     string
	ID       uint32 // with MustUnderstand where it has to be; 0 where no header has it
	Code     uint8  // the length code of that header in XCDR2
	Optional bool
}

// Writer is the part of a generated writer that does not depend on the type. It takes the members of a value in the order of their
// declaration, in each encoding, and knows where in the value it is.
type Writer struct {
	s     *Stream
	up    *Writer // of the value that this one is a part of; nil for the sample
	slots []Slot
	id    uint32
	pos   int // of the encoder when this writer was left: a copy that has fallen behind is told by it
	at    int // the next member
	mark  Mark
	x     Extensibility
	union bool // slot 0 is the discriminator; one of the others follows at most

	header MemberMark // of the member that is open
	list   struct {
		n, left int // elements, and those that are to come; 0 while no collection is open
		mark    Mark
	}
}

// Open starts a sample in buf, encapsulation header included. It gives the writer of its members.
func (s *Stream) Open(buf []byte, enc Encapsulation, t *TypeInfo, slots []Slot, union bool) Writer {
	s.whole, s.info, s.enc = buf, t, enc
	if err := s.e.open(buf, t, enc, t.Extensibility); err != nil {
		s.e.start(nil, enc)
		s.e.fail(err.(*Error))
	}
	return s.begin(nil, t.Extensibility, slots, union)
}

// begin gives a writer back, rather than to fill one in, so that the compiler sees that the stream and the writer above do not outlive it.
func (s *Stream) begin(up *Writer, x Extensibility, slots []Slot, union bool) Writer {
	s.last++
	s.open = s.last
	w := Writer{s: s, up: up, slots: slots, id: s.last, x: x, union: union, mark: s.e.Begin(x)}
	w.pos = s.e.pos
	if s.e.err != nil && s.e.err.Path == "" {
		w.locate("")
	}
	return w
}

// Nest gives the writer of a value within another. Without up, an error has been kept: so of what Begin or BeginElement gives.
func Nest(up *Writer, x Extensibility, slots []Slot, union bool) Writer {
	if up == nil {
		return Writer{}
	}
	return up.s.begin(up, x, slots, union)
}

// encoder gives the encoder of the stream so that the compiler does not see where it is from: what is kept in it, the memory for the keys of maps and the
// first error, would have the stream and all writers escape. For the same reason names are copied into errors.
func (w *Writer) encoder() *Encoder { return confined(&w.s.e) }

// ready tells whether w may write.
func (w *Writer) ready() bool {
	return w.s != nil && w.s.open == w.id && w.s.e.pos == w.pos && w.s.e.err == nil
}

// Next gives the encoder for member i, and writes what stands before its value; nil means that an error has been kept. Done follows.
func (w *Writer) Next(i int) *Encoder {
	if !w.ready() || w.at != i || w.list.left != 0 {
		if !w.seek(i) {
			return nil
		}
	}
	w.at = i + 1
	e := w.encoder()
	switch slot := &w.slots[i]; {
	case w.x == Mutable:
		w.header = e.BeginMember(slot.ID, int(slot.Code))
	case slot.Optional:
		w.header, _ = e.BeginOptional(slot.ID, true)
	}
	return e
}

// seek passes over optional members, which are absent, up to member i.
func (w *Writer) seek(i int) bool {
	switch {
	case w.s == nil:
		return false
	case !w.usable(w.slots[i].Name):
		return false
	case w.at > i:
		detail := "set after " + w.slots[w.at-1].Name + "; a writer takes each member once, in the order of their declaration"
		if w.union {
			detail = "set after another member; a union holds one"
		}
		w.fail(w.slots[i].Name, detail)
		return false
	case w.union && w.at == 1: // the discriminator has been written, and selects it
		w.at = i
		return true
	}
	return w.pass(i)
}

// usable keeps an error about name if w must not write now.
func (w *Writer) usable(name string) bool {
	s := w.s
	switch {
	case s == nil || s.e.err != nil:
		return false
	case s.open != w.id:
		w.fail(name, "not by the innermost writer: one that this one began has not ended, or this one has")
	case s.e.pos != w.pos:
		w.fail(name, "by a copy of a writer that has gone on; writers are not to be copied")
	case w.list.left != 0:
		w.fail(w.slots[w.at-1].Name, fmt.Sprintf("%d of its %d elements are not added", w.list.left, w.list.n))
	default:
		return true
	}
	return false
}

// pass writes that the members up to member i are absent, which only optional ones may be.
func (w *Writer) pass(i int) bool {
	for ; w.at < i && w.s.e.err == nil; w.at++ {
		switch slot := &w.slots[w.at]; {
		case !slot.Optional:
			w.fail(slot.Name, "not set")
		case w.x != Mutable:
			w.encoder().BeginOptional(slot.ID, false)
			if w.s.e.err != nil {
				w.locate(slot.Name)
			}
		}
	}
	return w.s.e.err == nil
}

// Done ends what Next began.
func (w *Writer) Done() {
	e := w.encoder()
	if e.err != nil {
		w.locate(w.slots[w.at-1].Name)
		return
	}
	e.EndMember(w.header)
	w.header = MemberMark{}
	w.pos = e.pos
	if e.err != nil {
		w.locate(w.slots[w.at-1].Name)
	}
}

// Room is Next, a sequence of n octets for the caller to fill, and Done.
func (w *Writer) Room(i, n, bound int) []byte {
	e := w.Next(i)
	if e == nil {
		return nil
	}
	e.Room("", n, bound)
	w.Done()
	if e.err != nil {
		return nil
	}
	return e.buf[e.pos-n : e.pos : e.pos] // Done may have moved them
}

// Begin starts member i, a value with a writer of its own, whose End ends it. nil means that an error has been kept.
func (w *Writer) Begin(i int) *Writer {
	if e := w.Next(i); e == nil || !w.enter() {
		return nil
	}
	return w
}

// enter makes room for a writer within this one.
func (w *Writer) enter() bool {
	if w.encoder().Enter() {
		return true
	}
	w.locate(w.slots[w.at-1].Name)
	return false
}

// BeginSequence starts member i, a sequence of n elements.
func (w *Writer) BeginSequence(i, n, bound int) {
	if e := w.Next(i); e != nil {
		w.elements(n, e.BeginSequence("", n, bound, false))
	}
}

// BeginArray starts member i, an array of n elements.
func (w *Writer) BeginArray(i, n int) {
	if e := w.Next(i); e != nil {
		w.elements(n, e.BeginArray())
	}
}

// BeginMap starts member i, a map of n pairs.
func (w *Writer) BeginMap(i, n, bound int, primitive bool) {
	if e := w.Next(i); e != nil {
		w.elements(n, e.BeginMap("", n, bound, primitive))
	}
}

func (w *Writer) elements(n int, mark Mark) {
	w.list.n, w.list.left, w.list.mark = n, n, mark
	w.pos = w.s.e.pos
	if n == 0 || w.s.e.err != nil {
		w.endElements()
	}
}

// Element gives the encoder for the next element of member i; nil means that an error has been kept. DoneElement follows.
func (w *Writer) Element(i int) *Encoder {
	switch {
	case w.s == nil:
	case w.ready() && w.list.left > 0 && w.at == i+1:
		if w.encoder().Enter() {
			return w.encoder()
		}
		w.locateElement()
	case w.s.e.err == nil && (w.list.left == 0 || w.at != i+1):
		w.fail(w.slots[i].Name, "an element more than it was begun with")
	default:
		left := w.list.left
		w.list.left = 0
		w.usable(w.slots[i].Name)
		w.list.left = left
	}
	return nil
}

// BeginElement is Element for a value with a writer of its own, whose End ends it.
func (w *Writer) BeginElement(i int) *Writer {
	if w.Element(i) == nil {
		return nil
	}
	return w
}

// BeginValue is BeginElement for the value of a pair, whose key has been written with the encoder that Element gave.
func (w *Writer) BeginValue() *Writer {
	if w.s.e.err != nil {
		w.locateElement()
		return nil
	}
	return w
}

// DoneElement ends what Element began.
func (w *Writer) DoneElement() {
	e := w.encoder()
	e.depth--
	if e.err != nil {
		w.locateElement()
		return
	}
	w.pos = e.pos
	if w.list.left--; w.list.left == 0 {
		w.endElements()
	}
}

func (w *Writer) endElements() {
	w.encoder().End(w.list.mark)
	w.Done()
}

// End ends a value within another.
func (w *Writer) End() {
	if w.up == nil {
		if w.s != nil && w.s.e.err == nil {
			w.fail("", "End is for a value within another; a sample ends with Finish")
		}
		return
	}
	if !w.close() {
		return
	}
	w.s.open = w.up.id
	if w.up.list.left > 0 {
		w.up.DoneElement()
	} else {
		w.s.e.depth--
		w.up.Done()
	}
}

// close ends the members.
func (w *Writer) close() bool {
	s := w.s
	if s.e.err != nil || !w.usable("") {
		return false
	}
	switch {
	case !w.union && !w.pass(len(w.slots)):
		return false
	case w.union && w.at == 0:
		w.fail(w.slots[0].Name, "not set")
		return false
	}
	w.encoder().End(w.mark)
	if s.e.err != nil {
		w.locate("")
	}
	return s.e.err == nil
}

// Finish completes the sample and gives its length.
func (w *Writer) Finish() (int, error) {
	s := w.s
	switch {
	case s == nil:
		return 0, &Error{Op: "write", Err: ErrMember, Detail: "writer was not made by its New function, or by one that could begin it"}
	case w.up != nil:
		if s.e.err == nil {
			w.fail("", "Finish is for a sample; a value within another ends with End")
		}
	default:
		w.close()
	}
	n, err := w.encoder().finish(s.whole, s.enc, "write", s.info)
	if err == nil {
		s.open = 0
		s.e.start(nil, s.enc)
	}
	return n, err
}

// Fail keeps an error about member i.
func (w *Writer) Fail(i int, detail string) {
	if w.s != nil && w.usable(w.slots[i].Name) {
		w.fail(w.slots[i].Name, detail)
	}
}

// fail keeps an error about a member.
func (w *Writer) fail(name, detail string) {
	w.encoder().fail(&Error{Err: ErrMember, Detail: detail})
	w.locate(name)
}

// locate gives an error the path of a member, and puts the values before it that this one lies in.
func (w *Writer) locate(name string) {
	err := w.encoder().err
	if name != "" && err.Path == "" {
		err.Path = strings.Clone(name)
	}
	w.above(err)
}

// locateElement is locate for the element that is open.
func (w *Writer) locateElement() {
	err := w.encoder().err
	err.withinElement(strings.Clone(w.slots[w.at-1].Name), w.list.n-w.list.left)
	w.above(err)
}

func (w *Writer) above(err *Error) {
	for up := w.up; up != nil; up = up.up {
		name := up.slots[max(up.at, 1)-1].Name
		if up.list.left > 0 {
			err.withinElement(strings.Clone(name), up.list.n-up.list.left)
		} else {
			err.within(strings.Clone(name))
		}
	}
}
