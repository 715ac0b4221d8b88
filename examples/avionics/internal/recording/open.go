package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that a path names something that is no regular file.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a recording for reading.
func Open(path string) (*os.File, error) {
	// Without O_NONBLOCK the open of a FIFO would wait for its writer, which no signal and no context could end.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s: %w; give the path of a recording", path, kind(st.Mode()), ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file" // a socket can not even be opened
}
