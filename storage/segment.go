package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// createSegment makes a segment without frames. When it returns, the segment is safe under its
// name; before, there is at most a file with tempSuffix.
func createSegment(fsys vfs.FS, dir string, h segmentHeader) (vfs.File, error) {
	path := filepath.Join(dir, segmentName(h.index))
	temp := path + tempSuffix
	f, err := fsys.Create(temp)
	if err != nil {
		return nil, ioError("create", temp, err)
	}
	err = ioError("reserve space for", temp, f.Preallocate(h.capacity))
	if err == nil {
		_, err = f.WriteAt(h.encode(), 0)
		err = ioError("write", temp, err)
	}
	if err == nil {
		err = ioError("sync", temp, f.Sync())
	}
	if err == nil {
		err = ioError("rename", temp, fsys.Rename(temp, path))
	}
	if err == nil {
		err = ioError("sync directory", dir, fsys.SyncDir(dir))
	}
	if err != nil {
		f.Close() // the error before says more
		return nil, err
	}
	return f, nil
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
