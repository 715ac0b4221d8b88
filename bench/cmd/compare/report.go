package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// printReport prints Markdown: tables with a row for each implementation, and then what it was that should be reached.
func printReport(w io.Writer, c config, s suite, missing []string, all *collected) error {
	var b strings.Builder
	beside := ""
	if c.beside > 0 {
		beside = fmt.Sprintf(" %d processes compute beside them.", c.beside)
	}
	fmt.Fprintf(&b, "%s. Medians of %d rounds, interleaved, %s each (least..greatest).%s %s; load at the start %s, now %s.\n",
		s.title(), all.rounds, c.duration, beside, machine(), c.load, load())
	for _, group := range groups(s.cells()) {
		if group[0].table == "" {
			printList(&b, s, group[0], all)
		} else {
			printTable(&b, s, group, all)
		}
	}
	printGoals(&b, s, all)
	if f, ok := s.(interface{ conclude(*collected) string }); ok {
		b.WriteString("\n" + f.conclude(all))
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

// groups are the cells of each table.
func groups(cells []cell) [][]cell {
	var out [][]cell
	for _, c := range cells {
		i := slices.IndexFunc(out, func(g []cell) bool { return g[0].table == c.table })
		if i < 0 {
			out = append(out, []cell{c})
			continue
		}
		out[i] = append(out[i], c)
	}
	return out
}

func printTable(b *strings.Builder, s suite, cells []cell, all *collected) {
	fmt.Fprintf(b, "\n%s\n", cells[0].table)
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
		fmt.Fprintf(b, " %s |", strings.TrimSpace(c.cell.heading+" "+c.name))
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
		if n := all.failed[failure{i.name, c}]; n > 0 {
			fmt.Fprintf(b, "| %s | | failed %d times |\n", i.name, n)
		}
	}
}

func content(i impl, c cell, column string, all *collected) string {
	var said []string
	if s, ok := all.spread(key{i.name, column, c}); ok {
		said = append(said, s.Format(all.print[column]))
	}
	if n := all.failed[failure{i.name, c}]; n > 0 {
		said = append(said, fmt.Sprintf("failed %d of %d", n, all.rounds))
	}
	if len(said) == 0 {
		return "–"
	}
	return strings.Join(said, ", ")
}

func commandLine(c config) string {
	line := fmt.Sprintf("go run ./bench/cmd/compare -suite %s -rounds %d -duration %s -warmup %s", c.suite, c.rounds, c.duration, c.warmup)
	for _, f := range suites[c.suite].flags {
		line += fmt.Sprintf(" -%s %s", f, c.flag(f))
	}
	if c.beside > 0 {
		line += fmt.Sprintf(" -beside %d", c.beside)
	}
	if c.within > 0 {
		line += fmt.Sprintf(" -within %s", c.within)
	}
	if c.patience > 0 {
		line += fmt.Sprintf(" -patience %s", c.patience)
	}
	if len(c.impls) > 0 {
		line += " -impl " + strings.Join(c.impls, ",")
	}
	return line
}

// flag is the value of one that not all suites have.
func (c config) flag(name string) string {
	switch name {
	case "mode":
		return c.mode
	case "rate":
		return fmt.Sprintf("%g", c.rate)
	case "sizes":
		return join(c.sizes)
	case "readers":
		return join(c.readers)
	case "topics":
		return join(c.topics)
	case "inflight":
		return join(c.inflight)
	default:
		return join(c.processes)
	}
}

func join(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ","), "[]") }

// machine is what the figures are of.
func machine() string {
	model := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel := "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%d processors (%s), Linux %s, %s", runtime.NumCPU(), model, kernel, runtime.Version())
}

// load is that of the last minute. The figures of a busy machine are worth little, and must say so.
func load() string {
	var i unix.Sysinfo_t
	if err := unix.Sysinfo(&i); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(i.Loads[0])/65536)
}
