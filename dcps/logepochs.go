package dcps

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// Beside the log of a subgroup is a file of its epochs, little endian: entries of
//
//	kind(u8) epoch(u32) channel(u64) length(u32) checksum(u32) body
//
// The checksum is CRC-32C of all else in the entry; a torn entry at the end is cut off. The first entry names the log.
// The members of the subgroup agree by these, after all of them were gone, whose log is taken up (derecho.LogState).
//
// The beginning of an epoch and the histories that were taken then are one entry, so that no log knows of an epoch without what
// it began with. Its body, for each channel that the log has from then on:
//
//	channel(u64) history(u64) since(u32) flags(u8) logs(u32) log(u64)... [opened(u32)...] [past(u32) (log(u64) opened(u32))...] [length(u32) state]
//
// with how often each of the logs had been opened if flagOpenings, the same of logs that had the channel before if
// flagEarlier, and the state if flagLoaded, or nothing in its place if flagSuperseded (logstates.go).
const (
	entryLog   = 1 // body: the log's identity, u64
	entryBegin = 2 // an epoch begins, with all channels; body: the logs that belong to it, u64 each. Not written any more
	entryState = 3 // the history of a channel when that epoch began; body: as it travels, or empty. Not written any more
	entryStart = 4 // an epoch begins; body: see above
	entryAfter = 5 // the last message in the log before the beginning that follows: its epoch, and its sequence number instead of a channel

	entryOpened = 6 // the log was opened, for the n-th time: n instead of a channel; it is durable before anybody is told of the log
	entryEnded  = 7 // writers ended before a message: its epoch, and its sequence number instead of a channel; body: logends.go

	entryMessages = 8 // messages of a channel, in a base only: logbase.go

	// Of entryStart. Beginnings without flagOpenings are of earlier versions.
	flagWritten, flagLoaded, flagOpenings, flagEarlier, flagSuperseded = 1, 2, 4, 8, 16

	epochEntrySize = 1 + 4 + 8 + 4 + 4
)

func epochsFile(dir string) string { return dir + ".epochs" }

// epochFile is that file, open for appending, and what it says in the end.
type epochFile struct {
	f     *os.File
	index derecho.LogIndex
}

// epochEntry is one entry.
type epochEntry struct {
	kind  byte
	epoch uint32
	ch    derecho.ChannelID
	body  []byte
}

// openEpochs opens the file, and makes it if there is none. last is the last message that the log has. A beginning that
// came behind a later one is cut off, with all that follow: the disk has lost what it had called durable, and the log
// is one that ends there. But how often it was opened is not forgotten, unless the process dies before open has written
// it again.
func openEpochs(path string, last storage.Version) (*epochFile, error) {
	entries, whole, err := readEpochs(path)
	if err != nil {
		return nil, err
	}
	e := &epochFile{}
	info, err := os.Stat(path)
	if len(entries) == 0 && last != (storage.Version{}) { // the file is there before the first message is
		return nil, &storage.CorruptError{Path: path,
			Reason: fmt.Sprintf("the file, or the entry in it that names the log, is missing or damaged, and the log has messages, up to %d of epoch %d", last.Seq, last.Epoch)}
	}
	if begun := begunBy(entries); err == nil && info.Size() > whole && last.Epoch > begun {
		return nil, &storage.CorruptError{Path: path, Offset: whole,
			Reason: fmt.Sprintf("an entry is damaged, and the log has messages of an epoch, %d, whose beginning was on disk before them; the last one that is there is of epoch %d", last.Epoch, begun)}
	}
	if k := slices.IndexFunc(entries, func(x epochEntry) bool { return x.kind == entryAfter && x.after().Compare(last) > 0 }); k >= 0 {
		for _, x := range entries[k:] {
			whole -= int64(epochEntrySize + len(x.body))
			if x.kind == entryOpened {
				e.index.Open(uint32(x.ch))
			}
		}
		entries = entries[:k]
	}
	if err := checkStates(path, entries); err != nil {
		return nil, err
	}
	entries, whole = slim(path, entries, whole)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	e.f = f
	// What is torn was not told to anybody.
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, x := range entries {
		x.follow(&e.index)
	}
	if e.index.ID == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:])
		b[0] |= 1
		if err := e.put(epochEntry{kind: entryLog, body: b[:]}); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return e, nil
}

func begunBy(entries []epochEntry) uint32 {
	index := indexOf(entries)
	return index.Begun()
}

// indexOf is what entries say of the channels.
func indexOf(entries []epochEntry) (index derecho.LogIndex) {
	for _, x := range entries {
		x.follow(&index)
	}
	return index
}

func (x *epochEntry) follow(index *derecho.LogIndex) {
	switch x.kind {
	case entryLog:
		index.ID = binary.LittleEndian.Uint64(x.body)
	case entryBegin:
		var logs []uint64
		for b := x.body; len(b) >= 8; b = b[8:] {
			logs = append(logs, binary.LittleEndian.Uint64(b))
		}
		index.BeginAll(x.epoch, logs)
	case entryState:
		index.Load(x.ch, x.epoch)
	case entryAfter:
		index.After(x.after().Epoch, x.after().Seq)
	case entryOpened:
		index.Open(uint32(x.ch))
	case entryStart:
		s, _ := x.start() // it was made here, or read before: parseEpochs
		index.Begin(s)
	}
}

// startEntry is the entry of the beginning of an epoch, but for the states of some channels, which later ones have superseded.
func startEntry(s *derecho.EpochStart, superseded ...derecho.ChannelID) epochEntry {
	le := binary.LittleEndian
	var b []byte
	for _, c := range s.Channels {
		flags := byte(0)
		if c.Written {
			flags |= flagWritten
		}
		if c.Loaded {
			flags |= flagLoaded
		}
		if len(c.Openings) == len(c.Logs) {
			flags |= flagOpenings
		}
		if len(c.Past) > 0 {
			flags |= flagEarlier
		}
		if slices.Contains(superseded, c.Channel) {
			flags |= flagSuperseded
		}
		b = le.AppendUint64(b, uint64(c.Channel))
		b = le.AppendUint64(b, c.History)
		b = le.AppendUint32(b, c.Since)
		b = append(b, flags)
		b = le.AppendUint32(b, uint32(len(c.Logs)))
		for _, id := range c.Logs {
			b = le.AppendUint64(b, id)
		}
		if flags&flagOpenings != 0 {
			for _, n := range c.Openings {
				b = le.AppendUint32(b, n)
			}
		}
		if flags&flagEarlier != 0 {
			b = le.AppendUint32(b, uint32(len(c.Past)))
			for _, o := range c.Past {
				b = le.AppendUint32(le.AppendUint64(b, o.Log), o.Count)
			}
		}
		if c.Loaded && flags&flagSuperseded == 0 {
			b = le.AppendUint32(b, uint32(len(c.State)))
			b = append(b, c.State...)
		}
	}
	return epochEntry{kind: entryStart, epoch: s.Epoch, body: b}
}

// afterEntry and after: the last message in the log.
func afterEntry(v storage.Version) epochEntry {
	return epochEntry{kind: entryAfter, epoch: v.Epoch, ch: derecho.ChannelID(v.Seq)}
}

func (x *epochEntry) after() storage.Version {
	return storage.Version{Epoch: x.epoch, Seq: uint64(x.ch)}
}

// open takes note that the log is opened once more.
func (e *epochFile) open() error {
	return e.put(epochEntry{kind: entryOpened, ch: derecho.ChannelID(e.index.Opened() + 1)})
}

var errStart = errors.New("the beginning of an epoch is malformed")

// start reads what startEntry wrote. States are parts of the entry.
func (x *epochEntry) start() (*derecho.EpochStart, error) {
	s, _, err := x.startWithout()
	return s, err
}

// startWithout is start, and tells of which channels the states are left out.
func (x *epochEntry) startWithout() (s *derecho.EpochStart, superseded []derecho.ChannelID, err error) {
	le := binary.LittleEndian
	s = &derecho.EpochStart{Epoch: x.epoch}
	for b := x.body; len(b) > 0; {
		const fixed = 8 + 8 + 4 + 1 + 4
		if len(b) < fixed {
			return nil, nil, errStart
		}
		c := derecho.ChannelStart{Channel: derecho.ChannelID(le.Uint64(b)), History: le.Uint64(b[8:]), Since: le.Uint32(b[16:])}
		flags, logs := b[20], int(le.Uint32(b[21:]))
		c.Written, c.Loaded = flags&flagWritten != 0, flags&flagLoaded != 0
		if b = b[fixed:]; logs > len(b)/8 {
			return nil, nil, errStart
		}
		for range logs {
			c.Logs = append(c.Logs, le.Uint64(b))
			b = b[8:]
		}
		if flags&flagOpenings != 0 {
			if logs > len(b)/4 {
				return nil, nil, errStart
			}
			for range logs {
				c.Openings = append(c.Openings, le.Uint32(b))
				b = b[4:]
			}
		}
		if flags&flagEarlier != 0 {
			if len(b) < 4 || le.Uint32(b) > uint32((len(b)-4)/12) {
				return nil, nil, errStart
			}
			past := le.Uint32(b)
			b = b[4:]
			for range past {
				c.Past = append(c.Past, derecho.Opening{Log: le.Uint64(b), Count: le.Uint32(b[8:])})
				b = b[12:]
			}
		}
		if c.Loaded && flags&flagSuperseded != 0 {
			superseded = append(superseded, c.Channel)
		} else if c.Loaded {
			if len(b) < 4 || int(le.Uint32(b)) > len(b)-4 {
				return nil, nil, errStart
			}
			c.State, b = b[4:4+le.Uint32(b)], b[4+le.Uint32(b):]
		}
		s.Channels = append(s.Channels, c)
	}
	return s, superseded, nil
}

// put appends entries, all of which are durable when it returns. Until then a crash may leave any part of them.
func (e *epochFile) put(entries ...epochEntry) error { return e.putSlowly(nil, entries...) }

// putPiece is how much of a large state is written and synced at a time: who watches the disk is to see it get on, be
// it as slow as half a megabyte a second.
const putPiece = 16 << 20

// putSlowly is put, and calls moves, if there is one, each time that another piece is on disk.
func (e *epochFile) putSlowly(moves func(), entries ...epochEntry) error {
	var b []byte
	for _, x := range entries {
		if uint64(len(x.body)) > math.MaxUint32 {
			return fmt.Errorf("%s: epoch %d begins with states of %d bytes, and an entry has room for %d: keep less of the topic (DURABILITY_SERVICE)", e.f.Name(), x.epoch, len(x.body), uint32(math.MaxUint32))
		}
		b = x.append(b)
	}
	for {
		n := min(len(b), putPiece)
		if _, err := e.f.Write(b[:n]); err != nil {
			return err
		}
		if err := e.f.Sync(); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			break
		}
		if moves != nil {
			moves()
		}
	}
	for _, x := range entries {
		x.follow(&e.index)
	}
	return nil
}

func (x epochEntry) append(b []byte) []byte { return append(x.head(b), x.body...) }

// head appends what stands before the body.
func (x epochEntry) head(b []byte) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = append(b, x.kind)
	b = le.AppendUint32(b, x.epoch)
	b = le.AppendUint64(b, uint64(x.ch))
	b = le.AppendUint32(b, uint32(len(x.body)))
	return le.AppendUint32(b, crc32.Update(crc32.Checksum(b[start:], castagnoli), castagnoli, x.body))
}

// readEpochs reads the entries of a file, none if there is no file, and how long the whole ones are together.
func readEpochs(path string) (entries []epochEntry, whole int64, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	entries, rest := parseEpochs(b)
	whole = int64(len(b) - len(rest))
	return entries, whole, checkTail(path, whole, rest, func(b []byte, sum checksum) int {
		_, n := nextEpoch(b, sum)
		if n == len(b) && n == len(rest)-epochEntrySize {
			return 0 // a beginning, and before it what was written with it, an entryAfter: what is torn was one put
		}
		return n
	})
}

func parseEpochs(b []byte) (entries []epochEntry, rest []byte) { return parseEntries(b, entryEnded) }

// parseEntries reads entries of the kinds up to one.
func parseEntries(b []byte, kinds byte) (entries []epochEntry, rest []byte) {
	for x, n := nextEntry(b, sumOf, kinds); n > 0; x, n = nextEntry(b, sumOf, kinds) {
		entries = append(entries, x)
		b = b[n:]
	}
	return entries, b
}

// nextEpoch is the entry with which b begins, and its size: 0 if it is not whole.
func nextEpoch(b []byte, sum checksum) (x epochEntry, n int) { return nextEntry(b, sum, entryEnded) }

func nextEntry(b []byte, sum checksum, kinds byte) (x epochEntry, n int) {
	le := binary.LittleEndian
	if len(b) < epochEntrySize || b[0] < entryLog || b[0] > kinds {
		return x, 0
	}
	size := int(le.Uint32(b[13:]))
	if size < 0 || size > len(b)-epochEntrySize {
		return x, 0
	}
	x = epochEntry{b[0], le.Uint32(b[1:]), derecho.ChannelID(le.Uint64(b[5:])), b[epochEntrySize : epochEntrySize+size]}
	if sum(b, 17, size) != le.Uint32(b[17:]) || x.kind == entryLog && size != 8 || x.kind == entryEnded && (size == 0 || size%endedWriterSize != 0) {
		return x, 0
	}
	if _, err := x.start(); x.kind == entryStart && err != nil {
		return x, 0
	}
	return x, epochEntrySize + size
}

// stateOf is the latest state of a channel that the entries have.
func stateOf(entries []epochEntry, ch derecho.ChannelID) (state []byte) {
	for _, x := range entries {
		switch x.kind {
		case entryState:
			if x.ch == ch {
				state = x.body
			}
		case entryStart:
			s, _ := x.start() // it was read before: parseEpochs
			for _, c := range s.Channels {
				if c.Channel == ch && c.Loaded {
					state = c.State
				}
			}
		}
	}
	return state
}
