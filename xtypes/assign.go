package xtypes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// Consistency is what TYPE_CONSISTENCY_ENFORCEMENT says (XTypes 1.3 §7.6.3.4). The zero value is stricter than the
// policy's default: see DefaultConsistency.
type Consistency struct {
	// DisallowTypeCoercion wants equivalent types: the same minimal type object.
	DisallowTypeCoercion bool
	IgnoreSequenceBounds bool // of sequences and maps
	IgnoreStringBounds   bool
	IgnoreMemberNames    bool
	// PreventTypeWidening has the writer's type have no members that the reader's has not: "a wider type is not
	// assignable to a narrower one" (§7.6.3.4.1). A narrower one is to a wider one as ever.
	PreventTypeWidening bool
	ForceTypeValidation bool // types that are not known do not match
	// XCDR1 tells that samples come in XCDR1, where nothing delimits a value of an appendable type.
	XCDR1 bool
}

// DefaultConsistency is the default of the policy.
func DefaultConsistency() Consistency {
	return Consistency{IgnoreSequenceBounds: true, IgnoreStringBounds: true}
}

// AssignError says why a reader's type is not assignable from a writer's.
type AssignError struct {
	Reader, Writer string // names of the types
	Path           string // of the member where they part; empty for the types themselves
	Rule           string // group of rules: "structures"
	Detail         string
}

// Error gives one sentence: "xtypes: a::Track is not assignable from b::Track: position.lat: ... (XTypes 1.3 §7.2.4,
// structures)".
func (e *AssignError) Error() string {
	at := ""
	if e.Path != "" {
		at = e.Path + ": "
	}
	return fmt.Sprintf("xtypes: %s is not assignable from %s: %s%s (XTypes 1.3 §7.2.4, %s)", e.Reader, e.Writer, at, e.Detail, e.Rule)
}

// The groups of rules of XTypes 1.3 §7.2.4.
const (
	rulePrimitive  = "primitive types"
	ruleString     = "strings"
	ruleCollection = "collections"
	ruleEnum       = "enumerations"
	ruleStructure  = "structures"
	ruleUnion      = "unions"
	ruleDelimited  = "delimited types"
	rulePolicy     = "TYPE_CONSISTENCY_ENFORCEMENT"
)

// Match tells whether a reader may get the samples of a writer: nil if so, otherwise an *AssignError. A type that is
// not known is nil; then the names decide, unless ForceTypeValidation is set.
func Match(readerName, writerName string, reader, writer *Type, c Consistency) error {
	if reader != nil && writer != nil {
		return Assignable(reader, writer, c)
	}
	e := &AssignError{Reader: readerName, Writer: writerName, Rule: rulePolicy}
	switch {
	case c.ForceTypeValidation:
		e.Detail = "force_type_validation is set, and one of the types is not known"
	case readerName != writerName:
		e.Detail = "one of the types is not known, and their names differ"
	default:
		return nil
	}
	return e
}

// Assignable tells whether the reader's type is assignable from the writer's (XTypes 1.3 §7.2.4): nil if so, otherwise
// an *AssignError that names the member where they part.
//
// Two things are less strict than the text: enumerations and bitmasks of which one is final match by the rules for
// appendable ones, because type objects do not tell (Annex B has no flags of theirs), and ids of members of unions that
// are not mutable count only where they are those of XTypes. They are not in samples, and implementations number them
// from 0, which is the id of the discriminator, or from 1.
//
// A member that is a key in one type only needs to be a member of the other (XTypes 1.3 §7.2.4.4.8). Such types do not
// tell instances apart alike: SameKey tells whether two do.
func Assignable(reader, writer *Type, c Consistency) error {
	for _, t := range []*Type{reader, writer} {
		if missing := t.Incomplete(); len(missing) > 0 {
			return fmt.Errorf("xtypes: %s refers to %v, declared but not complete", t, missing)
		}
	}
	a := assigner{c: c, assumed: map[pair]bool{}}
	if c.DisallowTypeCoercion {
		a.equivalent(reader, writer)
	} else {
		a.types(reader, writer, true)
	}
	if a.err == nil {
		return nil
	}
	a.err.Reader, a.err.Writer = reader.String(), writer.String()
	return a.err
}

// SameKey tells whether the keys of two assignable types consist of the same members: nil if so, otherwise an
// *AssignError. XTypes lets types match of which it is not so, but then a reader finds no instance of its own in a key
// that a writer disposes.
func SameKey(reader, writer *Type) error {
	r, w := reader.Resolve(), writer.Resolve()
	for _, types := range [][2]*Type{{r, w}, {w, r}} {
		for _, m := range types[0].all {
			if o := types[1].byID[m.ID]; m.Key && (o == nil || !o.Key) {
				return &AssignError{reader.String(), writer.String(), m.Name, ruleStructure,
					"is a key in one of the types only, and instances would not be the same"}
			}
		}
	}
	return nil
}

// assigner compares two types. The first difference sticks.
type assigner struct {
	c       Consistency
	path    []string
	assumed map[pair]bool // pairs under comparison: a recursion is assignable if everything else is
	err     *AssignError
}

type pair struct {
	reader, writer *Type
	keys, inKey    bool
}

func (a *assigner) fail(rule, format string, args ...any) {
	if a.err == nil {
		path := strings.ReplaceAll(strings.Join(a.path, "."), keyMark, "")
		a.err = &AssignError{Path: strings.ReplaceAll(path, ".[", "["), Rule: rule, Detail: fmt.Sprintf(format, args...)}
	}
}

// within compares parts under a name.
func (a *assigner) within(name string, compare func()) {
	if a.err != nil {
		return
	}
	a.path = append(a.path, name)
	compare()
	a.path = a.path[:len(a.path)-1]
}

func (a *assigner) equivalent(r, w *Type) {
	x, err := r.Identifier(Minimal)
	if err != nil {
		a.fail(rulePolicy, "%v", err)
		return
	}
	y, err := w.Identifier(Minimal)
	if err != nil {
		a.fail(rulePolicy, "%v", err)
		return
	}
	if !x.Equal(&y) {
		a.fail(rulePolicy, "type coercion is disallowed, and the minimal types differ: %s and %s", &x, &y)
	}
}

// types compares two types. keys tells whether the values are (part of) the key, or whole samples: then the rules for
// key members apply. Elsewhere keys are erased.
func (a *assigner) types(r, w *Type, keys bool) {
	r, w = r.Resolve(), w.Resolve()
	if r == w && !a.c.PreventTypeWidening || a.err != nil {
		return
	}
	switch k := r.d.Kind; {
	case k == TKBitmask || w.d.Kind == TKBitmask:
		a.bitmask(r, w)
	case k != w.d.Kind:
		a.fail(rulePrimitive, "%s against %s", describeType(r), describeType(w))
	case k == TKString8 || k == TKString16:
		a.bound(ruleString, "string", r, w, a.c.IgnoreStringBounds && !a.inKey())
	case k == TKEnum:
		a.enum(r, w)
	case k == TKBitset:
		a.bitset(r, w)
	case k == TKSequence || k == TKMap || k == TKArray:
		a.collection(r, w, keys)
	case k == TKStructure || k == TKUnion:
		p := pair{r, w, keys, a.inKey()}
		if a.assumed[p] {
			return
		}
		a.assumed[p] = true
		if k == TKStructure {
			a.structure(r, w, keys)
		} else {
			a.union(r, w, keys)
		}
	}
}

// inKey tells whether the path goes through key members only: bounds of keys count whatever the policy ignores.
func (a *assigner) inKey() bool {
	return len(a.path) > 0 && !slices.ContainsFunc(a.path, func(p string) bool { return !strings.HasPrefix(p, keyMark) })
}

// keyMark is in front of the names of key members in assigner.path.
const keyMark = "\x00"

func describeType(t *Type) string {
	if t.d.Kind.named() {
		return fmt.Sprintf("%s %s", t.d.Kind, t)
	}
	return t.String()
}

// strongly compares types of which the values are followed by others in a sample: the writer's must tell where they end
// (strong assignability).
func (a *assigner) strongly(r, w *Type, keys bool) {
	a.types(r, w, keys)
	if a.err == nil && r.Resolve() != w.Resolve() && !a.delimited(w, map[*Type]bool{}) {
		a.fail(ruleDelimited, "%s is not delimited in XCDR1, and does not allow for a %s in its place", describeType(w), describeType(r))
	}
}

// delimited tells whether the end of a value of t can be found without its type.
func (a *assigner) delimited(t *Type, seen map[*Type]bool) bool {
	t = t.Resolve()
	if seen[t] {
		return true
	}
	seen[t] = true
	switch t.d.Kind {
	case TKStructure, TKUnion:
		switch {
		case t.d.Extensibility == cdr.Mutable || t.d.Extensibility == cdr.Appendable && !a.c.XCDR1:
			return true
		case t.d.Extensibility == cdr.Appendable:
			return false
		}
	}
	for _, m := range t.all {
		if !a.delimited(m.Type, seen) {
			return false
		}
	}
	for _, p := range []*Type{t.d.Elem, t.d.MapKey} {
		if p != nil && !a.delimited(p, seen) {
			return false
		}
	}
	return true
}

func (a *assigner) bound(rule, what string, r, w *Type, ignore bool) {
	switch {
	case ignore || r.d.Bound == 0:
	case w.d.Bound == 0:
		a.fail(rule, "the reader's %s has a bound of %d, the writer's none", what, r.d.Bound)
	case r.d.Bound < w.d.Bound:
		a.fail(rule, "the reader's %s has a bound of %d, the writer's of %d", what, r.d.Bound, w.d.Bound)
	}
}

// bitmask compares bitmasks with each other and with the unsigned integers that hold them.
func (a *assigner) bitmask(r, w *Type) {
	mask, other := r, w
	if r.d.Kind != TKBitmask {
		mask, other = w, r
	}
	switch {
	case other.d.Kind == TKBitmask:
		if r.d.BitBound != w.d.BitBound {
			a.fail(rulePrimitive, "bitmask %s has %d bits, %s %d", r, r.d.BitBound, w, w.d.BitBound)
		}
	case !other.d.Kind.Integer() || other.d.Kind.Signed() || other.width() != mask.width():
		a.fail(rulePrimitive, "%s against %s: a bitmask of %d bits is held by uint%d", describeType(r), describeType(w),
			mask.d.BitBound, 8*mask.width())
	}
}

func (a *assigner) bitset(r, w *Type) {
	x, y := r.allBitfields(), w.allBitfields()
	for _, f := range [][2][]Bitfield{{x, y}, {y, x}} {
		for _, b := range f[0] {
			if b.Name != "" && !slices.ContainsFunc(f[1], func(o Bitfield) bool {
				return o.Position == b.Position && o.Bits == b.Bits && o.Holder == b.Holder
			}) {
				a.fail(rulePrimitive, "bitsets must have the same fields; %s at bit %d is in one of them only", b.Name, b.Position)
				return
			}
		}
	}
	if r.width() != w.width() {
		a.fail(rulePrimitive, "bitset %s takes %d bytes, %s %d", r, r.width(), w, w.width())
	}
}

func (a *assigner) collection(r, w *Type, keys bool) {
	if r.d.Kind == TKArray {
		if !slices.Equal(r.d.Dims, w.d.Dims) {
			a.fail(ruleCollection, "arrays must have the same dimensions, %v and %v", r.d.Dims, w.d.Dims)
		}
	} else {
		a.bound(ruleCollection, r.d.Kind.String(), r, w, a.c.IgnoreSequenceBounds && !a.inKey())
	}
	mark := ""
	if a.inKey() {
		mark = keyMark
	}
	if r.d.Kind == TKMap {
		a.within(mark+"[key]", func() { a.strongly(r.d.MapKey, w.d.MapKey, keys) })
	}
	a.within(mark+"[]", func() { a.strongly(r.d.Elem, w.d.Elem, keys) })
}

func (a *assigner) enum(r, w *Type) {
	if r.d.BitBound != w.d.BitBound {
		a.fail(ruleEnum, "enum %s has %d bits, %s %d", r, r.d.BitBound, w, w.d.BitBound)
		return
	}
	byName, byValue := map[[4]byte]Literal{}, map[int32]Literal{}
	for _, y := range r.d.Literals {
		byName[y.hash], byValue[y.Value] = y, y
	}
	for _, x := range w.d.Literals {
		y, same := byValue[x.Value]
		z, named := byName[x.hash]
		if !same {
			y = z
		}
		if (same || named) && (y.hash != x.hash || y.Value != x.Value) && !r.d.IgnoreLiteralNames && !w.d.IgnoreLiteralNames {
			a.fail(ruleEnum, "%s = %d of the reader's enum against %s = %d of the writer's: the same name must have the same value", y.Name, y.Value, x.Name, x.Value)
			return
		}
		if !same && (r.d.Extensibility == cdr.Final && w.d.Extensibility == cdr.Final || a.inKey()) {
			a.fail(ruleEnum, "the reader's enum has no %s = %d, and it is final or a key", x.Name, x.Value)
			return
		}
	}
	if r.d.Extensibility == cdr.Final && w.d.Extensibility == cdr.Final && len(r.d.Literals) != len(w.d.Literals) {
		a.fail(ruleEnum, "the enums are final and have %d and %d enumerators", len(r.d.Literals), len(w.d.Literals))
	}
}

// shared checks that names and ids of members belong together, and gives the pairs with the same id.
func (a *assigner) shared(rule string, r, w *Type) (pairs [][2]*Member) {
	for _, y := range w.all {
		x := r.byID[y.ID]
		if x != nil {
			pairs = append(pairs, [2]*Member{x, y})
		}
		if a.c.IgnoreMemberNames {
			continue
		}
		if x != nil && x.hash != y.hash {
			a.within(x.Name, func() { a.fail(rule, "has id %d, which is that of %s in the writer's type", x.ID, y.Name) })
		}
		if z := r.named(y); z != nil && z.ID != y.ID {
			a.within(z.Name, func() { a.fail(rule, "has id %d, and %d in the writer's type", z.ID, y.ID) })
		}
	}
	return pairs
}

// named finds the member that has the name of m or, as type objects may have it, the hash of that name.
func (t *Type) named(m *Member) *Member {
	if same := t.byName[m.Name]; same != nil {
		return same
	}
	h := m.hash
	for _, m := range t.all {
		if m.hash == h {
			return m
		}
	}
	return nil
}

func (a *assigner) extensibility(r, w *Type) bool {
	if r.d.Extensibility != w.d.Extensibility {
		a.fail(ruleStructure, "%s is %s, %s is %s", r, r.d.Extensibility, w, w.d.Extensibility)
	}
	return a.err == nil
}

func (a *assigner) structure(r, w *Type, keys bool) {
	if !a.extensibility(r, w) {
		return
	}
	// Of a member that is a key, the key holders have to be assignable, which have no other members than keys. All are
	// keys where none is marked.
	holders := keys && a.inKey()
	isKey := func(t *Type, m *Member) bool { return keys && (m.Key || holders && !t.Keyed()) }
	pairs := a.shared(ruleStructure, r, w)
	if len(pairs) == 0 && len(r.all)+len(w.all) > 0 {
		a.fail(ruleStructure, "they have no member in common")
	}
	for _, m := range r.all {
		o := w.byID[m.ID]
		a.alone(m, o, "the writer's", isKey(r, m), o != nil && (!holders || isKey(w, o)))
	}
	for _, m := range w.all {
		o := r.byID[m.ID]
		a.alone(m, o, "the reader's", isKey(w, m), o != nil && (!holders || isKey(r, o)))
		if o == nil && a.c.PreventTypeWidening {
			a.within(m.Name, func() { a.fail(rulePolicy, "prevent_type_widening is set, and the reader's type does not have it") })
		}
	}
	if r.d.Extensibility == cdr.Mutable {
		for _, p := range pairs {
			a.member(p[0], p[1], isKey(w, p[1]), a.types)
		}
		return
	}
	for i := range min(len(r.all), len(w.all)) {
		x, y := r.all[i], w.all[i]
		a.within(x.Name, func() {
			switch {
			case x.ID != y.ID:
				a.fail(ruleStructure, "is member %d with id %d; in the writer's type, which is %s as well, that is %s with id %d",
					i, x.ID, w.d.Extensibility, y.Name, y.ID)
			case x.Optional != y.Optional:
				a.fail(ruleStructure, "is optional in one of the types, which are %s", w.d.Extensibility)
			}
		})
		a.member(x, y, isKey(w, y), a.strongly)
	}
	if r.d.Extensibility == cdr.Final && len(r.all) != len(w.all) {
		a.fail(ruleStructure, "they are final and have %d and %d members", len(r.all), len(w.all))
	}
}

// alone checks what a member may be that the other type does not have: o is its counterpart there, nil for none. A key
// must be there (XTypes 1.3 §7.2.4.4.8: "members marked as key in either T1 or T2 appear in both"); keyThere tells
// whether what is there is enough.
func (a *assigner) alone(m, o *Member, other string, key, keyThere bool) {
	a.within(m.Name, func() {
		switch {
		case key && !keyThere && o != nil:
			a.fail(ruleStructure, "is a key, and none in %s type", other)
		case key && !keyThere:
			a.fail(ruleStructure, "is a key, and not in %s type", other)
		case o == nil && m.MustUnderstand && !m.Optional:
			a.fail(ruleStructure, "must be understood and is not optional, and %s type does not have it", other)
		}
	})
}

// member compares two members; key tells whether the writer's is one, for which there are more rules.
func (a *assigner) member(x, y *Member, key bool, compare func(r, w *Type, keys bool)) {
	name := x.Name
	if key {
		name = keyMark + name
	}
	a.within(name, func() { compare(x.Type, y.Type, key) })
}

func (a *assigner) union(r, w *Type, keys bool) {
	if !a.extensibility(r, w) {
		return
	}
	a.within(Discriminator, func() {
		if keys && r.disc.Key != w.disc.Key {
			a.fail(ruleUnion, "is a key in one of the types only")
		}
		a.strongly(r.disc.Type, w.disc.Type, keys)
	})
	byLabel := r.d.Extensibility != cdr.Mutable && (r.byID[0] != nil || w.byID[0] != nil) // ids tell nothing: members of one label are the same
	if !byLabel {
		a.shared(ruleUnion, r, w)
	}
	common := false
	for _, y := range w.all {
		for _, l := range y.Labels {
			x := r.Case(l)
			same := x != nil && slices.Contains(x.Labels, l)
			common = common || same
			switch {
			case !same && r.d.Extensibility == cdr.Final:
				a.within(y.Name, func() { a.fail(ruleUnion, "label %d is not in the reader's union, and the unions are final", l) })
			case x != nil:
				a.kase(x, y, byLabel)
			case a.c.PreventTypeWidening:
				a.within(y.Name, func() {
					a.fail(rulePolicy, "prevent_type_widening is set, and label %d is not in the reader's union", l)
				})
			}
		}
	}
	for _, x := range r.all {
		for _, l := range x.Labels {
			y := w.Case(l)
			if y != nil && slices.Contains(y.Labels, l) {
				continue
			}
			switch {
			case r.d.Extensibility == cdr.Final:
				a.within(x.Name, func() { a.fail(ruleUnion, "label %d is not in the writer's union, and the unions are final", l) })
			case y != nil: // the writer's default
				a.kase(x, y, byLabel)
			}
		}
	}
	x, y := r.defaultCase(), w.defaultCase()
	switch {
	case x != nil && y != nil:
		a.kase(x, y, byLabel)
	case (x != nil || y != nil) && r.d.Extensibility == cdr.Final: // else a reader would not know whether a member follows
		a.fail(ruleUnion, "one of the unions has a default, and they are final")
	}
	if !common && (x == nil || y == nil) {
		a.fail(ruleUnion, "the unions have no label in common")
	}
}

func (t *Type) defaultCase() *Member {
	for _, m := range t.all {
		if m.DefaultCase {
			return m
		}
	}
	return nil
}

// kase compares members that the same label selects.
func (a *assigner) kase(x, y *Member, sameName bool) {
	if sameName && !a.c.IgnoreMemberNames && x.hash != y.hash && !x.DefaultCase && !y.DefaultCase {
		a.within(x.Name, func() { a.fail(ruleUnion, "is %s in the writer's union", y.Name) })
	}
	a.within(x.Name, func() { a.strongly(x.Type, y.Type, false) })
}
