package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

// topicType compiles IDL and gives the last type that it declares.
func topicType(t *testing.T, text string) *xtypes.Type {
	t.Helper()
	unit, report := idlc.Check("t.idl", idlc.Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	require.False(t, report.Failed(), "%s", report)
	types, err := unit.Types(false)
	require.NoError(t, err)
	return types[len(types)-1]
}

// assignments are pairs of a reader's and a writer's type for every rule. want is empty for those that are assignable.
var assignments = []struct {
	rule           string
	reader, writer string
	set            func(*xtypes.Consistency)
	want           string
}{
	{"aliases: what they stand for counts", `typedef long Meters; @final struct S { Meters a; };`, `@final struct S { long a; };`, nil, ""},
	{"aliases: what they stand for counts", `typedef long Meters; @final struct S { Meters a; };`, `typedef short Meters; @final struct S { Meters a; };`, nil, "a: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"primitive: the same kind", `@final struct S { long a; };`, `@final struct S { long a; };`, nil, ""},
	{"primitive: the same kind", `@final struct S { long a; };`, `@final struct S { float a; };`, nil, "a: int32 against float (XTypes 1.3 §7.2.4, primitive types)"},
	{"primitive: the same kind", `@final struct S { octet a; };`, `@final struct S { uint8 a; };`, nil, "a: octet against uint8 (XTypes 1.3 §7.2.4, primitive types)"},

	{"primitive: characters are no numbers", `@final struct S { char a; wchar b; };`, `@final struct S { char a; wchar b; };`, nil, ""},
	{"primitive: characters are no numbers", `@final struct S { char a; };`, `@final struct S { octet a; };`, nil, "a: char against octet (XTypes 1.3 §7.2.4, primitive types)"},
	{"primitive: characters are no numbers", `@final struct S { wchar a; };`, `@final struct S { uint16 a; };`, nil, "a: wchar against uint16 (XTypes 1.3 §7.2.4, primitive types)"},

	{"bitmasks: the same bound", `@bit_bound(8) bitmask M { A }; @final struct S { M a; };`, `@bit_bound(8) bitmask M { A, B }; @final struct S { M a; };`, nil, ""},
	{"bitmasks: the same bound", `@bit_bound(8) bitmask M { A }; @final struct S { M a; };`, `@bit_bound(9) bitmask M { A }; @final struct S { M a; };`, nil, "a: bitmask M has 8 bits, M 9 (XTypes 1.3 §7.2.4, primitive types)"},
	{"bitmasks: and integers", `@bit_bound(8) bitmask M { A }; @final struct S { M a; };`, `@final struct S { uint8 a; };`, nil, ""},
	{"bitmasks: and integers", `@final struct S { unsigned long a; };`, `bitmask M { A }; @final struct S { M a; };`, nil, ""},
	{"bitmasks: and integers", `@bit_bound(8) bitmask M { A }; @final struct S { M a; };`, `@final struct S { unsigned long a; };`, nil, "a: bitmask M against uint32: a bitmask of 8 bits is held by uint8 (XTypes 1.3 §7.2.4, primitive types)"},
	{"bitmasks: and integers of each width", `@final struct S { uint16 a; };`, `@bit_bound(9) bitmask M { A }; @final struct S { M a; };`, nil, ""},
	{"bitmasks: and integers of each width", `@bit_bound(33) bitmask M { A }; @final struct S { M a; };`, `@final struct S { uint64 a; };`, nil, ""},
	{"bitmasks: and integers of each width", `@final struct S { long a; };`, `bitmask M { A }; @final struct S { M a; };`, nil, "a: int32 against bitmask M: a bitmask of 32 bits is held by uint32 (XTypes 1.3 §7.2.4, primitive types)"},
	{"bitmasks: and integers of each width", `@final struct S { octet a; };`, `@bit_bound(8) bitmask M { A }; @final struct S { M a; };`, nil, "a: octet against bitmask M: a bitmask of 8 bits is held by uint8 (XTypes 1.3 §7.2.4, primitive types)"},
	{"bitsets: inherited fields are fields", `bitset A { bitfield<3> a; }; bitset B : A { bitfield<5> b; }; @final struct S { B a; };`, `bitset B { bitfield<3> a; bitfield<5> b; }; @final struct S { B a; };`, nil, ""},
	{"bitsets: inherited fields are fields", `bitset A { bitfield<3> a; }; bitset B : A { bitfield<5> b; }; @final struct S { B a; };`, `bitset B { bitfield<5> b; }; @final struct S { B a; };`, nil, "a: bitsets must have the same fields; a at bit 0 is in one of them only (XTypes 1.3 §7.2.4, primitive types)"},
	{"bitsets: the same fields", `bitset B { bitfield<3> a; bitfield<5> b; }; @final struct S { B a; };`, `bitset B { bitfield<3> x; bitfield<5> y; }; @final struct S { B a; };`, nil, ""},
	{"bitsets: the same fields", `bitset B { bitfield<3> a; bitfield<5> b; }; @final struct S { B a; };`, `bitset B { bitfield<4> a; bitfield<4> b; }; @final struct S { B a; };`, nil, "a: bitsets must have the same fields; a at bit 0 is in one of them only (XTypes 1.3 §7.2.4, primitive types)"},

	{"strings: bounds are ignored by default", `@final struct S { string<4> a; };`, `@final struct S { string<9> a; };`, nil, ""},
	{"strings: bounds are ignored by default", `@final struct S { string<4> a; };`, `@final struct S { string<9> a; };`, strict, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"strings: bounds that count", `@final struct S { string<9> a; };`, `@final struct S { string<4> a; };`, strict, ""},
	{"strings: bounds that count", `@final struct S { string<4> a; };`, `@final struct S { string<9> a; };`, strict, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"strings: bounds that count", `@final struct S { wstring<4> a; };`, `@final struct S { wstring a; };`, strict, "a: the reader's string has a bound of 4, the writer's none (XTypes 1.3 §7.2.4, strings)"},
	{"strings: of the same characters", `@final struct S { string a; };`, `@final struct S { wstring a; };`, nil, "a: string against wstring (XTypes 1.3 §7.2.4, primitive types)"},
	{"strings: of the same characters", `@final struct S { wstring a; };`, `@final struct S { wstring<3> a; };`, nil, ""},
	{"strings: bounds of keys always count", `@final struct S { @key string<4> a; };`, `@final struct S { @key string<9> a; };`, nil, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"strings: bounds of keys always count", `@final struct S { @key string<9> a; };`, `@final struct S { @key string<4> a; };`, nil, ""},

	{"strings: bounds of elements count alike", `@final struct S { sequence<string<4>> a; };`, `@final struct S { sequence<string<9>> a; };`, nil, ""},
	{"strings: bounds of elements count alike", `@final struct S { sequence<string<4>> a; };`, `@final struct S { sequence<string<9>> a; };`, strict, "a[]: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"strings: bounds of elements count alike", `@final struct S { map<string<4>, long> a; };`, `@final struct S { map<string<9>, long> a; };`, strict, "a[key]: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"strings: bounds of elements count alike", `@final struct S { string<4> a[2]; };`, `@final struct S { string<9> a[2]; };`, strict, "a[]: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"policy: bounds of strings and of sequences apart", `@final struct S { sequence<long, 4> a; };`, `@final struct S { sequence<long, 9> a; };`, strictStrings, ""},
	{"policy: bounds of strings and of sequences apart", `@final struct S { string<4> a; };`, `@final struct S { string<9> a; };`, strictStrings, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"policy: bounds of strings and of sequences apart", `@final struct S { string<4> a; };`, `@final struct S { string<9> a; };`, strictSequences, ""},
	{"policy: bounds of strings and of sequences apart", `@final struct S { sequence<long, 4> a; };`, `@final struct S { sequence<long, 9> a; };`, strictSequences, "a: the reader's sequence has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, collections)"},

	{"sequences: bounds are ignored by default", `@final struct S { sequence<long, 4> a; };`, `@final struct S { sequence<long> a; };`, nil, ""},
	{"sequences: bounds are ignored by default", `@final struct S { sequence<long, 4> a; };`, `@final struct S { sequence<long> a; };`, strict, "a: the reader's sequence has a bound of 4, the writer's none (XTypes 1.3 §7.2.4, collections)"},
	{"sequences: bounds that count", `@final struct S { sequence<long, 5> a; };`, `@final struct S { sequence<long, 4> a; };`, strict, ""},
	{"sequences: bounds of keys always count", `@final struct S { @key sequence<long, 4> a; };`, `@final struct S { @key sequence<long, 5> a; };`, nil, "a: the reader's sequence has a bound of 4, the writer's of 5 (XTypes 1.3 §7.2.4, collections)"},
	{"sequences: bounds of keys always count", `@final struct S { @key sequence<long, 5> a; };`, `@final struct S { @key sequence<long, 4> a; };`, nil, ""},
	{"sequences: elements", `@final struct S { sequence<string<4>> a; };`, `@final struct S { sequence<string> a; };`, nil, ""},
	{"sequences: and no arrays", `@final struct S { sequence<long> a; };`, `@final struct S { sequence<long, 2> a; };`, nil, ""},
	{"sequences: bounds that count", `@final struct S { sequence<long, 4> a; };`, `@final struct S { sequence<long, 5> a; };`, strict, "a: the reader's sequence has a bound of 4, the writer's of 5 (XTypes 1.3 §7.2.4, collections)"},
	{"sequences: elements", `@final struct S { sequence<long> a; };`, `@final struct S { sequence<short> a; };`, nil, "a[]: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"sequences: and no arrays", `@final struct S { sequence<long> a; };`, `@final struct S { long a[2]; };`, nil, "a: sequence<int32> against int32[2] (XTypes 1.3 §7.2.4, primitive types)"},
	{"arrays: the same dimensions", `@final struct S { long a[2][3]; };`, `@final struct S { long a[2][3]; };`, nil, ""},
	{"arrays: the same dimensions", `@final struct S { long a[2][3]; };`, `@final struct S { long a[3][2]; };`, nil, "a: arrays must have the same dimensions, [2 3] and [3 2] (XTypes 1.3 §7.2.4, collections)"},
	{"arrays: elements", `@final struct S { string<4> a[2]; };`, `@final struct S { string a[2]; };`, nil, ""},
	{"arrays: elements", `@final struct S { long a[2]; };`, `@final struct S { float a[2]; };`, nil, "a[]: int32 against float (XTypes 1.3 §7.2.4, primitive types)"},
	{"maps: keys and elements", `@final struct S { map<long, string> a; };`, `@final struct S { map<long, string<5>> a; };`, nil, ""},
	{"maps: keys and elements", `@final struct S { map<long, string> a; };`, `@final struct S { map<short, string> a; };`, nil, "a[key]: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"maps: bounds that count", `@final struct S { map<long, long, 3> a; };`, `@final struct S { map<long, long> a; };`, strict, "a: the reader's map has a bound of 3, the writer's none (XTypes 1.3 §7.2.4, collections)"},
	{"maps: bounds that count", `@final struct S { map<long, long, 3> a; };`, `@final struct S { map<long, long, 2> a; };`, strict, ""},
	{"maps: bounds are ignored by default", `@final struct S { map<long, long, 3> a; };`, `@final struct S { map<long, long> a; };`, nil, ""},
	{"maps: bounds are ignored by default", `@final struct S { map<long, long, 3> a; };`, `@final struct S { map<long, long, 4> a; };`, strict, "a: the reader's map has a bound of 3, the writer's of 4 (XTypes 1.3 §7.2.4, collections)"},
	{"maps: elements", `@final struct S { map<long, long> a; };`, `@final struct S { map<long, long> a; };`, nil, ""},
	{"maps: elements", `@final struct S { map<long, long> a; };`, `@final struct S { map<long, short> a; };`, nil, "a[]: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"collections: elements must be delimited", inner2 + `@final struct S { sequence<In> a; };`, inner3 + `@final struct S { sequence<In> a; };`, nil, ""},
	{"collections: elements must be delimited", inner2 + `@final struct S { sequence<In> a; };`, inner3 + `@final struct S { sequence<In> a; };`, xcdr1, "a[]: struct In is not delimited in XCDR1, and does not allow for a struct In in its place (XTypes 1.3 §7.2.4, delimited types)"},

	{"enums: the same names have the same values", `enum E { A, B }; @final struct S { E a; };`, `enum E { A, B, C }; @final struct S { E a; };`, nil, ""},
	{"enums: the same names have the same values", `enum E { A, B }; @final struct S { E a; };`, `enum E { B, A }; @final struct S { E a; };`, nil, "a: A = 0 of the reader's enum against B = 0 of the writer's: the same name must have the same value (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: enumerators may be others", `enum E { A, B }; @final struct S { E a; };`, `enum E { @value(5) C, D }; @final struct S { E a; };`, nil, ""},
	{"enums: enumerators may be others", `enum E { A, B }; @final struct S { E a; };`, `enum E { @value(5) C, A }; @final struct S { E a; };`, nil, "a: A = 0 of the reader's enum against A = 6 of the writer's: the same name must have the same value (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: and no integers", `enum E { A }; @final struct S { E a; };`, `enum F { A }; @final struct S { F a; };`, nil, ""},
	{"enums: and no integers", `@final struct S { long a; };`, `enum E { A }; @final struct S { E a; };`, nil, "a: int32 against enum E (XTypes 1.3 §7.2.4, primitive types)"},
	{"enums: names may be ignored", `@ignore_literal_names enum E { A, B }; @final struct S { E a; };`, `enum E { X, Y }; @final struct S { E a; };`, nil, ""},
	{"enums: names may be ignored", `enum E { A, B }; @final struct S { E a; };`, `enum E { X, Y }; @final struct S { E a; };`, nil, "a: A = 0 of the reader's enum against X = 0 of the writer's: the same name must have the same value (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: final ones are the same", `@final enum E { A, B }; @final struct S { E a; };`, `@final enum E { A, B }; @final struct S { E a; };`, nil, ""},
	{"enums: final ones are the same", `@final enum E { A, B }; @final struct S { E a; };`, `@final enum E { A }; @final struct S { E a; };`, nil, "a: the enums are final and have 2 and 1 enumerators (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: the same bound", `enum E { A }; @final struct S { E a; };`, `@bit_bound(8) enum E { A }; @final struct S { E a; };`, nil, "a: enum E has 32 bits, E 8 (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: the same bound", `@bit_bound(8) enum E { A }; @final struct S { E a; };`, `@bit_bound(8) enum E { A, B }; @final struct S { E a; };`, nil, ""},
	{"enums: a key has all enumerators of the writer", `enum E { A, B }; @final struct S { @key E a; };`, `enum E { A, B, C }; @final struct S { @key E a; };`, nil, "a: the reader's enum has no C = 2, and it is final or a key (XTypes 1.3 §7.2.4, enumerations)"},
	{"enums: a key has all enumerators of the writer", `enum E { A, B, C }; @final struct S { @key E a; };`, `enum E { A, B }; @final struct S { @key E a; };`, nil, ""},

	{"structs: the same extensibility", `@appendable struct S { long a; };`, `@final struct S { long a; };`, nil, "S is appendable, S is final (XTypes 1.3 §7.2.4, structures)"},
	{"structs: the same extensibility", `@appendable struct S { long a; };`, `@appendable struct T { long a; };`, nil, ""},
	{"structs: members of the same id are assignable", `@mutable struct S { @id(1) string<4> a; };`, `@mutable struct S { @id(1) string<9> a; };`, nil, ""},
	{"structs: members of the same id are assignable", `@mutable struct S { @id(1) string a; @id(2) long b; };`, `@mutable struct S { @id(1) long a; @id(2) long b; };`, nil, "a: string against int32 (XTypes 1.3 §7.2.4, primitive types)"},
	{"structs: final ones are the same", `@final struct S { long a; long b; };`, `@final struct T { long a; long b; };`, nil, ""},
	{"structs: appendable ones are optional alike", `@appendable struct S { @optional long a; };`, `@appendable struct S { @optional long a; long b; };`, nil, ""},
	{"structs: appendable ones are optional alike", `@mutable struct S { @id(1) @optional long a; };`, `@mutable struct S { @id(1) long a; };`, nil, ""},
	{"structs: final ones are the same", `@final struct S { long a; long b; };`, `@final struct S { long a; };`, nil, "they are final and have 2 and 1 members (XTypes 1.3 §7.2.4, structures)"},
	{"structs: appendable ones have a common start", `@appendable struct S { long a; };`, `@appendable struct S { long a; long b; };`, nil, ""},
	{"structs: appendable ones have a common start", `@appendable struct S { long a; long b; };`, `@appendable struct S { long a; };`, nil, ""},
	{"structs: appendable ones have a common start", `@appendable struct S { @id(1) long a; @id(2) long b; };`, `@appendable struct S { @id(2) long b; @id(1) long a; };`, nil, "a: is member 0 with id 1; in the writer's type, which is appendable as well, that is b with id 2 (XTypes 1.3 §7.2.4, structures)"},
	{"structs: appendable ones are optional alike", `@appendable struct S { @optional long a; };`, `@appendable struct S { long a; };`, nil, "a: is optional in one of the types, which are appendable (XTypes 1.3 §7.2.4, structures)"},
	{"structs: mutable ones in any order", `@mutable struct S { @id(1) long a; @id(2) long b; };`, `@mutable struct S { @id(3) long c; @id(2) @optional long b; @id(1) long a; };`, nil, ""},
	{"structs: mutable ones in any order", `@appendable struct S { @id(1) long a; @id(2) long b; };`, `@appendable struct S { @id(2) long b; @id(1) long a; };`, nil, "a: is member 0 with id 1; in the writer's type, which is appendable as well, that is b with id 2 (XTypes 1.3 §7.2.4, structures)"},
	{"structs: a member in common", `@mutable struct S { @id(1) long a; @id(2) long b; };`, `@mutable struct S { @id(2) long b; @id(3) long c; };`, nil, ""},
	{"structs: names and ids belong together", `@mutable struct S { @id(1) long a; @id(3) long c; };`, `@mutable struct S { @id(3) long c; @id(1) long a; };`, nil, ""},
	{"structs: a member in common", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(2) long b; };`, nil, "they have no member in common (XTypes 1.3 §7.2.4, structures)"},
	{"structs: names and ids belong together", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(1) long b; };`, nil, "a: has id 1, which is that of b in the writer's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: names and ids belong together", `@mutable struct S { @id(1) long a; @id(3) long c; };`, `@mutable struct S { @id(2) long a; @id(3) long c; };`, nil, "a: has id 1, and 2 in the writer's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: names may be ignored", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(1) long b; };`, anyName, ""},
	{"structs: names may be ignored", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(1) short b; };`, anyName, "a: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"structs: what must be understood is in both", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(1) long a; @id(2) @must_understand long b; };`, nil, "b: must be understood and is not optional, and the reader's type does not have it (XTypes 1.3 §7.2.4, structures)"},
	{"structs: what must be understood is in both", `@mutable struct S { @id(1) long a; };`, `@mutable struct S { @id(1) long a; @id(2) @must_understand @optional long b; };`, nil, ""},
	{"structs: what the reader must understand is in both", `@mutable struct S { @id(1) long a; @id(2) @must_understand @optional long b; };`, `@mutable struct S { @id(1) long a; };`, nil, ""},
	{"structs: what the reader must understand is in both", `@mutable struct S { @id(1) long a; @id(2) @must_understand long b; };`, `@mutable struct S { @id(1) long a; };`, nil, "b: must be understood and is not optional, and the writer's type does not have it (XTypes 1.3 §7.2.4, structures)"},
	{"structs: @external does not count", `@appendable struct S { @external long a; };`, `@appendable struct S { long a; };`, nil, ""},
	{"structs: @external does not count", `@appendable struct S { @external long a; };`, `@appendable struct S { @external short a; };`, nil, "a: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"structs: @try_construct does not count", `@appendable struct S { @try_construct(TRIM) string<4> a; };`, `@appendable struct S { string<9> a; };`, nil, ""},
	{"structs: @try_construct does not count", `@appendable struct S { @try_construct(TRIM) string<4> a; };`, `@appendable struct S { string<9> a; };`, strict, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"structs: keys are in both", `@mutable struct S { @id(1) @key long a; };`, `@mutable struct S { @id(1) @key long a; @id(2) long b; };`, nil, ""},
	{"structs: keys are in both", `@mutable struct S { @id(1) @key long a; };`, `@mutable struct S { @id(1) @key long a; @id(2) @key long b; };`, nil, "b: is a key, and not in the reader's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: keys are in both", `@mutable struct S { @id(1) @key long a; @id(2) long b; };`, `@mutable struct S { @id(2) long b; };`, nil, "a: is a key, and not in the writer's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: keys are in both", `@mutable struct S { @id(1) @key long a; };`, `@mutable struct S { @id(1) long a; };`, nil, ""},
	{"structs: keys are in both", `@final struct S { long a; long b; };`, `@final struct S { long a; @key long b; };`, nil, ""},
	{"structs: bounds of the writer's keys count", `@final struct S { @key string<4> a; };`, `@final struct S { string<9> a; };`, nil, ""},
	{"structs: bounds of the writer's keys count", `@final struct S { string<4> a; };`, `@final struct S { @key string<9> a; };`, nil, "a: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"structs: a key without keys is all key", `@final struct In { long x; long y; }; @final struct S { @key In i; };`, `@final struct In { @key long x; @key long y; }; @final struct S { @key In i; };`, nil, ""},
	{"structs: a key without keys is all key", `@final struct In { long x; long y; }; @final struct S { @key In i; };`, `@final struct In { @key long x; long y; }; @final struct S { @key In i; };`, nil, "i.y: is a key, and none in the writer's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: a key without keys is all key", `@final struct In { string<4> x; }; @final struct S { @key In i; };`, `@final struct In { string<9> x; }; @final struct S { @key In i; };`, nil, "i.x: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"structs: keys of members that are none are erased", `@final struct In { @key long x; long y; }; @final struct S { @key long a; In i; };`, `@final struct In { long x; @key long y; }; @final struct S { @key long a; In i; };`, nil, ""},
	{"structs: keys of members that are none are erased", `@final struct In { @key string<4> x; long y; }; @final struct S { @key long a; In i; };`, `@final struct In { @key string<9> x; long y; }; @final struct S { @key long a; In i; };`, nil, ""},
	{"structs: keys of members that are none are erased", `@final struct In { @key string<4> x; long y; }; @final struct S { @key In i; };`, `@final struct In { @key string<9> x; long y; }; @final struct S { @key In i; };`, nil, "i.x: the reader's string has a bound of 4, the writer's of 9 (XTypes 1.3 §7.2.4, strings)"},
	{"structs: the key within a key is assignable", `@appendable struct In { @key long x; long y; }; @appendable struct S { @key In i; };`, `@appendable struct In { @key long x; long y; long z; }; @appendable struct S { @key In i; };`, nil, ""},
	{"structs: the key within a key is assignable", `@appendable struct In { @key long x; long y; }; @appendable struct S { @key In i; };`, `@appendable struct In { @key long x; @key long y; }; @appendable struct S { @key In i; };`, nil, "i.y: is a key, and none in the reader's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: the members of a union that is a key are assignable", `union U switch (@key long) { case 1: long a; }; @appendable struct S { @key U u; long b; };`, `union U switch (@key long) { case 1: long a; case 2: long c; }; @appendable struct S { @key U u; };`, nil, ""},
	{"structs: the members of a union that is a key are assignable", `union U switch (@key long) { case 1: string<4> a; }; @appendable struct S { @key U u; long b; };`, `union U switch (@key long) { case 1: long a; }; @appendable struct S { @key U u; };`, nil, "u.a: string<4> against int32 (XTypes 1.3 §7.2.4, primitive types)"},
	{"structs: members of a final one must be delimited", inner2 + `@final struct S { In a; long b; };`, inner3 + `@final struct S { In a; long b; };`, nil, ""},
	{"structs: members of a final one must be delimited", inner2 + `@final struct S { In a; long b; };`, inner3 + `@final struct S { In a; long b; };`, xcdr1, "a: struct In is not delimited in XCDR1, and does not allow for a struct In in its place (XTypes 1.3 §7.2.4, delimited types)"},
	{"structs: members of a mutable one have their length", inner2 + `@mutable struct S { In a; long b; };`, inner3 + `@mutable struct S { In a; long b; };`, xcdr1, ""},
	{"structs: members of a mutable one have their length", inner2 + `@appendable struct S { In a; long b; };`, inner3 + `@appendable struct S { In a; long b; };`, xcdr1, "a: struct In is not delimited in XCDR1, and does not allow for a struct In in its place (XTypes 1.3 §7.2.4, delimited types)"},
	{"structs: inherited members are members", `@final struct B { long a; }; @final struct S : B { long b; };`, `@final struct S { long a; long b; };`, nil, ""},
	{"structs: inherited members are members", `@final struct B { long a; }; @final struct S : B { long b; };`, `@final struct S { long b; };`, nil, "a: has id 0, which is that of b in the writer's type (XTypes 1.3 §7.2.4, structures)"},
	{"structs: recursion", `@appendable struct S { long a; sequence<S> b; };`, `@appendable struct S { long a; sequence<S> b; long c; };`, nil, ""},
	{"structs: recursion", `@appendable struct S { long a; sequence<S> b; };`, `@appendable struct S { long a; sequence<S> b; @must_understand long c; };`, nil, "c: must be understood and is not optional, and the reader's type does not have it (XTypes 1.3 §7.2.4, structures)"},
	{"structs: the path leads to the difference", `@appendable struct P { double lat; }; @appendable struct S { sequence<P> route[2]; };`, `@appendable struct P { float lat; }; @appendable struct S { sequence<P> route[2]; };`, nil, "route[][].lat: double against float (XTypes 1.3 §7.2.4, primitive types)"},
	{"structs: the path leads to the difference", `@appendable struct P { double lat; }; @appendable struct S { sequence<P> route[2]; };`, `@appendable struct P { double lat; double lon; }; @appendable struct S { sequence<P> route[2]; };`, nil, ""},

	{"unions: the same extensibility", `@final union U switch (long) { case 1: long a; };`, `@appendable union U switch (long) { case 1: long a; };`, nil, "U is final, U is appendable (XTypes 1.3 §7.2.4, structures)"},
	{"unions: the same extensibility", `@final union U switch (long) { case 1: long a; };`, `@final union V switch (long) { case 1: long a; };`, nil, ""},
	{"unions: the same discriminator", `union U switch (long) { case 1: long a; };`, `union U switch (short) { case 1: long a; };`, nil, "_d: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"unions: the same discriminator", `typedef long D; union U switch (D) { case 1: long a; };`, `union U switch (long) { case 1: long a; };`, nil, ""},
	{"unions: final ones have the same labels", `@final union U switch (long) { case 1: case 2: long a; };`, `@final union U switch (long) { case 2: case 1: long a; };`, nil, ""},
	{"unions: final ones have the same labels", `@final union U switch (long) { case 1: long a; case 2: long b; };`, `@final union U switch (long) { case 1: long a; };`, nil, "b: label 2 is not in the writer's union, and the unions are final (XTypes 1.3 §7.2.4, unions)"},
	{"unions: final ones have defaults alike", `@final union U switch (long) { case 1: long a; default: long c; };`, `@final union V switch (long) { case 1: long a; default: long c; };`, nil, ""},
	{"unions: final ones have defaults alike", `@final union U switch (long) { case 1: long a; };`, `@final union U switch (long) { case 1: long a; default: long c; };`, nil, "one of the unions has a default, and they are final (XTypes 1.3 §7.2.4, unions)"},
	{"unions: final ones have defaults alike", `@final union U switch (long) { case 1: long a; default: long c; };`, `@final union U switch (long) { case 1: long a; };`, nil, "one of the unions has a default, and they are final (XTypes 1.3 §7.2.4, unions)"},
	{"unions: final ones have defaults alike", `@final union U switch (long) { case 1: long a; default: long c; };`, `@final union U switch (long) { case 1: long a; case 2: default: long c; };`, nil, "c: label 2 is not in the reader's union, and the unions are final (XTypes 1.3 §7.2.4, unions)"},
	{"unions: mutable ones by their ids", `@mutable union U switch (long) { case 1: @id(1) long a; case 2: @id(2) string b; };`, `@mutable union U switch (long) { case 2: @id(2) string b; case 1: @id(1) long a; };`, nil, ""},
	{"unions: mutable ones by their ids", `@mutable union U switch (long) { case 1: @id(1) long a; };`, `@mutable union U switch (long) { case 1: @id(2) long a; };`, nil, "a: has id 1, and 2 in the writer's type (XTypes 1.3 §7.2.4, unions)"},
	{"unions: labels select assignable members", `union U switch (long) { case 1: long a; case 2: long b; };`, `union U switch (long) { case 1: long a; case 3: @id(3) long c; };`, nil, ""},
	{"unions: labels select assignable members", `union U switch (long) { case 1: long a; };`, `union U switch (long) { case 1: short a; };`, nil, "a: int32 against int16 (XTypes 1.3 §7.2.4, primitive types)"},
	{"unions: a label in common", `union U switch (long) { case 1: long a; };`, `union U switch (long) { case 2: long a; };`, nil, "the unions have no label in common (XTypes 1.3 §7.2.4, unions)"},
	{"unions: a label in common", `union U switch (long) { case 1: case 2: long a; };`, `union U switch (long) { case 2: case 3: long a; };`, nil, ""},
	{"unions: a label against a default", `union U switch (long) { case 1: long a; default: long r; };`, `union U switch (long) { case 1: long a; case 2: long r; };`, nil, ""},
	{"unions: a label against a default", `union U switch (long) { case 1: long a; case 2: long b; };`, `union U switch (long) { case 1: long a; default: double b; };`, nil, "b: int32 against double (XTypes 1.3 §7.2.4, primitive types)"},
	{"unions: defaults", `union U switch (long) { case 1: long a; default: long r; };`, `union U switch (long) { case 1: long a; default: string r; };`, nil, "r: int32 against string (XTypes 1.3 §7.2.4, primitive types)"},
	{"unions: defaults", `union U switch (long) { case 1: long a; default: string<4> r; };`, `union U switch (long) { case 1: long a; default: string<9> r; };`, nil, ""},
	{"unions: names", `union U switch (long) { case 1: long a; };`, `union U switch (long) { case 1: long b; };`, anyName, ""},
	{"unions: names", `union U switch (long) { case 1: @id(5) long a; };`, `union U switch (long) { case 1: @id(6) long b; };`, nil, ""},
	{"unions: names", `union U switch (long) { case 1: long a; };`, `union U switch (long) { case 1: long b; };`, nil, "a: has id 1, which is that of b in the writer's type (XTypes 1.3 §7.2.4, unions)"},
	{"unions: names and ids belong together", `union U switch (long) { case 1: long a; case 2: long b; };`, `union U switch (long) { case 1: long a; case 3: long c; };`, nil, "b: has id 2, which is that of c in the writer's type (XTypes 1.3 §7.2.4, unions)"},
	{"unions: names and ids belong together", `union U switch (long) { case 1: long a; case 2: long b; };`, `union U switch (long) { case 1: long a; case 3: long c; };`, anyName, ""},
	{"unions: a key in both", `union U switch (@key long) { case 1: long a; };`, `union U switch (@key long) { case 1: long a; };`, nil, ""},
	{"unions: a key in both", `union U switch (@key long) { case 1: long a; };`, `union U switch (long) { case 1: long a; };`, nil, "_d: is a key in one of the types only (XTypes 1.3 §7.2.4, unions)"},

	{"policy: widening is allowed", `@appendable struct S { long a; };`, `@appendable struct S { long a; long b; };`, nil, ""},
	{"policy: widening is allowed", `@final struct S { long a; };`, `@final struct S { long a; long b; };`, nil, "they are final and have 1 and 2 members (XTypes 1.3 §7.2.4, structures)"},
	{"policy: widening of unions is prevented", `union U switch (long) { case 1: long a; };`, `union U switch (long) { case 1: long a; case 2: long b; };`, narrow, "b: prevent_type_widening is set, and label 2 is not in the reader's union (XTypes 1.3 §7.2.4, TYPE_CONSISTENCY_ENFORCEMENT)"},
	{"policy: widening of unions is prevented", `union U switch (long) { case 1: long a; case 2: long b; };`, `union U switch (long) { case 1: long a; };`, narrow, ""},
	{"policy: widening is prevented", `@appendable struct S { long a; };`, `@appendable struct S { long a; long b; };`, narrow, "b: prevent_type_widening is set, and the reader's type does not have it (XTypes 1.3 §7.2.4, TYPE_CONSISTENCY_ENFORCEMENT)"},
	{"policy: widening is prevented", `@appendable struct S { long a; long b; };`, `@appendable struct S { long a; };`, narrow, ""},
	{"policy: coercion is disallowed", `@final struct S { long a; };`, `@final struct T { long a; };`, same, ""},
	{"policy: coercion is disallowed", `@nested @final struct S { long a; };`, `@final struct S { @unit("m") long a; };`, same, ""},
	{"policy: coercion is disallowed", `@appendable struct S { long a; };`, `@appendable struct S { long a; long b; };`, same, "type coercion is disallowed, and the minimal types differ: EK_MINIMAL a44a43efce1eca96e18936f7d24d and EK_MINIMAL f4f73a08211e69039bd3ef070d0b (XTypes 1.3 §7.2.4, TYPE_CONSISTENCY_ENFORCEMENT)"},
}

const (
	inner2 = `@appendable struct In { long x; }; `
	inner3 = `@appendable struct In { long x; long y; }; `
)

func anyName(c *xtypes.Consistency)         { c.IgnoreMemberNames = true }
func strictStrings(c *xtypes.Consistency)   { c.IgnoreStringBounds = false }
func strictSequences(c *xtypes.Consistency) { c.IgnoreSequenceBounds = false }
func strict(c *xtypes.Consistency)          { c.IgnoreSequenceBounds, c.IgnoreStringBounds = false, false }
func xcdr1(c *xtypes.Consistency)           { c.XCDR1 = true }
func narrow(c *xtypes.Consistency)          { c.PreventTypeWidening = true }
func same(c *xtypes.Consistency)            { c.DisallowTypeCoercion = true }

func TestXTypes13_7_2_4_Assignability(t *testing.T) {
	shown := map[string][2]bool{}
	for _, c := range assignments {
		both := shown[c.rule]
		both[map[bool]int{true: 0, false: 1}[c.want == ""]] = true
		shown[c.rule] = both
		reader, writer := topicType(t, c.reader), topicType(t, c.writer)
		consistency := xtypes.DefaultConsistency()
		if c.set != nil {
			c.set(&consistency)
		}
		err := xtypes.Assignable(reader, writer, consistency)
		if c.want == "" {
			require.NoError(t, err, "%s\nreader %s\nwriter %s", c.rule, c.reader, c.writer)
			if c.rule == "enums: names may be ignored" {
				continue // @ignore_literal_names is not in type objects
			}
			// What a type object can tell is enough: minimal ones lead to the same answer.
			require.NoError(t, xtypes.Assignable(throughObject(t, reader), throughObject(t, writer), consistency), "%s, by minimal type objects", c.rule)
			continue
		}
		require.EqualError(t, err, "xtypes: "+reader.Name()+" is not assignable from "+writer.Name()+": "+c.want, c.rule)
		require.NoError(t, xtypes.Assignable(reader, reader, consistency), "every type is assignable from itself")
	}
	for rule, both := range shown {
		require.Equal(t, [2]bool{true, true}, both, "%s: there is a pair of types that is assignable, and one that is not", rule)
	}
}

// throughObject gives what is left of a type in its minimal type objects.
func throughObject(t *testing.T, typ *xtypes.Type) *xtypes.Type {
	t.Helper()
	mapping, err := xtypes.NewTypeMapping(typ)
	require.NoError(t, err)
	r := xtypes.NewRegistry()
	require.NoError(t, r.AddMapping(mapping))
	got, err := r.Type(mapping.Minimal[0].ID)
	require.NoError(t, err)
	return got
}

func TestXTypes13_7_2_4_SameKey(t *testing.T) {
	key, two, none := topicType(t, `@mutable struct S { @id(1) @key long a; @id(2) long b; };`), topicType(t, `@mutable struct S { @id(1) @key long a; @id(2) @key long b; };`),
		topicType(t, `@mutable struct S { @id(1) long a; @id(2) long b; };`)
	require.NoError(t, xtypes.SameKey(key, key))
	require.NoError(t, xtypes.SameKey(none, none))
	require.EqualError(t, xtypes.SameKey(key, two), "xtypes: S is not assignable from S: b: is a key in one of the types only, and instances would not be the same (XTypes 1.3 §7.2.4, structures)")
	require.ErrorContains(t, xtypes.SameKey(key, none), "a: is a key in one of the types only")
	require.ErrorContains(t, xtypes.SameKey(none, key), "a: is a key in one of the types only")
}

func TestXTypes13_7_6_3_4_CoercionDisallowed(t *testing.T) {
	reader, writer := topicType(t, `@appendable struct S { long a; };`), topicType(t, `@appendable struct S { long a; long b; };`)
	c := xtypes.DefaultConsistency()
	c.DisallowTypeCoercion = true
	require.ErrorContains(t, xtypes.Assignable(reader, writer, c), "type coercion is disallowed, and the minimal types differ")
}

func TestXTypes13_7_6_3_4_TypesThatAreNotKnown(t *testing.T) {
	known := topicType(t, `@final struct S { long a; };`)
	c := xtypes.DefaultConsistency()
	require.NoError(t, xtypes.Match("S", "S", known, nil, c))
	require.ErrorContains(t, xtypes.Match("S", "T", known, nil, c), "one of the types is not known, and their names differ")
	require.NoError(t, xtypes.Match("S", "T", known, topicType(t, `@final struct T { long a; };`), c), "names do not count when the types are known")
	c.ForceTypeValidation = true
	require.ErrorContains(t, xtypes.Match("S", "S", known, nil, c), "force_type_validation is set")
}
