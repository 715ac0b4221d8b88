package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/internal/bench"
)

// texts are what a role says of itself.
var texts = map[bench.Role]struct{ short, long string }{
	bench.Pub: {"Write samples for dds perf sub", `Write samples: after --readers are there, a warm-up, then the samples that count.

  dds perf pub --size 10K                   as fast as all readers take them
  dds perf pub --rate 1000 --size 128       evenly, for latency
  dds perf pub --readers 4 --duration 1m`},
	bench.Sub: {"Read samples of dds perf pub: throughput, loss, one-way latency", `Read samples until their writers are gone.

  dds perf sub                              and dds perf pub in another terminal
  dds perf sub --max-lost 0 --min-rate 100k exit status 1 if it is worse
  dds perf sub -o json                      one object, at the end

Latency is one way, so it is measured for writers of the same host only.`},
	bench.Ping: {"Measure round trips to dds perf pong", `Write a sample, wait until every pong has written it back, and so on.

  dds perf ping                             one after the other, and dds perf pong in another terminal
  dds perf ping --rate 1000                 on schedule: a late one counts from when it was due
  dds perf ping --readers 3                 to three pongs`},
	bench.Pong: {"Write back what dds perf ping writes", `Write back what pings write, until they are gone.`},
	bench.Peer: {"Write and read in one process", `Write like dds perf pub and read like dds perf sub, in one process, which reads what it writes, too. What is printed is what it read.

  dds perf peer                             one process by itself
  dds perf peer --readers 3 --writers 1     and in two other terminals: dds perf peer --silent --writers 1
  dds perf peer --readers 3 --writers 3     in three terminals: all write, all read everything`},
}

// newPerfRole makes the command for one role.
func newPerfRole(role bench.Role) *cobra.Command {
	o := bench.DefaultOptions()
	var criteria bench.Criteria
	var format bench.Format
	var timeout time.Duration
	var quiet bool
	writes := role == bench.Pub || role == bench.Ping || role == bench.Peer
	reads := role == bench.Sub || role == bench.Pong || role == bench.Peer
	if role == bench.Peer {
		o.Writers = 1
	}
	cmd := &cobra.Command{
		Use:   string(role),
		Short: texts[role].short,
		Long:  texts[role].long,
		RunE: func(cmd *cobra.Command, _ []string) error {
			countAlone(cmd.Flags(), &o)
			if err := o.Check(); err != nil {
				return usageError{err}
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			var hooks bench.Hooks
			out := newPrinter(cmd.OutOrStdout(), format)
			if !quiet {
				hooks.Progress = out.interval
			}
			result, err := bench.Run(ctx, role, o, hooks)
			alone := errors.Is(err, bench.ErrAlone) // who reads results gets one all the same
			if err != nil && !alone {
				return err
			}
			if err := out.result(result); err != nil {
				return err
			}
			if alone {
				return err
			}
			return judge(cmd.ErrOrStderr(), &criteria, result)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	if writes {
		f.VarP(&parsed[int]{&o.Size, "size", bench.ParseSize, bench.FormatSize(o.Size)}, "size", "s", "size of an encoded sample: 128, 10K, 1M")
		f.VarP(&parsed[float64]{&o.Rate, "rate", bench.ParseRate, "max"}, "rate", "r", "samples per second: max, 1000, 50k")
		f.IntVar(&o.Readers, "readers", o.Readers, "begin when so many readers are there")
		paceFlags(f, &o)
	}
	if reads {
		f.IntVar(&o.Writers, "writers", o.Writers, "end when so many writers have ended; 0: when none is left")
	}
	domainFlags(f, &o)
	networkFlags(f, &o)
	qosFlags(f, &o)
	if role != bench.Sub {
		writeFlags(f, &o)
	}
	if role != bench.Pub {
		readFlags(f, &o)
	}
	if role != bench.Ping && role != bench.Pong {
		topicFlags(f, &o)
	}
	if role == bench.Sub || role == bench.Peer {
		workFlags(f, &o)
	}
	if role == bench.Peer {
		f.BoolVar(&o.Silent, "silent", false, "be there, and read, but do not write")
	}
	criteriaFlags(f, &criteria)
	f.DurationVar(&timeout, "timeout", 0, "end after so long in any case; 0 is no limit")
	f.BoolVar(&quiet, "no-intervals", false, "tell of the whole only, and not of every second")
	formatFlag(f, &format)
	return cmd
}

// printer prints what a role measures: intervals as they come, or with the result in JSON, which is one object.
type printer struct {
	w         io.Writer
	format    bench.Format
	csv       *bench.CSVWriter
	intervals []bench.Interval // that were
	failed    error            // of the first that could not be printed
}

func newPrinter(w io.Writer, format bench.Format) *printer {
	return &printer{w: w, format: format, csv: bench.NewCSVWriter(w)}
}

// interval is called by one goroutine at a time, and not any more when there is a result.
func (p *printer) interval(i bench.Interval) {
	p.intervals = append(p.intervals, i)
	switch {
	case p.failed != nil || p.format == bench.JSON:
	case p.format == bench.CSV:
		p.failed = p.csv.WriteInterval(i)
	default:
		if len(p.intervals) == 1 {
			_, p.failed = fmt.Fprintf(p.w, "%14s %14s %12s %14s %10s %10s %12s\n", "Length (Bytes)", "Total Samples", "Samples/s",
				"Ave Samples/s", "Mbps", "Ave Mbps", "Lost Samples")
		}
		if p.failed == nil {
			_, p.failed = fmt.Fprintf(p.w, "%14d %14d %12.0f %14.0f %10.1f %10.1f %12d\n", i.Size, i.Total, i.Rate, i.Average,
				i.Mbps(i.Rate), i.Mbps(i.Average), i.Lost)
		}
	}
}

func (p *printer) result(r bench.Result) error {
	if p.failed != nil {
		return p.failed
	}
	switch p.format {
	case bench.JSON:
		r.Intervals = p.intervals
		return bench.WriteJSON(p.w, r)
	case bench.CSV:
		return p.csv.Write(nil, r)
	}
	return bench.WriteTable(p.w, r)
}

// judge prints the verdicts, on the side where they do not disturb who reads the results.
func judge(w io.Writer, c *bench.Criteria, results ...bench.Result) error {
	verdicts, ok := c.Judge(results...)
	for _, v := range verdicts {
		if _, err := fmt.Fprintln(w, v); err != nil {
			return err
		}
	}
	if !ok {
		return errCriteria
	}
	return nil
}
