package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

type config struct {
	output string
	cases  []string
	rounds int
	each   time.Duration
	build  string
}

func main() {
	c := config{}
	var cases string
	flag.StringVar(&c.output, "o", "table", "table, markdown or json")
	flag.StringVar(&cases, "case", "Flat,Text,Blob,Route,Status", "what to measure")
	flag.IntVar(&c.rounds, "rounds", 10, "of which the best counts")
	flag.DurationVar(&c.each, "each", 20*time.Millisecond, "of CPU, for an operation in a round")
	flag.StringVar(&c.build, "build", "", "directory to build the C and C++ programs in, and to find them in again; a temporary one if empty")
	flag.Parse()
	c.cases = strings.Split(cases, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "codec:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	printer, known := printers[c.output]
	if !known {
		return fmt.Errorf("-o %q: not one of table, markdown, json", c.output)
	}
	if c.rounds < 1 || c.each <= 0 {
		return fmt.Errorf("-rounds %d -each %v: at least 1, and more than 0", c.rounds, c.each)
	}
	results, missing, err := measure(ctx, c)
	for _, m := range missing {
		fmt.Fprintln(os.Stderr, "codec:", m)
	}
	if err != nil {
		return err
	}
	return printer(os.Stdout, results)
}

// measure measures everything in turn, round by round.
func measure(ctx context.Context, c config) (results []*result, missing []string, err error) {
	if c.build == "" {
		if c.build, err = os.MkdirTemp("", "codec"); err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.build)) }()
	}
	peers, missing, err := startPeers(ctx, c.build)
	defer func() {
		for _, p := range peers {
			err = errors.Join(err, p.stop())
		}
	}()
	if err != nil {
		return nil, missing, err
	}
	all := subjects()
	for _, name := range c.cases {
		i := slices.IndexFunc(all, func(s *subject) bool { return s.name == name })
		if i < 0 {
			return nil, missing, fmt.Errorf("-case %q: not one of Flat, Text, Blob, Route, Status", name)
		}
		ops, err := operations(all[i], peers)
		if err != nil {
			return nil, missing, err
		}
		for _, op := range ops {
			r := &result{operation: op}
			if err := r.calibrate(c.each); err != nil {
				return nil, missing, fmt.Errorf("%s, %s, %s: %w", op.Case, op.Codec, op.How, err)
			}
			results = append(results, r)
		}
	}
	for range c.rounds {
		for _, r := range results {
			if ctx.Err() != nil {
				return nil, missing, ctx.Err()
			}
			if err := r.measure(); err != nil {
				return nil, missing, fmt.Errorf("%s, %s, %s: %w", r.Case, r.Codec, r.How, err)
			}
		}
	}
	return results, missing, nil
}

// operations lists what is measured of a case: writing first, then reading, then access; ours first.
func operations(s *subject, peers []*peer) ([]operation, error) {
	ops, err := s.operations()
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		theirs, err := p.operations(s)
		if err != nil {
			return nil, err
		}
		ops = append(ops, theirs...)
	}
	inGo, err := others(s.name)
	if err != nil {
		return nil, err
	}
	ops = append(ops, inGo...)
	slices.SortStableFunc(ops, func(a, b operation) int { return order(a.Kind) - order(b.Kind) })
	return ops, nil
}

func order(k kind) int { return slices.Index([]kind{write, read, access}, k) }
