package storage

import "path/filepath"

// Trim removes segments from the front of the log whose records are all up to a version, and reports how many. The caller
// has what he needs of those records elsewhere, durably, and says so to whoever opens or reads the log from then on
// (Options.Trimmed).
//
// The segment with the last durable record stays: what the next one has may be written and not synced, and after a crash
// there has to be one that says where the log ends. Segments go one by one, the oldest first, each safely before the next, so
// that a crash leaves the end of a log.
//
// It may run beside Append, Sync and Write, which do not touch a segment any more once the next one has a durable record;
// not beside another Trim, Close, or who reads records up to that version, here or in another process.
func (l *Log) Trim(upTo Version) (removed int, err error) {
	l.mu.Lock()
	durable := l.durable // later ones are not needed to tell what goes
	if upTo.Compare(l.trimmed) > 0 {
		l.trimmed = upTo
	}
	l.mu.Unlock()
	fsys := l.opt.FS
	indices, err := listSegments(fsys, l.dir)
	if err != nil {
		return 0, err
	}
	w := &walker{fsys: fsys, dir: l.dir}
	for ; len(indices) > 1; indices = indices[1:] {
		before, begun, err := w.before(indices[1])
		if err != nil || !begun || before.Compare(upTo) > 0 || before.Compare(durable) >= 0 {
			return removed, err
		}
		path := filepath.Join(l.dir, segmentName(indices[0]))
		if err := fsys.Remove(path); err != nil {
			return removed, ioError("remove", path, err)
		}
		if err := fsys.SyncDir(l.dir); err != nil {
			return removed, ioError("sync directory", l.dir, err)
		}
		removed++
	}
	return removed, nil
}
