package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Format is a form of output.
type Format string

// The formats: for people, for spreadsheets and the scripts of rtiperftest, and one JSON object a line.
const (
	Table Format = "table"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	if !oneOf(s, string(Table), string(CSV), string(JSON)) {
		return "", fmt.Errorf("output format %q: say table, csv or json", s)
	}
	return Format(s), nil
}

// Column is a column of CSV that says of what experiment a row is.
type Column struct{ Name, Value string }

// csvColumns are named as rtiperftest names them, as far as it has them.
var csvColumns = []string{
	"Role", "PID", "Length (Bytes)", "Total Samples", "Ave Samples/s", "Ave Mbps", "Lost Samples", "Lost Samples (%)",
	"Ave (us)", "Std (us)", "Min (us)", "Max (us)", "50% (us)", "90% (us)", "99% (us)", "99.9% (us)", "99.99% (us)", "99.9999% (us)",
	"CPU (%)", "CPU User (s)", "CPU System (s)", "Voluntary Switches", "Involuntary Switches", "RSS (KB)", "Allocations", "GC Cycles",
}

// intervalColumns are those of rtiperftest.
var intervalColumns = []string{
	"Length (Bytes)", "Total Samples", "Samples/s", "Ave Samples/s", "Mbps", "Ave Mbps", "Lost Samples", "Lost Samples (%)",
}

// CSVWriter writes results as rows below one line of names. Intervals that were written before are a table of their
// own, which an empty line ends.
type CSVWriter struct {
	to        io.Writer
	w         *csv.Writer
	header    bool
	intervals bool // there were some
}

// NewCSVWriter makes one.
func NewCSVWriter(w io.Writer) *CSVWriter { return &CSVWriter{to: w, w: csv.NewWriter(w)} }

// WriteInterval adds a row about an interval, before any results are written.
func (c *CSVWriter) WriteInterval(i Interval) error {
	if !c.intervals {
		c.intervals = true
		if err := c.w.Write(intervalColumns); err != nil {
			return err
		}
	}
	err := c.w.Write([]string{
		strconv.Itoa(i.Size), strconv.FormatUint(i.Total, 10), fixed(i.Rate, 0), fixed(i.Average, 0),
		fixed(i.Mbps(i.Rate), 1), fixed(i.Mbps(i.Average), 1), strconv.FormatUint(i.Lost, 10), fixed(lostPercent(i.Total, i.Lost), 2),
	})
	if err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// Write adds rows. The first columns are the same for all.
func (c *CSVWriter) Write(first []Column, results ...Result) error {
	if !c.header {
		c.header = true
		if c.intervals {
			if _, err := fmt.Fprintln(c.to); err != nil {
				return err
			}
		}
		var names []string
		for _, f := range first {
			names = append(names, f.Name)
		}
		if err := c.w.Write(append(names, csvColumns...)); err != nil {
			return err
		}
	}
	for _, r := range results {
		var row []string
		for _, f := range first {
			row = append(row, f.Value)
		}
		row = append(row, string(r.Role), strconv.Itoa(r.PID), strconv.Itoa(r.Size), strconv.FormatUint(r.Count, 10),
			fixed(r.Rate, 0), fixed(r.Mbps, 1), strconv.FormatUint(r.Lost, 10), fixed(r.LostPercent(), 2))
		for _, ns := range []float64{r.Mean, r.Std, float64(r.Min), float64(r.Max), float64(r.P50), float64(r.P90),
			float64(r.P99), float64(r.P999), float64(r.P9999), float64(r.P999999)} {
			if r.Samples == 0 {
				row = append(row, "")
				continue
			}
			row = append(row, fixed(ns/1e3, 3))
		}
		row = append(row, fixed(r.CPU, 1), fixed(r.CPUUser, 3), fixed(r.CPUSys, 3),
			strconv.FormatInt(r.Voluntary, 10), strconv.FormatInt(r.Involuntary, 10), strconv.FormatInt(r.RSS, 10),
			strconv.FormatUint(r.Allocs, 10), strconv.FormatUint(r.GCs, 10))
		if err := c.w.Write(row); err != nil {
			return err
		}
	}
	c.w.Flush()
	return c.w.Error()
}

func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// LostPercent is the share of the samples that did not come.
func (r *Result) LostPercent() float64 {
	if r.Role == Ping && r.Count > 0 {
		return 100 * float64(r.Lost) / float64(r.Count)
	}
	return lostPercent(r.Count, r.Lost)
}

func lostPercent(came, lost uint64) float64 {
	if came+lost == 0 {
		return 0
	}
	return 100 * float64(lost) / float64(came+lost)
}

// WriteJSON writes each result as one line.
func WriteJSON(w io.Writer, results ...Result) error {
	e := json.NewEncoder(w)
	for _, r := range results {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// NewTable aligns columns to the right, as numbers want it.
func NewTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// WriteTable writes results for people: latencies in microseconds.
func WriteTable(w io.Writer, results ...Result) error {
	t := NewTable(w)
	fmt.Fprintln(t, "role\tsamples\tsamples/s\tMbit/s\tlost\t50%\t90%\t99%\t99.9%\t99.99%\tmax\tmean\tstd µs\tCPU %\tuser s\tsys s\tcsw\tforced\tRSS MB\tallocs\t")
	due := false
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.1f\t%d\t", r.Role, r.Count, r.Rate, r.Mbps, r.Lost)
		latencyCells(t, r.Latency)
		fmt.Fprintf(t, "%.0f\t%.2f\t%.2f\t%d\t%d\t%.0f\t%d\t\n", r.CPU, r.CPUUser, r.CPUSys, r.Voluntary, r.Involuntary,
			float64(r.RSS)/1024, r.Allocs)
		if r.Due != nil {
			due = true
			fmt.Fprint(t, "since due\t\t\t\t\t")
			latencyCells(t, *r.Due)
			fmt.Fprint(t, "\t\t\t\t\t\t\t\n")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if due {
		_, err := fmt.Fprintln(w, "since due: from when the schedule wanted the sample written, which counts the writer's own delay")
		return err
	}
	return nil
}

func latencyCells(w io.Writer, l Latency) {
	if l.Samples == 0 {
		fmt.Fprint(w, "-\t-\t-\t-\t-\t-\t-\t-\t")
		return
	}
	for _, ns := range []float64{float64(l.P50), float64(l.P90), float64(l.P99), float64(l.P999), float64(l.P9999), float64(l.Max), l.Mean, l.Std} {
		fmt.Fprintf(w, "%s\t", Micros(ns))
	}
}

// Micros writes nanoseconds as microseconds with three digits that matter.
func Micros(ns float64) string {
	switch us := ns / 1e3; {
	case us < 10:
		return fixed(us, 2)
	case us < 100:
		return fixed(us, 1)
	default:
		return fixed(us, 0)
	}
}
