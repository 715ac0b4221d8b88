package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Ways to write a batch and have it on the device, in turns: docs/adr/0026-log-writes-without-io-uring.md decides by this.

// reserved is the space that is made ahead, as a log does for a segment. All of it is written once; then it is given
// back and made anew.
const reserved = 256 << 20

func reserve(f *os.File) error {
	return errors.Join(f.Truncate(0), unix.Fallocate(int(f.Fd()), 0, 0, reserved), f.Sync())
}

type syncWay struct {
	what  string
	write func(f *os.File, b []byte, at int64) error
}

// synced measures each batch size in each way.
func synced(o options) ([]result.Result, error) {
	ways := []syncWay{
		{"pwrite, fdatasync", func(f *os.File, b []byte, at int64) error {
			if _, err := f.WriteAt(b, at); err != nil {
				return err
			}
			return unix.Fdatasync(int(f.Fd()))
		}},
		{"pwritev2 with RWF_DSYNC", func(f *os.File, b []byte, at int64) error {
			n, err := unix.Pwritev2(int(f.Fd()), [][]byte{b}, at, unix.RWF_DSYNC)
			if err == nil && n != len(b) {
				err = fmt.Errorf("%d of %d bytes were written", n, len(b))
			}
			return err
		}},
	}
	ring, err := newUring()
	if err == nil {
		defer ring.close()
		ways = append(ways, syncWay{"io_uring, write and fdatasync linked", ring.writeSync})
	} else {
		fmt.Fprintf(os.Stderr, "baseline: sync: io_uring is left out: %v\n", err)
	}
	var results []result.Result
	for _, size := range o.sizes(4<<10, 64<<10, 160<<10, 1<<20, 4<<20) {
		r, err := syncedOf(o, size, ways)
		if err != nil {
			return nil, fmt.Errorf("%d bytes: %w", size, err)
		}
		results = append(results, r...)
	}
	return results, nil
}

func syncedOf(o options, size int, ways []syncWay) (results []result.Result, err error) {
	size = (size + pageBytes - 1) &^ (pageBytes - 1)
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(b)) }()
	name := filepath.Join(o.dir, fmt.Sprintf("sync-%d", os.Getpid()))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_DIRECT, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; choose a directory on a disk with -dir", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(name)) }()
	histograms, took := make([]*hdrhistogram.Histogram, len(ways)), make([]time.Duration, len(ways))
	for i := range ways {
		histograms[i] = result.NewHistogram()
	}
	at := int64(reserved)
	for start := time.Now(); time.Since(start) < o.duration; {
		if at+int64(size*len(ways)) > reserved {
			if err := reserve(f); err != nil {
				return nil, err
			}
			at = 0
		}
		for i, w := range ways {
			begin := monotonic()
			if err := w.write(f, b, at); err != nil {
				return nil, fmt.Errorf("%s: %w", w.what, err)
			}
			ns := monotonic() - begin
			if err := histograms[i].RecordValue(ns); err != nil {
				return nil, err
			}
			took[i] += time.Duration(ns)
			at += int64(size)
		}
	}
	for i, w := range ways {
		r := result.Result{Size: size, What: w.what + "; O_DIRECT into reserved space, in turns with the others; percentiles of a batch"}
		r.SetThroughput(histograms[i].TotalCount(), took[i])
		r.SetLatency(histograms[i])
		results = append(results, r)
	}
	return results, nil
}
