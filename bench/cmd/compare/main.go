package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
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
	suite     string
	mode      string
	impls     []string
	sizes     []int
	readers   []int
	topics    []int
	processes []int
	inflight  []int // of all writers together
	rounds    int
	rate      float64
	duration  time.Duration
	warmup    time.Duration
	beside    int           // processes that compute all the time
	within    time.Duration // 0: no limit
	patience  time.Duration // 0: by suite
	json      string
	load      string // before the first run
}

// kind is a suite that can be asked for.
type kind struct {
	what    string
	flags   []string // that matter to it, besides those of all suites
	sizes   string   // the defaults of some of them
	readers string
	topics  string
	make    func(ctx context.Context, c config, scratch string) (suite, []string, error)
}

// suites are those that there are. It is filled by init, since the makers lead to the report, and the report looks here.
var suites map[string]kind

func init() {
	suites = map[string]kind{
		"dds": {"this one and other implementations of DDS", []string{"mode", "rate", "sizes", "readers"},
			"128,1024,10240,1048576", "1,2,4,8", "1", newDDS},
		"order":     {"total order on three hosts, and others that have it", []string{"sizes", "inflight"}, "1024,10240", "3", "1", newOrder},
		"unordered": {"what total order costs on one host", []string{"sizes", "readers"}, "128,1024,10240", "1,4", "1", newUnordered},
		"subgroups": {"one active topic among many on other subgroups", []string{"sizes", "readers", "topics"}, "1024", "1",
			"1,2,10,50", newSubgroups},
		"growth": {"memory and throughput by processes and topics", []string{"sizes", "topics", "processes"}, "1024", "1", "1,20,200", newGrowth},
		"lend": {"samples that readers are lent, and samples that they get a copy of", []string{"sizes", "readers"},
			"1024,10240,65536,1048576", "1,4", "1", newLend},
		"slow":     {"what a slow reader does to others", []string{"sizes"}, "1024", "1", "1", newSlow},
		"logged":   {"a PERSISTENT topic, and a plain file that is synced as often", []string{"sizes"}, "128,1024,10240", "1", "1", newLogged},
		"wake":     {"latency of readers that look and readers that sleep", []string{"rate", "sizes"}, "128", "1", "1", newWake},
		"baseline": {"what the machine can do without middleware", nil, "1", "1", "1", newBaseline},
	}
}

// limit is the longest that one run may take: to find each other, to measure, and to catch up with what was sent.
func (c config) limit() time.Duration {
	patience := c.patience
	switch {
	case patience > 0:
	case c.suite == "growth":
		patience = time.Minute // some thousand endpoints are announced one after the other
	default:
		patience = 20 * time.Second
	}
	return c.warmup + c.duration + patience
}

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
	names := slices.Sorted(maps.Keys(suites))
	f.StringVar(&c.suite, "suite", "dds", strings.Join(names, ", "))
	f.StringVar(&c.mode, "mode", "throughput", "dds: throughput, latency (one way, at -rate) or roundtrip (at -rate)")
	impls := f.String("impl", "", "names, comma-separated; all that are there if empty")
	sizes := f.String("sizes", "", "bytes, comma-separated; by suite if empty")
	readers := f.String("readers", "", "dds, unordered, subgroups: numbers of readers, comma-separated; by suite if empty")
	topics := f.String("topics", "", "subgroups, growth: numbers of topics, comma-separated; by suite if empty")
	processes := f.String("processes", "1,2,4,8", "growth: numbers of processes, comma-separated")
	inflight := f.String("inflight", "1000,10000", "order: messages that may be on their way, all writers together, comma-separated")
	f.IntVar(&c.rounds, "rounds", 5, "how often each cell is run")
	f.Float64Var(&c.rate, "rate", 1000, "samples per second of latency, roundtrip and wake")
	f.DurationVar(&c.duration, "duration", 2*time.Second, "of one run")
	f.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "before each run")
	f.IntVar(&c.beside, "beside", 0, "how many processes compute beside the runs, all the time")
	f.DurationVar(&c.within, "within", 0, "begin no other round that would not end in this time, as long as the longest one so far; 0: no limit")
	f.DurationVar(&c.patience, "patience", 0, "how much longer than warm-up and duration a run may take before it counts as failed; 0: 20s, of growth 1m")
	f.StringVar(&c.json, "json", "", "file for every single result, one JSON object a line")
	f.BoolVar(&isolated, "isolate", true, "run in a network namespace of one's own; without it on the machine's network")
	if err := f.Parse(args); err != nil {
		return c, false, err
	}
	if *impls != "" {
		c.impls = strings.Split(*impls, ",")
	}
	k, ok := suites[c.suite]
	if !ok {
		return c, false, fmt.Errorf("-suite %q: not one of %s", c.suite, strings.Join(names, ", "))
	}
	for _, l := range []struct {
		flag, value, otherwise string
		to                     *[]int
	}{
		{"-sizes", *sizes, k.sizes, &c.sizes}, {"-readers", *readers, k.readers, &c.readers},
		{"-topics", *topics, k.topics, &c.topics}, {"-processes", *processes, "", &c.processes},
		{"-inflight", *inflight, "", &c.inflight},
	} {
		if *l.to, err = numbers(l.flag, cmp.Or(l.value, l.otherwise)); err != nil {
			return c, false, err
		}
	}
	switch {
	case f.NArg() > 0:
		return c, false, fmt.Errorf("%q: there are no arguments besides flags", f.Args())
	case c.within < 0 || c.patience < 0:
		return c, false, fmt.Errorf("-within %v -patience %v: neither can be negative", c.within, c.patience)
	case c.beside < 0 || c.beside > maxBeside:
		return c, false, fmt.Errorf("-beside %d: 0 to %d processes", c.beside, maxBeside)
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
	err = compare(ctx, c, scratch)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "compare: interrupted; nothing is reported")
		return 130
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		return 1
	}
	return 0
}

func compare(ctx context.Context, c config, scratch string) error {
	s, missing, err := suites[c.suite].make(ctx, c, scratch)
	if err != nil {
		return err
	}
	c.load = load()
	log, err := newLog(c.json)
	if err != nil {
		return err
	}
	end, err := compute(ctx, c.beside)
	if err != nil {
		return err
	}
	collected, err := rounds(ctx, c, s, log)
	end()
	if err := log.close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return printReport(os.Stdout, c, s, missing, collected)
}
