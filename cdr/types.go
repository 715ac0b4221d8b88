package cdr

import "crypto/sha256"

// Generated files mention the version of the runtime that they were written for: they do not compile with an older one, and stop
// compiling with one that no longer serves them.
const (
	GeneratedVersion7 = 7 // views read fronts that lie otherwise where they are
	GeneratedVersion8 = 8 // views of nearly every sample are found without a Decoder
)

// Extensibility says how a type may evolve (XTypes 1.3 §7.2.3).
type Extensibility uint8

const (
	Final      Extensibility = iota // never changes; no DHEADER
	Appendable                      // members may be appended; DHEADER in XCDR2
	Mutable                         // members carry their ids; members may be added, removed and reordered
)

// String gives the IDL annotation's name.
func (x Extensibility) String() string {
	switch x {
	case Final:
		return "final"
	case Appendable:
		return "appendable"
	case Mutable:
		return "mutable"
	}
	return "invalid extensibility"
}

// TypeInfo describes a generated type. It is shared and must not be changed.
type TypeInfo struct {
	Name          string // scoped name in the type system: "avionics::AirData"
	Extensibility Extensibility
	Keyed         bool   // has key members
	Nested        bool   // annotated @nested: not meant for a topic
	Topic         string // name of a topic of the type where none is given (@topic); empty for none
	// Representations are those in which topics of the type may be written (@data_representation); 0 stands for any.
	Representations Representations
	MaxSize         int      // largest XCDR2 body in bytes; -1 when unbounded
	Layout          *Layout  // of elements in a sequence, where all are of one size; else nil
	Front           *Front   // members of fixed size that a struct begins with; nil without any
	MaxKeySize      int      // largest serialized key in bytes; -1 when unbounded, 0 without key
	Signature       [32]byte // SHA-256 of Text: equal signatures mean the same type
	TypeObject      string   // XTypes 1.3 §7.3.4.2: serialized TypeInformation and TypeObjects; empty when not generated
	// Defaults are what @default says of the type's members, and of those of the types that it refers to: a TypeObject has no
	// place for it.
	Defaults []MemberDefault
	Text     string // normalised definition with everything it refers to, to explain a mismatch
}

// MemberDefault is the @default of a member.
type MemberDefault struct {
	Type, Member string // scoped name of the struct or union that declares it, and its own name
	Value        any    // a bool, a string or a number; of an enumeration the value of the enumerator
}

// Representations is a set of data representations, with the bits of DataRepresentationMask (XTypes 1.3 §7.3.1.2.1).
type Representations uint8

// The data representations of XTypes.
const (
	RepresentationXCDR1 Representations = 1 << iota
	RepresentationXML
	RepresentationXCDR2
)

// Define completes the description of a generated type.
func Define(t TypeInfo) *TypeInfo {
	t.Signature = sha256.Sum256([]byte(t.Text))
	return &t
}

// Message is what idlgen emits on *T.
//
// The methods never fail by themselves: errors stick in the Encoder or Decoder. They use it during the call, on the caller's
// goroutine, and keep no reference to it. A nil *T is a valid receiver for CDRType and TranscodeKeyCDR.
type Message interface {
	CDRType() *TypeInfo
	MarshalCDR(e *Encoder)
	UnmarshalCDR(d *Decoder)
	// MarshalKeyCDR writes the KeyHolder: key members in member-id order, or all members if none is a key.
	MarshalKeyCDR(e *Encoder)
	UnmarshalKeyCDR(d *Decoder)
	// TranscodeKeyCDR reads an encoded value and writes its KeyHolder, without building T and without allocation.
	// At the top of a sample it may stop reading after the last key member (see Decoder.Rest).
	TranscodeKeyCDR(d *Decoder, e *Encoder)
}

// Type constrains generic code to pointers of generated types.
type Type[T any] interface {
	*T
	Message
}
