package conductor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runDir is the directory of a run's logs. A temporary one holds a lock file, whose lock the conductor and each of its
// processes have: while one of them lives it is held, and when the last is gone, even by SIGKILL, it is free. That is how
// a later run tells what it may sweep.
type runDir struct {
	path string
	lock *os.File // nil if the directory stays
}

const (
	tempPrefix = "avionics-"
	lockName   = "avionics.lock"
	lockText   = "This directory is of a run of examples/avionics, and may go when nobody has locked this file.\n"
)

// makeRunDir makes a directory below parent that stays, or a temporary one if parent is empty.
func makeRunDir(parent string) (*runDir, error) {
	if parent == "" {
		return makeTemporary(os.TempDir())
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("-dir: %w", err)
	}
	path, err := os.MkdirTemp(parent, "run-"+time.Now().Format("20060102-150405")+"-")
	if err != nil {
		return nil, fmt.Errorf("-dir: %w", err)
	}
	return &runDir{path: path}, nil
}

func makeTemporary(temp string) (*runDir, error) {
	path, err := os.MkdirTemp(temp, tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a directory for the logs: %w", err)
	}
	d := &runDir{path: path}
	if err := d.takeLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the directory for the logs: %w", err), os.RemoveAll(path))
	}
	return d, nil
}

// takeLock makes the lock file under another name first: under its own it is never seen without its lock.
func (d *runDir) takeLock() (err error) {
	name := filepath.Join(d.path, lockName)
	d.lock, err = os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := d.lock.WriteString(lockText); err != nil {
		return err
	}
	if err := flock(d.lock); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// flock locks a file, or fails at once if somebody else has.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// remove ends a directory that does not stay. The lock file goes last: until then another run can finish the work.
func (d *runDir) remove() error {
	if d.lock == nil {
		return nil
	}
	defer func() { _ = d.lock.Close() }() // nothing was written since it was locked
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			if err := os.RemoveAll(filepath.Join(d.path, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(d.path)
}

// sweep removes the directories below temp that runs left behind which were killed, and lists them. It touches none that a
// run still uses, that belongs to another user, or that this program did not make.
func sweep(temp string) (removed []string, err error) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		d := abandoned(filepath.Join(temp, e.Name()))
		if d == nil {
			continue
		}
		if e := d.remove(); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, d.path)
	}
	return removed, err
}

// abandoned gives the directory with its lock taken, or nil if it is not one that a run left behind.
func abandoned(path string) *runDir {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() || !mine(st) {
		return nil
	}
	name := filepath.Join(path, lockName)
	lock, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	opened, err1 := lock.Stat()
	text, err2 := io.ReadAll(io.LimitReader(lock, int64(len(lockText))+1))
	if err1 != nil || err2 != nil || !opened.Mode().IsRegular() || !mine(opened) || string(text) != lockText || flock(lock) != nil {
		_ = lock.Close()
		return nil
	}
	if now, err := os.Lstat(name); err != nil || !os.SameFile(now, opened) { // somebody else swept it meanwhile
		_ = lock.Close()
		return nil
	}
	return &runDir{path: path, lock: lock}
}

func mine(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
