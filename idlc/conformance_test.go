package idlc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/empties"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/inner"
	"github.com/omg-dds-go/dds/internal/viewtest"
	"github.com/omg-dds-go/dds/xtypes"
)

const conformanceIntro = `# IDL constructs

Made by ` + "`go test ./idlc -run TestConformance -update`" + `, which fills every cell by doing it, and checked for staleness by the same test without -update.

- **parsed**: the front end takes the construct, and the model has the member;
- **Go code**: the code that is compiled into the test was written for this construct;
- **XCDR1**, **XCDR2**: random values survive encoding and decoding in both byte orders;
- **view**: views of random values read what was encoded, in all encodings;
- **writer**: random values that are written in place, each member as a whole or in parts, have the bytes of encoding, in all encodings;
- **TypeObject**: the code carries type objects that can be read, with the name of the type;
- **dynamic data**: random values that are written by the type object alone have the bytes that generated code writes, and are read back.

`

const conformanceOutro = `
Left out: fixed has no counterpart in the type system of XTypes 1.3, and a case label that takes more than 32 bits none in its type objects, so types with them have neither type
object nor dynamic data. Interfaces, valuetypes, components, native types, exceptions, template modules and any describe no data: they are skipped with a warning, or refused with -strict.
@verbatim within a declaration is left out, with a warning; @range is checked for members and not for elements.
`

// conformanceRows name constructs, and a member of a generated type that has each.
var conformanceRows = []struct {
	construct string
	message   cdr.Message
	member    string // of the struct or the union; "" for the type as a whole, "-" for that of an empty one
}{
	{"boolean", &tt.Primitives{}, "b"},
	{"octet", &tt.Primitives{}, "o"},
	{"char", &tt.Primitives{}, "c"},
	{"wchar", &tt.Primitives{}, "wc"},
	{"int8", &tt.Primitives{}, "i8"},
	{"uint8", &tt.Primitives{}, "u8"},
	{"short, int16", &tt.Primitives{}, "i16"},
	{"unsigned short, uint16", &tt.Primitives{}, "u16"},
	{"long, int32", &tt.Primitives{}, "i32"},
	{"unsigned long, uint32", &tt.Primitives{}, "u32"},
	{"long long, int64", &tt.Primitives{}, "i64"},
	{"unsigned long long, uint64", &tt.Primitives{}, "u64"},
	{"float", &tt.Primitives{}, "f32"},
	{"double", &tt.Primitives{}, "f64"},
	{"long double", &ct.SequenceKeys{}, "bigs"},
	{"fixed", &ct.Numbers{}, "price"},
	{"string<N>", &tt.Text{}, "s"},
	{"string", &ct.Sent{}, "text"},
	{"wstring<N>", &tt.Text{}, "w"},
	{"wstring", &ct.Sent{}, "wide"},
	{"sequence<T> of primitives", &tt.Collections{}, "blob"},
	{"sequence<T, N>", &tt.Collections{}, "doubles"},
	{"sequence of strings", &tt.Collections{}, "names"},
	{"sequence of structs", &tt.Collections{}, "items"},
	{"sequence of sequences, without a typedef", &ct.SequenceKeys{}, "rows"},
	{"array", &tt.Collections{}, "mac"},
	{"array of several dimensions", &tt.Collections{}, "grid"},
	{"array of strings", &tt.Collections{}, "labels"},
	{"map<K, V>", &ct.Maps{}, "numbers"},
	{"map<K, V, N>", &ct.Maps{}, "words"},
	{"map of structs, sequences and maps", &ct.Maps{}, "nested"},
	{"struct, final", &tt.Keys{}, ""},
	{"struct, appendable", &tt.Collections{}, ""},
	{"struct, mutable", &ct.Loose{}, ""},
	{"struct with a base", &tt.Derived{}, "note"},
	{"base and types of another package", &tt.Extended{}, "tagged"},
	{"struct without members, final", &empties.Nought{}, "-"},
	{"struct without members, appendable", &empties.Open{}, "-"},
	{"struct without members, mutable", &empties.Loose{}, "-"},
	{"empty structs as members, elements and bases", &empties.Holder{}, "nothings"},
	{"struct in a nested module", &inner.Holder{}, "at"},
	{"recursion through a sequence", &tt.Node{}, "children"},
	{"recursion through @external", &ct.Chain{}, "next"},
	{"union, final, with a default", &ct.Choice{}, "other"},
	{"union, appendable", &ct.Item{}, "real"},
	{"union, mutable", &ct.Loosely{}, "text"},
	{"union over boolean", &ct.Both{}, "yes"},
	{"union over char", &ct.Loosely{}, "number"},
	{"union over an enum", &ct.Choice{}, "small"},
	{"union with labels of more than 32 bits", &ct.Wide{}, "most"},
	{"recursive union", &ct.Tree{}, "branch"},
	{"enum", &tt.Derived{}, "color"},
	{"enum with @bit_bound and @value", &tt.Behind{}, "tiny"},
	{"bitmask", &ct.Bitty{}, "access"},
	{"bitset", &ct.Bitty{}, "bits"},
	{"typedef", &tt.Base{}, "id"},
	{"typedef of an array", &tt.Collections{}, "matrix"},
	{"@key", &tt.Keys{}, "last"},
	{"@key on a struct", &tt.Keys{}, "base"},
	{"@key on a discriminator", &ct.Choice{}, ""},
	{"@id", &ct.Loose{}, "doubles"},
	{"@hashid", &tt.Hashed{}, "color"},
	{"@optional, final", &ct.MaybeFinal{}, "height"},
	{"@optional, appendable", &ct.MaybeAppendable{}, "height"},
	{"@optional, mutable", &ct.Loose{}, "height"},
	{"@external", &ct.Around{}, "where"},
	{"@must_understand", &ct.Loose{}, "text"},
	{"@default", &ct.NewerLoose{}, "height"},
	{"@range, @min, @max", &ct.Defaulted{}, "ranged"},
	{"@default_literal", &ct.Defaulted{}, "color"},
	{"@non_serialized", &ct.Defaulted{}, "scratch"},
	{"@try_construct", &ct.Received{}, "text"},
	{"escaped identifier", &tt.Clash{}, "default"},
}

// frontRows are what leaves no trace in an encoding: the front end takes it without a word.
var frontRows = []struct{ construct, text string }{
	{"#define, #if, #ifdef, #ifndef, #elif, #else, #endif", "#define A(x) x\n#ifdef A\n#if A(1) > 0\nstruct S { long a; };\n#elif 1\n#else\n#endif\n#endif\n#ifndef A\n#endif"},
	{"#pragma keylist", "struct S { long a; };\n#pragma keylist S a"},
	{"//@key", "struct S { long a; //@key\n};"},
	{"const with expressions", "const long A = (1 << 3 | 2) % 7; const double B = 2.0 * 1.5; const string C = \"a\" \"b\"; struct S { octet a[A]; };"},
	{"forward declaration", "struct T; typedef sequence<T> Ts; struct S { Ts ts; }; struct T { long a; };"},
	{"module, opened again", "module m { struct A { long a; }; }; module m { struct B { A a; }; };"},
	{"@annotation, declared and used", "@annotation color { enum Shade { RED, BLUE }; Shade value default RED; }; @color(BLUE) struct S { long a; };"},
	{"@topic, @nested, @autoid, @data_representation, @unit, @verbatim", "@topic @autoid(HASH) @data_representation(XCDR2) struct S { @unit(\"m\") long a; }; @nested @verbatim(language=\"c\", placement=BEFORE_DECLARATION, text=\"x\") struct T { long a; };"},
}

// TestConformance fills docs/idl-conformance.md.
func TestConformance(t *testing.T) {
	units := map[string]*Unit{}
	for _, name := range []string{"constructs", "empties", "testtypes"} {
		unit, report := Check("internal/testtypes/"+name+".idl", Options{Include: []string{"internal/testtypes"}})
		if report.Failed() {
			t.Fatal(report)
		}
		units[name] = unit
	}
	var b strings.Builder
	b.WriteString(conformanceIntro + "| construct | parsed | Go code | XCDR1 | XCDR2 | view | writer | TypeObject | dynamic data |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range conformanceRows {
		fmt.Fprintf(&b, "| `%s` | ", r.construct)
		unit, _, _ := strings.Cut(r.message.CDRType().Name, "::")
		for _, cell := range []error{
			isParsed(units[unit], r.message, r.member), isCompiled(units[unit], r.message),
			survives(r.message, false), survives(r.message, true), isViewed(t, r.message), isWritten(r.message), hasTypeObject(r.message), isDynamic(r.message),
		} {
			if cell != nil {
				fmt.Fprintf(&b, "no: %v | ", cell)
			} else {
				b.WriteString("yes | ")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\nWhat leaves no trace in an encoding:\n\n| construct | parsed |\n|---|---|\n")
	for _, r := range frontRows {
		cell := "yes"
		if files, report := compileText(r.text); len(files) != 1 || report.String() != "" {
			cell = "no: " + report.String()
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.construct, cell)
	}
	golden(t, "../docs/idl-conformance.md", strings.ReplaceAll(b.String(), "| \n", "|\n")+conformanceOutro+annotationTable(t))
}

// declaration finds the type of a message.
func declaration(unit *Unit, m cdr.Message) Type {
	for _, d := range unit.Decls {
		if d.common().Scoped() == m.CDRType().Name {
			return d.(Type)
		}
	}
	return nil
}

func isParsed(unit *Unit, m cdr.Message, member string) error {
	var members []*Member
	switch d := declaration(unit, m).(type) {
	case *Struct:
		members = d.allMembers()
	case *Union:
		members = d.members()
	default:
		return fmt.Errorf("%s is not there", m.CDRType().Name)
	}
	if member == "-" && len(members) == 0 {
		return nil
	}
	for _, x := range members {
		if member == "" || x.Name == member {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s", m.CDRType().Name, member)
}

func isCompiled(unit *Unit, m cdr.Message) error {
	if want := typeText(declaration(unit, m)); want != m.CDRType().Text {
		return fmt.Errorf("made for another %s", m.CDRType().Name)
	}
	return nil
}

// randomLike gives a random value of the type of m.
func randomLike(rnd *rand.Rand, m cdr.Message) cdr.Message {
	value := reflect.New(reflect.TypeOf(m).Elem())
	if r, bounded := value.Interface().(*ct.Received); bounded { // by less than fill knows of
		*r = ct.Received{Text: "abc", Blob: []byte{1, 2}, Words: []string{"a", ""}, Picks: []int32{rnd.Int32()}, Table: map[int32]string{3: "x"}, Tail: byte(rnd.Uint32())}
	} else {
		fill(rnd, value.Elem(), 0)
	}
	return value.Interface().(cdr.Message)
}

// survives encodes and decodes random values.
func survives(m cdr.Message, xcdr2 bool) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	encodings := encapsulations(m.CDRType()) // those of XCDR1 first
	if encodings = encodings[:2]; xcdr2 {
		encodings = encapsulations(m.CDRType())[2:]
	}
	for range 20 {
		for _, enc := range encodings {
			value, back := randomLike(rnd, m), reflect.New(reflect.TypeOf(m).Elem())
			sample, err := cdr.Marshal(value, enc)
			if err == nil {
				err = cdr.Unmarshal(sample, back.Interface().(cdr.Message))
			}
			if err != nil {
				return err
			}
			if again, err := cdr.Marshal(back.Interface().(cdr.Message), enc); err != nil || !bytes.Equal(again, sample) {
				return fmt.Errorf("%s differs after %s", m.CDRType().Name, enc)
			}
		}
	}
	return nil
}

// inPlace gives each random value of a type, in each of its encodings, with the code that reads and writes it where it lies.
func inPlace(m cdr.Message, visit func(g generated, rnd *rand.Rand, value cdr.Message, enc cdr.Encapsulation, sample []byte) error) error {
	list := append(slices.Clone(allGenerated),
		of[ct.Sent](ct.NewSentView, ct.NewSentBuilder, ct.NewSentWriter), of[ct.Received](ct.NewReceivedView, ct.NewReceivedBuilder, ct.NewReceivedWriter))
	i := slices.IndexFunc(list, func(g generated) bool { return reflect.TypeOf(g.message()) == reflect.TypeOf(m) })
	if i < 0 {
		return fmt.Errorf("not tried")
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		for _, enc := range encapsulations(m.CDRType()) {
			value := randomLike(rnd, m)
			sample, err := cdr.Marshal(value, enc)
			if err == nil {
				err = visit(list[i], rnd, value, enc, sample)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// isViewed reads random values through views.
func isViewed(t *testing.T, m cdr.Message) error {
	return inPlace(m, func(g generated, _ *rand.Rand, value cdr.Message, enc cdr.Encapsulation, sample []byte) error {
		view, err := g.view(sample)
		if err == nil {
			viewtest.Same(t, g.name+" "+enc.String(), reflect.ValueOf(view), reflect.ValueOf(value).Elem())
		}
		return err
	})
}

// isWritten writes random values in place.
func isWritten(m cdr.Message) error {
	return inPlace(m, func(g generated, rnd *rand.Rand, value cdr.Message, enc cdr.Encapsulation, sample []byte) error {
		var s cdr.Stream
		buf := make([]byte, len(sample))
		w := g.write(&s, buf, enc)
		viewtest.Write(rnd, w, value)
		n, err := w.(finisher).Finish()
		if err == nil && !bytes.Equal(buf[:n], sample) {
			err = fmt.Errorf("%s differs in %s", g.name, enc)
		}
		return err
	})
}

func hasTypeObject(m cdr.Message) error {
	info := m.CDRType()
	if info.TypeObject == "" {
		return fmt.Errorf("none")
	}
	typ, _, _, err := xtypes.ParseDescription([]byte(info.TypeObject))
	if err == nil && typ.Name() != info.Name {
		return fmt.Errorf("it is of %s", typ.Name())
	}
	return err
}

// isDynamic writes random values by the type object alone, and has generated code read and write them.
func isDynamic(m cdr.Message) error {
	if err := hasTypeObject(m); err != nil {
		return fmt.Errorf("no type object")
	}
	typ, _, _, err := xtypes.ParseDescription([]byte(m.CDRType().TypeObject))
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		d := xtypes.Random(rnd.Uint64, typ)
		for _, enc := range encapsulations(m.CDRType()) {
			want, err := d.Encode(enc)
			if err != nil {
				return err
			}
			value := reflect.New(reflect.TypeOf(m).Elem()).Interface().(cdr.Message)
			if err := cdr.Unmarshal(want, value); err != nil {
				return err
			}
			got, err := cdr.Marshal(value, enc)
			if err != nil {
				return err
			}
			back, err := xtypes.Decode(typ, got)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) || !d.Equal(back) {
				return fmt.Errorf("%s differs after %s", m.CDRType().Name, enc)
			}
		}
	}
	return nil
}
