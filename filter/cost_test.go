package filter

import (
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typical is what filters mostly look like, from cheap to dear: members in front, behind strings, and within sequences.
var typical = []struct{ name, expression string }{
	{"fixed", "x > 10"},
	{"string", "color = 'BLUE'"},
	{"both", "x BETWEEN -10 AND 10 AND color LIKE 'G%'"},
	{"deep", "deep.at.x >= 1 AND deep.z < 400"},
	{"element", "route[1].label = 'bb' OR ids[2] = 7"},
	{"wide", "wide = 'wörld'"},
	{"last", "order <> 42"},
}

// front has numbers alone in front of what varies, so they lie at offsets that are known when a filter is made.
var front = structure("plot::Track", cdr.Appendable,
	"instance", xtypes.Primitive(xtypes.TKUint32),
	"writer", xtypes.Primitive(xtypes.TKUint32),
	"number", xtypes.Primitive(xtypes.TKUint64),
	"height", xtypes.Primitive(xtypes.TKFloat64),
	"name", xtypes.NewString(16),
)

var inFront = []struct{ name, expression string }{
	{"one", "number > 10"},
	{"three", "instance < 1000000 AND writer = 0 AND number >= 0"},
	{"real", "height BETWEEN 0 AND 100"},
	{"string", "name = 'GREEN'"},
}

func inFrontSample() []byte {
	return encodeAll(front, []any{uint64(7), uint64(0), uint64(12), 55.5, "GREEN"})[2]
}

// Numbers in front are read and compared as all others are.
func TestNumbersInFront(t *testing.T) {
	for _, c := range inFront {
		f, err := New(front, c.expression)
		require.NoError(t, err)
		sample := inFrontSample()
		assert.True(t, f.Match(sample), c.name)
		assert.False(t, f.Match(sample[:8]), "%s of a sample that ends early", c.name)
		if !raceEnabled {
			assert.Zero(t, testing.AllocsPerRun(100, func() { f.Match(sample) }), c.name)
		}
		not, err := New(front, "NOT ("+c.expression+")")
		require.NoError(t, err)
		assert.False(t, not.Match(sample), c.name)
	}
}

func BenchmarkMatchInFront(b *testing.B) {
	sample := inFrontSample()
	for _, c := range inFront {
		b.Run(c.name, func(b *testing.B) {
			f, err := New(front, c.expression)
			require.NoError(b, err)
			for b.Loop() {
				f.Match(sample)
			}
		})
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has pools forget")
	}
	for _, sample := range encodeAll(shapeType, shape()) {
		for _, c := range typical {
			f, err := New(shapeType, c.expression)
			require.NoError(t, err)
			assert.Zero(t, testing.AllocsPerRun(100, func() { f.Match(sample) }), c.name)
		}
		q, err := NewQuery(shapeType, "ORDER BY wide, color, x, d")
		require.NoError(t, err)
		assert.Zero(t, testing.AllocsPerRun(100, func() { q.Compare(sample, sample) }))
	}
}

func BenchmarkMatch(b *testing.B) {
	sample := encodeAll(shapeType, shape())[2]
	for _, c := range typical {
		b.Run(c.name, func(b *testing.B) {
			f, err := New(shapeType, c.expression)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				f.Match(sample)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(shapeType, typical[2].expression); err != nil {
			b.Fatal(err)
		}
	}
}
