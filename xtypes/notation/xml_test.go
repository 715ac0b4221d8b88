package notation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/xtypes"
)

func TestXMLIsReadAsTheSameTypes(t *testing.T) {
	want := compile(t, strings.Replace(plain, "@autoid(HASH) ", "", 1))
	out, err := XML(want)
	require.NoError(t, err)
	got, err := ParseXML(out)
	require.NoError(t, err, "%s", out)
	same(t, want, got, out)
	out, err = XML(got) // in another order: that of the file
	require.NoError(t, err)
	got, err = ParseXML(out)
	require.NoError(t, err, "%s", out)
	same(t, want, got, out)
}

// One document as RTI Connext writes it, one as Fast DDS does.
func TestXMLOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		`<dds xmlns="http://www.eprosima.com"><types>
		   <const name="N" type="long" value="4"/>
		   <module name="geo">
		     <const name="M" type="long" value="7"/>
		     <enum name="Color"><enumerator name="RED" value="2"/><enumerator name="BLUE"/></enum>
		     <struct name="Point" extensibility="mutable">
		       <member name="id" type="long" key="true"/>
		       <member name="name" stringMaxLength="N" type="string"/>
		       <member name="route" type="nonBasic" nonBasicTypeName="geo::Color" sequenceMaxLength="M"/>
		       <member name="m" type="float32" mapKeyType="string" mapMaxLength="-1"/>
		       <member name="grid" type="octet" arrayDimensions="2,N" id="50"/>
		       <member name="last" type="unsignedLongLong" optional="true"/>
		     </struct>
		   </module></types></dds>`: `
module geo {
  enum Color {
    @value(2) RED,
    BLUE
  };
  @mutable struct Point {
    @key long id;
    string<4> name;
    sequence<Color, 7> route;
    map<string, float> m;
    @id(50) octet grid[2][4];
    @optional unsigned long long last;
  };
};
`,
		`<types><bitmask name="Flags" bit_bound="8"><bit_value name="a" position="1"/><bit_value name="b"/></bitmask>
		   <bitset name="Bits"><bitfield name="x" bit_bound="3"/><bitfield bit_bound="2"/><bitfield name="y" bit_bound="1"/></bitset>
		   <union name="U"><discriminator type="char8"/><case><caseDiscriminator value="'a'"/><caseDiscriminator value="98"/><member name="f" type="nonBasic" nonBasicTypeName="Flags"/></case>
		     <case><caseDiscriminator value="default"/><member name="b" type="nonBasic" nonBasicTypeName="Bits"/></case></union></types>`: `
@bit_bound(8) bitmask Flags {
  @position(1) a,
  b
};
bitset Bits {
  bitfield<3, octet> x;
  bitfield<2>;
  bitfield<1, boolean> y;
};
@appendable union U switch (char) {
  case '\x61':
  case '\x62':
    Flags f;
  default:
    Bits b;
};
`,
		`<dds><types><const name="TEN" type="short" value="10"/><const name="HALF" type="double" value="0.5"/>
		   <enum name="E"><enumerator name="A"/><enumerator name="B"/></enum>
		   <struct name="S" extensibility="final">
		     <member name="a" type="int32" default="-3" min="-5" max="TEN"/><member name="b" type="uint64" default="18446744073709551615"/>
		     <member name="c" type="string" default="it's"/><member name="d" type="wstring" default='"quoted"'/><member name="e" type="nonBasic" nonBasicTypeName="E" default="(E::B)"/>
		     <member name="f" type="float32" default="1.1" min="HALF"/><member name="g" type="float64" max="1e9"/><member name="h" type="boolean" default="true"/>
		     <member name="i" type="char8" default="'x'"/><member name="j" type="octet" default="0x1F" optional="true"/>
		   </struct></types></dds>`: `
enum E {
  A,
  B
};
@final struct S {
  @default(-3) @min(-5) @max(10) long a;
  @default(18446744073709551615) unsigned long long b;
  @default("it's") string c;
  @default("quoted") wstring d;
  @default(::B) E e;
  @default(1.1) @min(0.5) float f;
  @max(1e+09) double g;
  @default(TRUE) boolean h;
  @default('\x78') char i;
  @optional @default(31) octet j;
};
`,
	} {
		types, err := ParseXML([]byte(text))
		require.NoError(t, err)
		idl, err := IDL(types)
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(want, "\n"), string(idl))
	}
}

func TestXMLErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "1:1: there is no element: EOF",
		`<types>`:                                "1:8: unexpected EOF",
		`<x/>`:                                   "1:1: <x> is neither <types> nor <dds>",
		`<types><include file="a.xml"/></types>`: `1:8: <include name="">: this element is not supported`,
		`<types><strukt name="S"/></types>`:      `1:8: <strukt name="S">: this element is not supported; did you mean struct?`,
		`<types><struct name="S"><member name="a" type="lung"/></struct></types>`:                                                                                      `1:48: <struct name="S">: type="lung" is no type; did you mean long?`,
		`<types><struct name="S"><member name="a" type="nonBasic" nonBasicTypeName="X"/></struct></types>`:                                                             `1:76: <struct name="S">: there is no type "X"; did you mean S?`,
		`<types><struct name="S"><member name="a" type="long" key="maybe"/></struct></types>`:                                                                          `1:59: <struct name="S">: key="maybe" is no boolean`,
		`<types><struct name="S"><member name="a" type="string" stringMaxLength="N"/></struct></types>`:                                                                `1:73: <struct name="S">: stringMaxLength="N" is no number from -1 to 2147483647`,
		`<types><struct name="S"><member name="a" type="long" arrayDimensions="2,0"/></struct></types>`:                                                                `1:71: <struct name="S">: arrayDimensions="0" is no number from 1 to 2147483647`,
		`<types><struct name="S"><member name="a" type="long" default="x"/></struct></types>`:                                                                          `1:63: <struct name="S">: default="x" is no value of type int32`,
		`<types><struct name="S"><member name="a" type="uint8" max="300"/></struct></types>`:                                                                           `1:39: <struct name="S">: a maximum: 300 is not in the range of uint8`,
		`<types><struct name="S"><member name="a" type="long" arrayDimensions="2" min="1"/></struct></types>`:                                                          `1:79: <struct name="S">: min="1" is no value of type int32[2]`,
		`<types><struct name="S" extensibility="soft"/></types>`:                                                                                                       `1:40: <struct name="S">: extensibility "soft" is none of final, appendable, mutable`,
		`<types><struct name="S"><member name="a" type="long"/><member name="a" type="long"/></struct></types>`:                                                        `1:69: <struct name="S">: a is the name of members 0 and 1`,
		`<types><struct name="S"><member name="ab" type="long"/><member name="aB" type="long"/></struct></types>`:                                                      `1:70: <struct name="S">: aB clashes with ab: in IDL, names may not differ in case only`,
		`<types><struct name="S"><member name="a b" type="long"/></struct></types>`:                                                                                    `1:39: <struct name="S">: "a b" is no name in IDL, which are of letters, digits and underscores`,
		`<types><struct name="S"/><struct name="s"/></types>`:                                                                                                          `1:40: <struct name="s">: s clashes with S: in IDL, names may not differ in case only`,
		`<types><struct name="S"/><struct name="S"/></types>`:                                                                                                          `1:40: <struct name="S">: S is described twice`,
		`<types><forward_dcl name="N" kind="struct"/><struct name="S"><member name="a" type="nonBasic" nonBasicTypeName="N" sequenceMaxLength="-1"/></struct></types>`: `1:27: N is declared and not described; S needs it`,
		`<types><union name="U"><case><caseDiscriminator value="1"/><member name="a" type="long"/></case></union></types>`:                                             `1:30: <union name="U">: a case comes before the discriminator`,
		strings.Repeat("<a>", 100): "1:193: elements are nested more than 64 levels deep",
	} {
		_, err := ParseXML([]byte(text))
		require.EqualError(t, err, "notation: XML: "+want)
	}
}

// All errors are found in one pass, each once: who uses what is wrong says nothing more.
func TestXMLErrorsAreFoundTogether(t *testing.T) {
	_, err := ParseXML([]byte(`<dds>
 <types>
  <enum name="Color"><enumerator name="RED" value="x"/></enum>
  <struct name="Point"
          baseType="Bass">
    <member name="ä" type="long"/>
    <member name="color" type="nonBasic" nonBasicTypeName="Color"/>
    <member name="y" type="dubble" key="perhaps"/>
  </struct>
  <typedef name="Points" type="nonBasic" nonBasicTypeName="Point" sequenceMaxLength="ten"/>
  <struct name="Base"><member name="points" type="nonBasic" nonBasicTypeName="Points"/></struct>
  <struct name="Other" baseType="Base"><member name="n" type="long"/></struct>
  <union name="U"><discriminator type="nonBasic" nonBasicTypeName="Color"/><case><caseDiscriminator value="RED"/><member name="a" type="long"/></case></union>
  <bitset name="Bits"><bitfield name="a" bit_bound="65"/><bitfield name="b" type="float" bit_bound="3"/></bitset>
  <struct name="Last"><member name="a" type="nonBasic" nonBasicTypeName="Poimt"/></struct>
 </types>
</dds>`))
	require.EqualError(t, err, `notation: XML: 3:52: <enum name="Color">: value="x" is no number from -2147483648 to 2147483647
notation: XML: 5:21: <struct name="Point">: there is no type "Bass"
notation: XML: 6:19: <struct name="Point">: "ä" is no name in IDL, which are of letters, digits and underscores
notation: XML: 8:28: <struct name="Point">: type="dubble" is no type; did you mean double?
notation: XML: 8:41: <struct name="Point">: key="perhaps" is no boolean
notation: XML: 10:86: <typedef name="Points">: sequenceMaxLength="ten" is no number from -1 to 2147483647
notation: XML: 14:53: <bitset name="Bits">: bit_bound="65" is no number from 1 to 64
notation: XML: 15:74: <struct name="Last">: there is no type "Poimt"; did you mean Point?`)
}

func TestXMLSaysWhatItCannotSay(t *testing.T) {
	for text, want := range map[string]string{
		`@final struct S { @unit("m") long a; };`:            "notation: S: a: DDS-XML has no @unit",
		`@final struct S { sequence<sequence<long>> a; };`:   "notation: S: sequence<int32> within another type: give it a name with a typedef",
		`@final struct S { sequence<@external string> a; };`: "notation: S: DDS-XML cannot annotate elements of collections",
		`@autoid(HASH) @final struct S { long a; };`:         "notation: S: DDS-XML has no @autoid",
	} {
		_, err := XML(compile(t, text))
		require.EqualError(t, err, want)
	}
}

func TestJSONSchema(t *testing.T) {
	types := compile(t, `
module m {
  enum Color { RED, GREEN };
  // A point.
  @final struct P { double x; @unit("m") @range(min = 0, max = 9) octet z; @range(min = -1, max = 5) long n; };
  @final union U switch (Color) { case RED: long r; default: P p; };
  @final struct S { @key string<4> id; @optional Color c; sequence<P, 3> ps; sequence<octet> blob; long g[2][3]; map<long, U> us; int64 big; };
};`)
	got, err := JSONSchema(types[len(types)-1])
	require.NoError(t, err)
	require.JSONEq(t, `{
	  "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/m::S",
	  "$defs": {
	    "m::Color": {"enum": ["RED", "GREEN"]},
	    "m::P": {"description": "A point.", "type": "object", "additionalProperties": false, "required": ["x", "z", "n"], "properties": {
	      "x": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
	      "z": {"type": "integer", "minimum": 0, "maximum": 9, "$comment": "unit: m"},
	      "n": {"type": "integer", "minimum": -1, "maximum": 5}}},
	    "m::U": {"anyOf": [
	      {"type": "object", "additionalProperties": false, "required": ["_d", "r"], "properties": {"_d": {"enum": ["RED"]}, "r": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}}},
	      {"type": "object", "additionalProperties": false, "required": ["_d", "p"], "properties": {"_d": {"not": {"enum": ["RED"]}}, "p": {"$ref": "#/$defs/m::P"}}},
	      {"type": "object", "additionalProperties": false, "required": ["_d"], "properties": {"_d": {"$ref": "#/$defs/m::Color"}}}]},
	    "m::S": {"type": "object", "additionalProperties": false, "required": ["id", "ps", "blob", "g", "us", "big"], "properties": {
	      "id": {"type": "string", "maxLength": 4}, "c": {"$ref": "#/$defs/m::Color"},
	      "ps": {"type": "array", "items": {"$ref": "#/$defs/m::P"}, "maxItems": 3}, "blob": {"type": "string", "contentEncoding": "base64"},
	      "g": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}}},
	      "us": {"type": "object", "additionalProperties": {"$ref": "#/$defs/m::U"}},
	      "big": {"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}}}}}`, string(got))
	_, err = JSONSchema(xtypes.Primitive(xtypes.TKInt32))
	require.EqualError(t, err, "notation: int32 is a int32; only structs and unions are documents")
}

// FuzzXML: no document makes the reader panic, and what it takes is written and read again.
func FuzzXML(f *testing.F) {
	f.Add([]byte(`<dds><types><module name="m"><struct name="S" baseType="B"><member name="a" type="string" stringMaxLength="4" mapKeyType="long" sequenceMaxLength="2" arrayDimensions="3"/></struct></module></types></dds>`))
	f.Add([]byte(`<types><union name="U"><discriminator type="char8"/><case><caseDiscriminator value="'a'"/><member name="f" type="long"/></case></union><bitset name="B"><bitfield name="x" bit_bound="3"/></bitset></types>`))
	f.Add([]byte(`<types><bitmask name="F" bit_bound="8"><bit_value name="a" position="1"/></bitmask><enum name="E"><enumerator name="A" value="3"/></enum><typedef name="T" type="nonBasic" nonBasicTypeName="E"/></types>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		types, err := ParseXML(text)
		if err != nil {
			return
		}
		out, err := XML(types)
		if err != nil {
			return
		}
		if again, err := ParseXML(out); err == nil && len(again) != len(types) {
			t.Fatalf("%d types became %d", len(types), len(again))
		}
	})
}

// TestWhatAnnotationsSayOfValues goes to each notation and back.
func TestWhatAnnotationsSayOfValues(t *testing.T) {
	const text = `enum Color {
  RED,
  GREEN
};
bitmask Flags {
  A,
  B
};
@default(2.5) @min(-1.0) @max(5.0) typedef double Level;
@default("a \"b\"") typedef string<8> Label;
@appendable struct S {
  Level level;
  @default(3.0) @max(4.0) Level low;
  @default(GREEN) Color color;
  @default('\x27') char mark;
  @default(L'\u00e4') wchar wide;
  @default(-7) @min(-8) long n;
  @default(18446744073709551615) unsigned long long most;
  @default(TRUE) boolean yes;
  @default(1.5) @min(1.0) float f;
  Label label;
  @default(" padded ") string padded;
  @default(3) Flags flags;
};
`
	types := compile(t, text)
	for name, again := range map[string]func() ([]*xtypes.Type, error){
		"IDL": func() ([]*xtypes.Type, error) {
			b, err := IDL(types)
			if err != nil {
				return nil, err
			}
			return compile(t, string(b)), nil
		},
		"XML": func() ([]*xtypes.Type, error) {
			b, err := XML(types)
			if err != nil {
				return nil, err
			}
			return ParseXML(b)
		},
	} {
		got, err := again()
		require.NoError(t, err, name)
		b, err := IDL(got)
		require.NoError(t, err, name)
		require.Equal(t, strings.ReplaceAll(text, "@default(GREEN)", "@default(::GREEN)"), string(b), name)
	}
	for text, want := range map[string]string{
		`@unit("m") typedef long L;`:                                             "notation: L: DDS-XML has no @unit",
		`bitset B { @unit("m") bitfield<3> a; };`:                                "notation: B: a: DDS-XML has no @unit",
		`@final union U switch (@try_construct(TRIM) long) { case 1: long a; };`: "notation: U: discriminator: DDS-XML has no @try_construct",
		`@final struct S { @default("a\tb") string a; };`:                        "notation: S: a: XML cannot hold the character in the value \"a\\tb\"",
		`@final struct S { @default('\x01') char a; };`:                          "notation: S: a: XML cannot hold the character in the value \"\\x01\"",
	} {
		_, err := XML(compile(t, text))
		require.EqualError(t, err, want)
	}
	b, err := IDL(compile(t, "bitset B { @unit(\"m\") bitfield<3> a; }; @final union U switch (@key @try_construct(TRIM) long) { case 1: long a; };"))
	require.NoError(t, err)
	require.Equal(t, "bitset B {\n  @unit(\"m\") bitfield<3, octet> a;\n};\n@final union U switch (@key @try_construct(TRIM) long) {\n  case 1:\n    long a;\n};\n", string(b))
}
