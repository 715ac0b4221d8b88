package storage

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func errorIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func equal[T any](t testing.TB, want, got T) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// record makes a record whose every field follows from its version and size.
func record(v Version, size int) Record {
	rng := rand.New(rand.NewPCG(uint64(v.Epoch)<<32|v.Seq, uint64(size)))
	r := Record{
		Version: v, Timestamp: rng.Int64() - rng.Int64(), Sender: rng.Uint64(), Channel: rng.Uint64(),
		WriterSeq: rng.Uint64(), Writer: rng.Uint32(), Kind: uint8(rng.Uint32()), Flags: uint8(rng.Uint32()),
	}
	for range size {
		r.Payload = append(r.Payload, byte(rng.Uint32()))
	}
	return r
}

// same compares records; an empty payload is a nil one.
func same(a, b *Record) bool {
	x, y := *a, *b
	x.Payload, y.Payload = nil, nil
	return reflect.DeepEqual(x, y) && bytes.Equal(a.Payload, b.Payload)
}

// mustMatch fails unless got has exactly the records of want.
func mustMatch(t testing.TB, want, got []Record) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if !same(&want[i], &got[i]) {
			t.Fatalf("record %d is %v with %d bytes, want %v with %d bytes",
				i, got[i].Version, len(got[i].Payload), want[i].Version, len(want[i].Payload))
		}
	}
	equal(t, len(want), len(got))
}

func readAll(dir string, o Options, from Version) (all []Record, err error) {
	for r, err := range Read(dir, o, from) {
		if err != nil {
			return all, err
		}
		c := *r
		c.Payload = bytes.Clone(r.Payload)
		all = append(all, c)
	}
	return all, nil
}

// memOptions are options for small segments in memory.
func memOptions() Options {
	return Options{FS: vfs.NewMem(), SegmentBytes: minSegmentBytes, LogID: 0xfeed, Go: atOnce}
}

// atOnce makes the next segment on the caller's goroutine: the same operations in the same order each time.
func atOnce(f func()) { f() }

// appendAll appends records of the given sizes with the versions after v, one epoch for every
// seven records, and returns them.
func appendAll(t testing.TB, l *Log, v Version, sizes ...int) []Record {
	t.Helper()
	var all []Record
	for _, size := range sizes {
		v.Seq++
		if v.Seq%7 == 0 || v.Epoch == 0 {
			v = Version{Epoch: v.Epoch + 1, Seq: 0}
		}
		r := record(v, size)
		noError(t, l.Append(&r))
		all = append(all, r)
	}
	return all
}

// image returns the bytes of a file.
func image(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	b, err := readSegment(fsys, path, maxSegmentBytes, nil)
	noError(t, err)
	return b
}

// setImage writes a file.
func setImage(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fsys.Create(path)
	noError(t, err)
	_, err = f.WriteAt(b, 0)
	noError(t, err)
	noError(t, f.Sync())
	noError(t, f.Close())
}
