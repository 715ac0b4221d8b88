package filter

import (
	"testing"

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
