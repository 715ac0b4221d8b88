package storage

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// segmented is a log of ten records of which each has a segment of its own, and those records.
func segmented(t *testing.T, o Options) (*Log, []Record) {
	t.Helper()
	l, _, err := Open("log", o)
	noError(t, err)
	var all []Record
	v := Version{}
	for range 10 {
		all = append(all, appendAll(t, l, v, 2500)...)
		v = all[len(all)-1].Version
		_, err = l.Sync()
		noError(t, err)
	}
	return l, all
}

// upTo is an Options.Trimmed.
func upTo(v Version) func() (Version, error) { return func() (Version, error) { return v, nil } }

// What is up to a version goes, as far as whole segments of it; the rest is read, and written on, as before.
func TestTrim(t *testing.T) {
	for i := range 10 {
		o := memOptions()
		l, all := segmented(t, o)
		removed, err := l.Trim(all[i].Version)
		noError(t, err)
		equal(t, min(i+1, 9), removed)
		removed, err = l.Trim(all[i].Version)
		noError(t, err)
		equal(t, 0, removed)
		var got []Version
		for r, err := range l.Records(Version{}) {
			noError(t, err)
			got = append(got, r.Version)
		}
		left := all[min(i+1, 9):]
		equal(t, left[0].Version, got[0])
		equal(t, len(left), len(got))
		left = append(slices.Clone(left), appendAll(t, l, all[9].Version, 10, 2500)...)
		noError(t, l.Close())

		o.Trimmed = upTo(all[i].Version)
		l, r, err := Open("log", o)
		noError(t, err)
		equal(t, uint64(len(left)), r.Records)
		equal(t, left[len(left)-1].Version, l.Durable())
		noError(t, l.Close())
		read, err := readAll("log", o, Version{})
		noError(t, err)
		mustMatch(t, left, read)
	}
}

// A log that lacks more than its caller says, or in the midst, has lost something.
func TestTrimmedIsNotLost(t *testing.T) {
	o := memOptions()
	l, all := segmented(t, o)
	_, err := l.Trim(all[4].Version)
	noError(t, err)
	noError(t, l.Close())
	for _, trimmed := range []Version{{}, all[0].Version, all[3].Version} {
		o.Trimmed = upTo(trimmed)
		_, _, err := Open("log", o)
		errorIs(t, err, ErrCorrupt)
		if want := "segment " + segmentName(5) + " is missing"; !strings.Contains(err.Error(), want) {
			t.Fatalf("%v does not say that %s", err, want)
		}
		_, err = Verify("log", o)
		errorIs(t, err, ErrCorrupt)
	}
	o.Trimmed = FromWhereItBegins
	noError(t, o.FS.Remove(filepath.Join("log", segmentName(8))))
	_, _, err = Open("log", o)
	errorIs(t, err, ErrCorrupt)
}

// A disk that fails while a log is trimmed does not end the log, and what is left of it is whole.
func TestTrimFails(t *testing.T) {
	mem := vfs.NewMem()
	for at := 1; ; at++ {
		faulty := vfs.NewFaulty(mem)
		o := Options{FS: faulty, SegmentBytes: minSegmentBytes, LogID: 1, Go: atOnce}
		l, all := segmented(t, o)
		faulty.FailAt(faulty.Ops()+at, vfs.ErrCrashed)
		_, err := l.Trim(all[6].Version)
		if err == nil {
			break
		}
		errorIs(t, err, vfs.ErrCrashed)
		read, err := readAll("log", Options{FS: mem, Trimmed: upTo(all[6].Version)}, Version{})
		noError(t, err)
		mustMatch(t, all[10-len(read):], read)
		mem = vfs.NewMem()
	}
}

// A log is trimmed when its next segment has a record that is not on the disk, as its sync has failed or is under way: the
// segment with the last durable record stays, whatever a crash makes of the next one.
func TestTrimKeepsWhatIsDurable(t *testing.T) {
	for seed := range uint64(40) {
		mem := vfs.NewMem()
		faulty := vfs.NewFaulty(mem)
		o := Options{FS: faulty, SegmentBytes: minSegmentBytes, LogID: 1, Go: atOnce}
		l, all := segmented(t, o)
		last := all[9].Version
		appendAll(t, l, last, 2500)
		faulty.FailOp(vfs.OpSync, 1, syscall.EIO)
		_, err := l.Sync()
		errorIs(t, err, syscall.EIO)
		faulty.FailOp(vfs.OpSync, 0, nil)
		_, err = l.Trim(last)
		noError(t, err)
		mem = mem.Crash(rand.New(rand.NewPCG(seed, 0)))
		l, _, err = Open("log", Options{FS: mem, SegmentBytes: minSegmentBytes, Go: atOnce, Trimmed: upTo(last)})
		noError(t, err)
		if l.Durable().Compare(last) < 0 {
			t.Fatalf("seed %d: the log ends with %v, and %v was durable", seed, l.Durable(), last)
		}
	}
}
