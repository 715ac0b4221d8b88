package idlc

// AutoID says where the ids of members come from that have neither @id nor @hashid (XTypes 1.3 §7.3.1.2.1.1).
type AutoID uint8

const (
	AutoIDSequential AutoID = iota // one more than the id of the member before, from 0
	AutoIDHash                     // from the MD5 of the name
)

// TryConstruct says what a reader does with a value that its type cannot hold (XTypes 1.3 §7.3.1.2.1.9).
type TryConstruct uint8

const (
	TryConstructNone       TryConstruct = iota // nothing written: discard
	TryConstructDiscard                        // the object around it cannot be constructed either
	TryConstructUseDefault                     // takes its default
	TryConstructTrim                           // a string, sequence or map is cut to its bound
)

// Constraints are what annotations say of the values of a member or of a typedef. A member has its own first and otherwise
// those of its type: see (*Member).constraints.
type Constraints struct {
	Default  Value // @default, in the form of the type
	Min, Max Value // @min, @max, @range
	Unit     string
}

// constraints joins what is said of a member with what is said of the typedefs it is declared with.
func (m *Member) constraints() Constraints {
	c := m.Constraints
	for t := m.Type; ; {
		a, ok := t.(*Alias)
		if !ok {
			return c
		}
		if !c.Default.Valid() {
			c.Default = a.Default
		}
		if !c.Min.Valid() {
			c.Min = a.Min
		}
		if !c.Max.Valid() {
			c.Max = a.Max
		}
		if c.Unit == "" {
			c.Unit = a.Unit
		}
		t = a.Target
	}
}

// Verbatim is text that an author wants in the generated code of some language.
type Verbatim struct {
	Language  string // "*" for all
	Placement string // BEGIN_FILE, BEFORE_DECLARATION, BEGIN_DECLARATION, END_DECLARATION, AFTER_DECLARATION, END_FILE
	Text      string
}

// AnnotationType is an annotation that a file declares with @annotation, or one of the standard.
type AnnotationType struct {
	Common
	Params   []*AnnotationParam
	Standard bool
	names    *scope // types and constants that its body declares
	on       target // 0: anything
}

// AnnotationParam is a parameter of an annotation. Type is nil where any value will do.
type AnnotationParam struct {
	Name    string
	Type    Type
	Default Value // the zero Value: it must be given
	Pos     Pos
}

// Applied is an annotation where it is used. Args has a Value for each of Type.Params: what was written, or the default.
type Applied struct {
	Type *AnnotationType
	Args []Value
	Pos  Pos

	argPos Pos // of the first argument, or Pos
}

// Name gives the scoped name of the annotation without the sign in front: "key", "vendor::color".
func (a *Applied) Name() string { return a.Type.Scoped() }
