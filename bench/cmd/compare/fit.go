package main

import (
	"errors"
	"fmt"
	"math"
)

// fit is a linear combination of some terms that comes closest to what was measured.
type fit struct {
	factors []float64 // one for each term
	share   float64   // of the variance that it explains (R²)
	worst   float64   // the largest error, as a share of what was measured
}

var errNoFit = errors.New("the terms do not differ in what was measured")

// leastSquares finds the factors of the terms in each row whose sums are closest to the values.
func leastSquares(rows [][]float64, values []float64) (f fit, err error) {
	if len(rows) == 0 || len(rows) < len(rows[0]) {
		return f, errNoFit
	}
	n := len(rows[0])
	// The normal equations, each with its right side.
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n+1)
		for r, row := range rows {
			for j := range n {
				m[i][j] += row[i] * row[j]
			}
			m[i][n] += row[i] * values[r]
		}
	}
	if f.factors, err = solve(m); err != nil {
		return f, err
	}
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	var left, all float64
	for r, row := range rows {
		estimate := 0.0
		for i, x := range row {
			estimate += f.factors[i] * x
		}
		left += (values[r] - estimate) * (values[r] - estimate)
		all += (values[r] - mean) * (values[r] - mean)
		if values[r] != 0 {
			f.worst = max(f.worst, math.Abs(estimate/values[r]-1))
		}
	}
	f.share = 1
	if all > 0 {
		f.share = 1 - left/all
	}
	return f, nil
}

// solve eliminates by Gauss and Jordan, with the largest pivot. Each equation is followed by its right side.
func solve(m [][]float64) ([]float64, error) {
	n := len(m)
	for c := range n {
		largest := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[largest][c]) {
				largest = r
			}
		}
		m[c], m[largest] = m[largest], m[c]
		const tiny = 1e-9 // beside terms that count processes and topics
		if math.Abs(m[c][c]) < tiny {
			return nil, errNoFit
		}
		for r := range n {
			if r == c {
				continue
			}
			by := m[r][c] / m[c][c]
			for k := c; k <= n; k++ {
				m[r][k] -= by * m[c][k]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x, nil
}

// point is what a process needs, among how many, with how many topics.
type point struct{ processes, topics, value float64 }

// formula is what the points follow: what a process needs by itself, for each ring of each process in a subgroup that has a
// topic, and for each process of each topic.
func formula(points []point, subgroups int) string {
	var rows [][]float64
	var values []float64
	for _, p := range points {
		rows = append(rows, []float64{1, p.processes * min(p.topics, float64(subgroups)), p.processes * p.topics})
		values = append(values, p.value)
	}
	f, err := leastSquares(rows, values)
	if err != nil {
		return fmt.Sprintf("no formula from %d points: %v", len(points), err)
	}
	return fmt.Sprintf("%.3g %+.3g·P·min(T, %d) %+.3g·P·T, P processes, T topics (R² %.3f; the largest error is %.0f %%)",
		f.factors[0], f.factors[1], subgroups, f.factors[2], f.share, 100*f.worst)
}
