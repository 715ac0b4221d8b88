package filter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What passes and what does not, on the sample that shape gives, in all encodings.
func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expression string
		want       bool
	}{
		{"x = -7", true},
		{"x <> -7", false},
		{"x != -7", false},
		{"x < -6 AND x > -8 and x <= -7 AND x >= -7", true},
		{"-7 = x", true},
		{"-8 < x", true},
		{"-6 < x", false},
		{"x = -7.0", true},
		{"x > -7.5", true},
		{"o = 0xC8", true},
		{"o = 0xc9 OR o = 200", true},
		{"big = 18446744073709551615", true},
		{"big > -1", true},
		{"big > 1.8e19 AND big < 1.9e19", true},
		{"small = -128", true},
		{"small < o", true},
		{"big > x", true},
		{"x < d", true},
		{"d > x", true},
		{"f = 0.1", true},
		{"d = 2.5 AND d <> 2", true},
		{"d > 2 AND d < 3", true},
		{"flag = TRUE", true},
		{"flag = false", false},
		{"flag = 'TRUE'", true},
		{"c = 'Q'", true},
		{"c > 'P' AND c < 'R'", true},
		{"c = 'QQ'", false},
		{"color = 'GREEN'", true},
		{"color = `GREEN'", true},
		{"color >= 'GRE' AND color < 'GRF'", true},
		{"color = c", false},
		{"color > wide", false},
		{"wide = 'wörld'", true},
		{"wide LIKE 'w_rld'", true},
		{"paint = 'GREEN'", true},
		{"paint = GREEN", true},
		{"paint = paint::GREEN", true},
		{"paint = Color::GREEN", true},
		{"paint = 'paint::Color::GREEN'", true},
		{"paint = 1", true},
		{"paint < trim", true},
		{"paint = x", false},
		{"trim > 'GREEN'", true},
		{"x BETWEEN -7 AND 0", true},
		{"x NOT BETWEEN -7 AND 0", false},
		{"x BETWEEN -6 AND 0 OR x BETWEEN -8 AND -7", true},
		{"NOT x BETWEEN -7 AND 0 AND x = -7", false},
		{"color BETWEEN 'A' AND 'H'", true},
		{"color LIKE 'G%N'", true},
		{"color LIKE '%EE%'", true},
		{"color LIKE 'G_EEN'", true},
		{"color LIKE 'G_EN'", false},
		{"color NOT LIKE 'R%'", true},
		{"color MATCH 'R*,[A-H]REE?'", true},
		{"color MATCH '[!G]*'", false},
		{"color IN ('RED', 'GREEN')", true},
		{"color NOT IN ('RED', 'BLUE')", true},
		{"x IN (1, -7)", true},
		{"deep.label = 'here' AND deep.at.y = -1 AND deep.z = 300", true},
		{"ids[0] = 10 AND ids[2] = 30", true},
		{"ids[3] = 0", false},
		{"NOT ids[3] = 0", false},
		{"ids[3] = 0 OR x = -7", true},
		{"ids[3] = NULL AND ids[2] <> NULL", true},
		{"corners[1].x = 3 AND corners[0].y = 2", true},
		{"grid[1][2] = 12 AND grid[0][1] = 1", true},
		{"names[1] = 'beta' AND names[2] = ''", true},
		{"route[1].at.y = 6 AND route[1].label LIKE 'b_'", true},
		{"route[2].z = 1", false},
		{"order = 42", true},
		{`"order" = 42 AND "deep"."z" = 300`, true},
		{"x = 1 OR x = 2 AND x = -7", false},
		{"x = -7 OR x = 2 AND x = 3", true},
		{"(x = -7 OR x = 2) AND x = 3", false},
		{"NOT (x = 1 OR x = 2)", true},
		{"NOT NOT x = -7", true},
		{"NOT x = 1 AND flag = TRUE", true},
		{"x\n=\n-7", true},
	} {
		f, err := New(shapeType, c.expression)
		if !assert.NoError(t, err, c.expression) {
			continue
		}
		for i, sample := range encodeAll(shapeType, shape()) {
			assert.Equal(t, c.want, f.Match(sample), "%s in encoding %d", c.expression, i)
		}
	}
}

func TestParameters(t *testing.T) {
	sample := encodeAll(shapeType, shape())[2]
	for _, c := range []struct {
		expression string
		params     []string
		want       bool
	}{
		{"x = %0", []string{"-7"}, true},
		{"x = %1", []string{"", "-7"}, true},
		{"x BETWEEN %0 AND %1", []string{"-10", "0"}, true},
		{"color = %0", []string{"'GREEN'"}, true},
		{"color = %0", []string{"GREEN"}, true},
		{"color = %0", []string{"7"}, false},
		{"color LIKE %0", []string{"G%"}, true},
		{"paint = %0", []string{"'GREEN'"}, true},
		{"paint = %0", []string{"Color::GREEN"}, true},
		{"flag = %0", []string{"true"}, true},
		{"c = %0", []string{"Q"}, true},
		{"d IN (%0, %1)", []string{"1", "25e-1"}, true},
	} {
		f, err := New(shapeType, c.expression, c.params...)
		require.NoError(t, err, c.expression)
		assert.Equal(t, c.want, f.Match(sample), "%s with %q", c.expression, c.params)
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	f, err := New(shapeType, "order = %42 AND x <> %99", many...)
	require.NoError(t, err)
	assert.True(t, f.Match(sample))
	f, err = f.With(make([]string, 101)...)
	assert.ErrorContains(t, err, "100")
	assert.Nil(t, f)
}
