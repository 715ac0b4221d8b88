package storage

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// walker scans the segments of a directory in order and checks that they make one log. It may run
// beside the writer, so nothing counts as corrupt on one reading: parts of an image read later may
// be newer than parts read earlier.
type walker struct {
	fsys    vfs.FS
	dir     string
	trimmed func() (Version, error)            // see Options
	visit   func(path string, s *scanner) bool // each frame; false stops the walk

	image []byte // of the current segment, reused
	found survey
}

// survey is what a walk found.
type survey struct {
	segments int
	header   segmentHeader // of the last segment with frames, or of the only one
	path     string
	end      ending // of that segment
	last     Version
	marked   bool // its last frame is a mark
	empty    bool // it has no frames
	// aborted is the path of a segment that was made but not begun: its predecessor has no seal.
	aborted string
	bytes   int64   // of frames
	trimmed Version // what is missing at the front is up to it
	stopped bool    // by visit
}

// walk visits the frames of the log from the segment on that holds version from, or from the first one that is left.
func walk(o Options, dir string, from Version, visit func(path string, s *scanner) bool) (survey, error) {
	w := &walker{fsys: o.FS, dir: dir, trimmed: o.Trimmed, visit: visit}
	err := w.run(from)
	return w.found, err
}

func (w *walker) run(from Version) error {
	indices, err := listSegments(w.fsys, w.dir)
	if err != nil || len(indices) == 0 {
		return err
	}
	if err := w.checkFirst(indices[0]); err != nil {
		return err
	}
	start, err := w.start(indices, from)
	if err != nil {
		return err
	}
	for i := start; i < len(indices); i++ {
		if i > start && indices[i] != indices[i-1]+1 {
			return w.missing(indices[i-1] + 1)
		}
		more, err := w.segment(indices[i], indices[i+1:])
		if err != nil || !more {
			return err
		}
		if i+1 == len(indices) && w.found.end.kind == endSealed {
			// The successor was made before the seal, so a list made after it must have it.
			if indices, err = listSegments(w.fsys, w.dir); err != nil {
				return err
			}
			i, _ = slices.BinarySearch(indices, w.found.header.index)
			if i+1 >= len(indices) {
				return w.missing(w.found.header.index + 1)
			}
		}
	}
	return nil
}

// start finds the last segment that begins at or below from.
func (w *walker) start(indices []uint64, from Version) (int, error) {
	var failed error
	n := sort.Search(len(indices)-1, func(i int) bool { // the first is always early enough
		before, begun, err := w.before(indices[i+1])
		if err != nil {
			failed = err
			return true
		}
		// Without a frame it is the last segment and not begun. The scan will say if it is not.
		return !begun || before.Compare(from) >= 0
	})
	return n, failed
}

// before is the version of the last record before a segment, as its first frame says; false if it has none.
func (w *walker) before(index uint64) (Version, bool, error) {
	path := filepath.Join(w.dir, segmentName(index))
	image, err := readSegment(w.fsys, path, headerBytes+frameBytes, w.image)
	if err != nil {
		return Version{}, false, err
	}
	w.image = image
	h, offset, reason := decodeHeader(image)
	switch {
	case reason != "":
		return Version{}, false, &CorruptError{path, offset, reason}
	case checkFrameHeader(image, headerBytes, h.seed()) != "":
		return Version{}, false, nil
	}
	return prevOf(image[headerBytes:]), true, nil
}

// checkFirst: the log begins with this segment, or lacks nothing before it but what was trimmed.
func (w *walker) checkFirst(index uint64) error {
	if index == 1 {
		return nil
	}
	before, begun, err := w.before(index)
	if err != nil {
		return err
	}
	if w.trimmed != nil {
		if w.found.trimmed, err = w.trimmed(); err != nil {
			return err
		}
	}
	if !begun || before.Compare(w.found.trimmed) > 0 {
		return w.missing(index - 1)
	}
	return nil
}

// segment scans one segment; later are the indices of those after it.
func (w *walker) segment(index uint64, later []uint64) (more bool, err error) {
	path := filepath.Join(w.dir, segmentName(index))
	if w.image, err = readSegment(w.fsys, path, maxSegmentBytes, w.image); err != nil {
		return false, err
	}
	s := newScanner(w.image)
	if err := w.link(path, index, s); err != nil {
		return false, err
	}
	first := w.found.segments == 0
	before := w.found.last
	w.found.segments++
	w.found.header, w.found.path = s.header, path
	scanned := int64(headerBytes)
	for {
		for s.next() {
			if s.frames == 1 && s.prev != before && !first {
				return false, &CorruptError{path, headerBytes + frmPrevSeq,
					fmt.Sprintf("the segment continues after version %v, but the one before it ends with %v", s.prev, before)}
			}
			if !w.visit(path, s) {
				w.found.stopped = true
				return false, nil
			}
		}
		w.found.end, w.found.marked, w.found.empty = s.end, s.marked, s.frames == 0
		if s.frames > 0 {
			w.found.last = s.last
			w.found.bytes, scanned = w.found.bytes+s.off-scanned, s.off
		}
		if s.end.kind == endSealed {
			return true, nil
		}
		suspect := s.end
		if s.end.kind != endCorrupt {
			if len(later) == 0 {
				return false, nil
			}
			next, empty, err := w.unused(later[0])
			if err != nil {
				return false, err
			}
			if empty && len(later) == 1 {
				w.found.aborted = next
				return false, nil
			}
			if suspect.reason == "" {
				suspect.reason = "the segment ends here without a seal"
			}
			suspect.reason += fmt.Sprintf(", although segment %d was begun after it", later[0])
		}
		// Once more with bytes that are newer than the evidence against these.
		if w.image, err = readSegment(w.fsys, path, maxSegmentBytes, w.image); err != nil {
			return false, err
		}
		if !s.resume(w.image) {
			return false, &CorruptError{path, suspect.offset, suspect.reason}
		}
	}
}

// link checks that the segment is the one that follows what was found so far.
func (w *walker) link(path string, index uint64, s *scanner) error {
	h, last := s.header, &w.found
	corrupt := func(offset int64, format string, args ...any) error {
		return &CorruptError{path, offset, fmt.Sprintf(format, args...)}
	}
	switch {
	case s.end.kind == endCorrupt:
		return corrupt(s.end.offset, "%s", s.end.reason)
	case h.index != index:
		return corrupt(hdrIndex, "the file holds segment %d", h.index)
	case last.segments == 0:
		return nil
	case h.log != last.header.log:
		return corrupt(hdrLog, "the segment belongs to another log, %016x instead of %016x", h.log, last.header.log)
	}
	return nil
}

// unused says whether a segment has nothing but its header.
func (w *walker) unused(index uint64) (path string, empty bool, err error) {
	path = filepath.Join(w.dir, segmentName(index))
	image, err := readSegment(w.fsys, path, maxSegmentBytes, nil) // rare: a crash at a rollover
	if err != nil {
		return path, false, err
	}
	return path, len(image) >= headerBytes && isZero(image[headerBytes:]), nil
}

func (w *walker) missing(index uint64) error {
	return &CorruptError{w.dir, 0, "segment " + segmentName(index) + " is missing"}
}
