package idlc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/omg-dds-go/dds/xtypes/notation"
)

const annotationIntro = `
## Annotations

Each annotation of IDL 4.2 §8.3, of XTypes 1.3 §7.3.1.2 and of DDS-RPC, and what changes where it is written. The test compiles a declaration with and without it, and compares:

- **stands in front of**: tried in front of everything that there is; elsewhere it is an error with its place. Parameters without a value must be given;
- **Go**: what only the code with the annotation has; "doc" for a line of documentation; "-" if the code is the same but for the type object;
- **bytes**: the kinds of types, final (F), appendable (A) or mutable (M), of which a sample of the same value is encoded otherwise;
- **type object**: the words that the complete type object has more or otherwise, and *all* where the minimal one has them as well;
- **dynamic data**: whether the type that is read from its type object has it still;
- **IDL**, **XML**: whether it is there after ` + "`-to`" + ` and back again; "refused" if ` + "`-to`" + ` with ` + "`-strict`" + ` says by name that the notation has no place for it, and leaves it out with a warning otherwise; "-" where it says what holds anyway, or nothing of the type;
- **JSON Schema**: whether it is another one.

`

const annotationOutro = `
Annex B has no place for @default, @ignore_literal_names and @non_serialized, and for annotations of the user's own there is one in complete type objects that is not used. @must_understand in front
of a member of a union has no effect, with a warning; in front of a discriminator, which must be understood anyway, neither. @try_construct of a discriminator is in the type object only: what an unknown
discriminator selects cannot be read, so the union is discarded. @data_representation counts for the type of a topic, not for its members; Annex B has no place for it. Of one annotation that is written twice with other arguments, and of @range beside another
@min or @max, the second is an error; @verbatim and @service may be written for each language and platform.
`

// places are a declaration each with room for an annotation in front of everything that there is.
var places = []struct {
	on   target
	text string
}{
	{onModule, `%s module m { struct S { long a; }; };`},
	{onStruct, `%s struct S { long a; };`},
	{onUnion, `%s union U switch (long) { case 1: long a; };`},
	{onEnum, `%s enum E { A };`},
	{onBitmask, `%s bitmask M { A };`},
	{onBitset, `%s bitset B { bitfield<3> a; };`},
	{onTypedef, `%s typedef long L;`},
	{onConst, `%s const long C = 1;`},
	{onMember, `struct S { %s long a; };`},
	{onCase, `union U switch (long) { case 1: %s long a; };`},
	{onDiscriminator, `union U switch (%s long) { case 1: long a; };`},
	{onElement, `struct S { sequence<%s long> a; };`},
	{onEnumerator, `enum E { %s A };`},
	{onFlag, `bitmask M { %s A };`},
	{onBitfield, `bitset B { %s bitfield<3> a; };`},
}

// annotationRows are the annotations with one declaration each. X stands for the extensibility, @@ for the annotation.
var annotationRows = []struct {
	written string   // with arguments
	short   string   // without those that have defaults, if that says the same
	on      []target // where it may stand
	text    string   // a type with it: the last one that is declared
	value   string   // in JSON
	code    string   // of the Go code with the annotation only
	effect  string   // what that is
}{
	{`@id(7)`, ``, []target{onMember, onCase}, `X struct T { long a; @@ long b; };`, `{"a":1,"b":2}`, ``, ``},
	{`@hashid("x")`, ``, []target{onMember, onCase}, `X struct T { long a; @@ long b; };`, `{"a":1,"b":2}`, ``, ``},
	{`@hashid("")`, `@hashid`, []target{onMember, onCase}, `X struct T { long a; @@ long b; };`, `{"a":1,"b":2}`, ``, ``},
	{`@autoid(HASH)`, `@autoid`, []target{onModule, onStruct, onUnion}, `@@ X struct T { long a; long b; };`, `{"a":1,"b":2}`, ``, ``},
	{`@optional(TRUE)`, `@optional`, []target{onMember}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `A +\*int32 +.json:"a,omitempty"`, "a pointer"},
	{`@position(5)`, ``, []target{onFlag}, `bitmask M { @@ A, B }; X struct T { M m; };`, `{"m":["B"]}`, `MA M = 1 << 5`, "the flag"},
	{`@value(5)`, ``, []target{onEnumerator}, `enum E { @@ A, B }; X struct T { E e; };`, `{"e":"A"}`, `EA E = 5`, "the constant"},
	{`@extensibility(FINAL)`, ``, []target{onStruct, onUnion, onEnum, onBitmask, onBitset}, `@@ struct T { long a; };`, `{"a":1}`, `Extensibility: +cdr.Final`, "encoding"},
	{`@final`, ``, []target{onStruct, onUnion, onEnum, onBitmask, onBitset}, `@@ struct T { long a; };`, `{"a":1}`, `Extensibility: +cdr.Final`, "encoding"},
	{`@appendable`, ``, []target{onStruct, onUnion, onEnum, onBitmask, onBitset}, `@@ struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@mutable`, ``, []target{onStruct, onUnion, onEnum, onBitmask}, `@@ struct T { long a; };`, `{"a":1}`, `Extensibility: +cdr.Mutable`, "encoding"},
	{`@key(TRUE)`, `@key`, []target{onMember, onDiscriminator}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `Keyed: +true`, "key, key hash"},
	{`@must_understand(TRUE)`, `@must_understand`, []target{onMember, onCase, onDiscriminator}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, ``, ``},
	{`@default_literal`, ``, []target{onEnumerator}, `enum E { A, @@ B }; X struct T { E e; };`, `{"e":"A"}`, `E = EB`, "what is absent"},
	{`@default(3)`, ``, []target{onMember, onCase, onTypedef}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `A = 3`, "SetDefaults, what is absent"},
	{`@range(min = 1, max = 9)`, ``, []target{onMember, onCase, onTypedef}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `outside|Range`, "checked on write, doc"},
	{`@min(1)`, ``, []target{onMember, onCase, onTypedef}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `At least 1\.`, "checked on write, doc"},
	{`@max(9)`, ``, []target{onMember, onCase, onTypedef}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `At most 9\.`, "checked on write, doc"},
	{`@unit("m")`, ``, []target{onMember, onCase, onTypedef, onConst, onBitfield}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `Unit: m\.`, "doc"},
	{`@bit_bound(16)`, ``, []target{onEnum, onBitmask}, `@@ enum E { A }; X struct T { E e; };`, `{"e":"A"}`, `Int16|int16|Enum16`, "int16 on the wire"},
	{`@external(TRUE)`, `@external`, []target{onMember, onCase, onElement}, `X struct T { @@ long a; long b; };`, `{"a":1,"b":2}`, `A +\*int32`, "a pointer"},
	{`@nested(TRUE)`, `@nested`, []target{onStruct, onUnion, onEnum, onBitmask, onBitset}, `@@ X struct T { long a; };`, `{"a":1}`, `Nested: +true`, "no topic"},
	{`@default_nested(TRUE)`, `@default_nested`, []target{onModule}, `@@ module m { X struct T { long a; }; };`, `{"a":1}`, `Nested: +true`, "no topic"},
	{`@topic(name = "x", platform = "*")`, `@topic(name = "x")`, []target{onStruct, onUnion, onEnum, onBitmask, onBitset}, `@@ X struct T { long a; };`, `{"a":1}`, `Topic: +"x"`, "name for NewTopic"},
	{`@verbatim(language = "go", placement = BEFORE_DECLARATION, text = "// x")`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, `(?m)^// x$`, "the text"},
	{`@ignore_literal_names(TRUE)`, `@ignore_literal_names`, []target{onEnum}, `@@ enum E { A }; X struct T { E e; };`, `{"e":"A"}`, ``, ``},
	{`@try_construct(USE_DEFAULT)`, `@try_construct`, []target{onMember, onCase, onDiscriminator, onElement}, `X struct T { @@ string<4> a; long b; };`, `{"a":"x","b":2}`, `aTry := d\.Try\(\)`, "what is read"},
	{`@non_serialized(TRUE)`, `@non_serialized`, []target{onMember}, `X struct T { long a; @@ long b; };`, `{"a":1}`, ``, "in Go only"},
	{`@data_representation(XCDR2)`, ``, []target{onModule, onStruct, onUnion}, `@@ X struct T { long a; };`, `{"a":1}`, `Representations: +cdr.RepresentationXCDR2`, "what QoS may offer"},
	{`@service(platform = "*")`, `@service`, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@oneway(TRUE)`, `@oneway`, slices.Collect(everywhere), `X struct T { @@ long a; };`, `{"a":1}`, ``, ``},
	{`@ami(TRUE)`, `@ami`, slices.Collect(everywhere), `X struct T { @@ long a; };`, `{"a":1}`, ``, ``},
	{`@DDSService`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@DDSRequestTopic("x")`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@DDSReplyTopic("x")`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@RPCRequestType`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@RPCReplyType`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@Choice`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@Empty`, ``, slices.Collect(everywhere), `@@ X struct T { long a; };`, `{"a":1}`, ``, ``},
	{`@in`, ``, slices.Collect(everywhere), `X struct T { @@ long a; };`, `{"a":1}`, ``, ``},
	{`@out`, ``, slices.Collect(everywhere), `X struct T { @@ long a; };`, `{"a":1}`, ``, ``},
	{`@inout`, ``, slices.Collect(everywhere), `X struct T { @@ long a; };`, `{"a":1}`, ``, ``},
}

func everywhere(yield func(target) bool) {
	for _, p := range places {
		if !yield(p.on) {
			return
		}
	}
}

// annotationTable gives the section of docs/idl-conformance.md. Every cell is what happened.
func annotationTable(t *testing.T) string {
	seen := map[string]bool{}
	var b strings.Builder
	b.WriteString(annotationIntro + "| annotation | parameters | stands in front of | Go | bytes | type object | dynamic data | IDL | XML | JSON Schema |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range annotationRows {
		name := regexp.MustCompile(`^@\w+`).FindString(r.written)
		seen[name[1:]] = true
		with, without := declared(t, r.text, r.written), declared(t, r.text, "")
		if r.short != "" { // the defaults of the standard
			require.Equal(t, with[cdr.Final].text(t), declared(t, r.text, r.short)[cdr.Final].text(t), r.short)
		}
		cells := []string{r.written, parameters(t, name), stands(t, r.written, name, r.on), goEffect(t, r.code, r.effect, with, without),
			bytesEffect(t, r.value, with, without), objectEffect(t, with[cdr.Appendable].typ, without[cdr.Appendable].typ)}
		kept := func(again func(*xtypes.Type) (*xtypes.Type, error)) string {
			w := with[cdr.Appendable]
			got, err := again(w.typ)
			switch {
			case w.text(t) == without[cdr.Appendable].text(t):
				return "-"
			case err != nil && strings.Contains(err.Error(), "has no "+name) || err != nil && strings.Contains(err.Error(), " "+name):
				return "refused"
			case err != nil:
				return "refused: " + err.Error()
			case idlOf(t, got) != w.text(t):
				return "lost"
			}
			return "yes"
		}
		cells = append(cells, kept(throughObject), kept(throughIDL), kept(throughXML))
		schema := "same"
		if x, y := schemaOf(t, with[cdr.Appendable].typ), schemaOf(t, without[cdr.Appendable].typ); x != y {
			schema = "another"
		}
		cells[0] = "`" + cells[0] + "`"
		b.WriteString("| " + strings.Join(append(cells, schema), " | ") + " |\n")
	}
	for name := range standardAnnotations {
		require.True(t, seen[name], "@%s has a row", name)
	}
	return b.String() + annotationOutro
}

// compiled is a declaration in one extensibility.
type compiled struct {
	code string
	typ  *xtypes.Type
}

func (c compiled) text(t *testing.T) string { return idlOf(t, c.typ) }

func idlOf(t *testing.T, typ *xtypes.Type) string {
	t.Helper()
	text, err := notation.IDL([]*xtypes.Type{typ})
	require.NoError(t, err)
	return string(text)
}

// declared compiles a declaration in each extensibility.
func declared(t *testing.T, text, annotation string) map[cdr.Extensibility]compiled {
	t.Helper()
	all := map[cdr.Extensibility]compiled{}
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		source := regexp.MustCompile(`\bX\b`).ReplaceAllString(strings.ReplaceAll(text, "@@", annotation), "@"+x.String())
		files, report := compileText(source)
		require.Empty(t, report.String(), source)
		all[x] = compiled{withoutTypeObject(string(files[0].Content)), lastType(t, source)}
	}
	return all
}

func lastType(t *testing.T, source string) *xtypes.Type {
	t.Helper()
	typ, err := readIDL(source)
	require.NoError(t, err, source)
	return typ
}

func readIDL(source string) (*xtypes.Type, error) {
	unit, report := Check("t.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte(source), nil }})
	if report.Failed() {
		return nil, fmt.Errorf("%s", report)
	}
	types, err := unit.Types(false)
	if err != nil {
		return nil, err
	}
	return types[len(types)-1], nil
}

// withoutTypeObject takes what describes the type out of code.
func withoutTypeObject(code string) string {
	return regexp.MustCompile("(?s)\\s+(TypeObject: +\"[^\n]*\"|Text: +`[^`]*`),").ReplaceAllString(code, "")
}

func parameters(t *testing.T, name string) string {
	list := []string{}
	for _, p := range standardAnnotations[name[1:]].Params {
		s := p.Name
		if p.Default.Valid() {
			s += " = " + p.Default.text()
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return "none"
	}
	return "`" + strings.Join(list, ", ") + "`"
}

// stands tries an annotation everywhere.
func stands(t *testing.T, written, name string, on []target) string {
	least := slices.ContainsFunc(standardAnnotations[name[1:]].Params, func(p *AnnotationParam) bool { return !p.Default.Valid() })
	names := []string{}
	for _, p := range places {
		if least && slices.Contains(on, p.on) {
			_, report := compileText(fmt.Sprintf(p.text, name))
			require.Contains(t, report.String(), fmt.Sprintf("fuzz.idl:1:%d: %s takes ", 1+strings.Index(p.text, "%"), name))
		}
		_, report := compileText(fmt.Sprintf(p.text, written))
		refusal := fmt.Sprintf("fuzz.idl:1:%d: %s does not apply to %s %s\n", 1+strings.Index(p.text, "%"), name, article(p.on.String()), p.on)
		if !slices.Contains(on, p.on) {
			require.Contains(t, report.String(), refusal, p.text)
			require.Contains(t, report.Explain(), "\n      | "+strings.Repeat(" ", strings.Index(p.text, "%"))+"^", p.text)
			continue
		}
		require.NotContains(t, report.String(), "does not apply", p.text)
		names = append(names, p.on.String())
	}
	if len(names) == len(places) {
		return "everything"
	}
	return strings.Join(names, ", ")
}

func goEffect(t *testing.T, code, effect string, with, without map[cdr.Extensibility]compiled) string {
	if code == "" {
		if with[cdr.Final].code == without[cdr.Final].code && with[cdr.Mutable].code == without[cdr.Mutable].code {
			return "-"
		}
		require.NotEqual(t, with[cdr.Mutable].code, without[cdr.Mutable].code)
		require.Equal(t, effect == "in Go only", with[cdr.Final].code != without[cdr.Final].code)
		return cmp.Or(effect, "headers of mutable types")
	}
	require.Regexp(t, code, with[cdr.Final].code)
	require.NotRegexp(t, code, without[cdr.Final].code)
	return effect
}

// bytesEffect encodes a value by both types.
func bytesEffect(t *testing.T, value string, with, without map[cdr.Extensibility]compiled) string {
	var cells []string
	for _, v2 := range []bool{false, true} {
		kinds := ""
		for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
			if !slices.Equal(encodedJSON(t, with[x].typ, value, v2), encodedJSON(t, without[x].typ, value, v2)) {
				kinds += strings.ToUpper(x.String()[:1])
			}
		}
		switch {
		case kinds == "FAM":
			cells = append(cells, fmt.Sprintf("XCDR%d", map[bool]int{false: 1, true: 2}[v2]))
		case kinds != "":
			cells = append(cells, fmt.Sprintf("XCDR%d of %s", map[bool]int{false: 1, true: 2}[v2], kinds))
		}
	}
	if len(cells) == 0 {
		return "same"
	}
	return strings.Join(cells, ", ")
}

func encodedJSON(t *testing.T, typ *xtypes.Type, value string, v2 bool) []byte {
	t.Helper()
	d, err := xtypes.NewData(typ)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(value), d), "%s", idlOf(t, typ))
	sample, err := d.Encode(encapsulations(&cdr.TypeInfo{Extensibility: typ.Extensibility()})[map[bool]int{false: 0, true: 2}[v2]])
	require.NoError(t, err)
	return sample
}

// objectEffect compares type objects by their words.
func objectEffect(t *testing.T, with, without *xtypes.Type) string {
	more := func(ek xtypes.EquivalenceKind) string {
		texts := [2][]string{}
		for i, typ := range []*xtypes.Type{with, without} {
			all, err := xtypes.Identify(typ, ek)
			require.NoError(t, err)
			for _, x := range all {
				texts[i] = append(texts[i], regexp.MustCompile(`[^\s"]*"[^"]*"|\S+`).FindAllString(regexp.MustCompile(`EK_\w+ [0-9a-f]{28}`).ReplaceAllString(x.Object.Text(), ""), -1)...)
			}
		}
		count := map[string]int{}
		for _, w := range texts[1] {
			count[w]++
		}
		var list []string
		for _, w := range texts[0] {
			if count[w]--; count[w] < 0 {
				list = append(list, w)
			}
		}
		slices.Sort(list)
		return strings.Join(slices.Compact(list), " ")
	}
	minimal, complete := more(xtypes.Minimal), more(xtypes.Complete)
	switch {
	case complete == "":
		return "-"
	case minimal == complete:
		return "`" + complete + "`, all"
	case minimal != "":
		return "`" + complete + "`; minimal: `" + minimal + "`"
	}
	return "`" + complete + "`"
}

func throughObject(typ *xtypes.Type) (*xtypes.Type, error) {
	b, err := xtypes.Describe(typ)
	if err != nil {
		return nil, err
	}
	got, _, _, err := xtypes.ParseDescription(b)
	return got, err
}

func throughIDL(typ *xtypes.Type) (*xtypes.Type, error) {
	text, err := notation.IDL([]*xtypes.Type{typ})
	if err != nil {
		return nil, err
	}
	return readIDL(string(text))
}

func throughXML(typ *xtypes.Type) (*xtypes.Type, error) {
	text, err := notation.XML([]*xtypes.Type{typ})
	if err != nil {
		return nil, err
	}
	types, err := notation.ParseXML(text)
	if err != nil {
		return nil, err
	}
	return types[len(types)-1], nil
}

func schemaOf(t *testing.T, typ *xtypes.Type) string {
	t.Helper()
	s, err := notation.JSONSchema(typ)
	require.NoError(t, err)
	return string(s)
}
