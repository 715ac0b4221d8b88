package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

type config struct {
	suite    string
	mode     string
	impls    []string
	sizes    []int
	readers  []int
	rounds   int
	rate     float64
	duration time.Duration
	warmup   time.Duration
	json     string
}

// limit is the longest that one run may take: to find each other, to measure, and to catch up with what was sent.
func (c config) limit() time.Duration { return c.warmup + c.duration + 20*time.Second }

func main() {
	c, isolated, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !isolated {
		os.Exit(run(c))
	}
	os.Exit(isolate.Main(func() int { return run(c) }))
}

func parse(args []string) (c config, isolated bool, err error) {
	f := flag.NewFlagSet("compare", flag.ExitOnError)
	f.StringVar(&c.suite, "suite", "dds", "dds, order or baseline")
	f.StringVar(&c.mode, "mode", "throughput", "dds: throughput, latency (one way, at -rate) or roundtrip (at -rate)")
	impls := f.String("impl", "", "names, comma-separated; all that are there if empty")
	sizes := f.String("sizes", "", "bytes, comma-separated; 128,1024,10240,1048576 if empty, for order 1024,10240")
	readers := f.String("readers", "1,2,4,8", "dds: numbers of readers, comma-separated")
	f.IntVar(&c.rounds, "rounds", 5, "how often each cell is run")
	f.Float64Var(&c.rate, "rate", 1000, "samples per second of latency and roundtrip")
	f.DurationVar(&c.duration, "duration", 2*time.Second, "of one run")
	f.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "before each run")
	f.StringVar(&c.json, "json", "", "file for every single result, one JSON object a line")
	f.BoolVar(&isolated, "isolate", true, "run in a network namespace of one's own; without it on the machine's network")
	if err := f.Parse(args); err != nil {
		return c, false, err
	}
	if *impls != "" {
		c.impls = strings.Split(*impls, ",")
	}
	if *sizes == "" {
		*sizes = "128,1024,10240,1048576"
		if c.suite == "order" {
			*sizes = "1024,10240"
		}
	}
	if c.sizes, err = numbers("-sizes", *sizes); err != nil {
		return c, false, err
	}
	if c.readers, err = numbers("-readers", *readers); err != nil {
		return c, false, err
	}
	switch {
	case f.NArg() > 0:
		return c, false, fmt.Errorf("%q: there are no arguments besides flags", f.Args())
	case c.rounds < 1:
		return c, false, fmt.Errorf("-rounds %d: at least 1", c.rounds)
	case !slices.Contains([]string{"throughput", "latency", "roundtrip"}, c.mode):
		return c, false, fmt.Errorf("-mode %q: not one of throughput, latency, roundtrip", c.mode)
	}
	return c, isolated, nil
}

func numbers(name, list string) ([]int, error) {
	var out []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s %s: %q is not a number from 1", name, list, s)
		}
		out = append(out, n)
	}
	return out, nil
}

func run(c config) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	scratch, err := os.MkdirTemp("", "compare-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if err := compare(ctx, c, scratch); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		return 1
	}
	return 0
}

func compare(ctx context.Context, c config, scratch string) error {
	var s suite
	var missing []string
	var err error
	switch c.suite {
	case "dds":
		s, missing, err = newDDS(ctx, c, scratch)
	case "order":
		s, err = newOrder(ctx, c, scratch)
	case "baseline":
		s, err = newBaseline(ctx, c, scratch)
	default:
		return fmt.Errorf("-suite %q: not one of dds, order, baseline", c.suite)
	}
	if err != nil {
		return err
	}
	log, err := newLog(c.json)
	if err != nil {
		return err
	}
	collected, err := rounds(ctx, c, s, log)
	if err := log.close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return printReport(os.Stdout, c, s, missing, collected)
}
