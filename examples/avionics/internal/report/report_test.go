package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
)

// goodRun is a run without a fault; tests put one in.
func goodRun(t *testing.T) *Run {
	var delays latency.Recorder
	delays.Record(120 * time.Microsecond)
	exported, err := delays.Export()
	require.NoError(t, err)
	sub := func(topic string, n uint64) control.Subscription {
		s := control.Subscription{Topic: topic, Result: order.Result{Delivered: n, First: 1, Last: n, Digest: "d1" + topic}, Latency: exported}
		return s
	}
	book := new(ledger.Book)
	book.Begin("nav", false).Publish("Position", ledger.Progress{Published: 100, Acknowledged: 100})
	book.Begin("fms", false).Publish("FlightLog", ledger.Progress{Published: 50, Acknowledged: 50})
	var stored []ledger.Stored
	var told []byte
	for n := range uint64(50) {
		stored = append(stored, ledger.Stored{Number: n + 1, Sum: n})
		told = ledger.Entry{Epoch: 1, Sequence: n, Number: n + 1, Sum: n}.Append(told)
	}
	var fixes []byte
	for n := range uint64(100) {
		fixes = ledger.Entry{Epoch: 1, Sequence: n, Number: n + 1, Sum: n}.Append(fixes)
	}
	for _, role := range []string{"display1", "display2"} {
		l := book.Begin(role, false)
		require.NoError(t, l.Deliver("FlightLog", told))
		require.NoError(t, l.Deliver("Position", fixes))
	}
	return &Run{
		Book: book, Complete: true,
		Topics: []string{"AirData", "Position", "FlightLog", "Nothing"}, Elapsed: 2 * time.Second, Transport: "shm", Speed: "max",
		Reports: []control.Report{
			{Role: "adc1", Publications: []control.Publication{{Topic: "AirData", Path: "unordered", Published: 200}}},
			{Role: "adc2", Publications: []control.Publication{{Topic: "AirData", Path: "unordered", Published: 199}}},
			{
				Role: "nav", Publications: []control.Publication{{Topic: "Position", Path: "atomic", Published: 100}},
				Input: &control.Input{What: "flight.igc", Read: 103, Used: 100, Skipped: 2, Malformed: 1, Named: []string{"line 7: no fix"}, Complete: true},
			},
			{Role: "fms", Publications: []control.Publication{{Topic: "FlightLog", Path: "logged", Published: 50}}},
			{Role: "display1", Subscriptions: []control.Subscription{sub("AirData", 190), sub("Position", 100), sub("FlightLog", 50)}},
			{Role: "display2", Subscriptions: []control.Subscription{sub("AirData", 180), sub("Position", 100), sub("FlightLog", 50)}},
		},
		Logs: map[string]Log{"display1": {Stored: stored}, "display2": {Stored: stored}},
	}
}

// of finds what a process reported of a topic.
func (r *Run) of(role, topic string) *control.Subscription {
	for i := range r.Reports {
		for j := range r.Reports[i].Subscriptions {
			if r.Reports[i].Role == role && r.Reports[i].Subscriptions[j].Topic == topic {
				return &r.Reports[i].Subscriptions[j]
			}
		}
	}
	return nil
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*Run)
		want  []string
	}{
		{"nothing wrong", func(*Run) {}, nil},
		{"unordered samples are lost", func(r *Run) { r.of("display1", "AirData").Lost = 9 }, nil},
		{"unordered digests differ", func(r *Run) { r.of("display1", "AirData").Digest = "other" }, nil},
		{"the end is missing", func(r *Run) {
			s := r.of("display2", "Position")
			s.Delivered, s.Last, s.Digest = 98, 98, "other"
		}, []string{
			"display2: 2 of 100 samples of Position are missing",
			"order digests of Position differ: d1Position at display1, other at display2",
		}},
		{"a gap", func(r *Run) {
			s := r.of("display1", "Position")
			s.Delivered, s.Missing = 97, 3
		}, []string{"display1: 3 of 100 samples of Position are missing"}},
		{"twice", func(r *Run) { s := r.of("display1", "Position"); s.Delivered, s.Duplicated = 101, 1 },
			[]string{"display1: 1 of 100 samples of Position came twice", "display1: 101 samples of Position were delivered, and 100 published"}},
		{"out of order", func(r *Run) { r.of("display1", "Position").Reordered = 1 }, []string{"display1: 1 of 100 samples of Position came out of order"}},
		{"rejected", func(r *Run) { r.of("display1", "Position").Rejected = 4 }, []string{"display1: 4 of 100 samples of Position were rejected"}},
		{"lost says the reader", func(r *Run) { r.of("display1", "Position").Lost = 1 }, []string{"display1: 1 of 100 samples of Position are missing"}},
		{"malformed", func(r *Run) { r.of("display1", "Position").Malformed = 1 }, []string{"display1: 1 of 100 samples of Position could not be read"}},
		{"order differs", func(r *Run) { r.of("display2", "FlightLog").Digest = "other" }, []string{"order digests of FlightLog differ: d1FlightLog at display1, other at display2"}},
		{"the log differs", func(r *Run) { r.Logs["display2"] = Log{Stored: r.Logs["display2"].Stored[1:]} }, []string{
			"display2: 1 samples of FlightLog are not in its log on disk, which were delivered there"}},
		{"the log can not be read", func(r *Run) { r.Logs["display1"] = Log{Err: errors.New("corrupt at 4096")} }, []string{"display1: its log on disk can not be read: corrupt at 4096"}},
		{"not all of the input was published", func(r *Run) { r.Reports[2].Input.Used = 101 }, []string{"nav: 101 records of flight.igc were read, and 100 samples of Position published"}},
		{"a run that was stopped need not publish all", func(r *Run) { r.Reports[2].Input.Used, r.Reports[2].Input.Complete = 101, false }, nil},
		{"an input of junk", func(r *Run) {
			r.Reports[2].Input.Used, r.Reports[2].Input.Malformed, r.Reports[2].Input.Complete = 0, 101, false
		}, []string{"nav: nothing of flight.igc was used: of 103 lines 101 were malformed and 2 of other kinds"}},
		{"an empty input", func(r *Run) {
			*r.Reports[2].Input = control.Input{What: "flight.igc"}
		}, []string{"nav: nothing of flight.igc was used: no line came"}},
		{"a feed that nobody serves", func(r *Run) {
			*r.Reports[2].Input = control.Input{What: "localhost:1", Live: true}
		}, []string{"nav: nothing of localhost:1 was used: nobody answered there before the run ended"}},
		{"an input that gave nothing in a run that went wrong", func(r *Run) {
			*r.Reports[2].Input = control.Input{What: "localhost:1", Live: true}
			r.Problems, r.Complete = []string{"display1 was killed"}, false
		}, []string{"display1 was killed"}},
		{"a problem is the only news", func(r *Run) {
			r.Problems, r.Complete = []string{"display1 was killed"}, false
			r.of("display1", "Position").Delivered = 3
		}, []string{"display1 was killed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := goodRun(t)
			c.fault(run)
			s := Assemble(*run)
			assert.Equal(t, c.want, s.Findings)
			assert.Equal(t, len(c.want) == 0, s.OK())
		})
	}
}

// Who came late, and who died, is compared by the book.
func TestVerdictOfADisturbedRun(t *testing.T) {
	run := goodRun(t)
	late := run.Book.Begin("display2", true)
	var told []byte
	for n := range uint64(10) {
		told = ledger.Entry{Epoch: 1, Sequence: 40 + n, Number: 41 + n, Sum: 40 + n, History: n == 0}.Append(told)
	}
	require.NoError(t, late.Deliver("FlightLog", told))
	run.Book.Ready(late)
	sub := run.of("display2", "FlightLog")
	sub.Delivered, sub.First, sub.Digest, sub.History, sub.Instances = 10, 41, "half", 1, 1
	for _, topic := range []string{"AirData", "Position"} {
		run.of("display2", topic).Delivered = 3
	}
	s := Assemble(*run)
	require.Empty(t, s.Findings)
	var table strings.Builder
	require.NoError(t, s.WriteTable(&table))
	assert.Contains(t, table.String(), "FlightLog: display2 came late, got 1 instances as history and then 9 samples\n")

	require.NoError(t, late.Deliver("FlightLog", ledger.Entry{Epoch: 1, Sequence: 51, Number: 52}.Append(nil)))
	assert.Equal(t, []string{
		"display1: 1 samples of FlightLog are missing that others delivered, the first is number 52 at position 1.51",
		"fms: what it published of FlightLog is not there in the order in which it did, or not without gaps (1, the first at its number 51)",
	}, filter(Assemble(*run).Findings, "of FlightLog are missing that", "without gaps"))
}

// filter gives those that contain one of the texts, each once.
func filter(findings []string, texts ...string) []string {
	var out []string
	for _, text := range texts {
		i := slices.IndexFunc(findings, func(f string) bool { return strings.Contains(f, text) })
		if i >= 0 {
			out = append(out, findings[i])
		}
	}
	return out
}

// A process that died by itself is a finding; the others are judged all the same.
func TestVerdictWithoutAProcess(t *testing.T) {
	run := goodRun(t)
	run.Problems = []string{"display2 was killed"}
	run.Reports = run.Reports[:5]
	delete(run.Logs, "display2")
	assert.Equal(t, []string{"display2 was killed"}, Assemble(*run).Findings)
	run.of("display1", "Position").Reordered = 1
	assert.Equal(t, []string{"display2 was killed", "display1: 1 of 100 samples of Position came out of order"}, Assemble(*run).Findings)
}

func TestTable(t *testing.T) {
	run := goodRun(t)
	run.Reports[2].Input.Named = make([]string, maxNamed+2)
	run.Reports[2].Input.Malformed = maxNamed + 2
	run.Reports[2].Input.Connected = 2
	run.Kills = []Kill{{Role: "nav", Alone: true, Again: time.Second, Down: 900 * time.Millisecond}, {Role: "fms", Again: 3 * time.Millisecond}, {Role: "fms", Again: 5 * time.Millisecond, Stopped: true},
		{Role: "nav", Alone: true, Down: time.Second, Stopped: true}} // the last was missed by nobody
	run.Dir, run.Synthetic = "/somewhere", true
	var b strings.Builder
	require.NoError(t, Assemble(*run).WriteTable(&b))
	text := b.String()
	for _, want := range []string{
		"topic      path       published  process   delivered  lost  rejected  order digest  p50    p99    max\n",
		"Position   atomic     100        display1  100        0     0         d1Position    120µs  120µs  120µs\n",
		"AirData: published 200 by adc1, 199 by adc2;",
		"input flight.igc: 103 lines, 100 used, 2 of other kinds, 7 malformed, 2 connections, 0 lines sent again\n",
		"  ... and 2 more\n",
		"log of display1: 50 records on disk, equal to what was delivered there\n",
		"reliable topics: 150 samples published and 300 delivered in 2s, that is 75 and 150 samples/s (speed max, shm)\n",
		"chaos: processes were killed and started again 2 times, and stopped and let go on 2 times (fms 2, nav 2); the others delivered again after 5ms (median), 5ms at most; what nobody else publishes 100ms after the new start (median), 100ms at most\n",
		"logs are in /somewhere\n", "SYNTHETIC", "verdict: ok\n",
	} {
		assert.Contains(t, text, want)
	}
	b.Reset()
	require.NoError(t, Assemble(Run{Book: new(ledger.Book), Synthetic: true, Problems: []string{"ended by a signal"}}).WriteTable(&b))
	assert.Equal(t, "verdict: FAILED (1 finding)\n  - ended by a signal\n", b.String(), "of a run that did not begin there is no more to say")
	run.Problems, run.Complete = []string{"display1 was killed"}, false
	b.Reset()
	require.NoError(t, Assemble(*run).WriteTable(&b))
	assert.True(t, strings.HasSuffix(b.String(), "verdict: FAILED (1 finding)\n  - display1 was killed\n"))
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Assemble(*goodRun(t)).WriteJSON(&b))
	var back map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, "ok", back["verdict"])
	assert.Len(t, back["topics"], 3)
	assert.Equal(t, float64(75), back["reliable_published_per_second"])
}
