package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// segment is a file that frames are written to.
type segment struct {
	path   string
	file   vfs.File
	header segmentHeader
	seed   uint32 // of its checksums
}

// maker makes segments.
type maker struct {
	fs       vfs.FS
	dir      string
	log      uint64
	capacity int64
	spawn    func(func())
}

// making is a segment that is being made, beside the writer, so that no record waits for it.
type making struct {
	done chan struct{}
	s    segment
	err  error
}

func (m *maker) start(index uint64) *making {
	g := &making{done: make(chan struct{})}
	m.spawn(func() {
		defer close(g.done)
		g.s, g.err = m.create(index)
	})
	return g
}

func (g *making) wait() (segment, error) {
	<-g.done
	return g.s, g.err
}

// create makes a segment without frames, its space reserved. When it returns, the segment is safe under its name; before,
// there is at most a file with tempSuffix.
func (m *maker) create(index uint64) (segment, error) {
	h := segmentHeader{log: m.log, index: index, capacity: m.capacity}
	path := filepath.Join(m.dir, segmentName(index))
	temp := path + tempSuffix
	f, err := m.fs.Create(temp)
	if err != nil {
		return segment{}, ioError("create", temp, err)
	}
	h.block = int64(max(f.Direct(maxBlockBytes), minBlockBytes))
	if h.capacity < headerBytes+4*h.block {
		err = fmt.Errorf("%w: SegmentBytes %d is too small for a device with sectors of %d bytes", ErrOptions, h.capacity, h.block)
	}
	if err == nil {
		err = ioError("reserve space for", temp, f.Preallocate(h.capacity))
	}
	if err == nil {
		image := vfs.Aligned(headerBytes)
		h.encode(image)
		_, err = f.WriteAt(image, 0)
		err = ioError("write", temp, err)
	}
	if err == nil {
		err = ioError("sync", temp, f.Sync())
	}
	if err == nil {
		err = ioError("rename", temp, m.fs.Rename(temp, path))
	}
	if err == nil {
		err = ioError("sync directory", m.dir, m.fs.SyncDir(m.dir))
	}
	if err != nil {
		f.Close()         // the error before says more
		m.fs.Remove(temp) // it may have taken what was left of a disk that is full; under its name it stays for the next Open
		return segment{}, err
	}
	return segment{path, f, h, h.seed()}, nil
}

// listSegments returns the indices of the segments in dir, ascending.
func listSegments(fsys vfs.FS, dir string) ([]uint64, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, ioError("list", dir, err)
	}
	var indices []uint64
	for _, name := range names {
		if index, ok := segmentIndex(name); ok {
			indices = append(indices, index)
		}
	}
	return indices, nil
}

// readSegment reads a segment, or as much of its front as limit says, into buf, which it may
// replace by a larger one.
func readSegment(fsys vfs.FS, path string, limit int64, buf []byte) (image []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, ioError("open", path, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, ioError("read", path, err)
	}
	if size > maxSegmentBytes {
		return nil, &CorruptError{path, maxSegmentBytes, fmt.Sprintf("the file has %d bytes, a segment at most %d", size, maxSegmentBytes)}
	}
	size = min(size, limit)
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	n, err := f.ReadAt(buf[:size], 0)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the writer has cut the file in between
		return nil, ioError("read", path, err)
	}
	return buf[:n], nil
}
