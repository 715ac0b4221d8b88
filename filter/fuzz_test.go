package filter

import (
	"errors"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
)

// Whatever the text, the parameter and the sample: no panic, errors point into the expression, and what compiles runs.
func FuzzNew(f *testing.F) {
	good := encode(shapeType, shape(), cdr.DCDR2LE)
	for _, text := range []string{
		"x = 1 AND NOT (color LIKE 'a%' OR paint IN (RED, 'GREEN'))", "deep.at.x NOT BETWEEN -1.5e3 AND 0x1F", "route[1].label <> %0", "wide MATCH '[a-z]*,b?'",
		"c = NULL ORDER BY grid[1][2] DESC, \"order\"", "f <= .5 OR d >= 5. AND flag = true", "'it''s' = color", "%99 < x", "((((", "x = 'open", "\xff\x00",
	} {
		f.Add(text, "7", good)
	}
	f.Fuzz(func(t *testing.T, text, param string, sample []byte) {
		check := func(err error) {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			if e.Offset < 0 || e.Offset+e.Length > len(e.Expression) || e.Error() == "" {
				t.Fatalf("%q at %d, %d long, of %d", e.Detail, e.Offset, e.Length, len(e.Expression))
			}
		}
		if p, err := New(shapeType, text, param); err != nil {
			check(err)
		} else {
			p.Match(sample)
			p.Match(good)
		}
		if q, err := NewQuery(shapeType, text, param); err != nil {
			check(err)
		} else {
			q.Match(sample)
			q.Compare(sample, good)
			if q.Compare(good, good) != 0 {
				t.Fatalf("%q: a sample differs from itself", text)
			}
		}
	})
}

// The same of topic expressions.
func FuzzNewJoin(f *testing.F) {
	for _, text := range []string{
		"SELECT * FROM Flight NATURAL JOIN Airplane;", "SELECT flight, at.x lon, route[0] AS first FROM (Flight INNER NATURAL JOIN Airplane) WHERE altitude > %0 AND flight LIKE 'A%'",
		"select \"order\" from 'rt/Flight'", "SELECT * FROM Weather NATURAL JOIN Airplane", "SELECT at.y AS a.b FROM Weather", "SELECT * FROM ((((Flight",
	} {
		f.Add(text, "7", flight("LH1", "D-A", 3))
	}
	f.Fuzz(func(t *testing.T, text, param string, sample []byte) {
		j, err := NewJoin(text, airTypes, nil, "air::Result", param)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			if e.Offset < 0 || e.Offset+e.Length > len(e.Expression) || e.Error() == "" {
				t.Fatalf("%q at %d, %d long, of %d", e.Detail, e.Offset, e.Length, len(e.Expression))
			}
			return
		}
		tab := j.NewTable()
		for i := range j.Topics() {
			if _, err := tab.Put(i, Instance{}, sample, 0); err != nil {
				return // it is none of this topic
			}
		}
	})
}
