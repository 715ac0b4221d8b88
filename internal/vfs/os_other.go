//go:build unix && !linux

package vfs

import (
	"errors"
	"os"
)

func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

func direct(*os.File, int) int { return 0 }

func undirect(*os.File) bool { return false }

func syncData(f *os.File) error { return f.Sync() }
