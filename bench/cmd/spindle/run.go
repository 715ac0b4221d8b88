package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

// memberMark as the first argument makes this program a process of a run.
const memberMark = "member"

// startLimit is the longest that processes may take to find each other.
const startLimit = 20 * time.Second

// process is one member of a run.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said strings.Builder
}

func (p *process) line() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("a process ended early: %w", err) // what it said belongs to the goroutine of cmd until Wait
	}
	return line, nil
}

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
	var processes []*process
	defer func() {
		if err != nil {
			cancel()
		}
		for _, p := range processes {
			p.in.Close() // they end
		}
		for _, p := range processes {
			e := p.cmd.Wait()
			if said := strings.TrimSpace(p.said.String()); e != nil && said != "" {
				e = fmt.Errorf("%w: %s", e, said)
			}
			err = errors.Join(err, e)
		}
	}()
	domain := rand.Uint32()
	for i := range w.Processes {
		p, err := start(ctx, member{w, i, domain, off, c.warmup, c.duration})
		if err != nil {
			return f, err
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if _, err := p.line(); err != nil {
			return f, err
		}
	}
	for _, p := range processes {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			return f, err
		}
	}
	f.Rate, f.Batch = math.Inf(1), math.Inf(1)
	written, read, delivered := int64(0), int64(0), int64(0)
	for _, p := range processes {
		line, err := p.line()
		if err != nil {
			return f, err
		}
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return f, errors.Join(fmt.Errorf("%q", line), err)
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

func start(ctx context.Context, m member) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, memberMark, string(told))}
	p.cmd.Stderr = &p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}
