package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
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
		if topic == "FlightLog" {
			s.LogDigest = "onDisk"
		}
		return s
	}
	return &Run{
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
		Logs: map[string]Log{"display1": {Records: 50, Digest: "onDisk"}, "display2": {Records: 50, Digest: "onDisk"}},
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
		{"the log differs", func(r *Run) { r.Logs["display2"] = Log{Records: 49, Digest: "less"} }, []string{
			"display2: its log on disk is not what was delivered there: 49 records with digest less, where 50 samples of FlightLog were delivered, with digest onDisk behind number 0"}},
		{"the log can not be read", func(r *Run) { r.Logs["display1"] = Log{Error: "corrupt at 4096"} }, []string{"display1: its log on disk can not be read: corrupt at 4096"}},
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
			r.Problems = []string{"display1 was killed"}
		}, []string{"display1 was killed"}},
		{"a problem is the only news", func(r *Run) {
			r.Problems = []string{"display1 was killed"}
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

func TestLateVerdict(t *testing.T) {
	late := func(r *Run) (late, other *control.Subscription) {
		r.Late = "display2"
		late, other = r.of("display2", "Position"), r.of("display1", "Position")
		late.Delivered, late.First, late.Digest, late.Cut = 43, 58, "half", 60
		late.Tail, other.Tail = &order.Part{Count: 40, Digest: "tail"}, &order.Part{Count: 40, Digest: "tail"}
		late.Picture, other.Picture = map[string]uint64{"A": 58, "B": 60}, map[string]uint64{"A": 58, "B": 60}
		return late, other
	}
	run := goodRun(t)
	late(run)
	s := Assemble(*run)
	require.Empty(t, s.Findings)
	var table strings.Builder
	require.NoError(t, s.WriteTable(&table))
	assert.Contains(t, table.String(), "Position: display2 came late, got 2 instances as of sample 60 and then 40 samples with digest tail\n")

	run = goodRun(t)
	l, _ := late(run)
	l.Tail.Digest = "tale"
	assert.Equal(t, []string{"display2 came late, and its part of Position differs from that of display1: 40 samples with digest tale behind number 60, there 40 with tail"},
		Assemble(*run).Findings)

	run = goodRun(t)
	l, _ = late(run)
	delete(l.Picture, "A")
	assert.Equal(t, []string{"display2 came late and got 1 instances of Position, where display1 had 2: of A it has sample 0, and should have 58"}, Assemble(*run).Findings)

	run = goodRun(t)
	l, _ = late(run)
	l.Picture["B"] = 59
	assert.Equal(t, []string{"display2 came late and got another picture of Position than display1 had: of B it has sample 59, and should have 60"}, Assemble(*run).Findings)

	// Who came after the last sample of a topic without history missed nothing.
	run = goodRun(t)
	l, o := late(run)
	*l, o.Tail = control.Subscription{Topic: "Position"}, nil
	assert.Empty(t, Assemble(*run).Findings)
}

func TestDifferenceNamesAnInstance(t *testing.T) {
	assert.Equal(t, "X is not known there", difference(map[string]uint64{"X": 1}, map[string]uint64{}))
	assert.Equal(t, "no difference", difference(nil, nil))
}

func TestTable(t *testing.T) {
	run := goodRun(t)
	run.Reports[2].Input.Named = make([]string, maxNamed+2)
	run.Reports[2].Input.Malformed = maxNamed + 2
	run.Reports[2].Input.Connected = 2
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
		"log of display1: 50 records on disk, digest onDisk, equal to what was delivered there\n",
		"reliable topics: 150 samples published and 300 delivered in 2s, that is 75 and 150 samples/s (speed max, shm)\n",
		"logs are in /somewhere\n", "SYNTHETIC", "verdict: ok\n",
	} {
		assert.Contains(t, text, want)
	}
	b.Reset()
	require.NoError(t, Assemble(Run{Synthetic: true, Problems: []string{"ended by a signal"}}).WriteTable(&b))
	assert.Equal(t, "verdict: FAILED (1 finding)\n  - ended by a signal\n", b.String(), "of a run that did not begin there is no more to say")
	run.Problems = []string{"display1 was killed"}
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
