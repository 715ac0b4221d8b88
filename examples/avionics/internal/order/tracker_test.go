package order

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
)

var writer = [16]byte{1}

func sample(number uint64) Sample {
	return Sample{Writer: writer, Number: number, Sequence: number, Bytes: fmt.Appendf(nil, "sample %d", number)}
}

// run feeds numbers; the middleware's positions ascend as they come.
func run(t *Tracker, numbers ...uint64) Result {
	for i, n := range numbers {
		s := sample(n)
		s.Sequence = uint64(i + 1)
		t.Sample(s)
	}
	return t.Result()
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name                           string
		numbers                        []uint64
		missing, duplicated, reordered uint64
	}{
		{"nothing", nil, 0, 0, 0},
		{"all", []uint64{1, 2, 3}, 0, 0, 0},
		{"the first is missing", []uint64{2, 3}, 1, 0, 0},
		{"some are missing", []uint64{1, 4, 6}, 3, 0, 0},
		{"one comes twice", []uint64{1, 2, 2, 3}, 0, 1, 0},
		{"an old one comes again", []uint64{1, 2, 3, 1}, 0, 1, 0},
		{"two are swapped", []uint64{2, 1, 3}, 0, 0, 1},
		{"a late one, twice", []uint64{1, 3, 2, 2}, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(NewTracker(Total), c.numbers...)
			assert.Equal(t, []uint64{uint64(len(c.numbers)), c.missing, c.duplicated, c.reordered},
				[]uint64{r.Delivered, r.Missing, r.Duplicated, r.Reordered})
		})
	}
}

// The counts agree with what sets and sorting say.
func TestCountsAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Uint64Range(1, 20), 0, 40).Draw(t, "numbers")
		r := run(NewTracker(Total), numbers...)
		seen := map[uint64]bool{}
		var top, duplicated, reordered uint64
		for _, n := range numbers {
			switch {
			case seen[n]:
				duplicated++
			case n < top:
				reordered++
			}
			seen[n] = true
			top = max(top, n)
		}
		assert.Equal(t, []uint64{top - uint64(len(seen)), duplicated, reordered, top}, []uint64{r.Missing, r.Duplicated, r.Reordered, r.Last})
	})
}

func TestMiddlewareOrderMustAscend(t *testing.T) {
	at := func(writer byte, number uint64, epoch uint32, sequence uint64) Sample {
		s := sample(number)
		s.Writer, s.Epoch, s.Sequence = [16]byte{writer}, epoch, sequence
		return s
	}
	tr := NewTracker(Total)
	for _, s := range []Sample{at(1, 1, 1, 5), at(2, 1, 1, 6), at(1, 2, 2, 1), at(2, 2, 1, 9), at(1, 3, 1, 9)} {
		tr.Sample(s)
	}
	r := tr.Result()
	assert.Equal(t, uint64(2), r.Reordered, "epoch 1 after 2, and a position that was taken")
	assert.Zero(t, r.Missing)

	tr = NewTracker(PerWriter)
	tr.Sample(at(1, 7, 1, 9))
	tr.Sample(at(1, 9, 1, 4))
	assert.Equal(t, []uint64{1, 0}, []uint64{tr.Result().Missing, tr.Result().Reordered})
}

func TestDigest(t *testing.T) {
	base := run(NewTracker(Total), 1, 2, 3).Digest
	assert.Len(t, base, 64)
	assert.Equal(t, base, run(NewTracker(Total), 1, 2, 3).Digest)
	for _, other := range [][]uint64{{}, {1, 2}, {1, 3, 2}, {1, 2, 3, 3}, {2, 3}} {
		assert.NotEqual(t, base, run(NewTracker(Total), other...).Digest, "%v", other)
	}
	tr := NewTracker(Total)
	for n := range uint64(3) {
		s := sample(n + 1)
		if n == 1 {
			s.Bytes[0] ^= 1
		}
		tr.Sample(s)
	}
	assert.NotEqual(t, base, tr.Result().Digest, "content counts")
	assert.Equal(t, base[:12], Short(base))
	assert.Equal(t, "", Short(""))
}

func TestLateMissesAreSeen(t *testing.T) {
	late := NewTracker(Total)
	late.Late()
	run(late, 5, 9)
	late.HistoryEnds()
	assert.Zero(t, late.Result().Missing)
	late.Sample(sample(11))
	assert.Equal(t, uint64(1), late.Result().Missing)
}

// The numbers of a process that was started again go on in its own generation.
func TestNextGeneration(t *testing.T) {
	tr := NewTracker(Total)
	r := run(tr, 1, 2)
	require.Zero(t, r.Missing)
	for i, n := range []uint64{2, 3} {
		s := sample(ledger.Number(1, n))
		s.Writer, s.Sequence = [16]byte{2}, uint64(10+i)
		tr.Sample(s)
	}
	assert.Equal(t, uint64(1), tr.Result().Missing, "its first")
	assert.Zero(t, tr.Result().Reordered)
}

func TestManyMissing(t *testing.T) {
	tr := NewTracker(Total)
	r := run(tr, 1, 1_000_000)
	assert.Equal(t, uint64(999_998), r.Missing)
	assert.Len(t, tr.writers[writer].skipped, maxSkipped)
}
