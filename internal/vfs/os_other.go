//go:build unix && !linux

package vfs

import (
	"errors"
	"os"
)

func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

func syncData(f *os.File) error { return f.Sync() }
