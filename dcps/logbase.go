package dcps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// Of most topics few samples are kept, and their log has all that ever came. So beside a log there may be a file of what
// the histories of its channels were at one of its messages, its base: then what the log has up to that one is not needed,
// and may be gone (logtrim.go). Its entries are those of a file of epochs (logepochs.go):
//
//	entryLog     the log
//	entryState   a channel's history, one for each; epoch is that of the message
//	entryAfter   the message
//
// It is written beside the old one and takes its place when it is on disk, so it is whole, or damaged.

// logBase is what such a file says. The zero value is that of a log without one.
type logBase struct {
	at     storage.Version // the last message that is in the states
	log    uint64
	states map[derecho.ChannelID][]byte
}

func baseFile(dir string) string { return dir + ".base" }

// newBase is one that is being written. Nobody reads it.
func newBase(dir string) string { return baseFile(dir) + ".new" }

// readBase reads the base of the log in a directory.
func readBase(dir string) (b logBase, err error) {
	path := baseFile(dir)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	entries, rest := parseEpochs(raw)
	n := len(entries)
	if len(rest) > 0 || n < 2 || entries[0].kind != entryLog || entries[n-1].kind != entryAfter {
		return b, &storage.CorruptError{Path: path, Offset: int64(len(raw) - len(rest)),
			Reason: "it does not hold the name of a log, states, and the message that they are of"}
	}
	first := entries[0]
	var index derecho.LogIndex
	first.follow(&index)
	b = logBase{at: entries[n-1].after(), log: index.ID, states: make(map[derecho.ChannelID][]byte)}
	for _, x := range entries[1 : n-1] {
		if x.kind != entryState || x.epoch != b.at.Epoch {
			return logBase{}, &storage.CorruptError{Path: path, Reason: fmt.Sprintf("among the states as of epoch %d is an entry of kind %d as of epoch %d", b.at.Epoch, x.kind, x.epoch)}
		}
		b.states[x.ch] = x.body
	}
	return b, nil
}

// check tells whether it is the base of a log of which the file of epochs says this. What that has lost can be no more than
// came behind the base.
func (b *logBase) check(dir string, index *derecho.LogIndex) error {
	reason := ""
	switch {
	case b.at == storage.Version{}:
	case b.log != index.ID:
		reason = fmt.Sprintf("it is of log %016x, and that is log %016x: the two do not belong together", b.log, index.ID)
	case b.at.Epoch > index.Begun():
		reason = fmt.Sprintf("it is of epoch %d, and %s ends with epoch %d", b.at.Epoch, epochsFile(dir), index.Begun())
	}
	if reason != "" {
		return &storage.CorruptError{Path: baseFile(dir), Reason: reason}
	}
	return nil
}

// of is the history of a channel in the base, if that counts: a state that came later supersedes it.
func (b *logBase) of(ch derecho.ChannelID, index *derecho.LogIndex) (state []byte, counts bool) {
	state, counts = b.states[ch]
	return state, counts && index.Counts(ch, b.at.Epoch)
}

// write makes it that of the log in a directory. When it returns without an error it is on disk, in the place of the one
// before.
func (b *logBase) write(dir string) (size int, err error) {
	path, next := baseFile(dir), newBase(dir)
	if err := removeIfThere(next); err != nil {
		return 0, err
	}
	raw := epochEntry{kind: entryLog, body: binary.LittleEndian.AppendUint64(nil, b.log)}.append(nil)
	for _, ch := range slices.Sorted(maps.Keys(b.states)) {
		state := b.states[ch]
		if uint64(len(state)) > math.MaxUint32 {
			return 0, fmt.Errorf("%s: a history of %d bytes, and an entry has room for %d", path, len(state), uint32(math.MaxUint32))
		}
		raw = epochEntry{kind: entryState, epoch: b.at.Epoch, ch: ch, body: state}.append(raw)
	}
	raw = afterEntry(b.at).append(raw)
	if err := replaceFile(path, next, raw); err != nil {
		_ = os.Remove(next) // what the error is about: the old one is as good
		return 0, err
	}
	return len(raw), syncDir(filepath.Dir(path))
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
