package storage

import (
	"bytes"
	"hash/crc32"
	"math"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// FuzzRecovery gives any bytes to recovery as the frames of a segment; with repair, checksums are
// made right first so that the checks behind them are reached.
func FuzzRecovery(f *testing.F) {
	s := makeSample(f, 1, 10, 0, -1, 33, 7, -1)
	frames := s.closed[0][headerBytes:]
	f.Add([]byte{}, false)
	f.Add(frames, false)
	f.Add(frames, true)
	f.Add(frames[:len(frames)-100], false)
	f.Add(append(bytes.Clone(frames), frames...), true)
	f.Add(makeSample(f, 1, 10, 1000, -1, 2900, -1).closed[0][headerBytes:], true)
	h := segmentHeader{log: 1, index: 1, capacity: minSegmentBytes, block: minBlockBytes}
	front := make([]byte, headerBytes)
	h.encode(front)
	f.Fuzz(func(t *testing.T, body []byte, repair bool) {
		body = bytes.Clone(body[:min(len(body), minSegmentBytes-headerBytes)])
		if repair {
			repairFrames(body, h)
		}
		b := append(bytes.Clone(front), body...)
		sc := newScanner(b)
		last := Version{}
		for sc.next() {
			for r := range records(sc.frame.body) {
				if r.Version.Compare(last) <= 0 {
					t.Fatalf("%v after %v", r.Version, last)
				}
				last = r.Version
			}
		}
		if sc.end.kind == 0 || sc.end.offset < headerBytes || sc.end.offset > int64(len(b)) {
			t.Fatalf("end %+v of %d bytes", sc.end, len(b))
		}

		o := Options{FS: vfs.NewMem(), SegmentBytes: minSegmentBytes}
		noError(t, o.FS.MkdirAll("log"))
		setImage(t, o.FS, "log/0000000001.seg", b)
		before, readErr := readAll("log", o, Version{})
		l, r, err := Open("log", o)
		if sc.end.kind == endCorrupt || sc.end.kind == endSealed { // sealed: the successor is missing
			errorIs(t, readErr, ErrCorrupt)
			errorIs(t, err, ErrCorrupt)
			if !bytes.Equal(b, image(t, o.FS, "log/0000000001.seg")) {
				t.Fatal("a corrupt log was changed")
			}
			return
		}
		noError(t, readErr)
		noError(t, err)
		if (r.Torn != nil) != (sc.end.kind == endTorn) || r.Records != sc.count {
			t.Fatalf("opened %+v, scanned %d records and %+v", r, sc.count, sc.end)
		}
		if last != (Version{math.MaxUint32, math.MaxUint64}) {
			next := record(Version{math.MaxUint32, math.MaxUint64}, 100)
			noError(t, l.Append(&next))
			before = append(before, next)
		}
		noError(t, l.Close())
		after, err := readAll("log", o, Version{})
		noError(t, err)
		mustMatch(t, before, after)
	})
}

// repairFrames makes magic, offset, version before and checksums right for as long as lengths make sense.
func repairFrames(b []byte, h segmentHeader) {
	last := Version{}
	for off := int64(0); int64(len(b))-off >= frameBytes; {
		f := b[off:]
		length := int(le.Uint32(f[frmLength:]) % 1024)
		size := h.sizeOnDisk(length)
		if size > int64(len(f)) {
			return
		}
		fr := frame{typ: frameType(f[frmType]), offset: uint32(headerBytes + off), prev: last, count: le.Uint32(f[frmCount:]), body: f[frameBytes : frameBytes+length], sum: crc32.Checksum(f[frameBytes:size], castagnoli)}
		fr.encode(f[:size], h.seed())
		if fr.typ == frameBatch {
			last, _ = checkBatch(&fr)
		}
		off += size
	}
}
