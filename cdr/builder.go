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

// Head is Claim for the members before the first of variable size. It gives the body up to the offset end, for them to be stored in;
// nil if an error has been kept.
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

// String sets member i, a string that is the k-th of variable size, and tells whether it is complete: Variable, Encoder.String and
// EndVariable in one call.
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

// Member gives the encoder for member i of a mutable type, of which has tells whether it is set; nil means that an error has been kept.
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
	b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: "set too early; members of variable size before it come first, in the order of their declaration"})
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
