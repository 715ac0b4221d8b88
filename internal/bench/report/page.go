package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

// The files of a page.
const (
	PageFile    = "report.md"
	ResultsFile = "results.json" // everything that every process told
)

// Write writes the page and its plots into a directory, which it makes.
func (p *Page) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	plots, err := p.plots()
	if err != nil {
		return err
	}
	for name, svg := range plots {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), svg, 0o644))
	}
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, ResultsFile), raw, 0o644),
		os.WriteFile(filepath.Join(dir, PageFile), p.markdown(), 0o644))
}

func (p *Page) markdown() []byte {
	var b bytes.Buffer
	b.WriteString("# Performance on this machine\n\n")
	p.machine(&b)
	if p.Machine.Busy() {
		b.WriteString("\n**The machine was busy with something else when this began: the figures are worse than they could be, and do not compare.**\n")
	}
	fmt.Fprintf(&b, "\nEach figure is the median of %s of %v, with the least and the greatest in brackets; the runs of all experiments were taken in turn, in %v. "+
		"One writer process, reader processes on the same host. Samples are built in the ring and read from a loan. "+
		"Rates and latencies are those of the slowest reader; CPU is that of all processes together, 100 %% being one core.\n",
		plural(p.Rounds, "run"), p.Plan.Duration, p.Took.Round(time.Second))
	p.throughput(&b)
	p.latencies(&b, OneWay, fmt.Sprintf("From the call that writes to the return of the call that takes, at %d samples per second.", latencyRate), "one-way.svg")
	p.latencies(&b, RoundTrip, "From the ping's call that writes to the return of its call that takes what the pong wrote back.", "round-trips.svg")
	p.levels(&b)
	b.WriteString("\n## Commands\n\n```console\n")
	for _, c := range p.Cells {
		fmt.Fprintf(&b, "$ %s\n", c.Experiment.Command())
	}
	b.WriteString("```\n\nWhat is counted, and how, is in docs/performance.md; what every process told is in " + ResultsFile + ".\n")
	return b.Bytes()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *Page) machine(b *bytes.Buffer) {
	m := &p.Machine
	cpu := fmt.Sprintf("%s, %s", orUnknown(m.CPU), plural(m.Cores, "core"))
	if m.Hypervisor {
		cpu += ", virtual machine"
	}
	b.WriteString("| | |\n| --- | --- |\n")
	for _, row := range [][2]string{
		{"CPU", cpu},
		{"kernel", orUnknown(m.Kernel)},
		{"Go", m.Go},
		{"program", orUnknown(m.Revision)},
		{"caches of core 0", orUnknown(m.Caches)},
		{"memory", orUnknown(m.RAM)},
		{"frequency governor", orUnknown(m.Governor)},
		{"transparent huge pages", orUnknown(m.HugePages)},
		{"load average at the start", orUnknown(m.Load)},
		{"measured", m.StartedAt.UTC().Format("2006-01-02 15:04 MST")},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], strings.ReplaceAll(row[1], "|", "\\|"))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "not readable"
	}
	return s
}

// in lists the cells of a section.
func (p *Page) in(s Section) (list []*Cell) {
	for _, c := range p.Cells {
		if c.Section == s {
			list = append(list, c)
		}
	}
	return list
}

func (p *Page) throughput(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\nRELIABLE, KEEP_ALL, as fast as the slowest reader takes them; samples per second to each reader.\n", Throughput)
	for _, transport := range p.Plan.Transports {
		fmt.Fprintf(b, "\n![samples per second over %s](%s)\n\n| %s, size | readers | samples/s | Mbit/s | lost | CPU %% |\n| --- | --- | --- | --- | --- | --- |\n",
			transport, throughputFile(transport), transport)
		for _, c := range p.in(Throughput) {
			if e := &c.Experiment; e.Transport == transport {
				fmt.Fprintf(b, "| %s | %d | %s | %s | %.0f | %.0f |\n", bench.FormatSize(e.Size), e.Readers,
					c.over(rate).count(), c.over(mbps).count(), c.over(lost).Greatest, c.over(cpu).Median)
			}
		}
	}
}

func (p *Page) latencies(b *bytes.Buffer, s Section, text, plot string) {
	fmt.Fprintf(b, "\n## %s\n\n%s Microseconds. The lines \"since due\" count from when the schedule wanted the sample written.\n\n![%s](%s)\n\n", s, text, s, plot)
	b.WriteString("| | 50% | 90% | 99% | 99.9% | 99.99% | max | mean |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range p.in(s) {
		c.latencyRow(b, "", func(s *experiment.Summary) *bench.Latency { return &s.Latency })
		if len(c.Outcomes) > 0 && c.Outcomes[0].Summary.Due != nil {
			c.latencyRow(b, ", since due", func(s *experiment.Summary) *bench.Latency {
				if s.Due == nil {
					return new(bench.Latency)
				}
				return s.Due
			})
		}
	}
}

func (c *Cell) latencyRow(b *bytes.Buffer, which string, of func(*experiment.Summary) *bench.Latency) {
	fmt.Fprintf(b, "| %s%s ", c.name(), which)
	for _, figure := range []func(*bench.Latency) float64{
		func(l *bench.Latency) float64 { return float64(l.P50) },
		func(l *bench.Latency) float64 { return float64(l.P90) },
		func(l *bench.Latency) float64 { return float64(l.P99) },
		func(l *bench.Latency) float64 { return float64(l.P999) },
		func(l *bench.Latency) float64 { return float64(l.P9999) },
		func(l *bench.Latency) float64 { return float64(l.Max) },
		func(l *bench.Latency) float64 { return l.Mean },
	} {
		fmt.Fprintf(b, "| %s ", c.over(func(s *experiment.Summary) float64 { return figure(of(s)) }).micros())
	}
	b.WriteString("|\n")
}

// name tells the latency experiments from each other.
func (c *Cell) name() string {
	e := &c.Experiment
	name := fmt.Sprintf("%s, %s, %s", e.Transport, plural(e.Readers, "reader"), bench.FormatSize(e.Size))
	switch {
	case e.Rate > 0:
		name += fmt.Sprintf(", %s/s", bench.FormatRate(e.Rate))
	case e.RoundTrip:
		name += ", one after the other"
	}
	return name
}

func (p *Page) levels(b *bytes.Buffer) {
	cells := p.in(Levels)
	e := &cells[0].Experiment
	fmt.Fprintf(b, "\n## %s\n\n%s over %s, one reader, at full speed. Unordered is best effort: its writer does not wait, so what the reader has no room for is lost. Logged writes to the disk of the directory for temporary files.\n\n"+
		"| QoS | samples/s | Mbit/s | lost %% | CPU %% |\n| --- | --- | --- | --- | --- |\n", Levels, bench.FormatSize(e.Size), e.Transport)
	for _, c := range cells {
		fmt.Fprintf(b, "| %s | %s | %s | %.1f | %.0f |\n", c.Experiment.Level, c.over(rate).count(), c.over(mbps).count(),
			c.over(lostPercent).Median, c.over(cpu).Median)
	}
}

func rate(s *experiment.Summary) float64        { return s.Rate }
func mbps(s *experiment.Summary) float64        { return s.Mbps }
func lost(s *experiment.Summary) float64        { return float64(s.Lost) }
func lostPercent(s *experiment.Summary) float64 { return s.LostPercent }
func cpu(s *experiment.Summary) float64         { return s.CPU }

// count writes the spread of a number.
func (s Spread) count() string { return s.text(thousands) }

// micros writes the spread of nanoseconds.
func (s Spread) micros() string { return s.text(bench.Micros) }

func (s Spread) text(number func(float64) string) string {
	median, least, greatest := number(s.Median), number(s.Least), number(s.Greatest)
	if least == greatest {
		return median
	}
	return fmt.Sprintf("%s (%s–%s)", median, least, greatest)
}

// thousands writes 1234567 as 1,234,567.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
