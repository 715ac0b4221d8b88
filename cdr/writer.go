package cdr

import (
	"fmt"
	"math"
	"strings"
)

// Stream is a sample that is being written in place by generated writers, one for the sample and one for each value within it that is
// open. It is the caller's, usually a local variable, and may be used for one sample after the other.
//
// Only the innermost writer may write. Each has a key that is used once, and the stream knows by one number whose turn it is and with which
// member: a writer that is not the innermost one, has ended, or belongs to an earlier sample is told from the one that may by a comparison.
type Stream struct {
	e Encoder
	// next is the key of the innermost writer plus the number of its next member; or plus listOpen, while elements of the member before are to come.
	// It is 0 while nobody may write: during a member, and after a mistake that is not told yet.
	next  uint64
	run   []byte // of the run whose member is next; what it is otherwise does not matter
	bad   uint64 // key and number of the first member of a run that was set when it was not next; 0 for none
	was   uint64 // next before that
	last  uint32 // number of the key that was given last
	whole []byte
	info  *TypeInfo
	enc   Encapsulation

	pending []Slot // members of the run that lies in scratch, to be written when it is complete; empty in encodings that have the bytes of runs
	scratch [MaxRun]byte
}

// listOpen stands in Stream.next for the number of a member.
const listOpen = math.MaxUint32

// MaxRun is the largest size of a run.
const MaxRun = 128

// Shape describes a type for its writers.
type Shape struct {
	Slots         []Slot
	Extensibility Extensibility
	Union         bool // slot 0 is the discriminator; one of the others follows at most
}

// Slot describes a member for a writer.
type Slot struct {
	Name     string
	ID       uint32 // with MustUnderstand where it has to be; 0 where no header has it
	Code     uint8  // the length code of that header in XCDR2
	Optional bool
	Width    uint8 // bytes of a number in a run; 0 for others
	Run      Run   // that begins with this member
}

// Run is consecutive numbers whose places are known once that of the first is. They are given as little-endian XCDR2, at constant
// offsets, and brought into another encoding when all of them are there.
type Run struct {
	Members, Size uint8
	Align         uint8 // in XCDR2
	Plain         uint8 // in XCDR1, if the offsets are the same there; 0 if they are not
	Gaps          bool  // there is padding
}

// Numbers is the part of a generated writer that takes the numbers of a run. It is all of the writer of a struct that is one.
// It holds no state: copies are as good.
type Numbers struct {
	s     *Stream
	up    *Writer // of the value that this one is a part of; nil for the sample
	shape *Shape
	key   uint64
}

// Writer is the part of a generated writer that does not depend on the type. It takes the members of a value in the order of their
// declaration, in each encoding, and knows where in the value it is.
type Writer struct {
	Numbers
	pos    int // of the encoder when this writer was left: a copy that has fallen behind is told by it
	at     int // behind the member that was begun last
	picked int // the slot that the discriminator of a union selects, if it was set by itself; -1 for none, 0 if it was not
	mark   Mark

	header MemberMark // of the member that is open
	list   struct {
		n, left int // elements, and those that are to come; 0 while no collection is open
		mark    Mark
	}
}

// Open starts a sample in buf, encapsulation header included. It gives the writer of its members.
func (s *Stream) Open(buf []byte, enc Encapsulation, t *TypeInfo, shape *Shape) Writer {
	s.start(buf, enc, t)
	return s.begin(nil, shape)
}

// OpenNumbers is Open for a struct that is one run.
func (s *Stream) OpenNumbers(buf []byte, enc Encapsulation, t *TypeInfo, shape *Shape) Numbers {
	s.start(buf, enc, t)
	return s.beginNumbers(nil, shape)
}

func (s *Stream) start(buf []byte, enc Encapsulation, t *TypeInfo) {
	s.whole, s.info, s.enc, s.bad, s.pending = buf, t, enc, 0, nil
	if s.last >= math.MaxUint32/2 { // no key is 0, however long the stream is in use
		s.last = 0
	}
	if err := s.e.open(buf, t, enc, t.Extensibility); err != nil {
		s.e.start(nil, enc)
		s.e.fail(err.(*Error))
	}
}

// begin gives a writer back, rather than to fill one in, so that the compiler sees that the stream and the writer above do not outlive it.
func (s *Stream) begin(up *Writer, shape *Shape) Writer {
	s.last++
	w := Writer{Numbers: Numbers{s: s, up: up, shape: shape, key: uint64(s.last) << 32}, mark: s.e.Begin(shape.Extensibility)}
	if len(shape.Slots) > 0 && shape.Slots[0].Run.Members > 0 {
		confined(s).claim(shape.Slots, 0)
	}
	w.pos = s.e.pos
	s.next = w.key
	if s.e.err != nil {
		w.began()
	}
	return w
}

// beginNumbers is begin for a struct that is one run.
func (s *Stream) beginNumbers(up *Writer, shape *Shape) Numbers {
	s.last++
	n := Numbers{s: s, up: up, shape: shape, key: uint64(s.last) << 32}
	if shape.Extensibility == Appendable && s.e.v2 {
		s.e.Uint32(uint32(shape.Slots[0].Run.Size)) // the DHEADER: the length is known
	}
	confined(s).claim(shape.Slots, 0)
	if s.next = n.key; s.e.err != nil {
		n.began()
	}
	return n
}

// began puts the path into an error at the beginning of a value, after which nobody may write.
func (n *Numbers) began() {
	n.s.next = 0
	if n.encoder().err.Path == "" {
		n.locate("")
	}
}

// Nest gives the writer of a value within another. Without up, an error has been kept: so of what Begin or BeginElement gives.
func Nest(up *Writer, shape *Shape) Writer {
	if up == nil {
		return Writer{}
	}
	return up.s.begin(up, shape)
}

// NestNumbers is Nest for a struct that is one run.
func NestNumbers(up *Writer, shape *Shape) Numbers {
	if up == nil {
		return Numbers{}
	}
	return up.s.beginNumbers(up, shape)
}

// element is the shape of a collection within another: it has one member, the elements.
var element = Shape{Slots: []Slot{{}}}

// NestSequence gives the writer of a sequence of n elements that is an element itself.
func NestSequence(up *Writer, n, bound int, primitive bool) Writer {
	w := Nest(up, &element)
	if e := w.Next(0); e != nil {
		w.elements(n, e.BeginSequence("", n, bound, primitive))
	}
	return w
}

// NestArray is NestSequence for an array.
func NestArray(up *Writer, n int, primitive bool) Writer {
	w := Nest(up, &element)
	if e := w.Next(0); e != nil {
		var mark Mark
		if !primitive {
			mark = e.BeginArray()
		}
		w.elements(n, mark)
	}
	return w
}

// NestMap is NestSequence for a map of n pairs.
func NestMap(up *Writer, n, bound int, primitive bool) Writer {
	w := Nest(up, &element)
	if e := w.Next(0); e != nil {
		w.elements(n, e.BeginMap("", n, bound, primitive))
	}
	return w
}

// encoder gives the encoder of the stream so that the compiler does not see where it is from: what is kept in it, the memory for the keys of maps and the
// first error, would have the stream and all writers escape. For the same reason names are copied into errors.
func (n *Numbers) encoder() *Encoder { return confined(&n.s.e) }

// claim makes room for the run that begins with member i. It is in scratch where the encoding has other bytes for it.
func (s *Stream) claim(slots []Slot, i int) {
	r, e := &slots[i].Run, &s.e
	align := int(r.Align)
	if !e.v2 {
		align = int(r.Plain)
	}
	end := e.pos + int(r.Size)
	switch {
	case e.big || align == 0:
		s.run = s.scratch[:r.Size]
		s.pending = slots[i : i+int(r.Members)]
	case (e.origin-e.pos)&(align-1)&e.mask == 0 && end <= len(e.buf):
		s.run = e.buf[e.pos:end:end] // as take gives them, most often
		e.pos = end
	default:
		s.run = e.take(align, int(r.Size))
	}
	if r.Gaps {
		clear(s.run)
	}
}

// flush writes the members that lie in scratch. It gives the name of the one that could not be written.
func (s *Stream) flush() (failed string) {
	at, e := 0, &s.e
	for i := range s.pending {
		width := int(s.pending[i].Width)
		at = AlignUp(at, min(width, 4))
		b := e.take(width, width)
		if b == nil {
			failed = s.pending[i].Name
			break
		}
		copy(b, s.scratch[at:at+width])
		if e.big {
			swap(b, s.scratch[at:at+width], width)
		}
		at += width
	}
	s.pending = nil
	return failed
}

// In gives the bytes of the run that member i, a number, is in; none if the member is not next, which is told later.
func (n *Numbers) In(i uint64) []byte {
	s := n.s
	if s == nil {
		return nil
	}
	if s.next != n.key+i {
		if s.bad == 0 {
			s.was, s.bad, s.next = s.next, n.key+i, 0
		}
		return nil
	}
	s.next++
	return s.run
}

// Run is In for a member that a run begins with.
func (w *Writer) Run(i int) []byte {
	if w.s == nil || !w.turn(i) && !w.seek(i) {
		return nil
	}
	s := confined(w.s)
	s.claim(confined(w.shape).Slots, i)
	if s.e.err != nil {
		s.next = 0
		w.locate(w.shape.Slots[i].Name)
		return nil
	}
	w.at = i + 1
	w.pos = s.e.pos
	s.next = w.key + uint64(w.at)
	return s.run
}

// turn tells whether w may write, and member i is next.
func (w *Writer) turn(i int) bool {
	s := w.s
	return s.next == w.key+uint64(i) && s.e.pos == w.pos && len(s.pending) == 0
}

// Next gives the encoder for member i, and writes what stands before its value; nil means that an error has been kept. Done follows.
func (w *Writer) Next(i int) *Encoder {
	if w.s == nil || !w.turn(i) && !w.seek(i) {
		return nil
	}
	w.s.next = 0
	w.at = i + 1
	e := w.encoder()
	switch slot := &w.shape.Slots[i]; {
	case w.shape.Extensibility == Mutable:
		w.header = e.BeginMember(slot.ID, int(slot.Code))
	case slot.Optional:
		w.header, _ = e.BeginOptional(slot.ID, true)
	}
	return e
}

// seek passes over optional members, which are absent, up to member i.
func (w *Writer) seek(i int) bool {
	if !w.usable(w.shape.Slots[i].Name) {
		return false
	}
	switch {
	case w.at > i:
		w.misplaced(i)
		return false
	case w.shape.Union && w.at == 1: // the discriminator has been written, and selects it
		w.at = i
		return true
	}
	return w.pass(i)
}

// misplaced keeps the error that member i comes too late, or once more.
func (w *Writer) misplaced(i int) {
	slots := w.shape.Slots
	if w.shape.Union {
		w.fail(slots[i].Name, "set after another member; a union holds one")
		return
	}
	w.fail(slots[i].Name, "set after "+slots[w.at-1].Name+"; a writer takes each member once, in the order of their declaration")
}

// usable keeps an error about name if w must not write now. Otherwise w.at is where it is, and no run is open, but one that is not complete.
func (w *Writer) usable(name string) bool {
	s := w.s
	switch {
	case s == nil || s.e.err != nil:
		return false
	case s.bad != 0:
		w.blame()
		return false
	case s.next>>32 != w.key>>32:
		w.fail(name, "not by the innermost writer: one that this one began has not ended, or this one has")
		return false
	case s.e.pos != w.pos:
		w.fail(name, "by a copy of a writer that has gone on; writers are not to be copied")
		return false
	case uint32(s.next) == listOpen:
		w.fail(w.shape.Slots[w.at-1].Name, fmt.Sprintf("%d of its %d elements are not added", w.list.left, w.list.n))
		return false
	}
	w.at = int(uint32(s.next))
	if !w.settle() {
		return false
	}
	w.pos = s.e.pos
	return true
}

// settle writes the run that is in scratch, if it is complete. What is missing of another one is told by pass.
func (n *Numbers) settle() bool {
	s := confined(n.s)
	at := int(uint32(s.next))
	if len(s.pending) == 0 || at == 0 || &s.pending[len(s.pending)-1] != &n.shape.Slots[at-1] {
		return true
	}
	if name := s.flush(); s.e.err != nil {
		n.locate(strings.Clone(name))
		return false
	}
	return true
}

// blame tells that a member of a run was set when it was not next. If it was not with this writer, its name is not known.
func (n *Numbers) blame() {
	s := n.s
	i, at := int(uint32(s.bad)), int(uint32(s.was))
	slots := n.shape.Slots
	switch {
	case s.bad>>32 != n.key>>32:
		n.fail("", "a member within was set by a writer that has ended, or by one that is not the innermost")
	case s.was>>32 != n.key>>32 || uint32(s.was) == listOpen:
		n.fail(slots[i].Name, "not by the innermost writer: one that this one began has not ended, or this one has")
	case at > i:
		n.fail(slots[i].Name, "set after "+slots[at-1].Name+"; a writer takes each member once, in the order of their declaration")
	default:
		n.fail(slots[at].Name, "not set")
	}
}

// pass writes that the members up to member i are absent, which only optional ones may be.
func (w *Writer) pass(i int) bool {
	for ; w.at < i && w.s.e.err == nil; w.at++ {
		switch slot := &w.shape.Slots[w.at]; {
		case !slot.Optional:
			w.fail(slot.Name, "not set")
		case w.shape.Extensibility != Mutable:
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
	if e.err == nil && w.header != (MemberMark{}) {
		e.EndMember(w.header)
		w.header = MemberMark{}
	}
	if e.err != nil {
		w.locate(w.shape.Slots[w.at-1].Name)
		return
	}
	w.pos = e.pos
	w.s.next = w.key + uint64(w.at)
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

// String is Next, a string, and Done, in one for a member that is next and has no header.
func (w *Writer) String(i int, v string, bound int) {
	if w.s == nil || !w.turn(i) || w.shape.Extensibility == Mutable || w.shape.Slots[i].Optional {
		if e := w.Next(i); e != nil {
			e.String("", v, bound)
			w.Done()
		}
		return
	}
	w.at = i + 1
	e := w.encoder()
	e.String("", v, bound)
	if e.err != nil {
		w.locate(w.shape.Slots[i].Name)
		return
	}
	w.pos = e.pos
	w.s.next = w.key + uint64(w.at)
}

// Chosen tells whether the discriminator of a union has been written. That it selects another member than i is an error.
func (w *Writer) Chosen(i int) bool {
	if w.picked == 0 {
		return false
	}
	if w.picked != i && w.s != nil && w.s.e.err == nil && w.s.bad == 0 && w.turn(1) {
		w.fail(w.shape.Slots[i].Name, "the discriminator selects another member, or none")
	}
	return true
}

// Pick is called when the discriminator of a union has been set by itself, and selects the member of slot i; of none if i is 0.
func (w *Writer) Pick(i int) {
	if w.picked = i; i == 0 {
		w.picked = -1
	}
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
	w.locate(w.shape.Slots[w.at-1].Name)
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
	w.s.next = w.key | listOpen
	if n == 0 || w.s.e.err != nil {
		w.endElements()
	}
}

// Element gives the encoder for the next element of member i; nil means that an error has been kept. DoneElement follows.
func (w *Writer) Element(i int) *Encoder {
	s := w.s
	if s == nil || s.next != w.key|listOpen || w.at != i+1 || s.e.pos != w.pos {
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
	open := s.next == w.key|listOpen
	if open && w.at != i+1 || !open && s.next>>32 == w.key>>32 {
		w.fail(w.shape.Slots[i].Name, "an element more than it was begun with")
		return
	}
	w.usable(w.shape.Slots[i].Name)
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
	w.s.next = w.key | listOpen
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
	if !w.nested() || !w.close() {
		return
	}
	w.up.ended()
}

// End ends a value within another.
func (n *Numbers) End() {
	s := n.s
	if s == nil || s.next != n.key+uint64(len(n.shape.Slots)) || len(s.pending) > 0 || n.up == nil {
		if !n.nested() || !n.close() {
			return
		}
	}
	n.up.ended()
}

// nested tells whether the value is within another, which End is for.
func (n *Numbers) nested() bool {
	if n.up == nil && n.s != nil && n.s.e.err == nil {
		n.fail("", "End is for a value within another; a sample ends with Finish")
	}
	return n.up != nil
}

// ended takes the turn back from a value within.
func (w *Writer) ended() {
	if w.list.left > 0 {
		w.DoneElement()
		return
	}
	w.s.e.depth--
	w.Done()
}

// close ends the members.
func (w *Writer) close() bool {
	s := w.s
	if s.e.err != nil || !w.usable("") {
		return false
	}
	slots := w.shape.Slots
	switch {
	case !w.shape.Union && !w.pass(len(slots)):
		return false
	case w.shape.Union && w.at == 0:
		w.fail(slots[0].Name, "not set")
		return false
	case w.shape.Union && w.at == 1 && w.picked > 0:
		w.fail(slots[w.picked].Name, "not set; the discriminator selects it")
		return false
	}
	w.encoder().End(w.mark)
	if s.e.err != nil {
		w.locate("")
	}
	return s.e.err == nil
}

// close ends the members.
func (n *Numbers) close() bool {
	s := n.s
	switch {
	case s.e.err != nil:
	case s.bad != 0:
		n.blame()
	case s.next>>32 != n.key>>32:
		n.fail("", "not by the innermost writer: one that this one began has not ended, or this one has")
	case int(uint32(s.next)) < len(n.shape.Slots):
		n.fail(n.shape.Slots[uint32(s.next)].Name, "not set")
	default:
		return n.settle()
	}
	return false
}

// Finish completes the sample and gives its length.
func (w *Writer) Finish() (int, error) {
	if w.outermost() {
		w.close()
	}
	return w.finish()
}

// Finish completes the sample and gives its length.
func (n *Numbers) Finish() (int, error) {
	if n.outermost() {
		n.close()
	}
	return n.finish()
}

// outermost tells whether the value is a sample, which Finish is for.
func (n *Numbers) outermost() bool {
	if n.up != nil && n.s.e.err == nil {
		n.fail("", "Finish is for a sample; a value within another ends with End")
	}
	return n.s != nil && n.up == nil
}

func (n *Numbers) finish() (int, error) {
	s := n.s
	if s == nil {
		return 0, &Error{Op: "write", Err: ErrMember, Detail: "writer was not made by its New function, or by one that could begin it"}
	}
	size, err := n.encoder().finish(s.whole, s.enc, "write", s.info)
	s.next = 0
	if err == nil {
		s.e.start(nil, s.enc)
	}
	return size, err
}

// NotEnumerator fails the writing for a value of member i, in a run, that its type does not know.
func (n *Numbers) NotEnumerator(i int, v int32) {
	if n.s != nil && n.s.e.err == nil {
		n.encoder().NotEnumerator("", v)
		n.locate(n.shape.Slots[i].Name)
	}
}

// RefuseRange fails the writing for a value of member i, in a run, that @min, @max or @range does not allow.
func RefuseRange[T any](n *Numbers, i int, v T, allowed string) {
	if n.s != nil && n.s.e.err == nil {
		OutOfRange(n.encoder(), "", v, allowed)
		n.locate(n.shape.Slots[i].Name)
	}
}

// fail keeps an error about a member.
func (n *Numbers) fail(name, detail string) {
	n.encoder().fail(&Error{Err: ErrMember, Detail: detail})
	n.locate(name)
}

// locate gives an error the path of a member, and puts the values before it that this one lies in. Nobody may write any more.
func (n *Numbers) locate(name string) {
	n.s.next = 0
	err := n.encoder().err
	if name != "" && err.Path == "" {
		err.Path = strings.Clone(name)
	}
	n.above(err)
}

// locateElement is locate for the element that is open.
func (w *Writer) locateElement() {
	w.s.next = 0
	err := w.encoder().err
	err.withinElement(strings.Clone(w.shape.Slots[w.at-1].Name), w.list.n-w.list.left)
	w.above(err)
}

func (n *Numbers) above(err *Error) {
	for up := n.up; up != nil; up = up.up {
		name := up.shape.Slots[max(up.at, 1)-1].Name
		if up.list.left > 0 {
			err.withinElement(strings.Clone(name), up.list.n-up.list.left)
		} else {
			err.within(strings.Clone(name))
		}
	}
}
