package storage

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

func TestRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		name string
		dir  func(t *testing.T) string
		opt  Options
	}{
		{"os", func(t *testing.T) string { return filepath.Join(t.TempDir(), "new", "log") }, Options{SegmentBytes: 16384}},
		{"os with defaults", func(t *testing.T) string { return t.TempDir() }, Options{}},
		{"memory", func(t *testing.T) string { return "log" }, memOptions()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tc.dir(t)
			var all []Record
			last := Version{}
			for round := range 5 {
				l, r, err := Open(dir, tc.opt)
				noError(t, err)
				equal(t, uint64(len(all)), r.Records)
				equal(t, last, r.Last)
				equal(t, last, l.Durable())
				if r.Torn != nil || r.Closed != (round > 0) {
					t.Fatalf("round %d: torn %v, closed %v", round, r.Torn, r.Closed)
				}
				for _, size := range []int{0, 1, 7, 8, 9, 900, 1300, 2900} {
					all = append(all, appendAll(t, l, last, size, size)...)
					last = all[len(all)-1].Version
					durable, err := l.Sync()
					noError(t, err)
					equal(t, last, durable)
				}
				var got []Record
				for r, err := range l.Records(Version{}) {
					noError(t, err)
					got = append(got, record(r.Version, len(r.Payload)))
				}
				mustMatch(t, all, got)
				all = append(all, appendAll(t, l, last, 5)...) // Close syncs it
				last = all[len(all)-1].Version
				noError(t, l.Close())
				noError(t, l.Close())
				_, err = l.Sync()
				errorIs(t, err, ErrClosed)
				errorIs(t, l.Append(&Record{}), ErrClosed)
			}
			got, err := readAll(dir, tc.opt, Version{})
			noError(t, err)
			mustMatch(t, all, got)
			for i, r := range all {
				from := r.Version
				got, err := readAll(dir, tc.opt, from)
				noError(t, err)
				mustMatch(t, all[i:], got)
				from.Seq++ // may be a version that is not there
				got, err = readAll(dir, tc.opt, from)
				noError(t, err)
				if len(got) > 0 && got[0].Version.Compare(from) < 0 {
					t.Fatalf("from %v came %v", from, got[0].Version)
				}
				mustMatch(t, all[i+1:], got)
			}
		})
	}
}

func TestBatchOverSeveralSegments(t *testing.T) {
	o := memOptions()
	l, _, err := Open("log", o)
	noError(t, err)
	big := l.maxPayload
	want := appendAll(t, l, Version{}, 100, big, big, 10, 10, big, 1)
	_, err = l.Sync()
	noError(t, err)
	r, err := Verify("log", o)
	noError(t, err)
	equal(t, 6, r.Segments)
	got, err := readAll("log", o, Version{})
	noError(t, err)
	mustMatch(t, want, got)
	noError(t, l.Close())
}

func TestSegmentBytesMayChange(t *testing.T) {
	o := memOptions()
	var all []Record
	last := Version{}
	for _, size := range []int64{minSegmentBytes, 4 * minSegmentBytes, 3 * minSegmentBytes} {
		o.SegmentBytes = size
		l, _, err := Open("log", o)
		noError(t, err)
		all = append(all, appendAll(t, l, last, 10, l.maxPayload, 10, l.maxPayload)...)
		last = all[len(all)-1].Version
		noError(t, l.Close())
	}
	got, err := readAll("log", o, Version{})
	noError(t, err)
	mustMatch(t, all, got)
}

func TestAppendRefuses(t *testing.T) {
	o := memOptions()
	o.BatchBytes = 1000
	l, _, err := Open("log", o)
	noError(t, err)
	errorIs(t, l.Append(&Record{}), ErrOrder)
	large := record(Version{1, 1}, l.maxPayload+1)
	errorIs(t, l.Append(&large), ErrTooLarge)
	want := []Record{record(Version{1, 5}, 2000)} // above BatchBytes, but alone
	noError(t, l.Append(&want[0]))
	next := record(Version{1, 6}, 0)
	errorIs(t, l.Append(&next), ErrBatchFull)
	for _, v := range []Version{{1, 5}, {1, 4}, {0, 9}} {
		r := record(v, 0)
		errorIs(t, l.Append(&r), ErrOrder)
	}
	_, err = l.Sync()
	noError(t, err)
	noError(t, l.Append(&next))
	noError(t, l.Close())
	got, err := readAll("log", o, Version{})
	noError(t, err)
	mustMatch(t, append(want, next), got)

	l, _, err = Open("log", o)
	noError(t, err)
	errorIs(t, l.Append(&next), ErrOrder)
	noError(t, l.Close())
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{SegmentBytes: 4096}, {SegmentBytes: 8193}, {SegmentBytes: -8192}, {SegmentBytes: 2 << 30}, {BatchBytes: -1},
	} {
		_, _, err := Open(t.TempDir(), o)
		errorIs(t, err, ErrOptions)
	}
}

// TestAppendBesideSync runs the two goroutines that the core has, and a reader beside them.
func TestAppendBesideSync(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: 32768, BatchBytes: 20000}
	l, _, err := Open(dir, o)
	noError(t, err)
	const count = 3000
	var group sync.WaitGroup
	appended := make(chan struct{})
	group.Go(func() {
		defer close(appended)
		payload := make([]byte, 500)
		for seq := uint64(1); seq <= count; {
			err := l.Append(&Record{Version: Version{1, seq}, WriterSeq: seq, Payload: payload})
			switch {
			case err == nil:
				seq++
			case errors.Is(err, ErrBatchFull):
				if _, err := l.Sync(); err != nil {
					t.Error(err)
					return
				}
			default:
				t.Error(err)
				return
			}
		}
	})
	group.Go(func() {
		last := Version{}
		for last.Seq < count {
			durable, err := l.Sync()
			if err != nil || durable.Compare(last) < 0 {
				t.Errorf("durable %v after %v, %v", durable, last, err)
				return
			}
			last = durable
		}
	})
	group.Go(func() {
		for done := false; !done; {
			select {
			case <-appended:
				done = true
			default:
			}
			durable := l.Durable()
			seq := uint64(0)
			for r, err := range Read(dir, o, Version{}) {
				if err != nil || r.Seq != seq+1 {
					t.Errorf("after %d: %v, %v", seq, r, err)
					return
				}
				seq = r.Seq
			}
			if seq < durable.Seq {
				t.Errorf("read up to %d, but %v was durable", seq, durable)
				return
			}
		}
	})
	group.Wait()
	noError(t, l.Close())
	r, err := Verify(dir, o)
	noError(t, err)
	equal(t, uint64(count), r.Records)
	equal(t, Version{1, count}, r.Last)
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	l, _, err := Open(t.TempDir(), Options{})
	noError(t, err)
	defer l.Close()
	r := Record{Payload: make([]byte, 10_000)}
	step := func() {
		for range 10 {
			r.Version = Version{1, r.Seq + 1}
			if err := l.Append(&r); err != nil {
				t.Error(err)
			}
		}
		if _, err := l.Sync(); err != nil {
			t.Error(err)
		}
	}
	step() // both batches grow to their size
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations for ten Appends and a Sync", n)
	}
}

func TestCloseGivesUnusedSpaceBack(t *testing.T) {
	o := memOptions()
	l, _, err := Open("log", o)
	noError(t, err)
	equal(t, minSegmentBytes, len(image(t, o.FS, "log/0000000001.seg")))
	appendAll(t, l, Version{}, 8)
	noError(t, l.Close())
	closed := headerBytes + 2*minBlockBytes // the batch, the mark
	equal(t, closed, len(image(t, o.FS, "log/0000000001.seg")))
	for range 3 { // opening and closing again adds nothing
		l, _, err = Open("log", o)
		noError(t, err)
		equal(t, minSegmentBytes, len(image(t, o.FS, "log/0000000001.seg")))
		noError(t, l.Close())
		equal(t, closed, len(image(t, o.FS, "log/0000000001.seg")))
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	o := memOptions()
	l, _, err := Open("log", o)
	noError(t, err)
	appendAll(t, l, Version{}, 1, 2, 3)
	n := 0
	for range l.Records(Version{}) {
		n++
	}
	equal(t, 0, n) // nothing durable yet
	_, err = l.Sync()
	noError(t, err)
	for range l.Records(Version{}) {
		n++
		break
	}
	equal(t, 1, n)
	noError(t, l.Close())
}

func TestNoLog(t *testing.T) {
	o := Options{FS: vfs.NewMem()}
	_, err := Verify("nowhere", o)
	if _, ok := errors.AsType[*IOError](err); !ok {
		t.Fatalf("got %v", err)
	}
	r, err := Verify(".", o)
	noError(t, err)
	equal(t, Recovery{}, r)
}
