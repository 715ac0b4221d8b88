package filter

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/errors.txt")

// Each paragraph of testdata/errors.txt is an expression behind "> ", the parameters behind "% ", and the error.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	var want strings.Builder
	for i, paragraph := range strings.Split(strings.TrimRight(string(have), "\n"), "\n\n") {
		var expression string
		var params []string
		if i > 0 {
			want.WriteString("\n")
		}
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSuffix(line, "\n")
			if e, ok := strings.CutPrefix(line, ">"); ok {
				expression = strings.TrimPrefix(e, " ")
			} else if p, ok := strings.CutPrefix(line, "% "); ok {
				params = append(params, p)
			} else {
				continue
			}
			want.WriteString(line + "\n")
		}
		if strings.Contains(expression, "ORDER BY") {
			_, err = NewQuery(shapeType, expression, params...)
		} else {
			_, err = New(shapeType, expression, params...)
		}
		var e *Error
		require.ErrorAs(t, err, &e, expression)
		want.WriteString(strings.ReplaceAll(err.Error(), "\n\t", "\n    ") + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want.String()), 0o644))
	}
	assert.Equal(t, want.String(), string(have))
}

// What no constructor made, and a type that is nil, give an error or nothing. Nothing panics.
func TestAbsent(t *testing.T) {
	var e *Error
	_, err := New(nil, "x > 1")
	assert.ErrorAs(t, err, &e)
	_, err = NewQuery(nil, "x > 1 ORDER BY x")
	assert.ErrorAs(t, err, &e)
	sample := encodeAll(shapeType, shape())[0]
	for _, f := range []*Filter{nil, {}} {
		_, err := f.With("1")
		assert.ErrorAs(t, err, &e)
		assert.False(t, f.Match(sample))
		assert.Empty(t, f.Expression())
		assert.Empty(t, f.Parameters())
	}
	for _, q := range []*Query{nil, {}} {
		_, err := q.With("1")
		assert.ErrorAs(t, err, &e)
		assert.False(t, q.Match(sample))
		assert.False(t, q.Ordered())
		assert.Zero(t, q.Compare(sample, nil))
		assert.Empty(t, q.Expression())
		assert.Empty(t, q.Parameters())
	}
}
