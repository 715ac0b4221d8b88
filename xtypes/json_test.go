package xtypes

import (
	"encoding/json"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

func TestJSONRoundTrips(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	typ := everything(cdr.Mutable)
	for range 200 {
		d := randomValue(rng.Uint64, typ, 0).(*Data)
		text, err := d.MarshalJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(text), "%s", text)
		got, err := NewData(typ)
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalJSON(text), "%s", text)
		require.True(t, d.Equal(got), "%s", text)
	}
}

func TestJSONOfEachKind(t *testing.T) {
	for _, c := range []struct {
		typ  *Type
		v    any
		want string
		also string // read as well
	}{
		{Primitive(TKInt64), int64(math.MinInt64), `-9223372036854775808`, `"-9223372036854775808"`},
		{Primitive(TKUint64), uint64(math.MaxUint64), `18446744073709551615`, `"18446744073709551615"`},
		{long, 1000, `1000`, `1e3`},
		{double, 0.1, `0.1`, `1e-1`},
		{double, math.Inf(-1), `"-Infinity"`, ``},
		{Primitive(TKFloat32), float32(0.1), `0.1`, ``},
		{Primitive(TKFloat128), 1.5, `"0x3fff8000000000000000000000000000"`, `1.5`},
		{Primitive(TKChar8), "é", `"é"`, `233`},
		{Primitive(TKChar16), "\"", `"\""`, `34`},
		{Primitive(TKChar16), 0xd800, `55296`, ``},
		{mapOf(Primitive(TKChar16), long, 0), map[int]int{0xd800: 1, 'x': 2}, `{"x":2,"55296":1}`, ``},
		{boolean, true, `true`, ``},
		{NewString(0), "a\n", `"a\n"`, ``},
		{testColor, "GREEN", `"GREEN"`, `7`},
		{testMask, 1<<9 | 1 | 4, `["A","J",4]`, `517`},
		{testBits, 5 | 0x1ff<<10, `{"lo":5,"hi":-1}`, `523269`},
		{sequence(octet, 0), []byte{1, 2, 255}, `"AQL/"`, `[1,2,255]`},
		{array(octet, 2), []byte{1, 2}, `[1,2]`, `"AQI="`},
		{array(long, 2, 2), []int{1, 2, 3, 4}, `[[1,2],[3,4]]`, ``},
		{mapOf(testColor, long, 0), map[string]int{"RED": 1, "BLUE": 2}, `{"BLUE":2,"RED":1}`, ``},
		{mapOf(boolean, long, 0), map[bool]int{true: 1}, `{"true":1}`, ``},
		{mapOf(testMask, long, 0), map[int]int{513: 1}, `{"513":1}`, ``},
	} {
		typ := structure("S", cdr.Final, member("v", c.typ))
		d, err := NewData(typ)
		require.NoError(t, err)
		require.NoError(t, d.Set("v", c.v))
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, `{"v":`+c.want+`}`, string(text))
		for _, in := range []string{c.want, c.also} {
			if in == "" {
				continue
			}
			got, err := NewData(typ)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal([]byte(`{"v":`+in+`}`), got), in)
			require.True(t, d.Equal(got), "%s", in)
		}
	}
}

func TestJSONErrorsNameTheMember(t *testing.T) {
	point := structure("Point", cdr.Final, member("x", double), member("n", Primitive(TKInt8)), Member{Name: "o", AutoID: true, Type: long, Optional: true})
	shape := union("Shape", cdr.Final, testColor, kase("p", point, 0), kase("n", long, 7))
	typ := structure("Top", cdr.Final, member("route", sequence(point, 2)), member("s", shape), member("m", mapOf(long, point, 0)), member("f", testMask), member("b", testBits), member("a", array(long, 2)), member("ok", boolean))
	for in, want := range map[string]string{
		`[`:                           `unexpected EOF`,
		`{} {}`:                       `something follows the document at byte 4`,
		`[]`:                          `a list is no value of Top`,
		`{"route":[{},{"y":1}]}`:      `route[1]: there is no member "y"; there are x, n, o`,
		`{"route":[{"n":128}]}`:       `route[0].n: 128 is not in the range of int8`,
		`{"route":[{"n":1.5}]}`:       `route[0].n: 1.5 is no value of int8`,
		`{"route":[{"x":"1"}]}`:       `route[0].x: "1" is no value of double`,
		`{"route":[{},{},{}]}`:        `route: sequence of 3 elements exceeds its bound of 2`,
		`{"s":{"p":{},"n":1}}`:        `s: a union has one member, not 2: n, p`,
		`{"s":{"_d":"GREEN","p":{}}}`: `s.p: discriminator 7 does not select this member`,
		`{"s":{"_d":"PINK"}}`:         `s._d: "PINK" is no enumerator of Color`,
		`{"m":{"x":{}}}`:              `m: key "x": x is no value of int32`,
		`{"m":{"e":{},"b":{},"c":{},"d":{},"a":{},"f":{}}}`: `m: key "a": a is no value of int32`,
		`{"m":{"1":{"o":true}}}`:                            `m["1"].o: a boolean is no value of int32`,
		`{"f":["A","B"]}`:                                   `f[1]: "B" is no flag of Mask`,
		`{"f":[1024]}`:                                      `f[0]: 1024 is not in the range of Mask`,
		`{"b":{"lo":8}}`:                                    `b.lo: 8 does not fit into 3 bits`,
		`{"b":{"up":8}}`:                                    `b: 1 of 1 fields are not of Bits`,
		`{"a":[1]}`:                                         `a: 1 elements are not the 2 of int32[2]`,
		`{"ok":1}`:                                          `ok: the number 1 is no value of boolean`,
	} {
		d, err := NewData(typ)
		require.NoError(t, err)
		require.NoError(t, d.Set("ok", true))
		err = d.UnmarshalJSON([]byte(in))
		prefix := "xtypes: JSON of Top: "
		require.EqualError(t, err, prefix+want)
		require.Equal(t, true, get(t, d, "ok"), "left as it was")
	}
	d, err := NewData(typ)
	require.NoError(t, err)
	require.NoError(t, d.UnmarshalJSON([]byte(`{"s":{"n":5},"route":[{"o":null}],"ok":null}`)))
	require.Equal(t, []any{int32(7), int32(5), nil}, []any{get(t, d, "s._d"), get(t, d, "s.n"), get(t, d, "route[0].o")})
}
