package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Writes are 10 KiB, as many as make a sync interval of about 1 MB, into a file that starts again at its end.
const (
	fileWrite    = 10 << 10
	fileInterval = 100
	fileBatch    = fileWrite * fileInterval
	fileBatches  = 128
)

// file appends batches and syncs after each, in the two ways that a log can.
func file(o options) ([]result.Result, error) {
	buffered, err := fileOf(o, "buffered writes of 10 KiB, then fdatasync, every 100; growing file", os.O_WRONLY, false,
		func(f *os.File, b []byte, at int64) error {
			for i := 0; i < len(b); i += fileWrite {
				if _, err := f.WriteAt(b[i:i+fileWrite], at+int64(i)); err != nil {
					return err
				}
			}
			return unix.Fdatasync(int(f.Fd()))
		})
	if err != nil {
		return nil, err
	}
	direct, err := fileOf(o, "O_DIRECT into preallocated space: 100 x 10 KiB in one pwritev2 with RWF_DSYNC",
		os.O_WRONLY|unix.O_DIRECT, true, func(f *os.File, b []byte, at int64) error {
			iovs := make([][]byte, fileInterval)
			for i := range iovs {
				iovs[i] = b[i*fileWrite : (i+1)*fileWrite]
			}
			n, err := unix.Pwritev2(int(f.Fd()), iovs, at, unix.RWF_DSYNC)
			if err == nil && n != len(b) {
				err = fmt.Errorf("%d of %d bytes were written", n, len(b))
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return []result.Result{buffered, direct}, nil
}

func fileOf(o options, what string, flags int, allocate bool, write func(f *os.File, b []byte, at int64) error) (r result.Result, err error) {
	r = result.Result{Size: fileWrite, What: what + "; percentiles of a batch"}
	// Direct writes need memory that is aligned like a page.
	b, err := unix.Mmap(-1, 0, fileBatch, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(b)) }()
	for i := range b {
		b[i] = byte(i)
	}
	name, err := prepare(o.dir, allocate, b)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return r, fmt.Errorf("%w; choose a directory on a disk with -dir", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := result.NewHistogram()
	start := time.Now()
	for i := int64(0); time.Since(start) < o.duration; i++ {
		sent := monotonic()
		if err := write(f, b, i%fileBatches*fileBatch); err != nil {
			return r, err
		}
		if err := h.RecordValue(monotonic() - sent); err != nil {
			return r, err
		}
	}
	r.SetThroughput(h.TotalCount()*fileInterval, time.Since(start))
	r.SetLatency(h)
	return r, nil
}

// prepare makes the file. Preallocated space has been written once: the file system need not note its first use later.
func prepare(dir string, allocate bool, b []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, "baseline-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !allocate {
		return f.Name(), nil
	}
	for range fileBatches {
		if _, err := f.Write(b); err != nil {
			return f.Name(), err
		}
	}
	return f.Name(), f.Sync()
}

// appendMost bounds the file of append.
const appendMost = 4 << 30

// appended writes to a new file from its beginning, and syncs after each batch: what a log with these batches has to be
// measured by.
func appended(o options) ([]result.Result, error) {
	var results []result.Result
	for _, way := range []struct {
		what string
		flag int
	}{{"buffered", 0}, {"O_DIRECT", unix.O_DIRECT}} {
		r, err := appendedBy(o, way.flag)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.what, err)
		}
		r.What = way.what + "; sequential writes to a new file, fdatasync after each; percentiles of a write"
		results = append(results, r)
	}
	return results, nil
}

func appendedBy(o options, flag int) (r result.Result, err error) {
	size := o.batch
	if flag != 0 {
		size = (size + pageBytes - 1) &^ (pageBytes - 1) // whole sectors; what is added does not count
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(b)) }()
	for i := range b {
		b[i] = byte(i)
	}
	name := filepath.Join(o.dir, fmt.Sprintf("append-%d", os.Getpid()))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|flag, 0o600)
	if err != nil {
		return r, fmt.Errorf("%w; choose a directory on a disk with -dir", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(name)) }()
	h := result.NewHistogram()
	start := time.Now()
	for at := int64(0); time.Since(start) < o.duration && at < appendMost; at += int64(size) {
		sent := monotonic()
		if _, err := f.WriteAt(b, at); err != nil {
			return r, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return r, err
		}
		if err := h.RecordValue(monotonic() - sent); err != nil {
			return r, err
		}
	}
	r.Size = o.batch
	r.SetThroughput(h.TotalCount(), time.Since(start))
	r.SetLatency(h)
	return r, nil
}
