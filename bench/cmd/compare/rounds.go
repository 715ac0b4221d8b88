package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// suite is what can be compared.
type suite interface {
	title() string
	impls() []impl
	cells() []cell
	run(ctx context.Context, i impl, c cell) ([]result.Result, error)
	// figures are those of one run, by column.
	figures(i impl, c cell, r []result.Result) []figure
	goals() []goal
}

// impl is an implementation with its configuration, or a way to use one: a row of the tables.
type impl struct {
	name     string
	what     string
	supports func(cell) bool
}

// cell is a workload: some columns of a table.
type cell struct {
	table     string // the heading of its table
	heading   string // of its columns, before what they show; empty if its table has no other cell
	size      int
	readers   int
	processes int
	inflight  int  // of order
	shares    bool // of slow: the two topics are on one subgroup
	paced     bool // of slow: the writers have a rate, and leave the processors time
}

// sized is the workload of one writer.
func sized(size, readers int) cell {
	return cell{table: fmt.Sprintf("%d bytes", size), heading: fmt.Sprintf("1→%d", readers), size: size, readers: readers}
}

func (c cell) String() string {
	switch {
	case c.heading == "":
		return c.table
	case c.table == "":
		return c.heading
	}
	return c.table + ", " + c.heading
}

// figure is one value of a run.
type figure struct {
	column string
	value  float64
	print  func(float64) string
}

type key struct {
	impl, column string
	cell         cell
}

// collected is what all rounds have measured: values by round, without those that failed.
type collected struct {
	rounds  int
	values  map[key]map[int]float64
	print   map[string]func(float64) string
	columns []string
	failed  map[failure]int
}

type failure struct {
	impl string
	cell cell
}

func newCollected(rounds int) *collected {
	return &collected{rounds: rounds, values: map[key]map[int]float64{}, print: map[string]func(float64) string{}, failed: map[failure]int{}}
}

func (all *collected) add(round int, i impl, at cell, figures []figure) {
	for _, f := range figures {
		k := key{i.name, f.column, at}
		if all.values[k] == nil {
			all.values[k] = map[int]float64{}
		}
		all.values[k][round] = f.value
		all.print[f.column] = f.print
		if !slices.Contains(all.columns, f.column) {
			all.columns = append(all.columns, f.column)
		}
	}
}

// spread is that of a figure, false if no run gave one.
func (all *collected) spread(k key) (s result.Spread, ok bool) {
	if len(all.values[k]) == 0 {
		return s, false
	}
	var values []float64
	for _, v := range all.values[k] {
		values = append(values, v)
	}
	return result.SpreadOf(values), true
}

// rounds runs every implementation in every cell, round by round: A B C A B C.
func rounds(ctx context.Context, c config, s suite, log *log) (*collected, error) {
	all := newCollected(0)
	begin, longest := time.Now(), time.Duration(0)
	for round := range c.rounds {
		if round > 0 && c.within > 0 && time.Since(begin)+longest > c.within {
			fmt.Fprintf(os.Stderr, "%d rounds took %v, and another one would be too much for -within %v\n", round,
				time.Since(begin).Round(time.Second), c.within)
			break
		}
		all.rounds++
		started := time.Now()
		for _, cell := range s.cells() {
			for _, i := range s.impls() {
				if i.supports != nil && !i.supports(cell) {
					continue
				}
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %s\n", round+1, c.rounds, cell, i.name)
				if err := one(ctx, c, s, round, i, cell, log, all); err != nil {
					return nil, err
				}
			}
		}
		longest = max(longest, time.Since(started))
	}
	return all, nil
}

func one(ctx context.Context, c config, s suite, round int, i impl, at cell, log *log, all *collected) error {
	bounded, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	results, err := s.run(bounded, i, at)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err) // the user has had enough
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", i.name, at, err)
		all.failed[failure{i.name, at}]++
		return nil
	}
	all.add(round, i, at, s.figures(i, at, results))
	return log.add(results)
}

// log keeps every single result.
type log struct{ file *os.File }

func newLog(name string) (*log, error) {
	if name == "" {
		return &log{}, nil
	}
	f, err := os.Create(name)
	return &log{f}, err
}

func (l *log) add(r []result.Result) error {
	if l.file == nil {
		return nil
	}
	return result.Write(l.file, r...)
}

func (l *log) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
