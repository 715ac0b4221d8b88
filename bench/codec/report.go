package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

var printers = map[string]func(io.Writer, []*result) error{"table": table, "markdown": markdown, "json": inJSON}

var columns = []string{"case", "", "codec", "how", "sample", "ns/op", "B/op", "allocs/op", "ratio"}

// reference is what the ratios of a case and a kind refer to: the first codec of this list that has them.
var reference = []string{"Fast-CDR", "Cyclone DDS", "Go", ours}

// rows are the lines of a report.
func rows(results []*result) [][]string {
	var list [][]string
	for _, r := range results {
		list = append(list, []string{r.Case, string(r.Kind), r.Codec, r.How, fmt.Sprint(r.Bytes),
			number(r.NS), fmt.Sprintf("%.0f", r.Allocated), fmt.Sprintf("%.0f", r.Allocations), ratio(r, results)})
	}
	return list
}

// number has three digits that count.
func number(ns float64) string {
	switch {
	case ns < 10:
		return fmt.Sprintf("%.2f", ns)
	case ns < 100:
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

// ratio is the time of the reference divided by that of r: above 1, r is faster.
func ratio(r *result, results []*result) string {
	for _, codec := range reference {
		for _, other := range results {
			if other.Case == r.Case && other.Kind == r.Kind && other.Codec == codec {
				if other == r {
					return "1"
				}
				return fmt.Sprintf("%.2f", other.NS/r.NS)
			}
		}
	}
	return ""
}

func table(w io.Writer, results []*result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, row := range rows(results) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

func markdown(w io.Writer, results []*result) error {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(columns)
	line([]string{"---", "---", "---", "---", "---:", "---:", "---:", "---:", "---:"})
	for _, row := range rows(results) {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// inJSON prints an object for each result.
func inJSON(w io.Writer, results []*result) error {
	e := json.NewEncoder(w)
	for _, r := range results {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
