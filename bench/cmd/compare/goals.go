package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// goal is what a figure should be, by itself or in proportion to another one. Both are of one round, so that
// they were measured close to each other.
type goal struct {
	what        string
	row, column string
	over        []string // rows, of which the best one of the round is what it is divided by; none: nothing
	overCol     string
	least, most float64         // one of them is not 0
	in          func(cell) bool // the cells that it is for; nil: all
	print       func(float64) string
}

// verdict is a goal in one cell.
type verdict struct {
	goal
	cell   cell
	spread result.Spread
	rounds int // in which all that it needs was measured
}

func (v verdict) met() bool {
	return v.rounds > 0 && v.spread.Median >= v.least && (v.most == 0 || v.spread.Median <= v.most)
}

func (v verdict) wanted() string {
	if v.most != 0 {
		return "≤ " + v.print(v.most)
	}
	return "≥ " + v.print(v.least)
}

// judge looks at the goals in all cells, but for those of which nothing is measured by design: a row that was not asked for,
// or does not support the cell.
func judge(s suite, all *collected) (out []verdict) {
	for _, g := range s.goals() {
		for _, at := range s.cells() {
			there := slices.ContainsFunc(g.over, func(row string) bool { return has(s, row, at) })
			if g.in != nil && !g.in(at) || !has(s, g.row, at) || len(g.over) > 0 && !there {
				continue
			}
			v := verdict{goal: g, cell: at}
			if q := quotients(all, g, at); len(q) > 0 {
				v.spread, v.rounds = result.SpreadOf(q), len(q)
			}
			out = append(out, v)
		}
	}
	return out
}

func has(s suite, row string, at cell) bool {
	for _, i := range s.impls() {
		if i.name == row {
			return i.supports == nil || i.supports(at)
		}
	}
	return false
}

// quotients are those of the rounds that have both figures.
func quotients(all *collected, g goal, at cell) (out []float64) {
	values := all.values[key{g.row, g.column, at}]
	for round := range all.rounds {
		v, ok := values[round]
		if !ok {
			continue
		}
		if len(g.over) > 0 {
			o, ok := g.best(all, at, round)
			if !ok {
				continue
			}
			v /= o
		}
		out = append(out, v)
	}
	return out
}

// best is the greatest figure of the rows that the goal is divided by, or the least one where less is better; false if
// there is none.
func (g goal) best(all *collected, at cell, round int) (best float64, ok bool) {
	for _, row := range g.over {
		v := all.values[key{row, g.overCol, at}][round]
		if v != 0 && (!ok || g.most == 0 && v > best || g.most != 0 && v < best) {
			best, ok = v, true
		}
	}
	return best, ok
}

func printGoals(b *strings.Builder, s suite, all *collected) {
	verdicts := judge(s, all)
	if len(verdicts) == 0 {
		return
	}
	b.WriteString("\n| goal | in | measured | wanted | |\n|---|---|---|---|---|\n")
	for _, v := range verdicts {
		measured, mark := "–", "not measured"
		if v.rounds > 0 {
			measured = v.spread.Format(v.print)
			if v.rounds < all.rounds {
				measured += fmt.Sprintf(", %d of %d rounds", v.rounds, all.rounds)
			}
			mark = "not met"
		}
		switch {
		case v.met() && v.rounds < all.rounds:
			mark = "met, where no run failed"
		case v.met():
			mark = "met"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.what, v.cell, measured, v.wanted(), mark)
	}
}

func times(v float64) string { return fmt.Sprintf("%.3g times", v) }
func share(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
