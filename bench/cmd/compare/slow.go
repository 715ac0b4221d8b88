package main

import (
	"context"
	"fmt"
	"os/exec"

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

// newSlow has two topics, each with a writer at full speed. One of them has a reader that takes its time.
func newSlow(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	const undisturbed = "0s"
	s := &ways{
		what: "Two topics, each with a writer at full speed and a reader; one has a second reader, whose listener spends the time in the first column on each sample. Samples per second",
		read: func(_ impl, _ cell, r []result.Result) []figure {
			return []figure{
				{otherTopic, min(r[slowNeighborPub].Rate, r[slowNeighbor].Rate), result.PerSecond},
				{otherReader, min(r[slowPub].Rate, r[slowOther].Rate), result.PerSecond},
				{"the slow reader itself", r[slowReader].Rate, result.PerSecond},
			}
		},
	}
	for _, size := range c.sizes {
		for _, shares := range []bool{false, true} {
			at := cell{table: fmt.Sprintf("%d bytes; the topics are on different subgroups", size), size: size, readers: 2}
			if shares {
				at.table = fmt.Sprintf("%d bytes; the topics share a subgroup", size)
				at.shares = true
			}
			s.at = append(s.at, at)
		}
	}
	s.commands = func(ctx context.Context, i impl, at cell) []*exec.Cmd {
		d := bench.DefaultOptions()
		topic := bench.Neighbor(d.Topic, d.Subgroups, at.shares)
		neighbor := at
		neighbor.readers = 1
		return []*exec.Cmd{
			slowPub:         p.command(ctx, "pub", at),
			slowOther:       p.command(ctx, "sub", at, "--keep", "100"),
			slowReader:      p.command(ctx, "sub", at, "--keep", "100", "--listener", "--work", i.name),
			slowNeighborPub: p.command(ctx, "pub", neighbor, "--topic", topic),
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
				over: undisturbed, overCol: column, least: 0.95, print: share})
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
