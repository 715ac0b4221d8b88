package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Builder is the part of a generated builder that does not depend on the type. It lays a sample out in the caller's bytes
// as little-endian XCDR2.
//
// Members of fixed size have known offsets from the last member before them that has none, so they may be set in any
// order once that one is set; members of variable size are set in the order of their declaration. Room for
// members of fixed size is claimed, and cleared, as soon as their offset is known.
type Builder struct {
	e      Encoder // behind all that has been laid out; between FieldEncoder and EndField within the member
	pos    int     // of e, before FieldEncoder
	header *[HeaderSize]byte
	info   *TypeInfo
	names  []string // of the members
	list   elements
	next   uint32 // how many members of variable size are set
	ready  bool   // Init has been called, and no list is open: one condition, so that Member and Variable are inlined
}

// Init starts a sample in buf. names are those of the members, for errors.
func (b *Builder) Init(buf []byte, t *TypeInfo, names []string) {
	b.info, b.names, b.ready = t, names, true
	if len(buf) < HeaderSize {
		b.e.fail(&Error{Err: ErrShortBuffer, Detail: fmt.Sprintf("buffer has %d bytes, at least %d needed", len(buf), HeaderSize)})
		return
	}
	b.header = (*[HeaderSize]byte)(buf)
	b.e.start(buf[HeaderSize:len(buf):len(buf)], CDR2LE) // or one of the others, which differ in the header only
	if t.Extensibility != Final {
		b.e.Uint32(0) // the DHEADER
	}
}

// Claim makes room up to the offset end for members of fixed size, i being the first of them.
func (b *Builder) Claim(i, end int) {
	ok := b.e.err == nil
	if room := b.e.take(1, end-b.e.pos); room != nil {
		clear(room)
	} else if ok && b.e.err != nil {
		b.e.err.within(b.names[i])
	}
}

// Head is Claim for the members before the first of variable size. It gives the body up to the offset end, for them to
// be stored in; nil if an error has been kept.
func (b *Builder) Head(i, end int) []byte {
	e := &b.e
	if end > len(e.buf) { // or after an error
		b.Claim(i, end)
		return nil
	}
	head := e.buf[:end:end]
	clear(head[e.pos:])
	e.pos = end
	return head
}

// Len is the offset behind what has been laid out.
func (b *Builder) Len() int { return b.e.pos }

// Field gives the n bytes of member i, of fixed size, at the offset at. It lies behind the first so many members of
// variable size. nil means that an error has been kept for Finish.
func (b *Builder) Field(i, behind, at, n int) []byte {
	if int(b.next) < behind && b.info != nil {
		b.outOfOrder(i)
	}
	if b.e.err != nil || b.info == nil {
		return nil
	}
	return b.e.buf[at : at+n : at+n]
}

// FieldEncoder is Field for a member that is written by its own methods.
func (b *Builder) FieldEncoder(i, behind, at, n int) *Encoder {
	if b.Field(i, behind, at, n) == nil {
		return nil
	}
	b.pos = b.e.pos
	b.e.pos, b.e.buf = at, b.e.buf[:at+n]
	return &b.e
}

// EndField ends what FieldEncoder began and tells whether the member is complete.
func (b *Builder) EndField(i int) bool {
	b.e.pos = b.pos
	if b.e.err == nil {
		b.e.buf = b.e.buf[:cap(b.e.buf)]
	}
	return b.EndMember(i)
}

// Variable gives the encoder for member i, which is the k-th of variable size; nil means that an error has been kept.
func (b *Builder) Variable(i, k int) *Encoder {
	if int(b.next) == k && b.ready && b.e.err == nil {
		return &b.e
	}
	return b.refuse(i, k)
}

// String sets member i, a string that is the k-th of variable size, and tells whether it is complete: Variable,
// Encoder.String and EndVariable in one call.
func (b *Builder) String(i, k int, v string, bound int) bool {
	e := &b.e
	at := AlignUp(e.pos, 4)
	end := at + 4 + len(v) + 1
	// After an error e.buf is empty.
	if int(b.next) != k || !b.ready || end > len(e.buf) || bound > 0 && len(v) > bound || uint64(len(v)) >= math.MaxUint32 {
		return b.stringSlow(i, k, v, bound)
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
	room := e.buf[at:end]
	binary.LittleEndian.PutUint32(room, uint32(len(v)+1))
	var ok bool
	if room = room[4:]; len(v) > maxWords {
		room[copy(room, v)] = 0
		ok = strings.IndexByte(v, 0) < 0
	} else {
		ok = putWords(room, v)
	}
	if !ok {
		return b.stringSlow(i, k, v, bound)
	}
	e.pos = end
	b.next++
	return true
}

// stringSlow finds out what is wrong with a string.
func (b *Builder) stringSlow(i, k int, v string, bound int) bool {
	e := b.Variable(i, k)
	if e == nil {
		return false
	}
	e.String(b.names[i], v, bound)
	return b.EndVariable(i)
}

// Sequence is String for a sequence of primitives.
func (b *Builder) Sequence(i, k int, v Primitives, bound int) bool {
	e := &b.e
	at := AlignUp(e.pos, 4)
	end := at + 4 + len(v.b)
	count := len(v.b) >> v.shift
	// After an error e.buf is empty.
	if int(b.next) != k || !b.ready || end > len(e.buf) || bound > 0 && count > bound || uint64(count) > math.MaxUint32 ||
		!nativeLittle && v.shift > 0 {
		return b.sequenceSlow(i, k, v, bound)
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
	room := e.buf[at:end]
	binary.LittleEndian.PutUint32(room, uint32(count))
	copy(room[4:], v.b)
	e.pos = end
	b.next++
	return true
}

// sequenceSlow finds out what is wrong with a sequence, if anything is.
func (b *Builder) sequenceSlow(i, k int, v Primitives, bound int) bool {
	if b.Variable(i, k) == nil {
		return false
	}
	b.primitives(i, v, bound)
	return b.EndVariable(i)
}

// primitives writes member i, a sequence of primitives.
func (b *Builder) primitives(i int, v Primitives, bound int) {
	e, count := &b.e, len(v.b)>>v.shift
	if e.BeginSequence(b.names[i], count, bound, true); count > 0 {
		width := 1 << v.shift
		if room := e.take(width, len(v.b)); room != nil {
			copyElements(room, v.b, width, e.big)
		}
	}
}

// refuse says why the k-th member of variable size cannot be set now. It is not inlined, so that Variable is.
//
//go:noinline
func (b *Builder) refuse(i, k int) *Encoder {
	switch {
	case b.e.err != nil || b.info == nil:
	case b.list.left > 0:
		b.incomplete()
	case int(b.next) < k:
		b.outOfOrder(i)
	default:
		b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: "set twice; a member of variable size is set once"})
	}
	return nil
}

// EndVariable ends what Variable began and tells whether the member is complete.
func (b *Builder) EndVariable(i int) bool {
	if b.e.err != nil {
		if b.e.err.Path == "" {
			b.e.err.Path = b.names[i]
		}
		return false
	}
	b.next++
	return true
}

// Member gives the encoder for member i of a mutable type, of which has tells whether it is set; nil means that an
// error has been kept.
func (b *Builder) Member(i int, has bool) *Encoder {
	if !has && b.ready && b.e.err == nil {
		return &b.e
	}
	return b.refuseMember(i)
}

// refuseMember says why a member of a mutable type cannot be set now. It is not inlined, so that Member is.
//
//go:noinline
func (b *Builder) refuseMember(i int) *Encoder {
	switch {
	case b.e.err != nil || b.info == nil:
	case b.list.left > 0:
		b.incomplete()
	default:
		b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: "set twice; a member is set once"})
	}
	return nil
}

// EndMember ends what Member began and tells whether the member is complete.
func (b *Builder) EndMember(i int) bool {
	if b.e.err != nil && b.e.err.Path == "" {
		b.e.err.Path = b.names[i]
	}
	return b.e.err == nil
}

// headed makes room for member i of a mutable type, of size bytes, and writes the header before it. It gives nil, and
// does nothing, where something is wrong, which its callers find out, or the length of the member has a place of its
// own.
func (b *Builder) headed(has bool, id uint32, code, size int) []byte {
	e := &b.e
	start := AlignUp(e.pos, 4)
	end := start + shortHeader + size
	// After an error e.buf is empty.
	if has || !b.ready || end > len(e.buf) || code == lengthNext {
		return nil
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
	binary.LittleEndian.PutUint32(e.buf[start:], id|uint32(code)<<28)
	e.pos = end
	return e.buf[start+shortHeader : end : end]
}

// Number gives the bytes of member i of a mutable type, a number of 1<<code bytes, of which has tells whether it is
// set; nil means that an error has been kept.
func (b *Builder) Number(i int, has bool, id uint32, code int) []byte {
	if room := b.headed(has, id, code, 1<<code); room != nil {
		return room
	}
	e := b.Member(i, has)
	if e == nil {
		return nil
	}
	e.BeginMember(id, code)
	room := e.take(1, 1<<code)
	b.EndMember(i)
	return room
}

// HeadedString sets member i of a mutable type, a string, and tells whether it is set.
func (b *Builder) HeadedString(i int, has bool, id uint32, v string, bound int) bool {
	if (bound == 0 || len(v) <= bound) && uint64(len(v)) < math.MaxUint32 && strings.IndexByte(v, 0) < 0 {
		if room := b.headed(has, id, lengthAlso1, 4+len(v)+1); room != nil {
			binary.LittleEndian.PutUint32(room, uint32(len(v)+1))
			room[4+copy(room[4:], v)] = 0
			return true
		}
	}
	e := b.Member(i, has)
	if e == nil {
		return has
	}
	e.BeginMember(id, lengthAlso1)
	e.String(b.names[i], v, bound)
	return b.EndMember(i)
}

// HeadedSequence sets member i of a mutable type, a sequence of primitives, and tells whether it is set.
func (b *Builder) HeadedSequence(i int, has bool, id uint32, code int, v Primitives, bound int) bool {
	count := len(v.b) >> v.shift
	if (bound == 0 || count <= bound) && uint64(count) <= math.MaxUint32 && (nativeLittle || v.shift == 0) {
		if room := b.headed(has, id, code, 4+len(v.b)); room != nil {
			binary.LittleEndian.PutUint32(room, uint32(count))
			copy(room[4:], v.b)
			return true
		}
	}
	e := b.Member(i, has)
	if e == nil {
		return has
	}
	h := e.BeginMember(id, code)
	b.primitives(i, v, bound)
	e.EndMember(h)
	return b.EndMember(i)
}

// Room claims n bytes of a sequence for the caller to fill. They are not cleared.
func (e *Encoder) Room(name string, n, bound int) []byte {
	e.BeginSequence(name, n, bound, true)
	if e.err != nil {
		return nil
	}
	return e.take(1, n)
}

// Reject keeps an error about the value of member i.
func (b *Builder) Reject(i int, v int32) {
	if b.info == nil {
		return
	}
	b.e.fail(&Error{Path: b.names[i], Err: ErrInvalidValue, Detail: fmt.Sprintf("%d is not an enumerator", v)})
}

func (b *Builder) outOfOrder(i int) {
	b.e.fail(&Error{Path: b.names[i], Err: ErrMember,
		Detail: "set too early; members of variable size before it come first, in the order of their declaration"})
}

// Finish completes the sample and gives its length. has tells which members are set: all must be.
func (b *Builder) Finish(has []bool) (int, error) {
	if b.info != nil && b.list.left == 0 && b.e.err == nil {
		// One by one, as they were stored: a load of several at once has to wait for the stores.
		for i, set := range has {
			if !set {
				b.notSet(i)
				break
			}
		}
	}
	return b.finish()
}

// FinishMembers is Finish for a mutable type, whose optional members may be missing.
func (b *Builder) FinishMembers(has []bool, slots []Slot) (int, error) {
	if b.info != nil && b.list.left == 0 && b.e.err == nil {
		for i, set := range has {
			if !set && !slots[i].Optional {
				b.notSet(i)
				break
			}
		}
	}
	return b.finish()
}

func (b *Builder) notSet(i int) {
	b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: "not set"})
}

func (b *Builder) finish() (int, error) {
	if b.info == nil {
		return 0, &Error{Op: "build", Err: ErrMember, Detail: "builder was not made by its New function"}
	}
	if b.list.left > 0 {
		b.incomplete()
	}
	enc, end := DefaultEncapsulation(b.info), b.e.pos
	if enc != CDR2LE {
		b.e.End(Mark{dheader: 4}) // which Init has begun
	}
	var header []byte
	if b.header != nil {
		header = b.header[:]
	}
	n, err := b.e.finish(header, enc, "build", b.info)
	b.e.pos = end // Finish may be called again, after a change
	return n, err
}

// AlignUp gives the first multiple of a, a power of two, that is not below n.
func AlignUp(n, a int) int { return (n + a - 1) &^ (a - 1) }

// Fail keeps an error about member i.
func (b *Builder) Fail(i int, detail string) {
	if b.info != nil {
		b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: detail})
	}
}
