package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
)

// unordered is what the delivery path of a best-effort topic is called.
const unordered = "unordered"

// Run is what is known of a run when it has ended.
type Run struct {
	Topics    []string // in the order of the table
	Reports   []control.Report
	Book      *ledger.Book   // what was told on the way
	Kills     []Kill         // what chaos did
	Logs      map[string]Log // what is on disk, by process
	Problems  []string       // what went wrong beside what is checked here
	Complete  bool           // the run came to its orderly end
	Elapsed   time.Duration  // from the start to the last acknowledgement
	Transport string
	Speed     string
	Domain    uint32
	Dir       string // empty: a temporary one
	Synthetic bool   // some input was made up
}

// Log is the content of a log on disk.
type Log struct {
	Dir    string
	Stored []ledger.Stored
	Err    error // why it could not be read
}

// Kill is a process that was killed on purpose.
type Kill struct {
	Role  string        `json:"process"`
	PID   int           `json:"pid"`
	After time.Duration `json:"after_ns"` // the beginning of the run
	Again time.Duration `json:"again_ns"` // until every other process had delivered what it has a part in again
	// Stopped: it was not killed, but stopped for a while, so that the others went on without it.
	Stopped bool          `json:"stopped,omitempty"`
	Alone   bool          `json:"alone"`   // nobody else publishes it: Again includes the time until there was somebody
	Down    time.Duration `json:"down_ns"` // until it was started again
	Back    time.Duration `json:"back_ns"` // from then until it had joined and caught up
}

// promises is what the reliable topics promise, beside their order.
var promises = map[string]ledger.Topic{
	"Position":      {Name: "Position", Writer: "nav"},
	"TrafficReport": {Name: "TrafficReport", Writer: "traffic", History: true},
	"Advisory":      {Name: "Advisory", Writer: "fms"},
	"FlightLog":     {Name: "FlightLog", Writer: "fms", History: true, Outlives: true},
}

// logged is the topic that is on disk.
const logged = "FlightLog"

// Summary is the result of a run.
type Summary struct {
	Verdict         string          `json:"verdict"` // "ok" or "failed"
	Findings        []string        `json:"findings"`
	Topics          []Topic         `json:"topics"`
	Inputs          []control.Input `json:"inputs"`
	Logs            []LogCheck      `json:"logs"`
	Transport       string          `json:"transport"`
	Speed           string          `json:"speed"`
	Domain          uint32          `json:"domain"`
	Dir             string          `json:"dir,omitempty"`
	Synthetic       bool            `json:"synthetic"`
	Elapsed         time.Duration   `json:"elapsed_ns"`
	Reliable        uint64          `json:"reliable_published"`
	Delivered       uint64          `json:"reliable_delivered"`
	PublishedPerSec float64         `json:"reliable_published_per_second"`
	DeliveredPerSec float64         `json:"reliable_delivered_per_second"`
	Kills           []Kill          `json:"kills,omitempty"`
}

// Topic is the row of a topic.
type Topic struct {
	Topic       string            `json:"topic"`
	Path        string            `json:"path"`
	Published   uint64            `json:"published"`
	By          map[string]uint64 `json:"published_by"`
	Dropped     uint64            `json:"dropped"`
	Subscribers []Subscriber      `json:"subscribers"`
}

// Subscriber is what one process received of a topic.
type Subscriber struct {
	Process    string          `json:"process"`
	Delivered  uint64          `json:"delivered"`
	Lost       uint64          `json:"lost"`
	Duplicated uint64          `json:"duplicated"`
	Reordered  uint64          `json:"reordered"`
	Rejected   uint64          `json:"rejected"`
	Malformed  uint64          `json:"malformed"`
	Late       bool            `json:"late,omitempty"` // it was started later
	Away       bool            `json:"away,omitempty"` // it stood still for a time, and missed what came meanwhile
	Digest     string          `json:"digest"`
	Latency    latency.Summary `json:"latency"`

	raw control.Subscription
}

// LogCheck compares a log with what was delivered beside it.
type LogCheck struct {
	Process string `json:"process"`
	Dir     string `json:"dir"`
	Records int    `json:"records"`
	Error   string `json:"error,omitempty"`
	Equal   bool   `json:"equal"`
}

// OK tells whether nothing was found.
func (s *Summary) OK() bool { return len(s.Findings) == 0 }

// Assemble sums up a run.
func Assemble(run Run) *Summary {
	s := &Summary{
		Transport: run.Transport, Speed: run.Speed, Domain: run.Domain, Dir: run.Dir, Synthetic: run.Synthetic,
		Elapsed: run.Elapsed, Findings: slices.Clone(run.Problems), Kills: run.Kills,
	}
	for _, name := range run.Topics {
		if t, ok := s.topic(name, run); ok {
			s.Topics = append(s.Topics, t)
		}
	}
	if run.Complete { // else the figures are not final, and what they lack is no news
		for i := range s.Topics {
			s.check(&s.Topics[i], run.Book)
		}
	}
	s.inputs(run)
	s.logs(run)
	for i := range s.Topics {
		if t := &s.Topics[i]; t.Path != unordered {
			s.Reliable += t.Published
			for _, sub := range t.Subscribers {
				s.Delivered += sub.Delivered
			}
		}
	}
	if secs := run.Elapsed.Seconds(); secs > 0 {
		s.PublishedPerSec, s.DeliveredPerSec = float64(s.Reliable)/secs, float64(s.Delivered)/secs
	}
	s.Verdict = "ok"
	if !s.OK() {
		s.Verdict = "failed"
	}
	return s
}

func (s *Summary) find(format string, args ...any) {
	s.Findings = append(s.Findings, fmt.Sprintf(format, args...))
}

// topic gathers the row of a topic; false if nobody published or subscribed to it.
func (s *Summary) topic(name string, run Run) (Topic, bool) {
	t := Topic{Topic: name, By: make(map[string]uint64)}
	for _, r := range run.Reports {
		for _, p := range r.Publications {
			if p.Topic == name {
				t.Path = p.Path
				t.Dropped += p.Dropped
				t.By[r.Role] = p.Published
			}
		}
	}
	if p, ok := promises[name]; ok && run.Book.Lives(p.Writer) > 0 {
		t.By[p.Writer] = run.Book.Total(p.Writer, name)
	}
	for _, n := range t.By {
		t.Published += n
	}
	for _, r := range run.Reports {
		for _, sub := range r.Subscriptions {
			if sub.Topic == name {
				t.Subscribers = append(t.Subscribers, s.subscriber(&t, r.Role, sub, run))
			}
		}
	}
	return t, len(t.By) > 0 || len(t.Subscribers) > 0
}

func (s *Summary) subscriber(t *Topic, role string, sub control.Subscription, run Run) Subscriber {
	var delays latency.Recorder
	if err := delays.Merge(sub.Latency); err != nil {
		s.find("%s: latency of %s: %v", role, t.Topic, err)
	}
	out := Subscriber{
		Process: role, Delivered: sub.Delivered, Duplicated: sub.Duplicated, Reordered: sub.Reordered,
		Rejected: uint64(max(0, sub.Rejected)), Malformed: uint64(sub.Malformed), Late: run.Book.Late(role),
		Away:   t.Path != unordered && run.Book.Missed(role, promises[t.Topic]),
		Digest: sub.Digest, Latency: delays.Summary(), raw: sub,
	}
	out.Lost = uint64(max(0, sub.Lost))
	if t.Path != unordered { // what the numbers say counts, whatever the reader's status says
		if out.Away || run.Book.Unsent(promises[t.Topic].Writer, t.Topic) {
			return out // the book knows what is missing
		}
		out.Lost = max(out.Lost, sub.Missing)
		if !out.Late {
			out.Lost = max(out.Lost, t.Published-min(sub.Delivered-sub.Duplicated, t.Published))
		}
	}
	return out
}

// check finds what is wrong with a reliable topic.
func (s *Summary) check(t *Topic, book *ledger.Book) {
	if t.Path == unordered {
		return
	}
	for _, sub := range t.Subscribers {
		wrong := func(n uint64, what string) {
			if n > 0 {
				s.find("%s: %d of %d samples of %s %s", sub.Process, n, t.Published, t.Topic, what)
			}
		}
		wrong(sub.Lost, "are missing")
		wrong(sub.Duplicated, "came twice")
		wrong(sub.Reordered, "came out of order")
		wrong(sub.Rejected, "were rejected")
		wrong(sub.Malformed, "could not be read")
		if !sub.Late && !sub.Away && sub.Lost == 0 && sub.Delivered != t.Published {
			s.find("%s: %d samples of %s were delivered, and %d published", sub.Process, sub.Delivered, t.Topic, t.Published)
		}
	}
	s.compareDigests(t)
	if promise, ok := promises[t.Topic]; ok && !book.Whole() {
		s.Findings = append(s.Findings, book.Check(promise)...)
	}
}

func (s *Summary) compareDigests(t *Topic) {
	var first *Subscriber
	for i := range t.Subscribers {
		sub := &t.Subscribers[i]
		switch {
		case sub.Late || sub.Away:
		case first == nil:
			first = sub
		case sub.Digest != first.Digest:
			s.find("order digests of %s differ: %s at %s, %s at %s", t.Topic,
				order.Short(first.Digest), first.Process, order.Short(sub.Digest), sub.Process)
		}
	}
}

// inputs checks that what was read was published.
func (s *Summary) inputs(run Run) {
	for _, r := range run.Reports {
		if r.Input == nil {
			continue
		}
		s.Inputs = append(s.Inputs, *r.Input)
		if r.Input.Used == 0 && len(run.Problems) == 0 {
			s.find("%s: nothing of %s was used: %s", r.Role, r.Input.What, emptiness(*r.Input))
		}
		for _, p := range r.Publications {
			if r.Input.Complete && uint64(r.Input.Used) != p.Published && run.Book.Lives(r.Role) <= 1 {
				s.find("%s: %d records of %s were read, and %d samples of %s published", r.Role, r.Input.Used, r.Input.What, p.Published, p.Topic)
			}
		}
	}
}

// emptiness tells why an input gave nothing.
func emptiness(in control.Input) string {
	switch {
	case in.Live && in.Connected == 0:
		return "nobody answered there before the run ended"
	case in.Read == 0:
		return "no line came"
	}
	return fmt.Sprintf("of %d lines %d were malformed and %d of other kinds", in.Read, in.Malformed, in.Skipped)
}

// logs checks that what is on disk is what was delivered. Who came late was given the history by its peers; its log begins
// where it joined, and so does the comparison.
func (s *Summary) logs(run Run) {
	for _, role := range slices.Sorted(maps.Keys(run.Logs)) {
		log := run.Logs[role]
		c := LogCheck{Process: role, Dir: log.Dir, Records: len(log.Stored)}
		if log.Err != nil {
			c.Error = log.Err.Error()
			s.find("%s: its log on disk can not be read: %v", role, log.Err)
		} else if wrong := run.Book.CheckLog(role, promises[logged], log.Stored); len(wrong) > 0 {
			s.Findings = append(s.Findings, wrong...)
		} else {
			c.Equal = true
		}
		s.Logs = append(s.Logs, c)
	}
}

// WriteJSON writes the summary for programs.
func (s *Summary) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
