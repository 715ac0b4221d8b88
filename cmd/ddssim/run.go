package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho/cluster"
	"github.com/omg-dds-go/dds/internal/suggest"
)

const (
	exitOK        = 0
	exitViolation = 1
	exitUsage     = 2

	exitInterrupted = 130
)

// maxNodes bounds -nodes and -sweep.
const maxNodes = 16

const usage = `ddssim runs whole groups in virtual time, with failures, and checks what they do.

  go run ./cmd/ddssim -seeds 1000 -nodes 3..9       a thousand random groups
  go run ./cmd/ddssim -sweep 3                      a node dies at every step of a change of view
  go run ./cmd/ddssim -from 17 -seeds 1 -html t.html   one seed again, as a picture

`

// settings are the command line.
type settings struct {
	seeds    int
	from     uint64
	options  cluster.Options
	nodes    string
	faults   string
	keep     string
	sweep    int
	pairs    int
	together bool
	stored   int
	part     string
	changes  string
	of       cluster.Sweep // as sweep, pairs, together, stored, part and changes say
	scenario string
	verbose  bool
	trace    bool
	html     string
	workers  int
}

func parseFlags(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	fs := flag.NewFlagSet("ddssim", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // what is wrong fits one line, and need not come with all the help
	fs.IntVar(&s.seeds, "seeds", 100, "run `N` seeds")
	fs.Uint64Var(&s.from, "from", 1, "begin with seed `S`")
	fs.StringVar(&s.nodes, "nodes", "3..9", "number of nodes, `MIN..MAX` or one number, at most 16")
	fs.StringVar(&s.faults, "faults", "all", "faults that may happen, a `LIST` of names, all, or none; a wrong name prints them")
	fs.DurationVar(&s.options.Duration, "duration", 0, "virtual `TIME` in which the faults happen; 0: each seed draws it")
	fs.StringVar(&s.options.Storm, "storm", "", "runs that aim at changes of the view, of a `KIND`: any, "+strings.Join(cluster.Storms, ", "))
	fs.BoolVar(&s.options.Large, "large", false, "in every run some messages do not fit their ring, which grows for them")
	fs.StringVar(&s.keep, "keep", "", "of what the seed schedules, only this `LIST` of numbers, as a failure prints it")
	fs.IntVar(&s.sweep, "sweep", 0, "instead of seeds: end a node at every step of a change of view, in groups of `N`")
	fs.IntVar(&s.pairs, "pairs", 7, "in a sweep: also pairs of crashes, each at every `K`-th step; 1: all of them; 0: none")
	fs.IntVar(&s.stored, "stored", 3, "in a sweep: also with stored channels, where a crash is at every `K`-th step, those of disks among them; 1: at all of them; 0: none")
	fs.BoolVar(&s.together, "together", false, "in a sweep: also pairs of crashes at once, at every step of the group")
	fs.StringVar(&s.part, "part", "", "in a sweep: only part `I/N` of it, I from 0 to N-1; what the N parts run and count adds up to the sweep")
	fs.StringVar(&s.changes, "changes", "", "in a sweep: only these changes of the view, a `LIST` of "+
		strings.Join(cluster.Changes, ", ")+": joins is two at once; in return one comes back that has died, in returns all, with stored channels only")
	fs.StringVar(&s.scenario, "scenario", "", "run one scenario of a sweep, as `TEXT` like \"1,1,2 crash 0 2@17\"")
	fs.BoolVar(&s.verbose, "v", false, "print what each seed has drawn, before it runs; of one seed that is printed anyway")
	fs.BoolVar(&s.trace, "trace", false, "print the whole trace of the run that fails, or of the last one")
	fs.StringVar(&s.html, "html", "", "write a picture of that run to `FILE`")
	fs.IntVar(&s.workers, "workers", runtime.GOMAXPROCS(0), "run `N` groups at once")
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(stderr)
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
		return nil, err
	case err != nil:
		fmt.Fprintf(stderr, "ddssim: %v%s ddssim -help explains\n", err, cmp.Or(suggest.Flag(fs, err), ";"))
		return nil, err
	}
	err := s.apply(fs)
	if err == nil {
		err = s.check(fs.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "ddssim: %v; ddssim -help explains\n", err)
		return nil, err
	}
	return s, nil
}

// apply refuses flags that have no effect on what is asked for: who says them takes the run for another than it is.
func (s *settings) apply(fs *flag.FlagSet) (err error) {
	of, without := "of seeds", []string{"pairs", "stored"} // the others of a sweep are seen by their values
	switch {
	case s.scenario != "":
		of, without = "of a -scenario", []string{"seeds", "from", "nodes", "faults", "duration", "storm", "large", "keep", "pairs", "stored", "v"}
	case s.sweep != 0:
		of, without = "of a -sweep", []string{"seeds", "from", "nodes", "faults", "duration", "storm", "large", "keep", "v"}
	}
	fs.Visit(func(f *flag.Flag) {
		if err == nil && slices.Contains(without, f.Name) {
			err = fmt.Errorf("-%s: no flag %s", f.Name, of)
		}
	})
	return err
}

func (s *settings) check(rest []string) (err error) {
	if len(rest) > 0 {
		return fmt.Errorf("unknown argument %q", rest[0])
	}
	o := &s.options
	low, high, several := strings.Cut(s.nodes, "..")
	if !several {
		high = low
	}
	var err1, err2 error
	o.MinNodes, err1 = strconv.Atoi(low)
	o.MaxNodes, err2 = strconv.Atoi(high)
	s.faults = strings.ReplaceAll(s.faults, " ", "") // it is one word in the command that replays a seed
	switch {
	case err1 != nil || err2 != nil || o.MinNodes < 1 || o.MaxNodes < o.MinNodes || o.MaxNodes > maxNodes:
		return fmt.Errorf("-nodes %s: say for example 3..9, at most %d", s.nodes, maxNodes)
	case s.seeds < 1:
		return fmt.Errorf("-seeds %d: at least one", s.seeds)
	case s.workers < 1:
		return fmt.Errorf("-workers %d: at least one", s.workers)
	case o.Duration < 0:
		return fmt.Errorf("-duration %v: negative", o.Duration)
	case s.sweep != 0 && (s.sweep < 2 || s.sweep > maxNodes) || s.pairs < 0 || s.stored < 0:
		return fmt.Errorf("-sweep %d -pairs %d -stored %d: 2 to %d nodes, and no negative numbers of steps", s.sweep, s.pairs, s.stored, maxNodes)
	case s.sweep == 0 && (s.together || s.part != "" || s.changes != ""):
		return errors.New("-together, -part and -changes: of a -sweep")
	case o.Storm != "" && o.Storm != "any" && !slices.Contains(cluster.Storms, o.Storm):
		near := suggest.DidYouMean(o.Storm, slices.Values(cluster.Storms))
		return fmt.Errorf("-storm %s: %s", o.Storm, strings.TrimSpace(near+" say any, "+strings.Join(cluster.Storms, ", ")))
	case s.sweep != 0 && s.scenario != "":
		return errors.New("-sweep and -scenario: one of the two")
	}
	if o.Faults, err = cluster.ParseFaults(s.faults); err != nil {
		return err
	}
	if s.html != "" { // before it has run for hours
		if _, err := os.Stat(filepath.Dir(s.html)); err != nil {
			return fmt.Errorf("-html %s: %w", s.html, err)
		}
	}
	if s.part != "" {
		part, parts := &s.of.Part, &s.of.Parts
		if n, _ := fmt.Sscanf(s.part, "%d/%d", part, parts); n != 2 || *part < 0 || *part >= *parts || s.part != fmt.Sprintf("%d/%d", *part, *parts) {
			return fmt.Errorf("-part %s: say for example 0/4", s.part)
		}
	}
	if s.changes != "" {
		for name := range strings.SplitSeq(s.changes, ",") {
			change := strings.TrimSpace(name)
			switch {
			case !slices.Contains(cluster.Changes, change):
				near := suggest.DidYouMean(change, slices.Values(cluster.Changes))
				return fmt.Errorf("-changes %s: %s", s.changes, strings.TrimSpace(near+" say some of "+strings.Join(cluster.Changes, ", ")))
			case cluster.NeedsLogs(change) && s.stored == 0:
				return fmt.Errorf("-changes %s: %s is with stored channels only, not with -stored 0", s.changes, change)
			}
			s.of.Begins = append(s.of.Begins, change)
		}
	}
	s.of.Nodes, s.of.Step, s.of.Pairs, s.of.Stored, s.of.Together = s.sweep, 1, s.pairs, s.stored, s.together
	if s.keep != "" {
		if o.Keep, err = cluster.ParseKeep(s.keep); err != nil {
			return err
		}
	}
	return nil
}

// run is the command. When ctx ends it starts no more runs, and tells what those found that there were.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	var end outcome
	switch {
	case s.scenario != "":
		scenario, err := cluster.ParseScenario(s.scenario)
		if err != nil {
			fmt.Fprintf(stderr, "ddssim: %v\n", err)
			return exitUsage
		}
		end = s.runAll(ctx, stdout, stderr, scenarios, []job{scenarioJob(scenario)})
	case s.sweep != 0:
		var (
			jobs  []job
			mu    sync.Mutex
			count cluster.Count
		)
		for _, l := range s.of.Lines() {
			jobs = append(jobs, func(each report) {
				c := l.Run(func(sc cluster.Scenario, r *cluster.Result) bool { return each(replayScenario(sc), r) })
				mu.Lock()
				defer mu.Unlock()
				count = count.Plus(c)
			})
		}
		end = s.runAll(ctx, stdout, stderr, scenarios, jobs)
		if s.stored > 0 && ctx.Err() == nil {
			fmt.Fprintf(stdout, "with stored channels: %d changes and single crashes; %d crashes the same as a step earlier\n",
				count.Singles, count.SameSingles)
		}
		if s.pairs > 0 && ctx.Err() == nil {
			fmt.Fprintf(stdout, "pairs of crashes: %d in all; %d with the two the other way round, %d the same as a step earlier, %d but for what nobody can read, %d thinned out; %d run\n",
				count.Full, count.Mirrored, count.Same, count.Unseen, count.Thinned(), count.Ran)
		}
	default:
		jobs := make([]job, s.seeds)
		o := s.options
		if s.verbose || s.seeds == 1 {
			var mu sync.Mutex
			o.Drawn = func(p cluster.Plan) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(stdout, p)
			}
		}
		for i := range jobs {
			seed := s.from + uint64(i)
			jobs[i] = func(each report) { each(s.replay(seed, s.options), cluster.Run(seed, o)) }
		}
		end = s.runAll(ctx, stdout, stderr, seeds, jobs)
	}
	if ctx.Err() != nil && (end.result == nil || end.result.Err == nil) {
		fmt.Fprintln(stdout, "interrupted; no violation until then")
		return exitInterrupted
	}
	// How much a seed schedules is known when it has run.
	if keep := s.options.Keep; len(keep) > 0 && end.result != nil && s.seeds == 1 && slices.Max(keep) >= end.result.Scheduled {
		fmt.Fprintf(stderr, "ddssim: -keep %s: seed %d schedules %d acts and faults, with numbers from 0\n", s.keep, s.from, end.result.Scheduled)
		return exitUsage
	}
	return s.tell(end, stdout, stderr)
}

// report takes a result, with the command that replays it, and says whether to go on.
type report func(replay string, r *cluster.Result) bool

// job is a part of the work: some runs.
type job func(report)

func scenarioJob(s cluster.Scenario) job {
	return func(each report) { each(replayScenario(s), s.Run()) }
}

// outcome is what came of all runs.
type outcome struct {
	number int // of the job that failed first, in their order; or the last job
	replay string
	result *cluster.Result
}

// What runs are called.
const (
	seeds     = "seeds"
	scenarios = "scenarios"
)

// runAll executes jobs until one fails or ctx ends, and prints the figures. Of several that fail it is the first in
// their order.
func (s *settings) runAll(ctx context.Context, stdout, stderr io.Writer, what string, jobs []job) outcome {
	var (
		mu          sync.Mutex
		end         = outcome{number: -1}
		steps, lost int
		faults      = map[cluster.Fault]int{}
		next        atomic.Int64
		failed      atomic.Bool
		wg          sync.WaitGroup
	)
	began := time.Now()
	far := &progress{what: what, jobs: len(jobs)}
	ticker, stop := time.NewTicker(progressEvery), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { far.tell(stderr, ticker.C, stop) })
	for range min(s.workers, len(jobs)) {
		wg.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				if number >= len(jobs) {
					return
				}
				jobs[number](func(replay string, r *cluster.Result) bool {
					mu.Lock()
					defer mu.Unlock()
					steps += r.Steps
					far.runs.Add(1)
					if r.Lost {
						lost++
					}
					for f, n := range r.Faults {
						faults[f] += n
					}
					before := end.result != nil && end.result.Err != nil
					if r.Err != nil && (!before || number < end.number) || !before && r.Err == nil && number >= end.number {
						end = outcome{number, replay, r}
					}
					if r.Err != nil {
						failed.Store(true)
					}
					return r.Err == nil && !failed.Load() && ctx.Err() == nil
				})
				far.done.Add(1)
			}
		})
	}
	wg.Wait()
	ticker.Stop()
	close(stop)
	telling.Wait()
	t, runs := time.Since(began).Seconds(), far.runs.Load()
	fmt.Fprintf(stdout, "%d %s in %.1f s: %.0f %s/s, %.0f steps/s\n", runs, what, t, float64(runs)/t, what, float64(steps)/t)
	var list []string
	for _, f := range slices.Sorted(maps.Keys(faults)) {
		list = append(list, fmt.Sprintf("%v %d", f, faults[f]))
	}
	if len(list) == 0 {
		list = []string{"none"}
	}
	fmt.Fprintf(stdout, "faults: %s\n", strings.Join(list, ", "))
	fmt.Fprintf(stdout, "bereft: %d (so many died that nobody may go on)\n", lost)
	return end
}

// tell says what came of it.
func (s *settings) tell(end outcome, stdout, stderr io.Writer) int {
	r, replay, status := end.result, end.replay, exitOK
	if r.Err != nil {
		fmt.Fprintf(stdout, "\nVIOLATION in %v\n%v\nreplay: %s\n", r.Plan, r.Err, replay)
		if s.scenario == "" && s.sweep == 0 && s.keep == "" { // with -keep it is the run to be looked at, and no smaller one
			r, replay = s.shrink(r, stdout)
		}
		if !s.trace {
			fmt.Fprintf(stdout, "\n%s", around(r))
		}
	} else {
		fmt.Fprintln(stdout, "no violation")
	}
	if s.trace {
		fmt.Fprintf(stdout, "\n%s", r.Trace())
	}
	if s.html != "" {
		if err := os.WriteFile(s.html, timeline(r, replay), 0o644); err != nil {
			fmt.Fprintf(stderr, "ddssim: %v\n", err)
			status = exitUsage
		} else {
			fmt.Fprintf(stdout, "picture: %s\n", s.html)
		}
	}
	if r.Err != nil {
		return exitViolation
	}
	return status
}

// shrinkRuns bounds the search for a smaller run.
const shrinkRuns = 400

func (s *settings) shrink(r *cluster.Result, stdout io.Writer) (*cluster.Result, string) {
	o, smaller := cluster.Shrink(r, s.options, shrinkRuns)
	replay := s.replay(r.Plan.Seed, o)
	fmt.Fprintf(stdout, "\nsmaller: %d of %d acts and faults, %v\n%v\nreplay: %s\n", len(o.Keep), r.Scheduled,
		smaller.Plan.Length, smaller.Err, replay)
	return smaller, replay
}

// replay is the command that runs a seed again.
func (s *settings) replay(seed uint64, o cluster.Options) string {
	cmd := fmt.Sprintf("go run ./cmd/ddssim -from %d -seeds 1 -nodes %s -faults %s", seed, s.nodes, s.faults)
	if o.Storm != "" {
		cmd += " -storm " + o.Storm
	}
	if o.Large {
		cmd += " -large"
	}
	if o.Duration > 0 {
		cmd += fmt.Sprintf(" -duration %v", o.Duration)
	}
	if o.Keep != nil {
		cmd += " -keep " + cluster.FormatKeep(o.Keep)
	}
	return cmd
}

func replayScenario(s cluster.Scenario) string {
	return fmt.Sprintf("go run ./cmd/ddssim -scenario %q", s.String())
}

// around is the trace before and behind a violation, or its end.
func around(r *cluster.Result) string {
	const before, behind = 40, 10
	at := len(r.Events) - 1
	var v *cluster.Violation
	if errors.As(r.Err, &v) && v.Event >= 0 {
		at = v.Event
	}
	var lines []string
	mark := 0
	for i, e := range r.Events {
		if i == at {
			mark = len(lines)
		}
		if e.Kind != 0 && (e.Kind != cluster.Told || i == at) {
			line := "   " + e.String()
			if i == at {
				line = ">> " + e.String()
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, mark-before):min(len(lines), mark+behind)], "\n") + "\n"
}
