package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// printReport prints Markdown: one table for each size, with a row for each implementation.
func printReport(w io.Writer, c config, s suite, missing []string, all *collected) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Medians of %d rounds, interleaved, %s each (least..greatest). %d processors, %s; load now %s.\n",
		describe(c), c.rounds, c.duration, runtime.NumCPU(), runtime.Version(), load())
	for _, group := range groups(s.cells()) {
		if group[0] == (cell{}) {
			printList(&b, s, group[0], all)
		} else {
			printTable(&b, s, group, all)
		}
	}
	b.WriteString("\n")
	for _, i := range s.impls() {
		if i.what != "" {
			fmt.Fprintf(&b, "- %s: %s\n", i.name, i.what)
		}
	}
	for _, m := range missing {
		fmt.Fprintf(&b, "- left out: %s\n", m)
	}
	fmt.Fprintf(&b, "\nCommand: `%s`\n", commandLine(c))
	_, err := io.WriteString(w, b.String())
	return err
}

func describe(c config) string {
	switch {
	case c.suite == "order":
		return "Total order: three replicas, three writers; the slowest replica"
	case c.suite == "baseline":
		return "Limits"
	case c.mode == "throughput":
		return "Samples per second at the slowest reader, from its first sample after the warm-up to its last, and never more than the writer wrote"
	case c.mode == "latency":
		return fmt.Sprintf("Latency one way at %g samples per second, at the slowest reader", c.rate)
	default:
		return fmt.Sprintf("Round trip at %g samples per second", c.rate)
	}
}

// groups are the cells of each table: those of one size.
func groups(cells []cell) [][]cell {
	var out [][]cell
	for _, c := range cells {
		i := slices.IndexFunc(out, func(g []cell) bool { return g[0].size == c.size })
		if i < 0 {
			out = append(out, []cell{c})
			continue
		}
		out[i] = append(out[i], c)
	}
	return out
}

func printTable(b *strings.Builder, s suite, cells []cell, all *collected) {
	fmt.Fprintf(b, "\n%d bytes\n", cells[0].size)
	type column struct {
		cell cell
		name string
	}
	var columns []column
	for _, c := range cells {
		for _, name := range all.columns {
			columns = append(columns, column{c, name})
		}
	}
	b.WriteString("\n| |")
	for _, c := range columns {
		if s.oneWriter() {
			fmt.Fprintf(b, " 1→%d", c.cell.readers)
		}
		fmt.Fprintf(b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, i := range s.impls() {
		fmt.Fprintf(b, "| %s |", i.name)
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", content(i, c.cell, c.name, all))
		}
		b.WriteString("\n")
	}
}

// printList prints what has a column of its own for each figure.
func printList(b *strings.Builder, s suite, c cell, all *collected) {
	b.WriteString("\n| limit | of | figure |\n|---|---|---|\n")
	for _, i := range s.impls() {
		for _, name := range all.columns {
			if _, ok := all.values[key{i.name, name, c}]; ok {
				fmt.Fprintf(b, "| %s | %s | %s |\n", i.name, name, content(i, c, name, all))
			}
		}
		if n := all.failed[failureKey(i, c)]; n > 0 {
			fmt.Fprintf(b, "| %s | | failed %d times |\n", i.name, n)
		}
	}
}

func content(i impl, c cell, column string, all *collected) string {
	values := all.values[key{i.name, column, c}]
	failed := ""
	if n := all.failed[failureKey(i, c)]; n > 0 {
		failed = fmt.Sprintf("failed %d of %d", n, n+len(values))
	}
	switch {
	case len(values) == 0 && failed == "":
		return "–"
	case len(values) == 0:
		return failed
	case failed == "":
		return result.SpreadOf(values).Format(all.print[column])
	}
	return result.SpreadOf(values).Format(all.print[column]) + ", " + failed
}

func commandLine(c config) string {
	line := fmt.Sprintf("go run ./bench/cmd/compare -suite %s -rounds %d -duration %s -warmup %s", c.suite, c.rounds, c.duration, c.warmup)
	if c.suite == "dds" {
		line += fmt.Sprintf(" -mode %s -readers %s", c.mode, join(c.readers))
		if c.mode != "throughput" {
			line += fmt.Sprintf(" -rate %g", c.rate)
		}
	}
	if c.suite != "baseline" {
		line += " -sizes " + join(c.sizes)
	}
	if len(c.impls) > 0 {
		line += " -impl " + strings.Join(c.impls, ",")
	}
	return line
}

func join(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ","), "[]") }

// load is that of the last minute. The figures of a busy machine are worth little, and must say so.
func load() string {
	var i unix.Sysinfo_t
	if err := unix.Sysinfo(&i); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(i.Loads[0])/65536)
}
