package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

type config struct {
	only             *regexp.Regexp
	rounds           int
	duration, warmup time.Duration
	within           time.Duration // 0: no limit
	json             string
	list, isolated   bool
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == memberMark {
		if err := runMember(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "spindle:", err)
			os.Exit(1)
		}
		return
	}
	c, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "spindle:", err)
		os.Exit(2)
	}
	if !c.isolated || c.list {
		os.Exit(run(c))
	}
	os.Exit(isolate.Main(func() int { return run(c) }))
}

func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("spindle", flag.ExitOnError)
	only := f.String("only", "", "regular expression: the experiments to run, by name")
	f.IntVar(&c.rounds, "rounds", 5, "how often each run is made")
	f.DurationVar(&c.duration, "duration", 300*time.Millisecond, "of one run")
	f.DurationVar(&c.warmup, "warmup", 100*time.Millisecond, "before each run")
	f.DurationVar(&c.within, "within", 15*time.Minute,
		"begin no other round that would not end in this time, as long as the longest one so far; 0: no limit")
	f.StringVar(&c.json, "json", "", "file for every single run, one JSON object a line")
	f.BoolVar(&c.list, "list", false, "print what there is to run, and end")
	f.BoolVar(&c.isolated, "isolate", true, "run in a network namespace of one's own")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if c.only, err = regexp.Compile(*only); err != nil {
		return c, fmt.Errorf("-only: %w", err)
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("%q: there are no arguments besides flags", f.Args())
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds %d: at least 1", c.rounds)
	case c.within < 0:
		return c, fmt.Errorf("-within %v: 0 or more", c.within)
	case c.duration <= 0 || c.warmup < 0:
		return c, fmt.Errorf("-duration %v -warmup %v: a run takes some time", c.duration, c.warmup)
	case len(c.selected()) == 0:
		return c, fmt.Errorf("-only %s: no experiment has such a name; -list shows them", c.only)
	}
	return c, nil
}

func (c config) selected() []experiment {
	var out []experiment
	for _, e := range matrix() {
		if c.only.MatchString(e.name) {
			out = append(out, e)
		}
	}
	return out
}

func run(c config) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.list {
		printList(os.Stdout, c.selected())
		return 0
	}
	err := measure(ctx, c)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "spindle: interrupted; nothing is reported")
		return 130
	case err != nil:
		fmt.Fprintln(os.Stderr, "spindle:", err)
		return 1
	}
	return 0
}

func measure(ctx context.Context, c config) error {
	log := io.Discard
	if c.json != "" {
		f, err := os.Create(c.json)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	all, begin, longest := collected{}, time.Now(), time.Duration(0)
	for round := range c.rounds {
		if round > 0 && c.within > 0 && time.Since(begin)+longest > c.within {
			fmt.Fprintf(os.Stderr, "%d rounds took %v, and another one would be too much for -within %v\n", round,
				time.Since(begin).Round(time.Second), c.within)
			c.rounds = round // that there were
			break
		}
		started := time.Now()
		if err := oneRound(ctx, c, round, all, json.NewEncoder(log)); err != nil {
			return err
		}
		longest = max(longest, time.Since(started))
	}
	return printReport(os.Stdout, c, all)
}

// oneRound makes every run once.
func oneRound(ctx context.Context, c config, round int, all collected, log *json.Encoder) error {
	for _, e := range c.selected() {
		for _, w := range e.loads {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s: %v\n", round+1, c.rounds, e.name, w)
			for _, off := range append([]string{""}, e.off...) {
				f, err := once(ctx, c, w, off)
				if ctx.Err() != nil {
					return ctx.Err() // the user has had enough
				}
				if err != nil {
					fmt.Fprintf(os.Stderr, "%s, %v, %q: %v\n", e.name, w, off, err)
					f = figures{}
				}
				k := key{e.name, w, off}
				all[k] = append(all[k], trial{f, err})
				if err := log.Encode(line{e.name, w.String(), off, round, f, errorText(err)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// line is a run in the file of -json.
type line struct {
	Experiment string  `json:"experiment"`
	Workload   string  `json:"workload"`
	Off        string  `json:"off"`
	Round      int     `json:"round"`
	Figures    figures `json:"figures"`
	Error      string  `json:"error,omitempty"`
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
