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
	last   Version // of the last record seen, header.prev before the first
	off    int     // of the next frame
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
	s.header, s.seed, s.last = h, h.seed(), h.prev
	return s
}

// next moves to the next frame of any type.
func (s *scanner) next() bool {
	if s.end.kind != 0 {
		return false
	}
	f, size, reason := decodeFrame(s.image, s.off, s.seed)
	if reason != "" {
		s.end = s.stop(reason)
		return false
	}
	if reason := s.misplaced(&f); reason != "" {
		s.end = ending{endCorrupt, int64(s.off), reason}
		return false
	}
	s.frame = f
	s.off += size
	s.marked = f.typ == frameMark
	switch f.typ {
	case frameRecord:
		s.last = f.Version
		s.count++
	case frameSeal:
		s.end = s.sealed()
	}
	return true
}

// resume takes a newer image of the same segment and says whether it reads on where s stopped.
func (s *scanner) resume(image []byte) bool {
	if len(image) < s.off {
		return false
	}
	s.image, s.end = image, ending{}
	f, _, reason := decodeFrame(image, s.off, s.seed)
	return reason == "" && s.misplaced(&f) == ""
}

// misplaced says why a frame with good checksums can not stand where it does, or "". A crash does
// not make such frames.
func (s *scanner) misplaced(f *frame) string {
	switch {
	case f.durable < headerBytes || f.durable > f.offset:
		return fmt.Sprintf("the frame claims that %d bytes before it were synced", f.durable)
	case f.typ != frameRecord && f.typ != frameMark && f.typ != frameSeal:
		return fmt.Sprintf("unknown %v", f.typ)
	case f.typ != frameRecord:
		return ""
	case f.Version.Compare(s.last) <= 0:
		return fmt.Sprintf("version %v is not above the one before, %v", f.Version, s.last)
	}
	return ""
}

// stop decides what the lack of a frame at s.off means.
func (s *scanner) stop(reason string) ending {
	at := int64(s.off)
	if isZero(s.image[s.off:]) {
		return ending{kind: endClean, offset: at}
	}
	// Frames of the batch that is torn here may stand behind, whole. A frame of a later batch may
	// not: before that one was written, this place had been synced. A header is proof enough, and
	// looking at headers only keeps the search linear whatever the bytes are.
	for off := s.off + frameAlign; off+frameBytes <= len(s.image); off += frameAlign {
		if le.Uint32(s.image[off:]) != frameMagic || checkFrameHeader(s.image, off, s.seed) != "" {
			continue
		}
		if int64(le.Uint32(s.image[off+frmDurable:])) > at {
			return ending{endCorrupt, at, fmt.Sprintf("%s, although the frame at %d proves that it had been synced", reason, off)}
		}
	}
	return ending{endTorn, at, reason}
}

// sealed is stop for what follows a seal.
func (s *scanner) sealed() ending {
	if !isZero(s.image[s.off:]) {
		return ending{endCorrupt, int64(s.off), "data after the seal of the segment"}
	}
	return ending{kind: endSealed, offset: int64(s.off)}
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
