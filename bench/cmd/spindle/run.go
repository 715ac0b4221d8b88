package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/talk"
)

// memberMark as the first argument makes this program a process of a run.
const memberMark = "member"

// startLimit is the longest that processes may take to find each other.
const startLimit = 20 * time.Second

// figures of a run: of the process that is worst off.
type figures struct {
	Rate     float64 `json:"rate"`  // messages a second that are delivered at each process
	Batch    float64 `json:"batch"` // messages that an upcall hands over
	P50, P99 float64 // ns
	Writes   float64 `json:"writes"` // of all processes, for each message
	Reads    float64 `json:"reads"`
	Mapped   float64 `json:"mapped"` // bytes, of the process that has most
}

// once runs a workload with some things off.
func once(ctx context.Context, c config, w workload, off string) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit+c.warmup+c.duration)
	defer cancel()
	var processes []*talk.Process
	defer func() {
		if err != nil {
			cancel()
		}
		err = errors.Join(err, talk.End(processes...))
	}()
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	domain := rand.Uint32()
	for i := range w.Processes {
		p, err := talk.Start(ctx, member{w, i, domain, off, c.warmup, c.duration}, self, memberMark)
		if err != nil {
			return f, err
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if _, err := p.Line(); err != nil {
			return f, err
		}
	}
	for _, p := range processes {
		if err := p.Tell("go"); err != nil {
			return f, err
		}
	}
	f.Rate, f.Batch = math.Inf(1), math.Inf(1)
	written, read, delivered := int64(0), int64(0), int64(0)
	for _, p := range processes {
		var o outcome
		if err := p.Outcome(&o); err != nil {
			return f, err
		}
		f.Rate = min(f.Rate, float64(o.Messages)/o.Seconds)
		f.Batch = min(f.Batch, float64(o.Messages)/float64(max(o.Upcalls, 1)))
		written, read, delivered = written+o.Writes, read+o.Reads, delivered+o.Messages
		f.Mapped = max(f.Mapped, float64(o.Mapped))
		f.P50, f.P99 = max(f.P50, float64(o.P50)), max(f.P99, float64(o.P99))
	}
	// Each message is delivered at each process.
	each := float64(w.Processes) / float64(max(delivered, 1))
	f.Writes, f.Reads = float64(written)*each, float64(read)*each
	return f, nil
}
