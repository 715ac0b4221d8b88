package xtypes

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/omg-dds-go/dds/cdr"
)

// Limits of XTypes 1.3 Annex B, and ours on what a type may hold.
const (
	maxName   = 256        // bytes of a member's or a type's name
	maxID     = 0x0fffffff // largest member id (XTypes 1.3 §7.2.2.4.4.4)
	maxArray  = math.MaxInt32
	maxBound  = math.MaxInt32
	maxString = math.MaxInt32
)

// TypeDescriptor says what type to build (XTypes 1.3 §7.5.2.4).
type TypeDescriptor struct {
	Kind          Kind
	Name          string // scoped: "avionics::AirData"; of all but primitive types, strings and collections
	Extensibility cdr.Extensibility
	Nested        bool
	// Topic is the name that @topic has for topics of a structure or a union; type objects do not carry it.
	Topic string
	// Representations are what @data_representation allows for a structure or a union, 0 for any; type objects do not carry it.
	Representations cdr.Representations
	AutoIDHash      bool // @autoid(HASH): ids of members with AutoID are hashes of their names

	Base          *Type     // of a structure or a bitset
	Members       []Member  // of a structure or a union, without inherited ones
	Discriminator Member    // of a union; type and Key count
	Elem          *Type     // of a sequence, an array or a map
	ElemFlags     ElemFlags // of the elements
	MapKey        *Type
	MapKeyFlags   ElemFlags
	Bound         uint32   // of a string, sequence or map; 0 for none
	Dims          []uint32 // of an array
	Target        *Type    // of an alias
	// Unit, Default, Min and Max are what annotations of an alias say, as those of a Member.
	Unit              string
	Default, Min, Max any
	BitBound          uint16 // of an enumeration (0 for 32) or a bitmask (0 for 32)
	Literals          []Literal
	// IgnoreLiteralNames lets enumerators be assigned by value alone (@ignore_literal_names); type objects do not carry it.
	IgnoreLiteralNames bool
	Bitflags           []Bitflag
	Bitfields          []Bitfield
	Verbatim           *Verbatim
	Doc                string

	// Forward is a type that Forward made, and that Build completes with this description; nil for a new type.
	Forward *Type
}

// ElemFlags are the flags that elements of collections have.
type ElemFlags struct {
	External     bool
	TryConstruct TryConstruct
}

// BuildError says why a description is not a type.
type BuildError struct {
	Kind   Kind
	Type   string // name of the type
	Member string // empty where the type as a whole is meant
	Detail string
}

// Error gives one sentence: "xtypes: struct avionics::Plan.route: ...".
func (e *BuildError) Error() string {
	s := "xtypes: " + e.Kind.String()
	if e.Type != "" {
		s += " " + e.Type
	}
	if e.Member != "" {
		s += "." + e.Member
	}
	return s + ": " + e.Detail
}

// Forward declares a type that others refer to before Build completes it. Until then it has no kind.
func Forward(name string) *Type { return &Type{d: TypeDescriptor{Name: name}} }

// Build checks a description and gives its type (DynamicTypeBuilder::build). The description may be used again. Types
// that are built from declarations that are not complete must not be used until these are.
func Build(d TypeDescriptor) (*Type, error) {
	b := builder{d: d, t: &Type{}}
	if d.Forward != nil {
		b.t = d.Forward
		if b.t.d.Kind != TKNone {
			return nil, b.errorf("", "is complete already; declare another one with Forward")
		}
	}
	b.d.Forward = nil
	if err := b.build(); err != nil {
		return nil, err
	}
	return b.t, nil
}

// Must gives the type, and panics on an error: for types that are written down in a program.
func Must(t *Type, err error) *Type {
	if err != nil {
		panic(err)
	}
	return t
}

var primitiveTypes = func() (list [len(kinds)]*Type) {
	for k := range kinds {
		if Kind(k).Primitive() {
			list[k] = &Type{d: TypeDescriptor{Kind: Kind(k)}}
		}
	}
	return list
}()

// Primitive gives the type of a primitive kind, and nil for other kinds.
func Primitive(k Kind) *Type {
	if int(k) >= len(primitiveTypes) {
		return nil
	}
	return primitiveTypes[k]
}

// NewString gives string<bound>; 0 for no bound.
func NewString(bound uint32) *Type {
	return &Type{d: TypeDescriptor{Kind: TKString8, Bound: bound}}
}

// NewWString gives wstring<bound>; 0 for no bound.
func NewWString(bound uint32) *Type {
	return &Type{d: TypeDescriptor{Kind: TKString16, Bound: bound}}
}

// NewSequence gives sequence<elem, bound>; 0 for no bound.
func NewSequence(elem *Type, bound uint32) (*Type, error) {
	return Build(TypeDescriptor{Kind: TKSequence, Elem: elem, Bound: bound})
}

// NewArray gives elem[dims[0]][dims[1]]...
func NewArray(elem *Type, dims ...uint32) (*Type, error) {
	return Build(TypeDescriptor{Kind: TKArray, Elem: elem, Dims: dims})
}

// NewMap gives map<key, elem, bound>; 0 for no bound.
func NewMap(key, elem *Type, bound uint32) (*Type, error) {
	return Build(TypeDescriptor{Kind: TKMap, MapKey: key, Elem: elem, Bound: bound})
}

// NewAlias gives typedef target name.
func NewAlias(name string, target *Type) (*Type, error) {
	return Build(TypeDescriptor{Kind: TKAlias, Name: name, Target: target})
}

type builder struct {
	d TypeDescriptor
	t *Type
}

func (b *builder) errorf(member, format string, args ...any) error {
	return &BuildError{Kind: b.d.Kind, Type: b.d.Name, Member: member, Detail: fmt.Sprintf(format, args...)}
}

// named tells which kinds have a name of their own.
func (k Kind) named() bool {
	switch k {
	case TKAlias, TKEnum, TKBitmask, TKStructure, TKUnion, TKBitset:
		return true
	}
	return false
}

func (b *builder) build() error {
	d := &b.d
	switch {
	case d.Kind.named() && d.Name == "":
		return b.errorf("", "has no name")
	case !d.Kind.named() && d.Name != "" && d.Kind != TKSequence && d.Kind != TKArray && d.Kind != TKMap:
		return b.errorf("", "takes no name; build an alias of it")
	case len(d.Name) > maxName:
		return b.errorf("", "name has %d bytes, at most %d are allowed", len(d.Name), maxName)
	}
	var err error
	switch d.Kind {
	case TKStructure:
		err = b.structure()
	case TKUnion:
		err = b.union()
	case TKEnum:
		err = b.enum()
	case TKBitmask:
		err = b.bitmask()
	case TKBitset:
		err = b.bitset()
	case TKAlias:
		err = b.alias()
	case TKSequence, TKArray, TKMap:
		err = b.collection()
	case TKString8, TKString16:
		if d.Bound > maxString {
			err = b.errorf("", "bound %d exceeds %d", d.Bound, maxString)
		}
	default:
		switch {
		case !d.Kind.Primitive():
			return b.errorf("", "cannot be built")
		case b.t.d.Name != "":
			return b.errorf("", "forward declaration %s cannot become a primitive type", b.t.d.Name)
		}
	}
	if err != nil {
		return err
	}
	forward := b.t.d
	b.t.d = *d
	if err := b.finite(); err != nil {
		*b.t = Type{d: forward} // stays a declaration, so that another description may complete it
		return err
	}
	return nil
}

// part checks the type of a member or an element.
func (b *builder) part(member string, t *Type) error {
	if t == nil {
		return b.errorf(member, "has no type")
	}
	if t.d.Kind == TKAnnotation {
		return b.errorf(member, "an annotation is no type of values")
	}
	return nil
}

func (b *builder) structure() error {
	d := &b.d
	if d.Base != nil {
		base := d.Base.Resolve()
		switch {
		case base.d.Kind == TKNone:
			return b.errorf("", "base %s is declared but not complete", base.d.Name)
		case base.d.Kind != TKStructure:
			return b.errorf("", "base %s is a %s, not a struct", base.d.Name, base.d.Kind)
		case base.d.Extensibility != d.Extensibility:
			return b.errorf("", "is %s, its base %s is %s; they must be alike", d.Extensibility, base.d.Name, base.d.Extensibility)
		}
		d.Base = base
		b.t.all = slices.Clone(base.all)
	}
	b.t.own = len(b.t.all)
	next := uint32(0)
	if n := len(b.t.all); n > 0 {
		next = b.t.all[n-1].ID + 1
	}
	return b.members(next)
}

// members takes over the own members: ids are given out from next, names and ids must be unique.
func (b *builder) members(next uint32) error {
	t := b.t
	t.byName, t.byID = map[string]*Member{}, map[uint32]*Member{}
	for _, m := range t.all {
		t.byName[m.Name], t.byID[m.ID] = m, m
	}
	for i := range b.d.Members {
		m := b.d.Members[i]
		m.Index, m.hash = len(t.all), nameHash(m.Name)
		m.Labels = slices.Clone(m.Labels)
		if err := b.member(&m); err != nil {
			return err
		}
		if m.AutoID {
			switch {
			case m.HasHashID && m.HashID != "":
				m.ID = HashID(m.HashID)
			case m.HasHashID || b.d.AutoIDHash:
				m.ID = HashID(m.Name)
			default:
				m.ID = next
			}
		}
		next = m.ID + 1
		if m.ID > maxID {
			return b.errorf(m.Name, "id %d exceeds %d", m.ID, maxID)
		}
		if other := t.byName[m.Name]; other != nil {
			return b.errorf(m.Name, "is the name of members %d and %d", other.Index, m.Index)
		}
		if other := t.byID[m.ID]; other != nil {
			return b.errorf(m.Name, "has id %d, which %s has as well", m.ID, other.Name)
		}
		t.all = append(t.all, &m)
		t.byName[m.Name], t.byID[m.ID] = &m, &m
	}
	b.d.Members = nil
	return nil
}

func (b *builder) member(m *Member) error {
	switch {
	case m.Name == "":
		return b.errorf("", "member %d has no name", m.Index)
	case len(m.Name) > maxName:
		return b.errorf(m.Name[:16]+"...", "name has %d bytes, at most %d are allowed", len(m.Name), maxName)
	case m.Key && m.Optional:
		return b.errorf(m.Name, "a key cannot be optional")
	case b.d.Kind == TKUnion && (m.Optional || m.Key || m.MustUnderstand): // Annex B: T1, T2, D and X apply
		return b.errorf(m.Name, "members of a union cannot be optional or keys, and which there is need not be understood")
	case len(m.Labels) > 0 && b.d.Kind != TKUnion:
		return b.errorf(m.Name, "has case labels, which only members of a union have")
	}
	if err := b.part(m.Name, m.Type); err != nil {
		return err
	}
	return b.constraints(m.Name, m.Type, &m.Default, &m.Min, &m.Max)
}

// constraints gives the values of annotations the form of the type that they are of.
func (b *builder) constraints(member string, t *Type, standard, least, most *any) error {
	for _, v := range []struct {
		what string
		is   *any
	}{{"default", standard}, {"minimum", least}, {"maximum", most}} {
		if *v.is == nil {
			continue
		}
		x, err := scalar(t, *v.is)
		if err != nil {
			return b.errorf(member, "%s: %v", v.what, err)
		}
		*v.is = x
	}
	return nil
}

// labelRange gives the smallest and the largest value of a discriminator type.
func labelRange(t *Type) (low, high int64, ok bool) {
	t = t.Resolve()
	switch k := t.d.Kind; {
	case k == TKBoolean:
		return 0, 1, true
	case k == TKEnum:
		return math.MinInt32, math.MaxInt32, true
	case k == TKByte || k == TKChar8 || k == TKChar16:
		return 0, 1<<(8*k.Size()) - 1, true
	case k == TKUint64:
		return 0, math.MaxInt64, true
	case k.Signed():
		return -1 << (8*k.Size() - 1), 1<<(8*k.Size()-1) - 1, true
	case k.Integer():
		return 0, 1<<(8*k.Size()) - 1, true
	}
	return 0, 0, false
}

func (b *builder) union() error {
	disc := b.d.Discriminator
	if err := b.part("discriminator", disc.Type); err != nil {
		return err
	}
	low, high, ok := labelRange(disc.Type)
	if !ok {
		return b.errorf("", "discriminator is %s; it must be an integer, a character, a boolean or an enumeration", disc.Type)
	}
	disc.Name, disc.Index = Discriminator, -1
	b.t.disc = &disc
	b.d.Discriminator = Member{}
	// The discriminator has id 0 (XTypes 1.3 §7.4.3): automatic ids begin behind it.
	if err := b.members(1); err != nil {
		return err
	}
	if len(b.t.all) == 0 {
		return b.errorf("", "has no cases")
	}
	of := map[int64]string{}
	def := ""
	for _, m := range b.t.all {
		if len(m.Labels) == 0 && !m.DefaultCase {
			return b.errorf(m.Name, "has no case label and is not the default")
		}
		if m.DefaultCase && def != "" {
			return b.errorf(m.Name, "is the default case, as is %s", def)
		} else if m.DefaultCase {
			def = m.Name
		}
		for _, l := range m.Labels {
			if l < low || l > high {
				return b.errorf(m.Name, "case label %d is not of type %s", l, disc.Type)
			}
			if e := disc.Type.Resolve(); e.d.Kind == TKEnum {
				if _, ok := e.LiteralByValue(int32(l)); !ok {
					return b.errorf(m.Name, "case label %d is no enumerator of %s", l, e.d.Name)
				}
			}
			if other, twice := of[l]; twice {
				return b.errorf(m.Name, "case label %d is used by %s as well", l, other)
			}
			of[l] = m.Name
		}
	}
	return nil
}

func (b *builder) enum() error {
	d := &b.d
	if d.BitBound == 0 {
		d.BitBound = 32
	}
	if d.BitBound > 32 {
		return b.errorf("", "bit bound %d exceeds 32", d.BitBound)
	}
	if len(d.Literals) == 0 {
		return b.errorf("", "has no enumerators")
	}
	d.Literals = slices.Clone(d.Literals)
	names, values := map[string]bool{}, map[int32]string{}
	def := ""
	for i, l := range d.Literals {
		d.Literals[i].hash = nameHash(l.Name)
		other, twice := values[l.Value]
		switch {
		case l.Name == "" || len(l.Name) > maxName:
			return b.errorf(l.Name, "name has %d bytes; 1 to %d are allowed", len(l.Name), maxName)
		case names[l.Name]:
			return b.errorf(l.Name, "is declared twice")
		case twice:
			return b.errorf(l.Name, "has value %d, which %s has as well", l.Value, other)
		case l.Value < -1<<(d.BitBound-1) || int64(l.Value) >= 1<<min(int(d.BitBound), 8*enumWidth(d.BitBound)-1):
			// The bits hold numbers with a sign or without one; what is on the wire has one.
			return b.errorf(l.Name, "value %d does not fit into %d bits", l.Value, d.BitBound)
		case l.Default && def != "":
			return b.errorf(l.Name, "is the default, as is %s", def)
		}
		if l.Default {
			def = l.Name
		}
		names[l.Name], values[l.Value] = true, l.Name
	}
	return nil
}

func (b *builder) bitmask() error {
	d := &b.d
	if d.BitBound == 0 {
		d.BitBound = 32
	}
	if d.BitBound > 64 {
		return b.errorf("", "bit bound %d exceeds 64", d.BitBound)
	}
	d.Bitflags = slices.Clone(d.Bitflags)
	names, positions := map[string]bool{}, map[uint16]string{}
	for _, f := range d.Bitflags {
		other, twice := positions[f.Position]
		switch {
		case f.Name == "" || len(f.Name) > maxName:
			return b.errorf(f.Name, "name has %d bytes; 1 to %d are allowed", len(f.Name), maxName)
		case names[f.Name]:
			return b.errorf(f.Name, "is declared twice")
		case twice:
			return b.errorf(f.Name, "is at position %d, where %s is", f.Position, other)
		case f.Position >= d.BitBound:
			return b.errorf(f.Name, "is at position %d of %d", f.Position, d.BitBound)
		}
		names[f.Name], positions[f.Position] = true, f.Name
	}
	return nil
}

func (b *builder) bitset() error {
	d := &b.d
	at := 0
	names := map[string]bool{}
	if d.Base != nil {
		base := d.Base.Resolve()
		if base.d.Kind != TKBitset {
			return b.errorf("", "base %s is a %s, not a bitset", base.d.Name, base.d.Kind)
		}
		d.Base = base
		for _, f := range base.allBitfields() {
			names[f.Name] = true
			at = max(at, int(f.Position)+int(f.Bits))
		}
	}
	d.Bitfields = slices.Clone(d.Bitfields)
	// Type objects have the fields by position, and each begins where the one before it has ended, or later.
	if !sort.SliceIsSorted(d.Bitfields, func(i, j int) bool { return d.Bitfields[i].Position < d.Bitfields[j].Position }) {
		return b.errorf("", "its fields are not in the order of their positions")
	}
	for _, f := range d.Bitfields {
		most := 8 * f.Holder.Size()
		if f.Holder == TKBoolean {
			most = 1
		}
		switch {
		case f.Bits == 0 || f.Bits > 64:
			return b.errorf(f.Name, "has %d bits; 1 to 64 are allowed", f.Bits)
		case f.Name != "" && !f.Holder.Integer() && f.Holder != TKBoolean && f.Holder != TKByte:
			return b.errorf(f.Name, "is held by a %s; it must be an integer or a boolean", f.Holder)
		case f.Name != "" && int(f.Bits) > most:
			return b.errorf(f.Name, "has %d bits, which do not fit into a %s", f.Bits, f.Holder)
		case int(f.Position) < at:
			return b.errorf(f.Name, "begins at bit %d, where the field before it has not ended (it does at %d)", f.Position, at)
		case int(f.Position)+int(f.Bits) > 64:
			return b.errorf(f.Name, "ends at bit %d of 64", int(f.Position)+int(f.Bits))
		case f.Name != "" && names[f.Name]:
			return b.errorf(f.Name, "is declared twice")
		}
		names[f.Name] = true
		at = int(f.Position) + int(f.Bits)
	}
	return nil
}

// allBitfields gives inherited fields first.
func (t *Type) allBitfields() []Bitfield {
	if t.d.Base == nil {
		return t.d.Bitfields
	}
	return slices.Concat(t.d.Base.allBitfields(), t.d.Bitfields)
}

func (b *builder) alias() error {
	if err := b.part("", b.d.Target); err != nil {
		return err
	}
	for t := b.d.Target; t.d.Kind == TKAlias || t == b.t; t = t.d.Target {
		if t == b.t {
			return b.errorf("", "stands for itself")
		}
	}
	return b.constraints("", b.d.Target, &b.d.Default, &b.d.Min, &b.d.Max)
}

func (b *builder) collection() error {
	d := &b.d
	if err := b.part("element", d.Elem); err != nil {
		return err
	}
	b.t.elem = &Member{Index: -1, Type: d.Elem, External: d.ElemFlags.External, TryConstruct: d.ElemFlags.TryConstruct}
	if d.Bound > maxBound {
		return b.errorf("", "bound %d exceeds %d", d.Bound, maxBound)
	}
	switch d.Kind {
	case TKMap:
		if err := b.part("key", d.MapKey); err != nil {
			return err
		}
		b.t.mapKey = &Member{Index: -1, Type: d.MapKey, External: d.MapKeyFlags.External, TryConstruct: d.MapKeyFlags.TryConstruct}
		switch k := d.MapKey.Resolve().d.Kind; {
		case k.Integer(), k == TKBoolean, k == TKByte, k == TKChar8, k == TKChar16, k == TKEnum, k == TKBitmask, k == TKString8, k == TKString16:
		default:
			return b.errorf("key", "is a %s; keys are integers, characters, booleans, strings, enumerations or bitmasks", k)
		}
	case TKArray:
		if len(d.Dims) == 0 {
			return b.errorf("", "has no dimensions")
		}
		d.Dims = slices.Clone(d.Dims)
		n := uint64(1)
		for _, dim := range d.Dims {
			if dim == 0 {
				return b.errorf("", "has a dimension of 0")
			}
			if n *= uint64(dim); n > maxArray {
				return b.errorf("", "has more than %d elements", maxArray)
			}
		}
	}
	return nil
}

// finite refuses a type of which every value, or the default, contains another value of it. What may be absent or empty
// ends a recursion.
func (b *builder) finite() error {
	if b.wraps(b.t, map[*Type]bool{}) {
		return b.errorf("", "is a collection of itself; put a struct or a union between")
	}
	seen := map[*Type]bool{}
	var path func(t *Type) (string, bool)
	path = func(t *Type) (string, bool) {
		if t == b.t {
			return "", true
		}
		if seen[t] {
			return "", false
		}
		seen[t] = true
		return b.into(t, path)
	}
	if p, found := b.into(b.t, path); found {
		return b.errorf(p, "contains the type itself; make it @optional, a sequence, or a member of a union that is not the default")
	}
	return nil
}

// wraps tells whether t leads to the type through aliases and collections alone. Values of such a type have no Go type.
func (b *builder) wraps(t *Type, seen map[*Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.d.Kind {
	case TKAlias, TKSequence, TKArray, TKMap:
		for _, p := range t.parts() {
			if p == b.t || b.wraps(p, seen) {
				return true
			}
		}
	}
	return false
}

// into looks for the type in the parts that every value of t has.
func (b *builder) into(t *Type, path func(*Type) (string, bool)) (string, bool) {
	switch t.d.Kind {
	case TKAlias:
		return path(t.d.Target)
	case TKArray:
		return path(t.d.Elem)
	case TKStructure:
		for _, m := range t.all {
			if m.Optional {
				continue
			}
			if p, found := path(m.Type); found {
				return joinPath(m.Name, p), true
			}
		}
	case TKUnion:
		if m := t.Case(ordinal(defaultOf(t.disc))); m != nil {
			if p, found := path(m.Type); found {
				return joinPath(m.Name, p), true
			}
		}
	}
	return "", false
}

func joinPath(member, rest string) string {
	if rest == "" {
		return member
	}
	return member + "." + rest
}

// References gives the named types that t refers to, directly and through others, each once, those that others need first as far
// as recursion allows. t itself comes last.
func (t *Type) References() []*Type {
	var list []*Type
	seen := map[*Type]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		for _, p := range t.parts() {
			visit(p)
		}
		if t.d.Kind.named() {
			list = append(list, t)
		}
	}
	visit(t)
	return list
}

// parts gives the types that t mentions.
func (t *Type) parts() []*Type {
	var list []*Type
	for _, p := range []*Type{t.d.Base, t.d.Elem, t.d.MapKey, t.d.Target} {
		if p != nil {
			list = append(list, p)
		}
	}
	if t.disc != nil {
		list = append(list, t.disc.Type)
	}
	for _, m := range t.all[t.own:] {
		list = append(list, m.Type)
	}
	return list
}

// Incomplete names the declarations that t needs and that were not completed, sorted.
func (t *Type) Incomplete() []string {
	missing := map[string]bool{}
	seen := map[*Type]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		if t.d.Kind == TKNone {
			missing[t.d.Name] = true
		}
		for _, p := range t.parts() {
			visit(p)
		}
	}
	visit(t)
	return slices.Sorted(maps.Keys(missing))
}
