package storage

import "fmt"

// endKind is how the frames of a segment image end.
type endKind uint8

const (
	endClean   endKind = iota + 1 // nothing but zeros from offset on, or the end of the file
	endSealed                     // a seal stands before offset: another segment follows
	endTorn                       // at offset begins what a crash left of the last batch
	endCorrupt                    // at offset stands something that no crash leaves behind
)

func (k endKind) String() string {
	return [...]string{endClean: "clean", endSealed: "sealed", endTorn: "torn", endCorrupt: "corrupt"}[k]
}

// ending is the result of scanning a segment.
type ending struct {
	kind   endKind
	offset int64
	reason string // for endTorn and endCorrupt
}

// scanner reads the frames of one segment image. It is a pure function of the bytes: no I/O, and
// memory that does not depend on them.
//
//	s := newScanner(image)
//	for s.next() { use(s.frame) }
//	s.end
type scanner struct {
	image  []byte
	header segmentHeader
	seed   uint32
	prev   Version // of the last record before the segment, as its first frame says
	last   Version // of the last record seen
	off    int64   // of the next frame
	frames int     // seen
	count  uint64  // records seen

	frame  frame  // valid after next has returned true
	marked bool   // the last frame was a mark
	end    ending // valid after next has returned false
}

func newScanner(image []byte) *scanner {
	s := &scanner{image: image, off: headerBytes}
	h, offset, reason := decodeHeader(image)
	if reason != "" {
		s.end = ending{endCorrupt, offset, reason}
		return s
	}
	s.header, s.seed = h, h.seed()
	return s
}

// next moves to the next frame of any type.
func (s *scanner) next() bool {
	if s.end.kind != 0 {
		return false
	}
	f, size, reason := decodeFrame(s.image, s.off, s.header, s.seed)
	if reason != "" {
		s.end = s.stop(reason)
		return false
	}
	last, reason := s.misplaced(&f)
	if reason != "" {
		s.end = ending{endCorrupt, s.off, reason}
		return false
	}
	if s.frames == 0 {
		s.prev = f.prev
	}
	s.frame, s.last = f, last
	s.off += size
	s.frames++
	s.count += uint64(f.count)
	s.marked = f.typ == frameMark
	if f.typ == frameSeal {
		s.end = s.sealed()
	}
	return true
}

// resume takes a newer image of the same segment and says whether it reads on where s stopped.
func (s *scanner) resume(image []byte) bool {
	if int64(len(image)) < s.off {
		return false
	}
	s.image, s.end = image, ending{}
	f, _, reason := decodeFrame(image, s.off, s.header, s.seed)
	if reason == "" {
		_, reason = s.misplaced(&f)
	}
	return reason == ""
}

// misplaced says why a frame with good checksums can not stand where it does, or "" and the version of the last record up
// to its end. A crash does not make such frames.
func (s *scanner) misplaced(f *frame) (last Version, reason string) {
	if (s.frames > 0 || s.header.index == 1) && f.prev != s.last {
		return last, fmt.Sprintf("the %v continues after version %v, but %v is the one before it", f.typ, f.prev, s.last)
	}
	switch f.typ {
	case frameBatch:
		return checkBatch(f)
	case frameMark, frameSeal:
		if f.count != 0 || len(f.body) != 0 {
			return last, fmt.Sprintf("a %v with contents", f.typ)
		}
		return f.prev, ""
	}
	return last, fmt.Sprintf("unknown %v", f.typ)
}

// checkBatch says why the body of a batch is not one that Batch makes, or "" and the version of its last record.
func checkBatch(f *frame) (last Version, reason string) {
	var r Record
	last = f.prev
	count := uint32(0)
	for at := 0; at < len(f.body); count++ {
		size := takeRecord(f.body[at:], &r, at == 0)
		if size == 0 {
			return last, fmt.Sprintf("no record begins at %d of the batch", at)
		}
		if r.Version.Compare(last) <= 0 {
			return last, fmt.Sprintf("version %v is not above the one before, %v", r.Version, last)
		}
		last = r.Version
		at += size
	}
	if count == 0 || count != f.count {
		return last, fmt.Sprintf("a batch of %d records says that it has %d", count, f.count)
	}
	return last, ""
}

// stop decides what the lack of a frame at s.off means.
func (s *scanner) stop(reason string) ending {
	if isZero(s.image[s.off:]) {
		return ending{kind: endClean, offset: s.off}
	}
	// Before a frame is written, all before it has been synced. So one behind this place, be it but its header, proves
	// that this place was. Looking at headers only keeps the search linear whatever the bytes are.
	for off := s.off + s.header.block; off+frameBytes <= int64(len(s.image)); off += s.header.block {
		if checkFrameHeader(s.image, off, s.seed) == "" {
			return ending{endCorrupt, s.off, fmt.Sprintf("%s, although the frame at %d proves that it had been synced", reason, off)}
		}
	}
	return ending{endTorn, s.off, reason}
}

// sealed is stop for what follows a seal.
func (s *scanner) sealed() ending {
	if !isZero(s.image[s.off:]) {
		return ending{endCorrupt, s.off, "data after the seal of the segment"}
	}
	return ending{kind: endSealed, offset: s.off}
}

// isZero says whether b holds nothing but zeros.
func isZero(b []byte) bool {
	for len(b) >= 8 {
		if le.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
