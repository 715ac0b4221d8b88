package storage

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// sample is a small log and what is known about it.
type sample struct {
	records []Record
	crashed [][]byte // segments as they are when nobody closes the log
	closed  [][]byte // segments after Close
	frames  [][]int  // for each segment of closed: where its frames begin, and the end of the last
	upTo    []int    // how many records the first segment has before each of its frames, and in all
	synced  int64    // in the last segment: where the last batch before Close begins
}

// makeSample writes batches of records; a size of -1 is a Sync.
func makeSample(t testing.TB, id uint64, sizes ...int) sample {
	t.Helper()
	o := memOptions()
	o.LogID = id
	l, _, err := Open("log", o)
	noError(t, err)
	var s sample
	last := Version{}
	for _, size := range sizes {
		if size < 0 {
			s.synced = l.tail
			_, err = l.Sync()
			noError(t, err)
			continue
		}
		s.records = append(s.records, appendAll(t, l, last, size)...)
		last = s.records[len(s.records)-1].Version
	}
	indices, err := listSegments(o.FS, "log")
	noError(t, err)
	for _, index := range indices {
		s.crashed = append(s.crashed, slices.Clone(image(t, o.FS, "log/"+segmentName(index))))
	}
	noError(t, l.Close())
	indices, err = listSegments(o.FS, "log") // the one made ahead is gone
	noError(t, err)
	for _, index := range indices {
		b := slices.Clone(image(t, o.FS, "log/"+segmentName(index)))
		s.closed = append(s.closed, b)
		sc := newScanner(b)
		var at []int
		if index == 1 {
			s.upTo = []int{0}
		}
		for sc.next() {
			at = append(at, int(sc.frame.offset))
			if index == 1 {
				s.upTo = append(s.upTo, int(sc.count))
			}
		}
		s.frames = append(s.frames, append(at, int(sc.off)))
	}
	return s
}

// frameAt returns the beginning of the frame that byte i of segment n belongs to, or the end of
// the frames when it is behind them.
func (s *sample) frameAt(n, i int) int {
	at := s.frames[n][0]
	for _, f := range s.frames[n] {
		if f <= i {
			at = f
		}
	}
	return at
}

// before returns the records of a log of one segment whose frames end at or before offset.
func (s *sample) before(offset int) []Record {
	n := 0
	for n+1 < len(s.frames[0]) && s.frames[0][n+1] <= offset {
		n++
	}
	return s.records[:s.upTo[n]]
}

// install makes a log of segment images.
func install(t testing.TB, images ...[]byte) Options {
	t.Helper()
	o := Options{FS: vfs.NewMem(), SegmentBytes: minSegmentBytes, Go: atOnce}
	noError(t, o.FS.MkdirAll("log"))
	for i, b := range images {
		if b != nil {
			setImage(t, o.FS, "log/"+segmentName(uint64(i+1)), b)
		}
	}
	return o
}

func corruptAt(t testing.TB, err error, path string, offset int, what string) {
	t.Helper()
	c, ok := errors.AsType[*CorruptError](err)
	if !ok {
		t.Fatalf("%s: got %v, want corruption of %s at %d", what, err, path, offset)
	}
	errorIs(t, err, ErrCorrupt)
	if c.Path != path || offset >= 0 && c.Offset != int64(offset) {
		t.Fatalf("%s: got %v, want it in %s at %d", what, err, path, offset)
	}
}

// TestFlipEachByte damages each byte of a log of one segment.
func TestFlipEachByte(t *testing.T) {
	s := makeSample(t, 1, 10, 0, -1, 33, 7, -1)
	for _, form := range []struct {
		name  string
		image []byte
		open  int // from here on nothing vouches for the bytes: damage is a torn tail
	}{
		{"closed", s.closed[0], s.frames[0][2]}, // the mark only
		{"crashed", s.crashed[0], int(s.synced)},
	} {
		o := install(t, form.image)
		for i := range form.image {
			for _, mask := range []byte{0x01, 0x80, 0xff} {
				what := fmt.Sprintf("%s, byte %d ^ %#x", form.name, i, mask)
				b := slices.Clone(form.image)
				b[i] ^= mask
				setImage(t, o.FS, "log/0000000001.seg", b)
				got, err := readAll("log", o, Version{})
				at := s.frameAt(0, i)
				if form.name == "crashed" {
					at = min(at, s.frames[0][2]) // there is no mark
				}
				switch {
				case i < headerBytes:
					corruptAt(t, err, "log/0000000001.seg", -1, what)
					mustMatch(t, nil, got)
				case i < form.open:
					corruptAt(t, err, "log/0000000001.seg", at, what)
					mustMatch(t, s.before(at), got)
				default:
					noError(t, err)
					mustMatch(t, s.before(at), got)
					r, err := Verify("log", o)
					noError(t, err)
					if r.Torn == nil || r.Torn.Offset != int64(at) {
						t.Fatalf("%s: torn %v, want it at %d", what, r.Torn, at)
					}
				}
			}
		}
	}
}

// TestCutAtEachLength shortens the file of a closed log, and opens what is left.
func TestCutAtEachLength(t *testing.T) {
	s := makeSample(t, 1, 10, 0, -1, 33, 7, -1)
	for n := range s.closed[0] {
		what := fmt.Sprintf("cut at %d", n)
		o := install(t, s.closed[0][:n])
		if n < headerBytes {
			_, err := Verify("log", o)
			corruptAt(t, err, "log/0000000001.seg", n, what)
			continue
		}
		at := s.frameAt(0, n)
		l, r, err := Open("log", o)
		noError(t, err)
		if torn := at != n; torn != (r.Torn != nil) || torn && r.Torn.Offset != int64(at) {
			t.Fatalf("%s: torn %v", what, r.Torn)
		}
		want := slices.Clone(s.before(at))
		last := Version{}
		if len(want) > 0 {
			last = want[len(want)-1].Version
		}
		equal(t, last, r.Last)
		want = append(want, appendAll(t, l, last, 20)...)
		noError(t, l.Close())
		got, err := readAll("log", o, Version{})
		noError(t, err)
		mustMatch(t, want, got)
	}
}

// TestDamageBeforeTheLastSegment: nothing there counts as torn.
func TestDamageBeforeTheLastSegment(t *testing.T) {
	s := makeSample(t, 1, 10, 1500, -1, 1000, -1, 1000, 10, -1)
	equal(t, 2, len(s.closed))
	sealed := s.frames[0][len(s.frames[0])-1]
	for i := range s.closed[0] {
		b := slices.Clone(s.closed[0])
		b[i] ^= 0x10
		want := -1
		if i >= headerBytes {
			want = min(s.frameAt(0, i), sealed)
		}
		_, err := Verify("log", install(t, b, s.closed[1]))
		corruptAt(t, err, "log/0000000001.seg", want, fmt.Sprintf("byte %d", i))
	}
	for n := range s.closed[0] {
		_, err := Verify("log", install(t, s.closed[0][:n], s.closed[1]))
		if n >= sealed {
			noError(t, err)
		} else {
			corruptAt(t, err, "log/0000000001.seg", -1, fmt.Sprintf("cut at %d", n))
		}
	}
}

func TestSegmentsThatDoNotMakeALog(t *testing.T) {
	s := makeSample(t, 1, 2900, -1, 2900, -1, 1500, -1)
	other := makeSample(t, 2, 2900, -1, 2900, -1, 1500, -1)
	longer := makeSample(t, 1, 10, -1, 1000, -1, 2900, -1, 1500, -1)
	equal(t, 3, len(s.closed))
	older := slices.Clone(s.closed[0])
	older[hdrVersion] = 1
	file := func(n uint64) string { return "log/" + segmentName(n) }
	for _, tc := range []struct {
		name   string
		images [][]byte
		path   string
		text   string
	}{
		{"first missing", [][]byte{nil, s.closed[1], s.closed[2]}, "log", "0000000001.seg is missing"},
		{"middle missing", [][]byte{s.closed[0], nil, s.closed[2]}, "log", "0000000002.seg is missing"},
		{"last missing", [][]byte{s.closed[0], s.closed[1]}, "log", "0000000003.seg is missing"},
		{"copied", [][]byte{s.closed[0], s.closed[0], s.closed[2]}, file(2), "holds segment 1"},
		{"other log", [][]byte{s.closed[0], other.closed[1], s.closed[2]}, file(2), "another log"},
		{"other history", [][]byte{s.closed[0], longer.closed[1], s.closed[2]}, file(2), "continues after version"},
		{"empty file", [][]byte{s.closed[0], {}, s.closed[2]}, file(2), "ends inside the segment header"},
		{"no segment", [][]byte{bytes.Repeat([]byte("text"), 5000)}, file(1), "not a log segment"},
		{"older format", [][]byte{older}, file(1), "format version 1, this build reads version 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := install(t, tc.images...)
			_, err := Verify("log", o)
			corruptAt(t, err, tc.path, -1, tc.name)
			if !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%q does not say %q", err, tc.text)
			}
			_, _, err = Open("log", o)
			errorIs(t, err, ErrCorrupt)
			for i, b := range tc.images {
				if b != nil && !bytes.Equal(b, image(t, o.FS, file(uint64(i+1)))) {
					t.Errorf("segment %d was changed", i+1)
				}
			}
			_, _, err = Open("log", o)
			errorIs(t, err, ErrCorrupt) // again, so the lock was released
		})
	}
}

// TestLogWithinAPayload: frames that a payload carries prove nothing.
func TestLogWithinAPayload(t *testing.T) {
	o := memOptions()
	o.SegmentBytes = 4 * minSegmentBytes
	l, _, err := Open("log", o)
	noError(t, err)
	appendAll(t, l, Version{}, 10)
	_, err = l.Sync()
	noError(t, err)
	appendAll(t, l, Version{2, 0}, 10, 10)
	_, err = l.Sync()
	noError(t, err)
	at := int(l.tail)
	inner := slices.Clone(image(t, o.FS, "log/0000000001.seg")[headerBytes:at])
	space := make([]byte, minBlockBytes-frameBytes-wholeBytes) // so that the frames within begin where frames may
	noError(t, l.Append(&Record{Version: Version{3, 0}, Payload: append(space, inner...)}))
	_, err = l.Sync()
	noError(t, err)
	b := slices.Clone(image(t, o.FS, "log/0000000001.seg"))
	if le.Uint32(b[at+minBlockBytes:]) != frameMagic {
		t.Fatal("the frame within the payload is not where one would be looked for")
	}
	b[at] ^= 1
	r, err := Verify("log", install(t, b))
	noError(t, err)
	if r.Torn == nil || r.Torn.Offset != int64(at) || r.Records != 3 {
		t.Fatalf("got %+v", r)
	}
}

// batchOf makes a frame with its memory, as the writer does.
func batchOf(h segmentHeader, offset uint32, prev Version, all ...Record) []byte {
	var b Batch
	for i := range all {
		b.append(&all[i])
	}
	f, image := b.frame(h.sizeOnDisk(b.Bytes()))
	f.offset, f.prev = offset, prev
	f.encode(image, h.seed())
	return image
}

// TestFramesThatNoCrashLeaves: one odd frame, its checksums right.
func TestFramesThatNoCrashLeaves(t *testing.T) {
	h := segmentHeader{log: 1, index: 2, capacity: minSegmentBytes, block: minBlockBytes}
	front := make([]byte, headerBytes)
	h.encode(front)
	v := Version{5, 5}
	front = append(front, batchOf(h, headerBytes, Version{4, 4}, record(v, 8))...)
	second := uint32(len(front))
	one := func(r Record) []byte { return batchOf(h, second, v, r) }
	change := func(at int, value byte) []byte { // in a frame of one record
		b := one(record(Version{5, 6}, 8))
		b[at] = value
		le.PutUint32(b[frmBodyCRC:], crc32.Checksum(b[frameBytes:], castagnoli))
		le.PutUint32(b[frmCRC:], crc32.Update(h.seed(), castagnoli, b[frmCRC+4:frameBytes]))
		return b
	}
	for _, tc := range []struct {
		name string
		odd  []byte
		text string
	}{
		{"older", one(record(Version{5, 4}, 8)), "5:4 is not above the one before, 5:5"},
		{"same", one(record(Version{5, 5}, 8)), "not above"},
		{"older within", batchOf(h, second, v, record(Version{7, 1}, 8), record(Version{6, 2}, 8)), "6:2 is not above the one before, 7:1"},
		{"gap", batchOf(h, second, Version{5, 6}, record(Version{5, 7}, 8)), "the batch continues after version 5:6, but 5:5 is the one before it"},
		{"type", change(frmType, 9), "unknown frame type 9"},
		{"mark with contents", change(frmType, byte(frameMark)), "a mark with contents"},
		{"seal with contents", change(frmType, byte(frameSeal)), "a seal with contents"},
		{"count", change(frmCount, 2), "a batch of 1 records says that it has 2"},
		{"no stream", change(frameBytes+recForm, formNext), "no record begins at 0 of the batch"},
		{"unknown form", change(frameBytes+recForm, 3), "no record begins at 0 of the batch"},
		{"length", change(frameBytes+recLength, 17), "no record begins at 0 of the batch"},
		{"short length", change(frmLength, 20), "no record begins at 0 of the batch"},
		{"empty", change(frmLength, 0), "a batch of 0 records says that it has 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScanner(append(bytes.Clone(front), tc.odd...))
			for s.next() {
			}
			equal(t, endCorrupt, s.end.kind)
			equal(t, int64(second), s.end.offset)
			equal(t, uint64(1), s.count)
			if !strings.Contains(s.end.reason, tc.text) {
				t.Errorf("%q does not say %q", s.end.reason, tc.text)
			}
		})
	}
}

// TestFrameOfAnotherPlace: a frame copied within its segment is not a frame.
func TestFrameOfAnotherPlace(t *testing.T) {
	s := makeSample(t, 1, 10, -1, 20, -1)
	first := s.closed[0][s.frames[0][0]:s.frames[0][1]]
	b := append(bytes.Clone(s.closed[0][:s.frames[0][2]]), first...)
	sc := newScanner(b)
	for sc.next() {
	}
	equal(t, ending{endTorn, int64(s.frames[0][2]), "the frame was written for offset 4096"}, sc.end)
	equal(t, uint64(2), sc.count)
}
