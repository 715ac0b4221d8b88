package dcps

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naiveQuery is a query expression beside what it means. Of an entry without data (nil) no condition holds, and it
// comes first by ORDER BY.
type naiveQuery struct {
	text     string
	matches  func(*track) bool // nil for a query that is an order only
	compare  func(a, b *track) int
	compiled *filter.Query
}

func (q *naiveQuery) match(e naiveEntry) bool {
	return q == nil || q.matches == nil || e.data != nil && q.matches(e.data)
}

// order sorts entries as ORDER BY does: those that are equal stay as they are.
func (q *naiveQuery) order(of []int, entries []naiveEntry) {
	slices.SortStableFunc(of, func(i, j int) int { return q.compare(entries[i].data, entries[j].data) })
}

// by is the order by one member.
func by[T cmp.Ordered](member func(*track) T, down bool) func(a, b *track) int {
	return func(a, b *track) int {
		c := 0
		switch {
		case a != nil && b != nil:
			c = cmp.Compare(member(a), member(b))
		case a != nil:
			c = 1
		case b != nil:
			c = -1
		}
		if down {
			return -c
		}
		return c
	}
}

func naiveQueries(t *testing.T) []*naiveQuery {
	value := func(d *track) int32 { return d.Value }
	text := func(d *track) string { return d.Text }
	id := func(d *track) int32 { return d.ID }
	byText, byValueDown := by(text, false), by(value, true)
	all := []*naiveQuery{
		{text: "value > 2", matches: func(d *track) bool { return d.Value > 2 }},
		{text: "NOT (id = 1 OR value BETWEEN 1 AND 3)", matches: func(d *track) bool { return d.ID != 1 && (d.Value < 1 || d.Value > 3) }},
		{text: "text LIKE 'b%'", matches: func(d *track) bool { return strings.HasPrefix(d.Text, "b") }},
		{text: "ORDER BY value", compare: by(value, false)},
		{text: "ORDER BY id DESC", compare: by(id, true)},
		{text: "value < 4 ORDER BY text, value DESC", matches: func(d *track) bool { return d.Value < 4 }, compare: func(a, b *track) int {
			return cmp.Or(byText(a, b), byValueDown(a, b))
		}},
	}
	for _, q := range all {
		var err error
		q.compiled, err = filter.NewQuery(trackDescription, q.text)
		require.NoError(t, err, q.text)
	}
	return all
}

// drawData draws what a sample of an instance says.
func drawData(t *rapid.T, id int32) (*track, []byte) {
	d := &track{ID: id, Value: rapid.Int32Range(0, 5).Draw(t, "value"), Text: rapid.SampledFrom([]string{"", "a", "b", "bb"}).Draw(t, "text")}
	encoded, err := cdr.Marshal(d, cdr.CDRLE)
	if err != nil {
		t.Fatal(err)
	}
	return d, encoded
}

// drawQuery draws none, or one and says so in the selection.
func drawQuery(t *rapid.T, s *selection, all []*naiveQuery) *naiveQuery {
	i := rapid.SampledFrom([]int{-1, -1, 0, 1, 2, 3, 4, 5}).Draw(t, "query") // IntRange prefers the first ones
	if i < 0 {
		return nil
	}
	s.query = all[i].compiled
	return all[i]
}

// drawChoice draws which instances are read.
func drawChoice(t *rapid.T, s *selection) {
	s.only = rapid.SampledFrom([]instanceChoice{allInstances, allInstances, allInstances, onlyThis, onlyNext}).Draw(t, "only")
	if s.only != allInstances {
		s.handle = instanceHandle(rapid.Int32Range(0, 3).Draw(t, "of"))
	}
}

// chosen tells whether an instance is among those that are read.
func (n *naive) chosen(s *selection, match func(naiveEntry) bool) func(id int32) bool {
	of := int32(s.handle[0])
	switch s.only {
	case onlyThis:
		return func(id int32) bool { return id == of }
	case onlyNext:
		next := int32(0)
		for _, e := range n.entries {
			if e.id > of && match(e) && (next == 0 || e.id < next) {
				next = e.id
			}
		}
		return func(id int32) bool { return id == next }
	}
	return func(int32) bool { return true }
}
