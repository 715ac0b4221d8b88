package cdr

import "fmt"

// elements is a sequence that a builder is given element by element, so that nobody has to hold all of it.
type elements struct {
	member uint32
	n      uint32
	left   uint32 // of n; 0 while no sequence is open
	mark   Mark
	header int // the start of a member of a mutable type; 0 for others
}

// BeginElements starts member i, a sequence of n elements that is the k-th of variable size, and tells whether it is
// complete: if there are none.
func (b *Builder) BeginElements(i, k, n, bound int, primitive bool) bool {
	return b.Variable(i, k) != nil && b.beginElements(i, n, bound, primitive, MemberMark{}) && b.EndVariable(i)
}

// EndElement ends what Element began and tells whether it was the last one, with which the member is complete.
func (b *Builder) EndElement() bool {
	return b.endElement() && b.EndVariable(int(b.list.member))
}

// BeginMemberElements is BeginElements for a member of a mutable type.
func (b *Builder) BeginMemberElements(i int, has bool, id uint32, code, n, bound int, primitive bool) bool {
	e := b.Member(i, has)
	return e != nil && b.beginElements(i, n, bound, primitive, e.BeginMember(id, code)) && b.EndMember(i)
}

// EndMemberElement is EndElement for a member of a mutable type.
func (b *Builder) EndMemberElement() bool {
	return b.endElement() && b.EndMember(int(b.list.member))
}

func (b *Builder) beginElements(i, n, bound int, primitive bool, header MemberMark) bool {
	mark := b.e.BeginSequence(b.names[i], n, bound, primitive)
	if b.e.err != nil {
		b.EndMember(i)
		return false
	}
	b.list = elements{member: uint32(i), n: uint32(n), left: uint32(n), mark: mark, header: header.start}
	b.ready = n == 0
	return n == 0 && b.endElements()
}

// Element gives the encoder for the next element of member i; nil means that an error has been kept.
func (b *Builder) Element(i int) *Encoder {
	switch {
	case b.e.err != nil || b.info == nil:
		return nil
	case b.list.left == 0 || int(b.list.member) != i:
		b.e.fail(&Error{Path: b.names[i], Err: ErrMember, Detail: "an element more than it was begun with"})
		return nil
	case !b.e.Enter():
		return nil
	}
	return &b.e
}

// endElement tells whether it was the last element.
func (b *Builder) endElement() bool {
	l := &b.list
	b.e.LeaveElement(b.names[l.member], int(l.n-l.left))
	if b.e.err != nil {
		return false
	}
	l.left--
	return l.left == 0 && b.endElements()
}

func (b *Builder) endElements() bool {
	b.ready = true
	b.e.End(b.list.mark)
	b.e.EndMember(MemberMark{start: b.list.header})
	return b.e.err == nil
}

// incomplete keeps the error that a sequence has fewer elements than it was begun with.
func (b *Builder) incomplete() {
	l := &b.list
	b.e.fail(&Error{Path: b.names[l.member], Err: ErrMember, Detail: fmt.Sprintf("%d of its %d elements are not added", l.left, l.n)})
	l.left = 0
}
