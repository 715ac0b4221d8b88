package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyRegularFilesAreRecordings(t *testing.T) {
	dir := t.TempDir()
	file, fifo, link := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("content"), 0o600))
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, os.Symlink(file, link))
	for _, path := range []string{file, link} {
		f, err := Open(path)
		require.NoError(t, err)
		b := make([]byte, 7)
		_, err = f.Read(b)
		require.NoError(t, err)
		assert.Equal(t, "content", string(b))
		require.NoError(t, f.Close())
	}
	for path, want := range map[string]string{
		fifo:        fifo + " is a pipe: not a regular file; give the path of a recording", // nobody writes to it
		"/dev/zero": "/dev/zero is a device: not a regular file",
		dir:         dir + " is a directory: not a regular file",
	} {
		_, err := Open(path)
		require.ErrorIs(t, err, ErrNotRegular)
		assert.Contains(t, err.Error(), want)
	}
	_, err := Open(filepath.Join(dir, "none"))
	assert.True(t, errors.Is(err, fs.ErrNotExist))
}
