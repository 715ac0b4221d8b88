package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
)

// maxNamed is how many malformed lines of an input the table names; the JSON has more.
const maxNamed = 5

// WriteTable writes the summary for people.
func (s *Summary) WriteTable(out io.Writer) error {
	var b strings.Builder
	s.figures(&b)
	for _, in := range s.Inputs {
		writeInput(&b, in)
	}
	s.logLines(&b)
	s.killLine(&b)
	if s.Elapsed > 0 && s.Reliable > 0 {
		fmt.Fprintf(&b, "reliable topics: %d samples published and %d delivered in %v, that is %.0f and %.0f samples/s (speed %s, %s)\n",
			s.Reliable, s.Delivered, s.Elapsed.Round(time.Millisecond), s.PublishedPerSec, s.DeliveredPerSec, s.Speed, s.Transport)
	}
	if s.Synthetic && len(s.Topics) > 0 {
		b.WriteString("flight or traffic was SYNTHETIC: made up by a point-mass model\n")
	}
	if s.OK() {
		b.WriteString("verdict: ok\n")
	} else {
		fmt.Fprintf(&b, "verdict: FAILED (%s)\n", findings(len(s.Findings)))
		for _, f := range s.Findings {
			fmt.Fprintf(&b, "  - %s\n", f)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func findings(n int) string {
	if n == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", n)
}

func (s *Summary) figures(b *strings.Builder) {
	if len(s.Topics) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) } // a strings.Builder never fails
	row("topic", "path", "published", "process", "delivered", "lost", "rejected", "order digest", "p50", "p99", "max")
	for _, t := range s.Topics {
		name, path, published := t.Topic, t.Path, fmt.Sprint(t.Published)
		for _, sub := range t.Subscribers {
			process := sub.Process
			if sub.Late {
				process += " (late)"
			}
			if sub.Away {
				process += " (away)"
			}
			row(name, path, published, process, fmt.Sprint(sub.Delivered), fmt.Sprint(sub.Lost), fmt.Sprint(sub.Rejected),
				order.Short(sub.Digest), delay(sub.Latency, sub.Latency.P50),
				delay(sub.Latency, sub.Latency.P99), delay(sub.Latency, sub.Latency.Max))
			name, path, published = "", "", ""
		}
		if len(t.Subscribers) == 0 {
			row(name, path, published, "-")
		}
	}
	_ = w.Flush()
	for _, t := range s.Topics {
		if len(t.By) > 1 {
			fmt.Fprintf(b, "%s: published %s; with OWNERSHIP EXCLUSIVE readers see the strongest that is alive\n", t.Topic, counts(t.By))
		}
		if t.Dropped > 0 {
			fmt.Fprintf(b, "%s: %d samples were not sent because there was no room\n", t.Topic, t.Dropped)
		}
		for _, sub := range t.Subscribers {
			if n := sub.raw.DeadlinesMissed; n > 0 {
				fmt.Fprintf(b, "%s: nothing came at %s in time for its DEADLINE %s\n", t.Topic, sub.Process, times(int(n)))
			}
		}
		s.lateLine(b, &t)
	}
}

// lateLine tells how who came late compares.
func (s *Summary) lateLine(b *strings.Builder, t *Topic) {
	for _, sub := range t.Subscribers {
		if sub.Late && sub.raw.History > 0 {
			fmt.Fprintf(b, "%s: %s came late, got %d instances as history and then %d samples\n",
				t.Topic, sub.Process, sub.raw.Instances, sub.Delivered-sub.raw.History)
		}
	}
}

// killLine sums up what chaos did.
func (s *Summary) killLine(b *strings.Builder) {
	if len(s.Kills) == 0 {
		return
	}
	by := make(map[string]uint64)
	var again, alone []time.Duration
	stopped := 0
	for _, k := range s.Kills {
		by[k.Role]++
		if k.Stopped {
			stopped++
		}
		switch {
		case k.Again == 0: // nobody missed it, or nobody went on
		case k.Alone:
			alone = append(alone, k.Again-k.Down)
		default:
			again = append(again, k.Again)
		}
	}
	fmt.Fprintf(b, "chaos: processes were killed and started again %s", times(len(s.Kills)-stopped))
	if stopped > 0 {
		fmt.Fprintf(b, ", and stopped and let go on %s", times(stopped))
	}
	fmt.Fprintf(b, " (%s)", kills(by))
	if len(again) > 0 {
		fmt.Fprintf(b, "; the others delivered again after %s", spread(again))
	}
	if len(alone) > 0 {
		fmt.Fprintf(b, "; what nobody else publishes %s", strings.Replace(spread(alone), " ", " after the new start ", 1))
	}
	b.WriteString("\n")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func spread(d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("%s (median), %s at most", latency.Text(d[len(d)/2]), latency.Text(d[len(d)-1]))
}

func kills(by map[string]uint64) string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s %d", role, by[role]))
	}
	return strings.Join(parts, ", ")
}

func delay(s latency.Summary, d time.Duration) string {
	if s.Count == 0 {
		return "-"
	}
	return latency.Text(d)
}

func counts(by map[string]uint64) string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d by %s", by[role], role))
	}
	return strings.Join(parts, ", ")
}

func writeInput(b *strings.Builder, in control.Input) {
	fmt.Fprintf(b, "input %s: %d lines, %d used, %d of other kinds, %d malformed", in.What, in.Read, in.Used, in.Skipped, in.Malformed)
	if in.Connected > 0 {
		fmt.Fprintf(b, ", %d connections, %d lines sent again", in.Connected, in.Resent)
	}
	if !in.Complete {
		b.WriteString(" (not read to its end)")
	}
	b.WriteString("\n")
	for i, m := range in.Named {
		if i == maxNamed {
			fmt.Fprintf(b, "  ... and %d more\n", in.Malformed-maxNamed)
			break
		}
		fmt.Fprintf(b, "  %s\n", m)
	}
}

func (s *Summary) logLines(b *strings.Builder) {
	for _, l := range s.Logs {
		result := "equal to what was delivered there"
		if !l.Equal {
			result = "NOT equal to what was delivered there"
		}
		fmt.Fprintf(b, "log of %s: %d records on disk, %s\n", l.Process, l.Records, result)
	}
	if s.Dir != "" {
		fmt.Fprintf(b, "logs are in %s\n", s.Dir)
	}
}
