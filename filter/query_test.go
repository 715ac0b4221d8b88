package filter

import (
	"slices"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var itemType = structure("shop::Item", cdr.Final,
	"id", xtypes.Primitive(xtypes.TKInt32),
	"name", xtypes.NewString(0),
	"price", xtypes.Primitive(xtypes.TKFloat64),
	"tags", xtypes.Must(xtypes.NewSequence(xtypes.Primitive(xtypes.TKInt32), 0)),
)

func item(id int64, name string, price float64, tags ...any) []byte {
	return encode(itemType, []any{id, name, price, append([]any{}, tags...)}, cdr.CDR2LE)
}

func TestQueryOrder(t *testing.T) {
	samples := map[string][]byte{
		"a": item(1, "pear", 3, int64(5)),
		"b": item(2, "apple", 3),
		"c": item(3, "fig", 1, int64(-1)),
		"d": item(4, "apple", 2, int64(7)),
	}
	for expression, want := range map[string]string{
		"":                                  "abcd",
		"ORDER BY name":                     "bdca",
		"ORDER BY name, price":              "dbca",
		"order by price desc, id DESC":      "badc",
		"ORDER BY tags[0]":                  "bcad",
		"ORDER BY tags[0] DESC":             "dacb",
		"price > 1 ORDER BY price ASC":      "dab",
		"name LIKE '%p%' ORDER BY id DESC":  "dba",
		"price BETWEEN %0 AND %1":           "abd",
		"id IN (1, 3) ORDER BY name, price": "ca",
	} {
		q, err := NewQuery(itemType, expression, "2", "3")
		require.NoError(t, err, expression)
		assert.Equal(t, q.Expression(), expression)
		var got []string
		for _, name := range []string{"a", "b", "c", "d"} {
			if q.Match(samples[name]) {
				got = append(got, name)
			}
		}
		slices.SortStableFunc(got, func(a, b string) int { return q.Compare(samples[a], samples[b]) })
		assert.Equal(t, want, join(got), expression)
	}
}

func join(names []string) string {
	s := ""
	for _, n := range names {
		s += n
	}
	return s
}

// A member that the writer did not know has its default, and is there; an optional one that is not set is not.
func TestMissingMembers(t *testing.T) {
	old := structure("v::T", cdr.Appendable, "a", xtypes.Primitive(xtypes.TKInt32))
	now := xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: "v::T", Extensibility: cdr.Appendable, Members: []xtypes.Member{
		{Name: "a", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
		{Name: "b", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Default: int32(7)},
		{Name: "c", AutoID: true, Type: xtypes.NewString(0)},
		{Name: "e", AutoID: true, Type: colorType},
		{Name: "o", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Optional: true},
		{Name: "n", AutoID: true, Type: pointType},
		{Name: "s", AutoID: true, Type: xtypes.Must(xtypes.NewSequence(xtypes.Primitive(xtypes.TKInt32), 0))},
	}}))
	for expression, want := range map[string]bool{
		"a = 3":                    true,
		"b = 7 AND b <> NULL":      true,
		"c = '' AND e = RED":       true,
		"n.x = 0":                  true,
		"o = NULL":                 true,
		"o = 0":                    false,
		"NOT o = 0":                false,
		"o <> 0 OR a = 3":          true,
		"s[0] = NULL":              true,
		"NOT (s[0] = 1 AND a = 3)": false,
		"NOT (s[0] = 1 AND a = 4)": true,
	} {
		f, err := New(now, expression)
		require.NoError(t, err, expression)
		for i, sample := range encodeAll(old, []any{int64(3)}) {
			assert.Equal(t, want, f.Match(sample), "%s in encoding %d", expression, i)
		}
	}
}

func TestUnionsAndOptionals(t *testing.T) {
	u := xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKUnion, Name: "u::U", Discriminator: xtypes.Member{Type: xtypes.Primitive(xtypes.TKInt32)},
		Members: []xtypes.Member{
			{Name: "number", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Labels: []int64{1}},
			{Name: "text", AutoID: true, Type: xtypes.NewString(0), Labels: []int64{2}},
		},
	}))
	typ := structure("u::T", cdr.Final, "u", u)
	text := []byte{0, 7, 0, 2, 2, 0, 0, 0, 2, 0, 0, 0, 'x', 0, 0, 0}
	for expression, want := range map[string]bool{
		"u.text = 'x'":                       true,
		"u.number = 0 OR u.number <> 0":      false,
		"u._d = 2":                           true,
		"u.number = NULL AND u.text <> NULL": true,
	} {
		f, err := New(typ, expression)
		require.NoError(t, err, expression)
		assert.Equal(t, want, f.Match(text), expression)
	}
}
