package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/internal/bench"
)

// What the processes of a run of slow are, in this order.
const (
	slowPub = iota
	slowOther
	slowReader
	slowNeighborPub
	slowNeighbor
)

// pacedRate is that of each writer where they are paced: with two processors a quarter to a half of full speed.
const pacedRate = 100_000

// newSlow has two topics, each with a writer. One of them has a reader that takes its time. At full speed all share
// what processors there are, and what the slow reader works the others lose; at a rate that leaves some time, what they
// lose is the doing of the middleware.
func newSlow(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	const undisturbed = "0s"
	s := &ways{
		what: "Two topics, each with a writer and a reader; one has a second reader, whose listener spends the time in the first column on each sample. Samples per second, and the processors that all five processes used",
		read: func(_ impl, _ cell, r []result.Result) []figure {
			return []figure{
				{otherTopic, min(r[slowNeighborPub].Rate, r[slowNeighbor].Rate), result.PerSecond},
				{otherReader, min(r[slowPub].Rate, r[slowOther].Rate), result.PerSecond},
				{"the slow reader itself", r[slowReader].Rate, result.PerSecond},
				{"processors", processors(r), func(v float64) string { return fmt.Sprintf("%.2f", v) }},
			}
		},
	}
	for _, size := range c.sizes {
		for _, paced := range []bool{true, false} {
			for _, shares := range []bool{false, true} {
				pace, place := "full speed", "are on different subgroups"
				if paced {
					pace = fmt.Sprintf("%d samples a second for each writer", pacedRate)
				}
				if shares {
					place = "share a subgroup"
				}
				s.at = append(s.at, cell{table: fmt.Sprintf("%d bytes; %s; the topics %s", size, pace, place), size: size,
					readers: 2, shares: shares, paced: paced})
			}
		}
	}
	s.commands = func(ctx context.Context, i impl, at cell) []*exec.Cmd {
		d := bench.DefaultOptions()
		topic := bench.Neighbor(d.Topic, d.Subgroups, at.shares)
		neighbor := at
		neighbor.readers = 1
		var rate []string
		if at.paced {
			rate = []string{"--rate", strconv.Itoa(pacedRate)}
		}
		return []*exec.Cmd{
			slowPub:         p.command(ctx, "pub", at, rate...),
			slowOther:       p.command(ctx, "sub", at, "--keep", "100"),
			slowReader:      p.command(ctx, "sub", at, "--keep", "100", "--listener", "--work", i.name),
			slowNeighborPub: p.command(ctx, "pub", neighbor, append([]string{"--topic", topic}, rate...)...),
			slowNeighbor:    p.command(ctx, "sub", neighbor, "--topic", topic),
		}
	}
	for _, work := range []string{undisturbed, "1us", "100us", "1ms"} {
		s.list = append(s.list, impl{name: work})
		if work == undisturbed {
			continue
		}
		for _, column := range []string{otherTopic, otherReader} {
			s.aims = append(s.aims, goal{what: column + ", with " + work + ", as a share of undisturbed", row: work, column: column,
				over: []string{undisturbed}, overCol: column, least: 0.95, print: share})
		}
	}
	if err == nil {
		s.list, err = chosen(s.list, c.impls)
	}
	return s, nil, err
}

const (
	otherTopic  = "the other topic"
	otherReader = "the other reader of the topic"
)

// processors is how many were busy with these processes, on average.
func processors(results []result.Result) float64 {
	busy := 0.0
	for _, r := range results {
		if r.Seconds > 0 {
			busy += (r.CPUUser + r.CPUSys) / r.Seconds
		}
	}
	return busy
}
