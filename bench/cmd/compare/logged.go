package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/storage"
)

// Rows of logged.
const (
	loggedAlone  = "logged"
	loggedReader = "logged, with a reader"
	plainFile    = "plain, buffered"
	plainDirect  = "plain, O_DIRECT"
)

const payload = "MB/s"

// logged compares a PERSISTENT topic with a plain file that gets the bytes of its samples with as many syncs. How many
// bytes there are for a sync is the log's doing, by what has come while the one before was under way; so it runs first
// in each cell, its log tells, and the file is written likewise.
type logged struct {
	c       config
	perf    perf
	limits  string
	scratch string
	list    []impl
	batch   map[cell]int // of the last run, in bytes of samples
}

func newLogged(ctx context.Context, c config, scratch string) (suite, []string, error) {
	s := &logged{c: c, scratch: scratch, batch: map[cell]int{}}
	var err error
	if s.perf, err = newPerf(ctx, c, scratch); err != nil {
		return nil, nil, err
	}
	if s.limits, err = newLimits(ctx, scratch); err != nil {
		return nil, nil, err
	}
	s.list, err = chosen([]impl{
		{name: loggedAlone, what: "one process with a writer of a PERSISTENT topic, which logs it: samples of one instance, KEEP_LAST 1"},
		{name: loggedReader, what: "the same and a process with a reader, which logs it, too: every byte is written twice"},
		{name: plainFile, what: "sequential writes to a new file, each of as many bytes as the log of the first row had for a sync in this round, and followed by fdatasync (bench/baseline append)"},
		{name: plainDirect, what: "the same with O_DIRECT; a batch is filled up to whole pages, which do not count"},
	}, c.impls)
	return s, nil, err
}

func (s *logged) title() string {
	return "A PERSISTENT topic, and a plain file with the same batches: bytes of samples per second. On the file system of " +
		os.TempDir() + " (TMPDIR)"
}
func (s *logged) impls() []impl { return s.list }

func (s *logged) cells() (out []cell) {
	for _, size := range s.c.sizes {
		out = append(out, cell{table: fmt.Sprintf("%d bytes", size), size: size})
	}
	return out
}

func (s *logged) goals() []goal {
	return []goal{{what: "logged, as a share of the better plain file of the round", row: loggedAlone, column: payload,
		over: []string{plainFile, plainDirect}, overCol: payload, least: 0.7, print: share}}
}

func (s *logged) run(ctx context.Context, i impl, at cell) (r []result.Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp(s.scratch, "logged-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	switch i.name {
	case loggedAlone:
		own := filepath.Join(dir, "pub")
		r, err = together(cancel, []*exec.Cmd{s.perf.command(ctx, "pub", at, "--qos", "logged", "--keep-log", "--readers", "0", "--dir", own)})
		if err != nil {
			return nil, err
		}
		s.batch[at], err = batchOf(own, at.size)
		return r, err
	case loggedReader:
		return together(cancel, []*exec.Cmd{
			s.perf.command(ctx, "pub", at, "--qos", "logged", "--keep-log", "--readers", "1", "--dir", filepath.Join(dir, "pub")),
			s.perf.command(ctx, "sub", at, "--qos", "logged", "--keep-log", "--dir", filepath.Join(dir, "sub")),
		})
	}
	if s.batch[at] == 0 {
		return nil, fmt.Errorf("there is no run of %s that says how large batches are", loggedAlone)
	}
	return together(cancel, []*exec.Cmd{exec.CommandContext(ctx, s.limits, "-duration", s.c.duration.String(), "-dir", dir,
		"-batch", strconv.Itoa(s.batch[at]), "append")})
}

// batchOf is how many bytes of samples a batch of the only log in dir has, on average.
func batchOf(dir string, size int) (int, error) {
	const suffix = ".epochs"
	logs, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(logs) != 1 {
		return 0, errors.Join(fmt.Errorf("%d logs in %s, where there should be one", len(logs), dir), err)
	}
	found, err := storage.Verify(logs[0][:len(logs[0])-len(suffix)], storage.Options{})
	if err != nil {
		return 0, err
	}
	return size * max(1, int(found.Records)/max(found.Batches, 1)), nil
}

func (s *logged) figures(i impl, at cell, results []result.Result) []figure {
	switch i.name {
	case loggedAlone:
		return []figure{{payload, results[0].Mbps / 8, byteRate}, {"KB for a sync", float64(s.batch[at]) / 1e3, kilobytes}}
	case loggedReader:
		rate := throughput(of(results, "pub")[0], of(results, "sub"))[0].value
		return []figure{{payload, rate * float64(at.size) / 1e6, byteRate}}
	}
	r := results[0]
	if i.name == plainDirect {
		r = results[1]
	}
	return []figure{{payload, r.Mbps / 8, byteRate}, {"KB for a sync", float64(r.Size) / 1e3, kilobytes}}
}

func kilobytes(v float64) string { return fmt.Sprintf("%.3g", v) }
