package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// Open opens the log in dir for writing, or begins one there. It reads and checks all of it, drops
// a torn tail and reports what it found. Errors: LockedError when another process has it open,
// CorruptError, IOError; with each of them nothing of the log was changed but a torn tail dropped.
func Open(dir string, o Options) (*Log, Recovery, error) {
	o, err := o.fill()
	if err != nil {
		return nil, Recovery{}, err
	}
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, Recovery{}, ioError("make log directory", dir, err)
	}
	lock, err := takeLock(o, dir)
	if err != nil {
		return nil, Recovery{}, err
	}
	l := &Log{dir: dir, opt: o, lock: lock, filling: &Batch{}, idle: &Batch{}}
	r, err := l.recover()
	if err != nil {
		lock.Close() // the error before says more
		return nil, r, err
	}
	l.maxPayload = maxPayload(o.SegmentBytes, l.header.block)
	return l, r, nil
}

func takeLock(o Options, dir string) (interface{ Close() error }, error) {
	owner := o.Owner
	if owner == "" {
		owner = fmt.Sprintf("process %d", os.Getpid())
	}
	lock, err := o.FS.Lock(filepath.Join(dir, lockName), owner)
	if locked, ok := errors.AsType[*vfs.LockedError](err); ok {
		return nil, &LockedError{Dir: dir, Owner: locked.Owner}
	}
	return lock, ioError("lock", filepath.Join(dir, lockName), err)
}

// recover brings l to the end of what is on disk.
func (l *Log) recover() (Recovery, error) {
	if err := l.removeTemps(); err != nil {
		return Recovery{}, err
	}
	r, found, err := inspect(l.opt, l.dir)
	if err != nil {
		return r, err
	}
	if found.segments == 0 {
		return Recovery{Segments: 1}, l.begin()
	}
	if found.aborted != "" {
		if err := l.opt.FS.Remove(found.aborted); err != nil {
			return r, ioError("remove", found.aborted, err)
		}
	}
	if err := l.makeSafe(found); err != nil {
		return r, err
	}
	f, err := reopenTail(l.opt.FS, found)
	if err != nil {
		return r, err
	}
	l.maker = l.newMaker(found.header.log)
	l.continueAt(segment{found.path, f, found.header, found.header.seed()}, found.end.offset)
	l.marked, l.trimmed, l.bytes = found.marked, found.trimmed, found.bytes
	l.last, l.appended, l.durable = found.last, found.last, found.last
	return r, nil
}

// removeTemps removes segments whose making was interrupted.
func (l *Log) removeTemps() error {
	names, err := l.opt.FS.List(l.dir)
	if err != nil {
		return ioError("list", l.dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, segmentSuffix+tempSuffix) {
			path := filepath.Join(l.dir, name)
			if err := l.opt.FS.Remove(path); err != nil {
				return ioError("remove", path, err)
			}
		}
	}
	return nil
}

// begin makes the first segment of a new log.
func (l *Log) begin() error {
	id := l.opt.LogID
	if id == 0 {
		var b [8]byte
		rand.Read(b[:]) // never fails
		id = le.Uint64(b[:])
	}
	l.maker = l.newMaker(id)
	s, err := l.maker.create(1)
	if err != nil {
		return err
	}
	l.continueAt(s, headerBytes)
	return nil
}

func (l *Log) newMaker(id uint64) maker {
	return maker{fs: l.opt.FS, dir: l.dir, log: id, capacity: l.opt.SegmentBytes, spawn: l.opt.Go}
}

// makeSafe syncs what a process may have written and not synced before it died: the names, and
// the seal before a segment that has no frames yet. Recovered records count as durable.
func (l *Log) makeSafe(found survey) error {
	if err := l.opt.FS.SyncDir(l.dir); err != nil {
		return ioError("sync directory", l.dir, err)
	}
	if !found.empty || found.header.index == 1 {
		return nil
	}
	path := filepath.Join(l.dir, segmentName(found.header.index-1))
	f, err := l.opt.FS.OpenWrite(path)
	if err != nil {
		return ioError("open", path, err)
	}
	return errors.Join(ioError("sync", path, f.Sync()), ioError("close", path, f.Close()))
}

// reopenTail opens the last segment for writing at its end. What is behind the end is made zero
// on the disk first: a frame of the torn batch must not be taken for one of the batch that is
// written over its front.
func reopenTail(fsys vfs.FS, found survey) (vfs.File, error) {
	f, err := fsys.OpenWrite(found.path)
	if err != nil {
		return nil, ioError("open", found.path, err)
	}
	if found.end.kind == endTorn {
		err = ioError("truncate", found.path, f.Truncate(found.end.offset))
	}
	if err == nil {
		err = ioError("reserve space for", found.path, f.Preallocate(found.header.capacity))
	}
	if err == nil {
		err = ioError("sync", found.path, f.Sync())
	}
	if err != nil {
		f.Close() // the error before says more
		return nil, err
	}
	f.Direct(int(found.header.block)) // if it can not, writes go through the cache
	return f, nil
}
