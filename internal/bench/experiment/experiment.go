package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/internal/bench"
)

// Experiment is what to measure.
type Experiment struct {
	bench.Options
	Writers, Readers int
	RoundTrip        bool          // ping and pong in place of pub and sub
	Profiles         string        // directory for a CPU profile of each process
	Timeout          time.Duration // for all of it; 0 follows from the options
}

// String names it in one line.
func (e *Experiment) String() string {
	kind := "pub -> sub"
	if e.RoundTrip {
		kind = "ping <-> pong"
	}
	return fmt.Sprintf("%s %d:%d  %s  %s  %s  rate %s  write %s  read %s", kind, e.Writers, e.Readers, e.transport(), e.Level,
		bench.FormatSize(e.Size), bench.FormatRate(e.Rate), e.Write, e.Read)
}

func (e *Experiment) transport() string {
	if e.Transport == "" {
		return "shm"
	}
	return e.Transport
}

// Command is the line that makes the same experiment.
func (e *Experiment) Command() string {
	def := bench.DefaultOptions()
	words := []string{"dds perf run"}
	add := func(set bool, format string, values ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, values...))
		}
	}
	add(e.RoundTrip, "--roundtrip")
	add(true, "--transport %s --qos %s --size %s --rate %s", e.transport(), e.Level, bench.FormatSize(e.Size), bench.FormatRate(e.Rate))
	add(true, "--writers %d --readers %d", e.Writers, e.Readers)
	add(e.Instances > 1, "--instances %d", e.Instances)
	add(e.Keyed && e.Instances == 1, "--keyed")
	add(e.Write != def.Write, "--write %s", e.Write)
	add(e.Read != def.Read, "--read %s", e.Read)
	add(e.Keep > 0, "--keep %d", e.Keep)
	add(e.MaxSamples != def.MaxSamples, "--max-samples %d", e.MaxSamples)
	add(e.Batch > 0, "--batch %d", e.Batch)
	add(e.Poll, "--poll")
	add(e.Spin, "--spin")
	add(e.Listener, "--listener")
	add(e.Work > 0, "--work %v", e.Work)
	add(e.Topic != def.Topic, "--topic %s", e.Topic)
	add(e.Topics != def.Topics, "--topics %d", e.Topics)
	add(e.Subgroups != def.Subgroups, "--subgroups %d", e.Subgroups)
	add(e.Ring != 0, "--ring %s", bench.FormatSize(e.Ring))
	add(true, "--warmup %v --duration %v", e.WarmUp, e.Duration)
	add(e.Count > 0, "--count %d", e.Count)
	return strings.Join(words, " ")
}

// Outcome is what the processes told.
type Outcome struct {
	Title   string         `json:"title"`
	Command string         `json:"command"`
	Writers []bench.Result `json:"writers"` // pubs or pings
	Readers []bench.Result `json:"readers"` // subs or pongs
	Summary Summary        `json:"summary"`
}

// All are the results of all processes.
func (o *Outcome) All() []bench.Result {
	return append(append([]bench.Result(nil), o.Writers...), o.Readers...)
}

// Summary is the experiment in a few numbers. Those who measure are the subs, or the pings.
type Summary struct {
	Rate        float64        `json:"rate"` // of the slowest who measures
	Mbps        float64        `json:"mbps"` // the same
	Lost        uint64         `json:"lost"` // by all together
	LostPercent float64        `json:"lost_percent"`
	Latency     bench.Latency  `json:"latency"` // each figure is the worst of all
	Due         *bench.Latency `json:"due,omitempty"`
	CPU         float64        `json:"cpu_percent"` // of all processes together, of one core
}

// Run makes the experiment. command, with its arguments, is a program that calls bench.Serve.
func (e *Experiment) Run(ctx context.Context, command []string) (o Outcome, err error) {
	if err := e.Check(); err != nil {
		return Outcome{}, err
	}
	dir, err := os.MkdirTemp("", "dds-perf-")
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, e.limit(), fmt.Errorf("not done after %v; allow more with --timeout", e.limit()))
	defer cancelTimeout()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if e.Domain == 0 {
		e.Domain = 1 + rand.Uint32N(1<<30) // nobody else is there
	}
	var all []*process
	defer func() { end(all) }()
	begin := func(role bench.Role, n int) ([]*process, error) {
		first := len(all)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			name := fmt.Sprintf("%s-%d", role, i+1)
			p, err := start(command, name, bench.Task{Role: role, Options: e.optionsFor(role, name, dir)}, fail)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		for _, p := range all[first:] {
			if err := p.awaitReady(ctx); err != nil {
				return nil, err
			}
		}
		for _, p := range all[first:] {
			p.begin()
		}
		return all[first:], nil
	}
	out, in := bench.Pub, bench.Sub
	if e.RoundTrip {
		out, in = bench.Ping, bench.Pong
	}
	readers, err := begin(in, e.Readers)
	if err != nil {
		return Outcome{}, err
	}
	writers, err := begin(out, e.Writers)
	if err != nil {
		return Outcome{}, err
	}
	o = Outcome{Title: e.String(), Command: e.Command()}
	if o.Writers, err = results(ctx, writers); err != nil {
		return Outcome{}, err
	}
	if o.Readers, err = results(ctx, readers); err != nil {
		return Outcome{}, err
	}
	o.Summary = summarize(&o, e.RoundTrip)
	return o, nil
}

// mostProcesses find each other on one host (ADR 0007).
const mostProcesses = 256

// Check refuses what can not be done.
func (e *Experiment) Check() error {
	switch {
	case e.Writers < 1:
		return fmt.Errorf("writers %d: at least 1", e.Writers)
	case e.Readers < 1:
		return fmt.Errorf("readers %d: at least 1", e.Readers)
	case e.Writers+e.Readers > mostProcesses:
		return fmt.Errorf("%d writers and %d readers: at most %d processes of a user are in a domain on one host", e.Writers,
			e.Readers, mostProcesses)
	case e.Duration == 0 && e.Count == 0:
		return errors.New("neither a duration nor a count: it would not end; give --duration or --count")
	}
	return e.Options.Check()
}

// limit is the time that the experiment may take.
func (e *Experiment) limit() time.Duration {
	const most = 10 * time.Minute
	switch {
	case e.Timeout > 0:
		return e.Timeout
	case e.Duration > 0:
		return e.WarmUp + 2*e.Duration + 30*time.Second
	}
	return most
}

func (e *Experiment) optionsFor(role bench.Role, name, dir string) bench.Options {
	o := e.Options
	o.Writers, o.Readers = e.Writers, e.Readers
	if o.Ring == 0 {
		o.Ring = bench.RingFor(o.Size)
	}
	if o.Level == bench.Logged {
		if o.Dir != "" {
			dir = o.Dir
		}
		o.Dir = filepath.Join(dir, name)
	}
	if e.Profiles != "" {
		o.CPUProfile = filepath.Join(e.Profiles, name+".pprof")
	}
	return o
}

func results(ctx context.Context, ps []*process) (list []bench.Result, err error) {
	for _, p := range ps {
		r, err := p.result(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func summarize(o *Outcome, roundTrip bool) Summary {
	who := o.Readers
	if roundTrip {
		who = o.Writers
	}
	var s Summary
	var count uint64
	for i, r := range who {
		if i == 0 || r.Rate < s.Rate {
			s.Rate, s.Mbps = r.Rate, r.Mbps
		}
		s.Lost += r.Lost
		count += r.Count
		s.Latency = worst(s.Latency, r.Latency)
		if r.Due != nil {
			if s.Due == nil {
				s.Due = new(bench.Latency)
			}
			*s.Due = worst(*s.Due, *r.Due)
		}
	}
	if all := count + s.Lost; all > 0 {
		s.LostPercent = 100 * float64(s.Lost) / float64(all)
	}
	for _, r := range o.All() {
		s.CPU += r.CPU
	}
	return s
}

func worst(a, b bench.Latency) bench.Latency {
	if a.Samples == 0 {
		return b
	}
	if b.Samples == 0 {
		return a
	}
	return bench.Latency{
		P50: max(a.P50, b.P50), P90: max(a.P90, b.P90), P99: max(a.P99, b.P99), P999: max(a.P999, b.P999),
		P9999: max(a.P9999, b.P9999), P999999: max(a.P999999, b.P999999), Max: max(a.Max, b.Max), Min: max(a.Min, b.Min),
		Mean: max(a.Mean, b.Mean), Std: max(a.Std, b.Std), Samples: a.Samples + b.Samples,
	}
}

// Columns say in CSV what experiment a row belongs to.
func (e *Experiment) Columns() []bench.Column {
	return []bench.Column{
		{Name: "Transport", Value: e.transport()}, {Name: "QoS", Value: string(e.Level)}, {Name: "Rate", Value: bench.FormatRate(e.Rate)},
		{Name: "Writers", Value: strconv.Itoa(e.Writers)}, {Name: "Readers", Value: strconv.Itoa(e.Readers)},
	}
}
