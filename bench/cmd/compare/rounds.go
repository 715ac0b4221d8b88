package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// suite is what can be compared.
type suite interface {
	impls() []impl
	cells() []cell
	run(ctx context.Context, i impl, c cell) ([]result.Result, error)
	// figures are those of one run, by column; all runs of a cell have the same.
	figures(c cell, r []result.Result) []figure
	oneWriter() bool // and so columns that say how many readers it has
}

// impl is an implementation with its configuration.
type impl struct {
	name     string
	what     string
	supports func(cell) bool
}

// cell is a workload. The baseline has one cell.
type cell struct{ size, readers int }

func (c cell) String() string {
	if c == (cell{}) {
		return "the limits of this machine"
	}
	return fmt.Sprintf("%d bytes, 1→%d", c.size, c.readers)
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

// collected is what all rounds have measured.
type collected struct {
	values  map[key][]float64
	print   map[string]func(float64) string
	columns []string
	failed  map[string]int // by implementation and cell
}

func failureKey(i impl, c cell) string { return i.name + " " + c.String() }

// rounds runs every implementation in every cell, round by round: A B C A B C.
func rounds(ctx context.Context, c config, s suite, log *log) (*collected, error) {
	all := &collected{values: map[key][]float64{}, print: map[string]func(float64) string{}, failed: map[string]int{}}
	for round := range c.rounds {
		for _, cell := range s.cells() {
			for _, i := range s.impls() {
				if i.supports != nil && !i.supports(cell) {
					continue
				}
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %s\n", round+1, c.rounds, cell, i.name)
				if err := one(ctx, c, s, i, cell, log, all); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

func one(ctx context.Context, c config, s suite, i impl, at cell, log *log, all *collected) error {
	bounded, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	results, err := s.run(bounded, i, at)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err) // the user has had enough
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", i.name, at, err)
		all.failed[failureKey(i, at)]++
		return nil
	}
	for _, f := range s.figures(at, results) {
		k := key{i.name, f.column, at}
		all.values[k] = append(all.values[k], f.value)
		all.print[f.column] = f.print
		if !slices.Contains(all.columns, f.column) {
			all.columns = append(all.columns, f.column)
		}
	}
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
