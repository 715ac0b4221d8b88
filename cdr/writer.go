package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Stream is a sample that is being written in place by generated writers, one for the sample and one for each value
// within it that is open. It is the caller's, usually a local variable, and may be used for one sample after the other.
//
// Only the innermost writer may write. Each has a key that is used once, and the stream knows by one number whose turn
// it is and with which member: a writer that is not the innermost one, has ended, or belongs to an earlier sample is
// told from the one that may by a comparison.
type Stream struct {
	e Encoder
	// next is the key of the innermost writer plus the number of its next member; plus listOpen, while elements of the
	// member before are to come. It is 0 while nobody may write: during a member, and after a mistake that is not told
	// yet.
	next uint64
	run  []byte // of the run whose member is next; what it is otherwise does not matter
	bad  uint64 // key and number of the first member of a run that was set when it was not next; 0 for none
	was  uint64 // next before that

	pending []Slot // members that lie in scratch, to be written when they are complete; empty in little-endian XCDR2
	header  MemberMark
	member  uint32 // that Next has begun, with that header
	picked  int32  // the slot that the discriminator of the innermost union selects, if that was set by itself; -1 for none
	left    uint32 // elements that are to come of the list that is open innermost,
	total   uint32 // of so many
	last    uint32 // number of the key that was given last

	whole   *[HeaderSize]byte
	info    *TypeInfo
	enc     Encapsulation
	scratch [MaxRun]byte
}

// The lower half of Stream.next and of keys: the offset behind the DHEADER of the value, plus the number of a member,
// plus listOpen. Samples are too small for a sum to reach the upper half.
const (
	listOpen   = 1 << 31
	maxWritten = 1 << 30
	upperHalf  = 32
)

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
	Width    uint8 // bytes of a number that is in a run, or is optional or of a mutable type; 0 for others
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

// Leaf is the part of a generated writer that does not depend on the type, where no member has a writer of its own. It
// takes the members of a value in the order of their declaration, in each encoding. It holds no state, but what says
// whose it is: copies are as good.
type Leaf struct {
	s     *Stream
	up    *Writer // of the value that this one is a part of; nil for the sample
	shape *Shape
	key   uint64 // a number in the upper half, the offset behind the DHEADER in the lower half; 0 there if the value ends without completing one
}

// Writer is a Leaf of a type that has members with writers of their own. It knows where in the value it is while one of
// these is open.
type Writer struct {
	Leaf
	at     int        // behind the member that was begun last
	header MemberMark // of that member
	child  uint64     // key of the writer that was begun last: see rise
	list   struct {
		n, left int // elements, and those that are to come; 0 while no collection is open
		pos     int // of the encoder when an element was begun or added last: a copy that has fallen behind is told by it
		mark    Mark
		// leaf is the shape of the elements, once one has been begun that starts with a run without gaps, in
		// little-endian XCDR2, and has nothing in front or behind; nil before, and while no collection is open. Neither
		// the encoding nor the depth changes meanwhile.
		leaf *Shape
		size int // of that run
		mask int // its alignment less 1
	}
}

// Open starts a sample in buf, encapsulation header included. It gives the writer of its members.
func (s *Stream) Open(buf []byte, enc Encapsulation, t *TypeInfo, shape *Shape) Leaf {
	s.info, s.enc, s.bad, s.pending, s.header.start, s.whole = t, enc, 0, nil, 0, nil
	if s.last >= math.MaxUint32/2 { // no key is 0, however long the stream is in use
		s.last = 0
	}
	if !enc.fits(t.Extensibility) || len(buf) < HeaderSize {
		err := s.e.open(buf, t, enc, t.Extensibility)
		s.e.start(nil, enc)
		s.e.fail(err.(*Error))
		return s.begin(nil, shape)
	}
	s.whole = (*[HeaderSize]byte)(buf)
	s.e.start(buf[HeaderSize:min(len(buf), maxWritten)], enc)
	return s.begin(nil, shape)
}

// begin gives a writer back, rather than to fill one in, so that the compiler sees that the stream and the writer above
// do not outlive it.
func (s *Stream) begin(up *Writer, shape *Shape) Leaf {
	s.last++
	n := Leaf{s: s, up: up, shape: shape, key: uint64(s.last) << upperHalf}
	runs := len(shape.Slots) > 0 && shape.Slots[0].Run.Members > 0
	if shape.Extensibility != Final && s.e.v2 {
		if runs && int(shape.Slots[0].Run.Members) == len(shape.Slots) {
			s.e.Uint32(uint32(shape.Slots[0].Run.Size)) // the length is known
		} else {
			s.e.Uint32(0)
			n.key |= uint64(s.e.pos)
		}
	}
	if runs {
		confined(s).claim(shape.Slots, 0)
	}
	if up != nil {
		up.child = n.key
	}
	if s.next = n.key; s.e.err != nil {
		n.began()
	}
	return n
}

// began puts the path into an error at the beginning of a value, after which nobody may write.
func (n Leaf) began() {
	n.s.next = 0
	if n.encoder().err.Path == "" {
		n.locate("")
	}
}

// Place says which part of a value another one is.
type Place uint32

// PairValue is the value of the pair of a map whose key has been written with the encoder that Element gave.
const PairValue Place = math.MaxUint32

// Member is the place of member i.
func Member(i int) Place { return Place(i) }

// ElementOf is the place of the next element of member i.
func ElementOf(i int) Place { return Place(i) | listOpen }

// BeginLeaf starts a value within this one whose writer is a Leaf, and gives it. That has no stream if an error has been kept.
func (w *Writer) BeginLeaf(p Place, shape *Shape) Leaf {
	// First what most calls are. That the place is an element of the collection that is open, follows from whose turn it is.
	if w.list.leaf == shape {
		s, e := w.s, w.encoder()
		if end := e.pos + w.list.size; s.next == w.key+uint64(p)+1 && e.pos == w.list.pos && e.pos&w.list.mask == 0 && end <= len(e.buf) {
			confined(s).run = e.buf[e.pos:end:end]
			e.pos = end
			s.last++
			key := uint64(s.last) << upperHalf
			s.next, w.child = key, key
			return Leaf{s: s, up: w, shape: shape, key: key}
		}
	}
	if !w.descend(p) {
		return Leaf{}
	}
	if p&listOpen != 0 && p != PairValue {
		w.learn(shape)
	}
	return w.s.begin(w, shape)
}

// learn finds out whether elements of a shape can be begun in the short way.
func (w *Writer) learn(shape *Shape) {
	if !w.s.e.fast || shape.Extensibility != Final || len(shape.Slots) == 0 {
		return
	}
	if r := &shape.Slots[0].Run; r.Members > 0 && !r.Gaps {
		w.list.leaf, w.list.size, w.list.mask = shape, int(r.Size), int(r.Align)-1
	}
}

// Begin is BeginLeaf for a value whose writer is a Writer.
func (w *Writer) Begin(p Place, shape *Shape) Leaf {
	if !w.descend(p) {
		return Leaf{}
	}
	w.s.e.depth++
	return w.s.begin(w, shape)
}

// descend goes to a value within this one.
func (w *Writer) descend(p Place) bool {
	switch {
	case p == PairValue: // Element has gone down
		if w.s.e.err != nil {
			w.locateElement()
			return false
		}
		w.s.e.depth--
		return true
	case p&listOpen != 0:
		if w.Element(int(p&^listOpen)) == nil {
			return false
		}
		w.s.e.depth--
		return true
	case w.Next(int(p)) == nil:
		return false
	}
	s := w.s
	if w.at = int(p) + 1; !w.encoder().Enter() {
		w.locate(w.shape.Slots[p].Name)
		return false
	}
	s.e.depth--
	w.header, s.header.start = s.header, 0
	w.list.left, w.list.mark, w.list.leaf = 0, Mark{}, nil // of a list that was open when a copy was made, which this one may be
	return true
}

// encoder gives the encoder of the stream so that the compiler does not see where it is from: what is kept in it, the
// memory for the keys of maps and the first error, would have the stream and all writers escape. For the same reason
// names are copied into errors.
func (n Leaf) encoder() *Encoder { return confined(&n.s.e) }

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

// flush writes the members that lie in scratch, of a value of a type with extensibility x. It gives the name of the one
// that could not be written.
func (s *Stream) flush(x Extensibility) (failed string) {
	at, e := 0, &s.e
	for i := range s.pending {
		slot := &s.pending[i]
		width := int(slot.Width)
		at = AlignUp(at, min(width, 4))
		var header MemberMark
		switch {
		case x == Mutable:
			header = e.BeginMember(slot.ID, int(slot.Code))
		case slot.Optional:
			header, _ = e.BeginOptional(slot.ID, true)
		}
		if b := e.take(width, width); b != nil {
			copy(b, s.scratch[at:at+width])
			if e.big {
				swap(b, s.scratch[at:at+width], width)
			}
		}
		if e.EndMember(header); e.err != nil {
			failed = slot.Name
			break
		}
		at += width
	}
	s.pending = nil
	return failed
}

// In gives the bytes of the run that member i, a number, is in; none if the member is not next, which is told later.
func (n Leaf) In(i uint64) []byte {
	s := n.s
	if s == nil {
		return nil
	}
	if i += n.key; s.next != i {
		if s.bad == 0 {
			s.was, s.bad, s.next = s.next, i, 0
		}
		return nil
	}
	s.next = i + 1
	return s.run
}

// Run is In for a member that a run begins with.
func (n Leaf) Run(i int) []byte {
	if n.s == nil || !n.turn(i) && !n.seek(i) {
		return nil
	}
	s := confined(n.s)
	s.claim(confined(n.shape).Slots, i)
	if s.e.err != nil {
		n.locate(n.shape.Slots[i].Name)
		return nil
	}
	s.next = n.key + uint64(i) + 1
	return s.run
}

// Number gives the bytes of member i, a number that is optional or of a mutable type.
func (n Leaf) Number(i int) []byte {
	if n.s == nil {
		return nil
	}
	width := int(n.shape.Slots[i].Width)
	if b := n.place(i, width); b != nil {
		return b
	}
	if !n.turn(i) && !n.seek(i) {
		return nil
	}
	s := confined(n.s)
	if s.e.fast {
		b := n.begun(i).take(width, width)
		n.Done()
		return b
	}
	s.pending = confined(n.shape).Slots[i : i+1]
	s.next = n.key + uint64(i) + 1
	return s.scratch[:width]
}

// place makes room for the value of member i, of so many bytes that are aligned to four if it is not of a mutable type,
// and writes what stands before it. It is for little-endian XCDR2, and what it does not take care of, it leaves to its
// callers: it gives nil.
func (n Leaf) place(i, size int) []byte {
	s, shape := n.s, n.shape
	e := &s.e
	if !e.fast {
		return nil
	}
	slot := &shape.Slots[i]
	start := AlignUp(e.pos, 4)
	if shape.Extensibility != Mutable {
		end := start + size
		if s.next != n.key+uint64(i) || slot.Optional || end > len(e.buf) {
			return nil
		}
		binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
		e.pos = end
		s.next = n.key + uint64(i) + 1
		return e.buf[start:end:end]
	}
	at := s.next - n.key // more than any number of a member if the turn is another's
	for ; at < uint64(i) && shape.Slots[at].Optional; at++ {
	}
	end := start + shortHeader + size
	if at != uint64(i) || slot.Code == lengthNext || end > len(e.buf) {
		return nil
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0)
	binary.LittleEndian.PutUint32(e.buf[start:], slot.ID|uint32(slot.Code)<<28)
	e.pos = end
	s.next = n.key + uint64(i) + 1
	return e.buf[start+shortHeader : end : end]
}

// turn tells whether n may write, and member i is next.
func (n Leaf) turn(i int) bool {
	s := n.s
	return s.next == n.key+uint64(i) && len(s.pending) == 0
}

// Next gives the encoder for member i, and writes what stands before its value; nil means that an error has been kept.
// Done follows.
func (n Leaf) Next(i int) *Encoder {
	if n.s == nil || !n.turn(i) && !n.seek(i) {
		return nil
	}
	return n.begun(i)
}

// begun writes what stands before the value of member i.
func (n Leaf) begun(i int) *Encoder {
	s := confined(n.s)
	s.next = 0
	s.member = uint32(i)
	switch slot := &n.shape.Slots[i]; {
	case n.shape.Extensibility == Mutable:
		s.header = s.e.BeginMember(slot.ID, int(slot.Code))
	case slot.Optional:
		s.header, _ = s.e.BeginOptional(slot.ID, true)
	}
	return &s.e
}

// seek passes over optional members, which are absent, up to member i.
func (n Leaf) seek(i int) bool {
	at, ok := n.usable(n.shape.Slots[i].Name)
	switch {
	case !ok:
		return false
	case at > i:
		n.misplaced(i, at)
		return false
	case n.shape.Union && at == 1: // the discriminator has been written, and selects it
		return true
	}
	return n.pass(at, i)
}

// misplaced keeps the error that member i comes too late, or once more.
func (n Leaf) misplaced(i, at int) {
	slots := n.shape.Slots
	if n.shape.Union {
		n.fail(slots[i].Name, "set after another member; a union holds one")
		return
	}
	n.fail(slots[i].Name, "set after "+slots[at-1].Name+"; a writer takes each member once, in the order of their declaration")
}

// usable keeps an error about name if n must not write now. Otherwise it tells which member is next, and no run is
// open, but one that is not complete.
func (n Leaf) usable(name string) (at int, ok bool) {
	s := n.s
	switch {
	case s == nil || s.e.err != nil:
		return 0, false
	case s.bad != 0:
		n.blame()
		return 0, false
	case s.next>>upperHalf != n.key>>upperHalf:
		n.fail(name, "not by the innermost writer: one that this one began has not ended, or this one has")
		return 0, false
	}
	at = int(s.next - n.key)
	if at&listOpen != 0 {
		n.fail(n.shape.Slots[at&^listOpen-1].Name, fmt.Sprintf("%d of its %d elements are not added", s.left, s.total))
		return 0, false
	}
	return at, n.settle(at)
}

// settle writes the members that are in scratch, if they are complete. What is missing of a run is told by pass.
func (n Leaf) settle(at int) bool {
	s := confined(n.s)
	if len(s.pending) == 0 || at == 0 || &s.pending[len(s.pending)-1] != &n.shape.Slots[at-1] {
		return true
	}
	if name := s.flush(n.shape.Extensibility); s.e.err != nil {
		n.locate(strings.Clone(name))
		return false
	}
	return true
}

// blame tells that a member of a run was set when it was not next. If it was not with this writer, its name is not known.
func (n Leaf) blame() {
	s := n.s
	i, at := int(s.bad-n.key), int(s.was-n.key)
	slots := n.shape.Slots
	switch {
	case s.bad>>upperHalf != n.key>>upperHalf:
		n.fail("", "a member within was set by a writer that has ended, or by one that is not the innermost")
	case s.was>>upperHalf != n.key>>upperHalf || at&listOpen != 0:
		n.fail(slots[i].Name, "not by the innermost writer: one that this one began has not ended, or this one has")
	case at > i:
		n.fail(slots[i].Name, "set after "+slots[at-1].Name+"; a writer takes each member once, in the order of their declaration")
	default:
		n.fail(slots[at].Name, "not set")
	}
}

// pass writes that the members from at up to member i are absent, which only optional ones may be.
func (n Leaf) pass(at, i int) bool {
	for ; at < i && n.s.e.err == nil; at++ {
		switch slot := &n.shape.Slots[at]; {
		case !slot.Optional:
			n.fail(slot.Name, "not set")
		case n.shape.Extensibility != Mutable:
			n.encoder().BeginOptional(slot.ID, false)
			if n.s.e.err != nil {
				n.locate(slot.Name)
			}
		}
	}
	return n.s.e.err == nil
}

// Done ends what Next began.
func (n Leaf) Done() {
	s := n.s
	if s.header.start != 0 {
		n.encoder().EndMember(s.header)
		s.header.start = 0
	}
	if s.e.err != nil {
		n.locate(n.shape.Slots[s.member].Name)
		return
	}
	s.next = n.key + uint64(s.member) + 1
}

// Room is Next, a sequence of n octets for the caller to fill, and Done.
func (n Leaf) Room(i, size, bound int) []byte {
	if n.s != nil && size >= 0 && size <= maxWritten && (bound == 0 || size <= bound) {
		if b := n.place(i, 4+size); b != nil {
			binary.LittleEndian.PutUint32(b, uint32(size))
			return b[4:]
		}
	}
	e := n.Next(i)
	if e == nil {
		return nil
	}
	e.Room("", size, bound)
	n.Done()
	if e.err != nil {
		return nil
	}
	return e.buf[e.pos-size : e.pos : e.pos] // Done may have moved them
}

// String sets member i, a string of a struct that is not mutable, and not optional.
func (n Leaf) String(i int, v string, bound int) {
	s := n.s
	if s == nil || s.next != n.key+uint64(i) || !s.e.fast || bound > 0 && len(v) > bound {
		n.HeadedString(i, v, bound)
		return
	}
	e := &s.e // what follows is place and Encoder.String, without the calls
	at := AlignUp(e.pos, 4)
	end := at + 4 + len(v) + 1
	if end > len(e.buf) {
		n.HeadedString(i, v, bound)
		return
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
	b := e.buf[at:end]
	binary.LittleEndian.PutUint32(b, uint32(len(v)+1))
	var ok bool
	if b = b[4:]; len(v) > maxWords {
		b[copy(b, v)] = 0
		ok = strings.IndexByte(v, 0) < 0
	} else {
		ok = putWords(b, v)
	}
	if !ok {
		n.HeadedString(i, v, bound)
		return
	}
	e.pos = end
	s.next = n.key + uint64(i) + 1
}

// HeadedString is String for a member that is optional or of a mutable type, or a union's. It takes all encodings, and
// finds what is wrong.
func (n Leaf) HeadedString(i int, v string, bound int) {
	if s := n.s; s != nil && (bound == 0 || len(v) <= bound) && strings.IndexByte(v, 0) < 0 {
		if b := n.place(i, 4+len(v)+1); b != nil {
			binary.LittleEndian.PutUint32(b, uint32(len(v)+1))
			b[4+copy(b[4:], v)] = 0
			return
		}
	}
	if e := n.Next(i); e != nil {
		e.String("", v, bound)
		n.Done()
	}
}

// Sequence sets member i, a sequence of primitives.
func (n Leaf) Sequence(i int, v Primitives, bound int) {
	count := len(v.b) >> v.shift
	if n.s != nil && (nativeLittle || v.shift == 0) && (bound == 0 || count <= bound) {
		if b := n.place(i, 4+len(v.b)); b != nil {
			binary.LittleEndian.PutUint32(b, uint32(count))
			copy(b[4:], v.b)
			return
		}
	}
	e := n.Next(i)
	if e == nil {
		return
	}
	if e.BeginSequence("", count, bound, true); count > 0 {
		width := 1 << v.shift
		if b := e.take(width, len(v.b)); b != nil {
			copyElements(b, v.b, width, e.big)
		}
	}
	n.Done()
}

// Chosen tells whether the discriminator of a union has been written, and nothing behind it. That it selects another
// member than i is an error.
func (n Leaf) Chosen(i int) bool {
	s := n.s
	if s == nil || s.next != n.key+1 {
		return false
	}
	if int(s.picked) != i {
		n.fail(n.shape.Slots[i].Name, "the discriminator selects another member, or none")
	}
	return true
}

// Pick is called when the discriminator of a union has been set by itself, and selects the member of slot i; of none if i is 0.
func (n Leaf) Pick(i int) {
	switch {
	case n.s == nil:
	case i == 0:
		n.s.picked = -1
	default:
		n.s.picked = int32(i)
	}
}

// End ends a value within another.
func (w *Writer) End() {
	if w.nested() && w.close() {
		w.s.e.depth--
		w.rise()
	}
}

// End ends a value within another.
func (n Leaf) End() {
	s, up := n.s, n.up
	// First an element behind which another one is to come, of a shape that learn took: no members are pending, and
	// nothing is written behind them.
	if up != nil && up.list.leaf == n.shape && n.risesTo(up) && s.next == n.key+uint64(len(n.shape.Slots)) && up.list.left > 1 {
		up.list.left--
		up.list.pos = s.e.pos
		s.left = uint32(up.list.left)
		s.next = up.key + listOpen + uint64(up.at)
		return
	}
	if s == nil || up == nil || !n.complete() {
		if !n.nested() || !n.close() {
			return
		}
	}
	n.rise()
}

// rise gives the turn back to the writer that began this one. It is found where it was then: another one may have been
// assigned to it.
func (n Leaf) rise() {
	if !n.risesTo(n.up) {
		n.fail("", "the writer that began this one has been overwritten; it has to be kept until this one has ended")
		return
	}
	n.up.ended()
}

// risesTo tells whether up has begun n, and nothing after it.
func (n Leaf) risesTo(up *Writer) bool { return up.child == n.key && up.s == n.s }

// complete tells whether all members are set, and nothing is left to do at the end.
func (n Leaf) complete() bool {
	return n.s.next == n.key+uint64(len(n.shape.Slots)) && len(n.s.pending) == 0 && uint32(n.key) == 0 && n.shape.Extensibility != Mutable
}

// nested tells whether the value is within another, which End is for.
func (n Leaf) nested() bool {
	if n.up == nil && n.s != nil && n.s.e.err == nil {
		n.fail("", "End is for a value within another; a sample ends with Finish")
	}
	return n.up != nil
}

// close ends the members.
func (n Leaf) close() bool {
	s := n.s
	at, ok := n.usable("")
	if !ok {
		return false
	}
	slots := n.shape.Slots
	switch {
	case !n.shape.Union && !n.pass(at, len(slots)):
		return false
	case n.shape.Union && at == 0:
		n.fail(slots[0].Name, "not set")
		return false
	case n.shape.Union && at == 1 && s.picked > 0:
		n.fail(slots[s.picked].Name, "not set; the discriminator selects it")
		return false
	}
	mark := Mark{dheader: int(uint32(n.key))}
	if n.shape.Extensibility == Mutable && !s.e.v2 {
		mark.dheader = listMark
	}
	if n.encoder().End(mark); s.e.err != nil {
		n.locate("")
	}
	return s.e.err == nil
}

// Finish completes the sample and gives its length.
func (n Leaf) Finish() (int, error) {
	s := n.s
	switch {
	case s == nil:
		return 0, &Error{Op: "write", Err: ErrMember, Detail: "writer was not made by its New function, or by one that could begin it"}
	case n.up != nil && s.e.err == nil:
		n.fail("", "Finish is for a sample; a value within another ends with End")
	case n.up == nil && !n.complete():
		n.close()
	}
	var header []byte
	if s.whole != nil {
		header = s.whole[:]
	}
	size, err := n.encoder().finish(header, s.enc, "write", s.info)
	s.next = 0
	return size, err
}

// NotEnumerator fails the writing for a value of member i, in a run, that its type does not know.
func (n Leaf) NotEnumerator(i int, v int32) {
	if n.s != nil && n.s.e.err == nil {
		n.encoder().NotEnumerator("", v)
		n.locate(n.shape.Slots[i].Name)
	}
}

// RefuseRange fails the writing for a value of member i, in a run, that @min, @max or @range does not allow.
func RefuseRange[T any](n Leaf, i int, v T, allowed string) {
	if n.s != nil && n.s.e.err == nil {
		OutOfRange(n.encoder(), "", v, allowed)
		n.locate(n.shape.Slots[i].Name)
	}
}

// fail keeps an error about a member.
func (n Leaf) fail(name, detail string) {
	n.encoder().fail(&Error{Err: ErrMember, Detail: detail})
	n.locate(name)
}

// locate gives an error the path of a member, and puts the values before it that this one lies in. Nobody may write any more.
func (n Leaf) locate(name string) {
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

func (n Leaf) above(err *Error) {
	for up := n.up; up != nil && n.risesTo(up); n, up = up.Leaf, up.up {
		name := up.shape.Slots[max(up.at, 1)-1].Name
		if up.list.left > 0 {
			err.withinElement(strings.Clone(name), up.list.n-up.list.left)
		} else {
			err.within(strings.Clone(name))
		}
	}
}
