package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// key names what is run in every round.
type key struct {
	experiment string
	load       workload
	off        string
}

// trial is one run: err says that it failed.
type trial struct {
	figures
	err error
}

// collected has the trials of all rounds, in order: those of one round belong together.
type collected map[key][]trial

// of are the values of the runs that did not fail.
func (c collected) of(k key, value func(figures) float64) []float64 {
	var out []float64
	for _, t := range c[k] {
		if t.err == nil {
			out = append(out, value(t.figures))
		}
	}
	return out
}

// ratios compares two kinds of runs, round by round.
func (c collected) ratios(over, under key, value func(figures) float64) []float64 {
	var out []float64
	for i, t := range c[over] {
		if u := c[under]; i < len(u) && t.err == nil && u[i].err == nil && value(t.figures)+value(u[i].figures) > 0 {
			out = append(out, value(t.figures)/value(u[i].figures))
		}
	}
	return out
}

func rate(f figures) float64    { return f.Rate }
func batch(f figures) float64   { return f.Batch }
func p50(f figures) float64     { return f.P50 }
func written(f figures) float64 { return f.Writes }

// spread prints values; – if there are none.
func spread(values []float64, print func(float64) string) string {
	if len(values) == 0 {
		return "–"
	}
	return result.SpreadOf(values).Format(print)
}

// times prints a ratio; the others of a run in which nothing was delivered have none.
func times(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	return fmt.Sprintf("%.2f", v)
}

func plain(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func printReport(out io.Writer, c config, all collected) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d rounds, interleaved, %v each (least..greatest). %d processors, %s; load when it ended %s.\n", c.rounds, c.duration,
		runtime.NumCPU(), runtime.Version(), load())
	b.WriteString("A rate is of messages delivered at the slowest process, from all senders; writes and reads are system calls of all processes for each message; MB mapped is the shared memory of the process that\n" +
		"maps most. The rows with a minus are what is switched off: the rate with everything on, divided by that without it, in the same round; ∞: without it nothing is delivered.\n")
	for _, e := range c.selected() {
		printTable(&b, e, all)
	}
	printVerdicts(&b, all)
	fmt.Fprintf(&b, "\nCommand: `go run ./bench/cmd/spindle -only '%s' -rounds %d -duration %v -warmup %v -within %v`\n", c.only,
		c.rounds, c.duration, c.warmup, c.within)
	_, err := io.WriteString(out, b.String())
	return err
}

// printTable prints what an experiment has with everything on, a row for each workload, and then what each switch is
// worth, a column for each workload.
func printTable(b *strings.Builder, e experiment, all collected) {
	fmt.Fprintf(b, "\n### %s\n\n| all on | messages/s | MB/s | per upcall | writes | reads | MB mapped | p50 | p99 |\n|---|---|---|---|---|---|---|---|---|\n", e.name)
	failed := 0
	for _, w := range e.loads {
		on := key{e.name, w, ""}
		fmt.Fprintf(b, "| %v | %s | %s | %s | %s | %s | %s | %s | %s |\n", w, spread(all.of(on, rate), result.PerSecond),
			spread(all.of(on, func(f figures) float64 { return f.Rate * float64(w.Size) / 1e6 }), plain), spread(all.of(on, batch), plain),
			spread(all.of(on, written), plain), spread(all.of(on, func(f figures) float64 { return f.Reads }), plain),
			spread(all.of(on, func(f figures) float64 { return f.Mapped / 1e6 }), plain),
			spread(all.of(on, p50), result.Micros), spread(all.of(on, func(f figures) float64 { return f.P99 }), result.Micros))
		for _, off := range append([]string{""}, e.off...) {
			failed += len(all[key{e.name, w, off}]) - len(all.of(key{e.name, w, off}, rate))
		}
	}
	printWorth(b, e, all)
	if failed > 0 {
		fmt.Fprintf(b, "\n%d runs failed and are left out.\n", failed)
	}
}

func printWorth(b *strings.Builder, e experiment, all collected) {
	if len(e.off) == 0 {
		return
	}
	latency := e.loads[0].Rate > 0 // with a rate that is given the latency is what differs
	what := "on ÷ off"
	if latency {
		what = "p50 without"
	}
	fmt.Fprintf(b, "\n| %s |", what)
	for _, w := range e.loads {
		fmt.Fprintf(b, " %v |", w)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(e.loads)) + "\n")
	for _, off := range e.off {
		fmt.Fprintf(b, "| `%s` |", off)
		for _, w := range e.loads {
			k := key{e.name, w, off}
			if latency {
				fmt.Fprintf(b, " %s |", spread(all.of(k, p50), result.Micros))
			} else {
				fmt.Fprintf(b, " %s |", spread(all.ratios(key{e.name, w, ""}, k, rate), times))
			}
		}
		b.WriteString("\n")
	}
}

func printList(out io.Writer, experiments []experiment) {
	runs := 0
	for _, e := range experiments {
		fmt.Fprintf(out, "%s\n  off: %s\n", e.name, strings.Join(e.off, "  "))
		for _, w := range e.loads {
			fmt.Fprintf(out, "  %v\n", w)
		}
		runs += len(e.loads) * (1 + len(e.off))
	}
	fmt.Fprintf(out, "%d runs a round\n", runs)
}

// load is that of the last minute: the figures of a busy machine are worth little, and must say so.
func load() string {
	var i unix.Sysinfo_t
	if err := unix.Sysinfo(&i); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(i.Loads[0])/65536)
}
