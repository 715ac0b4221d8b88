package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

// Section is the part of the page that an experiment belongs to.
type Section string

// The sections, in their order.
const (
	Throughput Section = "Throughput"
	OneWay     Section = "One-way latency"
	RoundTrip  Section = "Round trips"
	Levels     Section = "Delivery paths"
)

// Plan is what to measure, and how often.
type Plan struct {
	Sizes      []int
	Readers    []int
	Transports []string
	Runs       int
	WarmUp     time.Duration
	Duration   time.Duration // of one run of one experiment
	MaxTime    time.Duration // no further round is begun that would end later; 0 is no limit
}

// DefaultPlan takes about three minutes.
func DefaultPlan() Plan {
	return Plan{
		Sizes: []int{128, 1 << 10, 10 << 10}, Readers: []int{1, 2, 4}, Transports: []string{"shm", "tcp"},
		Runs: 3, WarmUp: 300 * time.Millisecond, Duration: time.Second, MaxTime: 5 * time.Minute,
	}
}

// FullPlan takes about three quarters of an hour.
func FullPlan() Plan {
	return Plan{
		Sizes:   []int{64, 128, 256, 1 << 10, 4 << 10, 10 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20},
		Readers: []int{1, 2, 4, 8}, Transports: []string{"shm", "tcp"},
		Runs: 5, WarmUp: 500 * time.Millisecond, Duration: 3 * time.Second,
	}
}

// latencyRate is that of the latency experiments, in samples per second.
const latencyRate = 1000

// Cell is one experiment of the matrix with its runs.
type Cell struct {
	Section    Section
	Experiment experiment.Experiment
	Outcomes   []experiment.Outcome
}

// cells are all experiments of the plan.
func (p *Plan) cells() (list []*Cell) {
	add := func(s Section, change func(*experiment.Experiment)) {
		e := experiment.Experiment{Options: bench.DefaultOptions(), Writers: 1, Readers: 1}
		e.WarmUp, e.Duration = p.WarmUp, p.Duration
		change(&e)
		list = append(list, &Cell{Section: s, Experiment: e})
	}
	for _, transport := range p.Transports {
		for _, readers := range p.Readers {
			for _, size := range p.Sizes {
				add(Throughput, func(e *experiment.Experiment) { e.Transport, e.Readers, e.Size = transport, readers, size })
			}
		}
		for _, readers := range slices.Compact([]int{p.Readers[0], p.Readers[len(p.Readers)-1]}) {
			add(OneWay, func(e *experiment.Experiment) {
				e.Transport, e.Readers, e.Size, e.Rate = transport, readers, p.Sizes[0], latencyRate
			})
		}
		add(RoundTrip, func(e *experiment.Experiment) { e.Transport, e.RoundTrip, e.Size = transport, true, p.Sizes[0] })
		add(RoundTrip, func(e *experiment.Experiment) {
			e.Transport, e.RoundTrip, e.Size, e.Rate = transport, true, p.Sizes[0], latencyRate
		})
	}
	for _, level := range []bench.Level{bench.Unordered, bench.Atomic, bench.Stored, bench.Logged} {
		add(Levels, func(e *experiment.Experiment) {
			e.Transport, e.Size, e.Level = p.Transports[0], p.Sizes[len(p.Sizes)/2], level
		})
	}
	return list
}

// Check refuses what can not be measured.
func (p *Plan) Check() error {
	if len(p.Sizes) == 0 || len(p.Readers) == 0 || len(p.Transports) == 0 || p.Runs < 1 {
		return fmt.Errorf("nothing to measure: %d sizes, %d numbers of readers, %d transports, %d runs", len(p.Sizes),
			len(p.Readers), len(p.Transports), p.Runs)
	}
	for _, c := range p.cells() {
		if err := c.Experiment.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Page is what was measured.
type Page struct {
	Machine Machine
	Plan    Plan
	Rounds  int
	Took    time.Duration
	Cells   []*Cell
}

// Progress tells what is measured next.
type Progress struct {
	Round, Rounds int // from 1
	Cell, Cells   int // from 1
	Title         string
}

// Measure runs the plan. command is a program that calls bench.Serve.
func Measure(ctx context.Context, plan Plan, command []string, progress func(Progress)) (*Page, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	start := time.Now()
	page := &Page{Machine: ThisMachine(start), Plan: plan, Cells: plan.cells()}
	for round := 1; round <= plan.Runs; round++ {
		if perRound := time.Since(start) / time.Duration(max(page.Rounds, 1)); plan.MaxTime > 0 && page.Rounds > 0 &&
			time.Since(start)+perRound > plan.MaxTime {
			break
		}
		for i, c := range page.Cells {
			progress(Progress{Round: round, Rounds: plan.Runs, Cell: i + 1, Cells: len(page.Cells), Title: c.Experiment.String()})
			e := c.Experiment // a run chooses a domain
			o, err := e.Run(ctx, command)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Experiment.Command(), err)
			}
			c.Outcomes = append(c.Outcomes, o)
		}
		page.Rounds = round
	}
	page.Took = time.Since(start)
	return page, nil
}

// Spread is a figure over several runs.
type Spread struct{ Median, Least, Greatest float64 }

// over gives the spread of a figure over the runs of a cell.
func (c *Cell) over(figure func(*experiment.Summary) float64) Spread {
	var v []float64
	for i := range c.Outcomes {
		v = append(v, figure(&c.Outcomes[i].Summary))
	}
	return spreadOf(v)
}

func spreadOf(v []float64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	n := len(v)
	return Spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Least: v[0], Greatest: v[n-1]}
}
