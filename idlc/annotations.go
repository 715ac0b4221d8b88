package idlc

import (
	"math/big"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// target is a set of the kinds of things that an annotation may stand in front of.
type target uint32

const (
	onModule target = 1 << iota
	onStruct
	onUnion
	onEnum
	onBitmask
	onBitset
	onTypedef
	onConst
	onMember
	onCase
	onDiscriminator
	onElement
	onEnumerator
	onFlag
	onBitfield

	onTypes    = onStruct | onUnion | onEnum | onBitmask | onBitset
	onMembers  = onMember | onCase
	onAnything = target(1<<iota - 1)
)

var targetNames = []string{"module", "struct", "union", "enum", "bitmask", "bitset", "typedef", "constant", "member", "member of a union",
	"discriminator", "element", "enumerator", "flag", "bit field"}

func (t target) String() string {
	for i, name := range targetNames {
		if t == 1<<i {
			return name
		}
	}
	return "definition"
}

// wordEnum is an enum of the standard that only annotations use.
func wordEnum(name string, literals ...string) *Enum {
	e := &Enum{Common: Common{Name: name}, BitBound: 32, Width: 4, names: newScope(name, nil)}
	for i, l := range literals {
		v := &Enumerator{Name: l, Value: int32(i), Enum: e}
		e.Enumerators = append(e.Enumerators, v)
		e.names.enter(l, Pos{}, v)
	}
	e.Default = e.Enumerators[0]
	return e
}

func (e *Enum) value(name string) Value {
	return Value{Enum: e.names.get(name).what.(*Enumerator)}
}

var (
	autoIDKind        = wordEnum("AutoidKind", "SEQUENTIAL", "HASH")
	extensibilityKind = wordEnum("ExtensibilityKind", "FINAL", "APPENDABLE", "MUTABLE")
	tryConstructKind  = wordEnum("TryConstructFailAction", "DISCARD", "USE_DEFAULT", "TRIM")
	placementKind     = wordEnum("PlacementKind", "BEFORE_DECLARATION", "BEGIN_FILE", "BEGIN_DECLARATION", "END_DECLARATION",
		"AFTER_DECLARATION", "END_FILE")
	representations = func() *Bitmask {
		b := &Bitmask{Common: Common{Name: "DataRepresentationMask"}, BitBound: 32, Width: 4, names: newScope("DataRepresentationMask", nil)}
		for i, name := range []string{"XCDR1", "XML", "XCDR2"} {
			f := &Flag{Name: name, Position: i, Mask: b}
			b.Flags = append(b.Flags, f)
			b.names.enter(name, Pos{}, f)
		}
		b.names.enter("XCDR", Pos{}, b.Flags[0]) // as RTI calls it
		return b
	}()
	yes = func() Value { v := true; return Value{Bool: &v} }()
)

func text(s string) Value { return Value{Str: &s} }

func param(name string, t Type, standard Value) *AnnotationParam {
	return &AnnotationParam{Name: name, Type: t, Default: standard}
}

// standardAnnotations are those of IDL 4.2 §8.3, of XTypes 1.3 §7.3.1.2, and of DDS-RPC. Parameters have the names,
// types and defaults of the standards.
var standardAnnotations = func() map[string]*AnnotationType {
	all := map[string]*AnnotationType{}
	add := func(name string, on target, params ...*AnnotationParam) {
		all[name] = &AnnotationType{Common: Common{Name: name}, Params: params, Standard: true, on: on}
	}
	required := Value{}
	flag := func() *AnnotationParam { return param("value", Boolean, yes) }

	add("id", onMembers, param("value", Uint32, required))
	add("autoid", onModule|onStruct|onUnion, param("value", autoIDKind, autoIDKind.value("HASH")))
	add("optional", onMember, flag())
	add("position", onFlag, param("value", Uint16, required))
	add("value", onEnumerator, param("value", nil, required))
	add("extensibility", onTypes, param("value", extensibilityKind, required))
	add("final", onTypes)
	add("appendable", onTypes)
	add("mutable", onStruct|onUnion|onEnum|onBitmask)
	add("key", onMember|onDiscriminator, flag())
	add("must_understand", onMembers|onDiscriminator, flag())
	add("default_literal", onEnumerator)
	add("default", onMembers|onTypedef, param("value", nil, required))
	add("range", onMembers|onTypedef, param("min", nil, required), param("max", nil, required))
	add("min", onMembers|onTypedef, param("value", nil, required))
	add("max", onMembers|onTypedef, param("value", nil, required))
	add("unit", onMembers|onTypedef|onConst|onBitfield, param("value", &String{}, required))
	add("bit_bound", onEnum|onBitmask, param("value", Uint16, required))
	add("external", onMembers|onElement, flag())
	add("nested", onTypes, flag())
	add("verbatim", onAnything, param("language", &String{}, text("*")),
		param("placement", placementKind, placementKind.value("BEFORE_DECLARATION")), param("text", &String{}, required))
	add("service", onAnything, param("platform", &String{}, text("*")))
	add("oneway", onAnything, flag())
	add("ami", onAnything, flag())

	add("hashid", onMembers, param("value", &String{}, text("")))
	add("default_nested", onModule, flag())
	add("ignore_literal_names", onEnum, flag())
	add("try_construct", onMembers|onElement|onDiscriminator, param("value", tryConstructKind, tryConstructKind.value("USE_DEFAULT")))
	add("non_serialized", onMember, flag())
	add("data_representation", onModule|onStruct|onUnion, param("allowed_kinds", representations, required))
	add("topic", onTypes, param("name", &String{}, text("")), param("platform", &String{}, text("*")))

	for _, name := range []string{"Choice", "Empty", "DDSService", "RPCRequestType", "RPCReplyType", "in", "out", "inout"} {
		add(name, onAnything)
	}
	add("DDSRequestTopic", onAnything, param("name", &String{}, required))
	add("DDSReplyTopic", onAnything, param("name", &String{}, required))
	return all
}()

// vendorAnnotations are of other tools and about their own code or transports: they change neither types nor bytes.
var vendorAnnotations = words(`resolve_name use_vector copy copy_c copy_cpp copy_java copy_declaration copy_c_declaration copy_cpp_declaration
	copy_java_declaration copy_java_begin copy_java_declaration_begin language_binding transfer_mode allowed_data_representation use_ring_buffer
	cpp_mapping rtps_endpoint string_representation`)

// standard gives the name of an annotation of the standard, "" for one of the user's own.
func (a *Applied) standard() string {
	if a.Type.Standard {
		return a.Type.Name
	}
	return ""
}

// extensibility tells what an annotation says of it.
func (a *Applied) extensibility() (cdr.Extensibility, bool) {
	switch a.standard() {
	case "final":
		return cdr.Final, true
	case "appendable":
		return cdr.Appendable, true
	case "mutable":
		return cdr.Mutable, true
	case "extensibility":
		return []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable}[a.Args[0].Enum.Value], true
	}
	return 0, false
}

// arguments writes them as in IDL.
func (a *Applied) arguments() string {
	list := make([]string, len(a.Args))
	for i, v := range a.Args {
		list[i] = v.text()
	}
	return "(" + strings.Join(list, ", ") + ")"
}

func tryConstruct(a *Applied) TryConstruct {
	return []TryConstruct{TryConstructDiscard, TryConstructUseDefault, TryConstructTrim}[a.Args[0].Enum.Value]
}

// verbatims collects what @verbatim says.
func verbatims(list []*Applied) []Verbatim {
	var all []Verbatim
	for _, a := range list {
		if a.standard() == "verbatim" {
			all = append(all, Verbatim{*a.Args[0].Str, a.Args[1].Enum.Name, *a.Args[2].Str})
		}
	}
	return all
}

// documented gives the text that documents a declaration: the comments around it, or what ROS 2 says in an annotation of the
// language "comment".
func documented(doc string, said []Verbatim) string {
	for _, v := range said {
		if v.Language == "comment" {
			doc = joinLines(doc, v.Text)
		}
	}
	return doc
}

// placement reads the text form in which IDL before 4.2 gave it: "before-declaration".
func placement(s string) (Value, bool) {
	e := placementKind.names.get(strings.ReplaceAll(strings.ToUpper(s), "-", "_"))
	if e == nil {
		return Value{}, false
	}
	return Value{Enum: e.what.(*Enumerator)}, true
}

// orderOf compares two values of the same form; 0 if they have no order.
func orderOf(a, b Value) int {
	number := func(v Value) *big.Rat {
		switch {
		case v.Enum != nil:
			return new(big.Rat).SetInt64(int64(v.Enum.Value))
		case v.Int != nil:
			return new(big.Rat).SetInt(v.Int)
		case v.Fixed != nil:
			return v.Fixed
		case v.Float != nil:
			r := new(big.Rat)
			r.SetFloat64(*v.Float)
			return r
		}
		return nil
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		return 0
	}
	return x.Cmp(y)
}
