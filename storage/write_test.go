package storage

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// batchFrom appends records of the given sizes with the versions after v to a batch, and returns them.
func batchFrom(t testing.TB, b *Batch, v Version, sizes ...int) (all []Record) {
	t.Helper()
	for _, size := range sizes {
		v.Seq++
		r := record(v, size)
		noError(t, b.Append(&r))
		all = append(all, r)
	}
	return all
}

func TestWrite(t *testing.T) {
	o := memOptions()
	l, _, err := Open("log", o)
	noError(t, err)
	var b Batch
	durable, err := l.Write(&b) // empty
	noError(t, err)
	equal(t, Version{}, durable)
	var all []Record
	last := Version{1, 0}
	for _, sizes := range [][]int{{10}, {0, 7, 8, 9}, {2000, 1000}, {l.maxPayload}, {1}, {2000, l.maxPayload, 10, 10, 2900, 2900}, {5}} {
		all = append(all, batchFrom(t, &b, last, sizes...)...)
		last = all[len(all)-1].Version
		equal(t, last, b.Last())
		durable, err := l.Write(&b)
		noError(t, err)
		equal(t, last, durable)
		got, err := readAll("log", o, Version{})
		noError(t, err)
		mustMatch(t, all, got)
		b.Reset()
		equal(t, 0, b.Bytes())
	}
	noError(t, l.Close())
	batchFrom(t, &b, last, 1)
	_, err = l.Write(&b)
	errorIs(t, err, ErrClosed)
}

// However much there is in a batch, it is one write and one sync; nothing is written for none.
func TestOneWriteAndOneSyncABatch(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := memOptions()
	o.FS, o.SegmentBytes = faulty, 1<<20
	l, _, err := Open("log", o)
	noError(t, err)
	var b Batch
	last := Version{1, 0}
	for _, records := range []int{1, 2, 10, 1000, 0} {
		b.Reset()
		for range records {
			last = batchFrom(t, &b, last, 100)[0].Version
		}
		for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
			faulty.FailOp(op, 1, syscall.EIO) // more than one fails
		}
		before := faulty.Ops()
		_, err := l.Write(&b)
		noError(t, err)
		equal(t, 2*min(records, 1), faulty.Ops()-before)
	}
	faulty.FailOp(vfs.OpWrite, 0, nil)
	faulty.FailOp(vfs.OpSync, 0, nil)
	noError(t, l.Close())
}

func TestWriteRefuses(t *testing.T) {
	o := memOptions()
	l, _, err := Open("log", o)
	noError(t, err)
	var b Batch
	all := batchFrom(t, &b, Version{1, 4}, 10, 20)
	again := record(Version{1, 6}, 0)
	errorIs(t, b.Append(&again), ErrOrder)
	_, err = l.Write(&b)
	noError(t, err)
	_, err = l.Write(&b)
	errorIs(t, err, ErrOrder)
	mustSay(t, err, "log log", "1:5 is not above 1:6")
	b.Reset()
	batchFrom(t, &b, Version{1, 6}, 1, l.maxPayload+1)
	_, err = l.Write(&b)
	errorIs(t, err, ErrTooLarge)
	b.Reset()
	all = append(all, batchFrom(t, &b, Version{1, 6}, 3)...) // neither was final
	_, err = l.Write(&b)
	noError(t, err)
	noError(t, l.Close())
	got, err := readAll("log", o, Version{})
	noError(t, err)
	mustMatch(t, all, got)
}

// TestRecordsAsDifferences: a record that follows the one before closely takes few bytes, and any other comes back as well.
func TestRecordsAsDifferences(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(r *Record)
		bytes  int
	}{
		{"next", func(r *Record) { r.Seq++; r.WriterSeq++; r.Timestamp += 1000; r.Kind++; r.Flags++ }, nextBytes},
		{"nothing but its number", func(r *Record) { r.Seq++ }, nextBytes},
		{"most", func(r *Record) {
			r.Seq += maxSeqMore
			r.WriterSeq += maxWriterSeqMore
			r.Timestamp += maxTimestampMore
		}, nextBytes},
		{"number", func(r *Record) { r.Seq += maxSeqMore + 1 }, wholeBytes},
		{"number of the writer", func(r *Record) { r.Seq++; r.WriterSeq += maxWriterSeqMore + 1 }, wholeBytes},
		{"lower number of the writer", func(r *Record) { r.Seq++; r.WriterSeq-- }, wholeBytes},
		{"time", func(r *Record) { r.Seq++; r.Timestamp += maxTimestampMore + 1 }, wholeBytes},
		{"time goes back", func(r *Record) { r.Seq++; r.Timestamp-- }, wholeBytes},
		{"time overflows", func(r *Record) { r.Seq++; r.Timestamp = math.MinInt64 }, wholeBytes},
		{"sender", func(r *Record) { r.Seq++; r.Sender++ }, wholeBytes},
		{"channel", func(r *Record) { r.Seq++; r.Channel++ }, wholeBytes},
		{"writer", func(r *Record) { r.Seq++; r.Writer++ }, wholeBytes},
		{"epoch", func(r *Record) { r.Epoch++; r.Seq = 0 }, wholeBytes},
		{"epoch alone", func(r *Record) { r.Epoch++; r.Seq++ }, wholeBytes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Record{Version: Version{3, 1 << 40}, Timestamp: 1 << 60, Sender: 1 << 50, Channel: 1 << 55, WriterSeq: 1 << 45, Writer: 1 << 30, Payload: []byte("12345678")}
			var b Batch
			all := []Record{r}
			noError(t, b.Append(&r))
			equal(t, wholeBytes+8, b.Bytes())
			tc.change(&r)
			r.Payload = []byte("8765432")
			all = append(all, r)
			noError(t, b.Append(&r))
			equal(t, wholeBytes+8+tc.bytes+8, b.Bytes())
			tc.change(&r) // and behind that
			if r.Version.Compare(b.Last()) > 0 {
				all = append(all, r)
				noError(t, b.Append(&r))
			}
			var got []Record
			for r := range records(b.buf[frameBytes:]) {
				got = append(got, *r)
			}
			mustMatch(t, all, got)
		})
	}
}

// device is a file system whose direct writes need other multiples than those of vfs.Mem, or that has none.
type device struct {
	vfs.FS
	align int // of direct writes; 0: it has none
}

type deviceFile struct {
	vfs.File
	align, direct int
}

func (d device) Create(name string) (vfs.File, error)    { return d.file(d.FS.Create(name)) }
func (d device) OpenWrite(name string) (vfs.File, error) { return d.file(d.FS.OpenWrite(name)) }

func (d device) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &deviceFile{File: f, align: d.align}, nil
}

func (f *deviceFile) Direct(limit int) int {
	if f.align <= limit {
		f.direct = f.align
	}
	return f.direct
}

func (f *deviceFile) WriteAt(p []byte, off int64) (int, error) {
	if f.direct > 0 && (off%int64(f.direct) != 0 || len(p)%f.direct != 0) {
		return 0, syscall.EINVAL
	}
	return f.File.WriteAt(p, off)
}

// TestDevices writes a log on devices of each kind in turn, as one that is copied from disk to disk.
func TestDevices(t *testing.T) {
	mem := vfs.NewMem()
	var all []Record
	last := Version{1, 0}
	for _, align := range []int{512, 4096, 0, 2048, 512, 4096} {
		o := Options{FS: device{mem, align}, SegmentBytes: 32 << 10, Go: atOnce}
		l, _, err := Open("log", o)
		noError(t, err)
		for range 8 {
			var b Batch
			all = append(all, batchFrom(t, &b, last, 100, 6000)...)
			last = b.Last()
			_, err := l.Write(&b)
			noError(t, err)
		}
		noError(t, l.Close())
		got, err := readAll("log", o, Version{})
		noError(t, err)
		mustMatch(t, all, got)
	}

	_, _, err := Open("small", Options{FS: device{vfs.NewMem(), 4096}, SegmentBytes: minSegmentBytes})
	errorIs(t, err, ErrOptions)
	mustSay(t, err, "SegmentBytes 8192", "4096")
}

// TestSectorsGrowUnderALog: a batch that fits the segment it was measured for may not fit the next one.
func TestSectorsGrowUnderALog(t *testing.T) {
	mem := vfs.NewMem()
	const segment = 32 << 10
	l, _, err := Open("log", Options{FS: device{mem, 512}, SegmentBytes: segment})
	noError(t, err)
	noError(t, l.Close())
	l, _, err = Open("log", Options{FS: device{mem, 4096}, SegmentBytes: segment, Go: atOnce})
	noError(t, err)
	var b Batch
	batchFrom(t, &b, Version{1, 0}, 10)
	_, err = l.Write(&b)
	noError(t, err)
	b.Reset()
	batchFrom(t, &b, Version{1, 1}, l.maxPayload)
	_, err = l.Write(&b)
	errorIs(t, err, ErrTooLarge)
	errorIs(t, err, ErrFailed)
	errorIs(t, l.Close(), ErrFailed)
	l, r, err := Open("log", Options{FS: device{mem, 4096}, SegmentBytes: segment, Go: atOnce})
	noError(t, err)
	equal(t, uint64(1), r.Records)
	noError(t, l.Close())
}

// TestNextSegmentIsMadeAhead: it is there before it is needed, and what goes wrong with it does not matter before.
func TestNextSegmentIsMadeAhead(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := Options{FS: faulty, SegmentBytes: 32 << 10, Go: atOnce}
	l, _, err := Open("log", o)
	noError(t, err)
	var all []Record
	write := func() {
		t.Helper()
		last := Version{}
		if n := len(all); n > 0 {
			last = all[n-1].Version
		}
		all = append(all, appendAll(t, l, last, 6000)...)
		_, err := l.Sync()
		noError(t, err)
	}
	write()
	write()
	equal(t, []uint64{1}, segments(t, o))
	faulty.SetSpace(0)
	write() // more than half: it would be made now
	equal(t, []uint64{1}, segments(t, o))
	faulty.SetSpace(-1)
	write()
	equal(t, []uint64{1}, segments(t, o))
	write() // there is space again
	equal(t, []uint64{1, 2}, segments(t, o))
	write()
	write()
	equal(t, []uint64{1, 2, 3}, segments(t, o))
	got, err := readAll("log", o, Version{}) // beside it
	noError(t, err)
	mustMatch(t, all, got)

	r, err := Verify("log", o) // a crash now
	noError(t, err)
	equal(t, uint64(7), r.Records)
	if r.Torn != nil {
		t.Fatal(r.Torn)
	}
	noError(t, l.Close())
	equal(t, []uint64{1, 2}, segments(t, o)) // Close gives it back
}

func segments(t *testing.T, o Options) []uint64 {
	t.Helper()
	indices, err := listSegments(o.FS, "log")
	noError(t, err)
	return indices
}

// TestLogsSideBySide: two batches each, one filled while the other is written, and segments that are made meanwhile.
func TestLogsSideBySide(t *testing.T) {
	root := t.TempDir()
	var group sync.WaitGroup
	for log := range 3 {
		group.Go(func() {
			dir := filepath.Join(root, fmt.Sprint(log))
			if err := sideBySide(dir); err != nil {
				t.Errorf("log %d: %v", log, err)
			}
			r, err := Verify(dir, Options{})
			if err != nil || r.Records != 100*20 || !r.Closed {
				t.Errorf("log %d: %+v, %v", log, r, err)
			}
		})
	}
	group.Wait()
}

func sideBySide(dir string) (err error) {
	l, _, err := Open(dir, Options{SegmentBytes: 64 << 10})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	empty, full := make(chan *Batch, 2), make(chan *Batch, 2)
	empty <- &Batch{}
	empty <- &Batch{}
	go func() {
		defer close(full)
		for seq := uint64(0); seq < 100*20; {
			b := <-empty
			b.Reset()
			for range 20 {
				seq++
				if err := b.Append(&Record{Version: Version{1, seq}, Payload: make([]byte, 300)}); err != nil {
					panic(err)
				}
			}
			full <- b
		}
	}()
	for b := range full {
		durable, err := l.Write(b)
		if err != nil || durable != b.Last() {
			return fmt.Errorf("durable %v, %w", durable, err)
		}
		empty <- b
	}
	return nil
}

// TestOlderFormatIsRefused names both versions.
func TestOlderFormatIsRefused(t *testing.T) {
	old := make([]byte, headerBytes)
	copy(old, segmentMagic[:])
	le.PutUint32(old[hdrVersion:], 1)
	_, _, err := Open("log", install(t, old))
	errorIs(t, err, ErrCorrupt)
	if !strings.Contains(err.Error(), "version 1, this build reads version 2") {
		t.Fatal(err)
	}
}
