package dcps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// Of most topics few samples are kept, and their log has all that ever came. So beside a log there may be a file of what
// its channels were at one of its messages, its base: then what the log has up to that one is not needed, and may be gone
// (logtrim.go). Its entries are those of a file of epochs (logepochs.go), and one kind more:
//
//	entryLog      the log
//	entryAfter    a message
//	entryState    a channel's history at that message, and its epoch
//	entryMessages messages of a channel, as they were in the log: behind its history, or all if there is none
//	entryAfter    the message up to which all of this is, as the last entry
//
// entryAfter and entryState come once for each channel with a history, and entryMessages for those that the process did not
// store when the base was made. A message is
//
//	epoch(u32) seq(u64) timestamp(i64) sender(u64) writer number(u64) writer(u32) kind(u8) flags(u8) length(u32) payload
//
// The file is written beside the old one and takes its place when it is on disk, so it is whole, or damaged.

// logBase is what such a file says. The zero value is that of a log without one.
type logBase struct {
	at       storage.Version // the last message that is in it
	log      uint64
	states   map[derecho.ChannelID]stateAt
	messages map[derecho.ChannelID][]byte
	size     int64 // of the file
}

// stateAt is a history at one message.
type stateAt struct {
	at    storage.Version
	state []byte
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
	entries, rest := parseEntries(raw, entryMessages)
	n := len(entries)
	if len(rest) > 0 || n < 2 || entries[0].kind != entryLog || entries[n-1].kind != entryAfter {
		return b, &storage.CorruptError{Path: path, Offset: int64(len(raw) - len(rest)),
			Reason: "it does not hold the name of a log, what its topics were, and the message up to which that is"}
	}
	b = logBase{log: binary.LittleEndian.Uint64(entries[0].body), size: int64(len(raw)),
		states: make(map[derecho.ChannelID]stateAt), messages: make(map[derecho.ChannelID][]byte)}
	for _, x := range entries[1:] {
		switch {
		case x.kind == entryAfter:
			b.at = x.after()
		case x.kind == entryState && x.epoch == b.at.Epoch:
			b.states[x.ch] = stateAt{b.at, x.body}
		case x.kind == entryMessages && wholeMessages(x.body):
			b.messages[x.ch] = x.body
		default:
			return logBase{}, &storage.CorruptError{Path: path, Reason: fmt.Sprintf("behind message %v is an entry of kind %d of epoch %d, with %d bytes", b.at, x.kind, x.epoch, len(x.body))}
		}
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

// has: it stands for what the log had of a channel.
func (b *logBase) has(ch derecho.ChannelID) bool {
	_, is := b.states[ch]
	return is || b.messages[ch] != nil
}

// channels are those that it has.
func (b *logBase) channels() []derecho.ChannelID {
	return slices.AppendSeq(slices.Collect(maps.Keys(b.states)), maps.Keys(b.messages))
}

// state is the history of a channel, if it has one and that counts: a state that came later supersedes it.
func (b *logBase) state(ch derecho.ChannelID, index *derecho.LogIndex) (s stateAt, counts bool) {
	s, has := b.states[ch]
	return s, has && index.Counts(ch, s.at.Epoch)
}

// records are the messages of a channel behind what the base has a history of: those that it has, and those of the log. It
// counts what it has read.
func (b *logBase) records(dir string, ch derecho.ChannelID, read *atomic.Uint64) iter.Seq2[*storage.Record, error] {
	return func(yield func(*storage.Record, error) bool) {
		for messages := b.messages[ch]; len(messages) > 0; {
			var r storage.Record
			messages = takeMessage(messages, &r)
			if r.Channel = uint64(ch); !yield(&r, nil) {
				return
			}
		}
		want := func(x derecho.ChannelID) bool {
			read.Add(1)
			return x == ch
		}
		for r, err := range b.logged(dir, want) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// logged are the messages of some channels in the log of a directory for which the base does not stand.
func (b *logBase) logged(dir string, want func(derecho.ChannelID) bool) iter.Seq2[*storage.Record, error] {
	return func(yield func(*storage.Record, error) bool) {
		o := storage.Options{Trimmed: func() (storage.Version, error) { return b.at, nil }}
		for r, err := range storage.Read(dir, o, storage.Version{}) {
			if err == nil {
				if ch := derecho.ChannelID(r.Channel); !want(ch) || b.has(ch) && r.Compare(b.at) <= 0 {
					continue
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

const messageHead = 4 + 8 + 8 + 8 + 8 + 4 + 1 + 1 + 4

func appendMessage(b []byte, r *storage.Record) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, r.Epoch)
	b = le.AppendUint64(b, r.Seq)
	b = le.AppendUint64(b, uint64(r.Timestamp))
	b = le.AppendUint64(b, r.Sender)
	b = le.AppendUint64(b, r.WriterSeq)
	b = le.AppendUint32(b, r.Writer)
	b = append(b, r.Kind, r.Flags)
	b = le.AppendUint32(b, uint32(len(r.Payload)))
	return append(b, r.Payload...)
}

// takeMessage reads the first of some messages, and gives the others. Its payload is a part of b.
func takeMessage(b []byte, r *storage.Record) (rest []byte) {
	le := binary.LittleEndian
	*r = storage.Record{
		Version:   storage.Version{Epoch: le.Uint32(b), Seq: le.Uint64(b[4:])},
		Timestamp: int64(le.Uint64(b[12:])), Sender: le.Uint64(b[20:]), WriterSeq: le.Uint64(b[28:]), Writer: le.Uint32(b[36:]), Kind: b[40], Flags: b[41],
	}
	end := messageHead + int(le.Uint32(b[42:]))
	r.Payload = b[messageHead:end]
	return b[end:]
}

// wholeMessages: b is what appendMessage makes.
func wholeMessages(b []byte) bool {
	for len(b) > 0 {
		if len(b) < messageHead || uint64(binary.LittleEndian.Uint32(b[42:])) > uint64(len(b)-messageHead) {
			return false
		}
		var r storage.Record
		b = takeMessage(b, &r)
	}
	return true
}

// baseWriter writes a base beside the one that there is.
type baseWriter struct {
	f        *os.File
	size     int64
	unsynced int
	stop     func() error // called between two pieces: why it is not to go on
}

// errStopped: the log is closed, or has failed.
var errStopped = errors.New("the log has ended")

func startBase(dir string, log uint64, stop func() error) (*baseWriter, error) {
	if err := removeIfThere(newBase(dir)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(newBase(dir), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	w := &baseWriter{f: f, stop: stop}
	return w, w.put(epochEntry{kind: entryLog, body: binary.LittleEndian.AppendUint64(nil, log)})
}

// put writes an entry, and syncs each piece of it: what is written to the log meanwhile is not to wait for all of it.
func (w *baseWriter) put(x epochEntry) error {
	if uint64(len(x.body)) > math.MaxUint32 {
		return fmt.Errorf("%s: a topic of %d bytes, and an entry has room for %d", w.f.Name(), len(x.body), uint32(math.MaxUint32))
	}
	for _, b := range [][]byte{x.head(nil), x.body} {
		for len(b) > 0 {
			if err := w.stop(); err != nil {
				return err
			}
			n, err := w.f.Write(b[:min(len(b), putPiece)])
			if err != nil {
				return err
			}
			b, w.size = b[n:], w.size+int64(n)
			if w.unsynced += n; w.unsynced >= putPiece {
				if err := w.f.Sync(); err != nil {
					return err
				}
				w.unsynced = 0
			}
		}
	}
	return nil
}

// state writes the history of a channel.
func (w *baseWriter) state(ch derecho.ChannelID, s stateAt) error {
	if err := w.put(afterEntry(s.at)); err != nil {
		return err
	}
	return w.put(epochEntry{kind: entryState, epoch: s.at.Epoch, ch: ch, body: s.state})
}

// finish writes up to which message the base is. It is on disk then, and not the log's yet.
func (w *baseWriter) finish(at storage.Version) error {
	err := w.put(afterEntry(at))
	if err == nil {
		err = w.f.Sync()
	}
	return err
}

// adopt makes what was written the base of the log. When it returns without an error it is so after a crash, too.
func (w *baseWriter) adopt(dir string) error {
	if err := os.Rename(newBase(dir), baseFile(dir)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// close ends the writing. What was not adopted is removed.
func (w *baseWriter) close(dir string) error {
	return errors.Join(w.f.Close(), removeIfThere(newBase(dir)))
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
