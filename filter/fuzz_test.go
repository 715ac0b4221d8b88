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
