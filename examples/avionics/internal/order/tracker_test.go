package order

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var writer = [16]byte{1}

func sample(number uint64) Sample {
	return Sample{Writer: writer, Number: number, Sequence: number, Instance: fmt.Sprint(number % 3), Bytes: fmt.Appendf(nil, "sample %d", number)}
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

// A late reader of a topic that keeps the last sample of each instance, against one that was there all the time.
func TestLateWithHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 40).Draw(t, "samples")
		joined := rapid.Uint64Range(0, n).Draw(t, "joined after")
		extra := rapid.Uint64Range(joined, n).Draw(t, "read together with the history, up to")
		early, late := NewTracker(Total), NewTracker(Total)
		early.KeepTrace()
		late.KeepTrace()
		late.Late()
		for k := range n {
			early.Sample(sample(k + 1))
		}
		history := early.PictureAt(joined)
		var kept []uint64
		for _, last := range history {
			kept = append(kept, last)
		}
		slices.Sort(kept)
		for _, k := range kept {
			late.Sample(sample(k))
		}
		for k := joined + 1; k <= extra; k++ {
			late.Sample(sample(k))
		}
		cut := late.HistoryEnds()
		require.Equal(t, extra, cut)
		require.Equal(t, early.PictureAt(cut), late.PictureAt(cut))
		for k := extra + 1; k <= n; k++ {
			late.Sample(sample(k))
		}
		require.Equal(t, early.Since(cut), late.Since(cut))
		require.Zero(t, late.Result().Missing)
	})
}

func TestLateMissesAreSeen(t *testing.T) {
	late := NewTracker(Total)
	late.Late()
	run(late, 5, 9)
	late.HistoryEnds()
	late.Sample(sample(11))
	assert.Equal(t, uint64(1), late.Result().Missing)

	early := NewTracker(Total)
	early.KeepTrace()
	run(early, 1, 2, 3)
	part := early.Since(1)
	assert.Equal(t, uint64(2), part.Count)
	assert.NotEqual(t, part, early.Since(2))
	assert.False(t, early.TraceFull())
}

func TestManyMissing(t *testing.T) {
	tr := NewTracker(Total)
	r := run(tr, 1, 1_000_000)
	assert.Equal(t, uint64(999_998), r.Missing)
	assert.Len(t, tr.writers[writer].skipped, maxSkipped)
}
