package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeastSquaresFindsWhatIsLinear(t *testing.T) {
	f, err := leastSquares([][]float64{{1, 0, 5}, {1, 1, 4}, {1, 2, 9}, {1, 3, 1}}, []float64{2.5, 5, 10.5, 9.5})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0, 3, 0.5}, f.factors, 1e-9)
	assert.InDelta(t, 1, f.share, 1e-9)
	assert.InDelta(t, 0, f.worst, 1e-9)
}

func TestLeastSquaresSaysHowWellItFits(t *testing.T) {
	f, err := leastSquares([][]float64{{1}, {1}, {1}, {1}}, []float64{1, 3, 1, 3})
	require.NoError(t, err)
	assert.InDelta(t, 2, f.factors[0], 1e-9, "the mean")
	assert.InDelta(t, 0, f.share, 1e-9, "of the variance nothing is explained")
	assert.InDelta(t, 1, f.worst, 1e-9, "2 in place of 1")
}

func TestWhatDoesNotDifferHasNoFit(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"none": nil, "too few": {{1, 2}}, "one term twice": {{1, 1}, {2, 2}, {3, 3}}, "nothing": {{0}, {0}},
	} {
		_, err := leastSquares(rows, make([]float64, len(rows)))
		assert.ErrorIs(t, err, errNoFit, name)
	}
}

func TestFormulaOfMemory(t *testing.T) {
	var points []point
	for _, p := range []float64{1, 2, 4} {
		for _, n := range []float64{1, 20, 200} {
			points = append(points, point{p, n, 10 + 1.5*p*min(n, 8) + 0.25*p*n})
		}
	}
	assert.Equal(t, "10 +1.5·P·min(T, 8) +0.25·P·T, P processes, T topics (R² 1.000; the largest error is 0 %)", formula(points, 8))
	assert.Contains(t, formula(points[:2], 8), "no formula from 2 points")
}
