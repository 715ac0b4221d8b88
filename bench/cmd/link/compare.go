package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/bench/internal/talk"
)

// told is what the processes of a run are told.
type told struct {
	Address  string
	Sockets  string
	Size     int
	Ring     int
	Window   int
	Tell     int
	Rate     float64
	Duration time.Duration // of the whole run
	Warmup   time.Duration // of that, before anything is counted
}

// outcome is what one process has counted after the warm-up.
type outcome struct {
	Seconds  float64
	Bytes    uint64
	CPU      float64 // seconds
	Calls    int64   // that read, or write
	Switches int64   // of context
	P50, P99 int64   // ns, one way; the reader's
}

type variant struct{ program, name, sockets string }

// columns are the figures of a run.
var columns = []struct {
	name  string
	paced bool // of runs with a rate only
	value func(r, w outcome) float64
	print func(float64) string
}{
	{"p50", true, func(r, _ outcome) float64 { return float64(r.P50) }, result.Micros},
	{"p99", true, func(r, _ outcome) float64 { return float64(r.P99) }, result.Micros},
	{"MB/s", false, func(r, _ outcome) float64 { return float64(r.Bytes) / r.Seconds / 1e6 }, figures},
	{"reader, ns/KB", false, func(r, _ outcome) float64 { return r.CPU * 1e9 * 1024 / float64(r.Bytes) }, figures},
	{"writer, ns/KB", false, func(r, w outcome) float64 { return w.CPU * 1e9 * 1024 / float64(r.Bytes) }, figures},
	{"reads/MB", false, func(r, _ outcome) float64 { return float64(r.Calls) * 1e6 / float64(r.Bytes) }, figures},
	{"writes/MB", false, func(r, w outcome) float64 { return float64(w.Calls) * 1e6 / float64(r.Bytes) }, figures},
	{"reader, switches/MB", false, func(r, _ outcome) float64 { return float64(r.Switches) * 1e6 / float64(r.Bytes) }, figures},
}

func figures(v float64) string { return fmt.Sprintf("%.3g", v) }

// compare runs all variants in turn, and prints a table for each size.
func compare(ctx context.Context, c config, isolated bool) error {
	hosts := []isolate.Host{{Address: "127.0.0.1"}, {Address: "127.0.0.1"}}
	if isolated {
		var err error
		if hosts, err = isolate.Hosts(len(hosts)); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var variants []variant
	for _, s := range c.sockets {
		variants = append(variants, variant{self, s, s})
		for _, program := range c.against {
			variants = append(variants, variant{program, s + ", " + program, s})
		}
	}
	type place struct {
		size, variant, column int
	}
	values := map[place][]float64{}
	for range c.rounds {
		for _, size := range c.sizes {
			for i, v := range variants {
				r, w, err := run(ctx, v, hosts, told{
					Sockets: v.sockets, Size: size, Ring: c.ring, Window: c.window, Tell: c.tell, Rate: c.rate,
					Duration: c.warmup + c.duration, Warmup: c.warmup,
				})
				if err != nil {
					return fmt.Errorf("%s: %w", v.name, err)
				}
				for k, col := range columns {
					at := place{size, i, k}
					values[at] = append(values[at], col.value(r, w))
				}
			}
		}
	}
	for _, size := range c.sizes {
		fmt.Printf("\n%d bytes, a window of %d, a ring of %d, rate %g; medians of %d rounds of %v\n\n| ", size, c.window, c.ring,
			c.rate, c.rounds, c.duration)
		under := "\n| ---"
		for _, col := range columns {
			if !col.paced || c.rate > 0 {
				fmt.Print("| ", col.name, " ")
				under += " | ---"
			}
		}
		fmt.Println("|" + under + " |")
		for i, v := range variants {
			fmt.Print("| ", v.name)
			for k, col := range columns {
				if !col.paced || c.rate > 0 {
					fmt.Print(" | ", result.SpreadOf(values[place{size, i, k}]).Format(col.print))
				}
			}
			fmt.Println(" |")
		}
	}
	return nil
}

// run has one variant run between two hosts.
func run(ctx context.Context, v variant, hosts []isolate.Host, t told) (reader, writer outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Duration+20*time.Second)
	defer cancel()
	t.Address = net.JoinHostPort(hosts[0].Address, "0")
	r, err := talk.Start(ctx, t, at(hosts[0], v.program, readerMark)...)
	if err != nil {
		return reader, writer, err
	}
	defer func() { err = errors.Join(err, talk.End(r)) }()
	if t.Address, err = r.Line(); err != nil {
		return reader, writer, err
	}
	w, err := talk.Start(ctx, t, at(hosts[1], v.program, writerMark)...)
	if err != nil {
		return reader, writer, err
	}
	defer func() { err = errors.Join(err, talk.End(w)) }()
	return reader, writer, errors.Join(r.Outcome(&reader), w.Outcome(&writer))
}

// at is a command on a host.
func at(host isolate.Host, command ...string) []string {
	if host.Namespace == "" {
		return command
	}
	return append([]string{"ip", "netns", "exec", host.Namespace}, command...)
}
