package filter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Three topics whose common members are of different types: an optional integer and a real number, two strings.
var (
	oracleA = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKStructure, Name: "o::A", Extensibility: cdr.Final, Members: []xtypes.Member{
			{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
			{Name: "x", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt64), Optional: true},
		},
	}))
	oracleB = structure("o::B", cdr.Appendable, "b", xtypes.Primitive(xtypes.TKInt16), "x", xtypes.Primitive(xtypes.TKFloat64), "kind", xtypes.NewString(0), "id", xtypes.Primitive(xtypes.TKUint8))
	oracleC = structure("o::C", cdr.Final, "kind", xtypes.NewString(4), "v", xtypes.Primitive(xtypes.TKInt16))
)

type rowOfA struct {
	id  int32
	x   int64
	has bool
}

type rowOfB struct {
	b    int16
	x    float64
	kind string
	id   uint8
}

type rowOfC struct {
	kind string
	v    int16
}

// naive is what the tables are to agree with: all samples, and three loops.
type naive struct {
	a map[byte]rowOfA
	b map[byte]rowOfB
	c map[byte]rowOfC
}

func (n *naive) rows(limit int) []string {
	var out []string
	for _, a := range n.a {
		for _, b := range n.b {
			for _, c := range n.c {
				if a.has && int32(b.id) == a.id && float64(a.x) == b.x && b.kind == c.kind && (int(c.v) > limit || b.b == 1) {
					out = append(out, fmt.Sprintf(`{"id":%d,"x":%d,"b":%d,"kind":%q,"v":%d}`, a.id, a.x, b.b, b.kind, c.v))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Whatever comes and goes, the rows that the changes add up to are those of three loops over all samples.
func TestJoinOracle(t *testing.T) {
	types := map[string]*xtypes.Type{"A": oracleA, "B": oracleB, "C": oracleC}
	lookup := func(name string) (*xtypes.Type, error) { return types[name], nil }
	encoded := func(t *rapid.T, typ *xtypes.Type, values map[string]any) []byte {
		d, err := xtypes.NewData(typ)
		require.NoError(t, err)
		for name, v := range values {
			require.NoError(t, d.Set(name, v))
		}
		sample, err := d.Encode(typ.Encapsulation(rapid.Bool().Draw(t, "xcdr2"), rapid.Bool().Draw(t, "big")))
		require.NoError(t, err)
		return sample
	}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom([]string{"A NATURAL JOIN B NATURAL JOIN C", "A NATURAL JOIN (C NATURAL JOIN B)", "C INNER NATURAL JOIN A NATURAL JOIN B"}).Draw(t, "from")
		join, err := NewJoin("SELECT id, x, b, kind, v FROM "+from+" WHERE v > %0 OR b = 1", lookup, nil, "o::R", "0")
		require.NoError(t, err)
		at := map[string]int{}
		for i, name := range join.Topics() {
			at[name] = i
		}
		limit := 0
		tab := join.NewTable()
		n := naive{map[byte]rowOfA{}, map[byte]rowOfB{}, map[byte]rowOfC{}}
		rows := map[*Row]string{}
		apply := func(list []Change, err error) {
			require.NoError(t, err)
			for _, c := range list {
				if c.Sample == nil {
					require.Contains(t, rows, c.Row)
					delete(rows, c.Row)
					continue
				}
				d, err := xtypes.Decode(join.Type(), c.Sample)
				require.NoError(t, err)
				x, err := d.Get("x")
				require.NoError(t, err)
				values := []any{}
				for _, name := range []string{"id", "b", "kind", "v"} {
					v, err := d.Get(name)
					require.NoError(t, err)
					values = append(values, v)
				}
				rows[c.Row] = fmt.Sprintf(`{"id":%d,"x":%v,"b":%d,"kind":%q,"v":%d}`, values[0], x, values[1], values[2], values[3])
			}
		}
		small := func(name string) int { return rapid.IntRange(0, 2).Draw(t, name) }
		kind := func() string { return rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "kind") }
		t.Repeat(map[string]func(*rapid.T){
			"a": func(t *rapid.T) {
				in, v := byte(small("in")), rowOfA{int32(small("id")), int64(small("x") - 1), rapid.Bool().Draw(t, "has")}
				values := map[string]any{"id": v.id}
				if v.has {
					values["x"] = v.x
				}
				n.a[in] = v
				apply(tab.Put(at["A"], Instance{in}, encoded(t, oracleA, values), 0))
			},
			"b": func(t *rapid.T) {
				in := byte(small("in"))
				v := rowOfB{int16(small("b")), rapid.SampledFrom([]float64{-1, 0, 1, 0.5}).Draw(t, "x"), kind(), uint8(small("id"))}
				n.b[in] = v
				apply(tab.Put(at["B"], Instance{in}, encoded(t, oracleB, map[string]any{"b": v.b, "x": v.x, "kind": v.kind, "id": v.id}), 0))
			},
			"c": func(t *rapid.T) {
				in, v := byte(small("in")), rowOfC{kind(), int16(small("v"))}
				n.c[in] = v
				apply(tab.Put(at["C"], Instance{in}, encoded(t, oracleC, map[string]any{"kind": v.kind, "v": v.v}), 0))
			},
			"remove": func(t *rapid.T) {
				in, topic := byte(small("in")), rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "topic")
				switch topic {
				case "A":
					delete(n.a, in)
				case "B":
					delete(n.b, in)
				default:
					delete(n.c, in)
				}
				apply(tab.Remove(at[topic], Instance{in}, 0, true), nil)
			},
			"parameters": func(t *rapid.T) {
				limit = small("limit")
				var err error
				join, err = join.With(fmt.Sprint(limit))
				require.NoError(t, err)
				apply(tab.Follow(join))
			},
			"": func(t *rapid.T) {
				got := []string{}
				for _, r := range rows {
					got = append(got, r)
				}
				slices.Sort(got)
				require.Equal(t, append([]string{}, n.rows(limit)...), got)
				require.Equal(t, len(got), tab.Len())
			},
		})
	})
}
