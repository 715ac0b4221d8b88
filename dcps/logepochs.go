package dcps

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/omg-dds-go/dds/derecho"
)

// Beside the log of a subgroup is a file of its epochs, little endian: entries of
//
//	kind(u8) epoch(u32) channel(u64) length(u32) checksum(u32) body
//
// The checksum is CRC-32C of all else in the entry; a torn entry at the end is cut off. The first entry names the log.
// The members of the subgroup agree by these, after all of them were gone, whose log is taken up (derecho.LogState).
const (
	entryLog   = 1 // body: the log's identity, u64
	entryBegin = 2 // an epoch begins; body: the logs that belong to it, u64 each
	entryState = 3 // the history of a channel when the epoch began; body: as it travels (store.save), or empty

	epochEntrySize = 1 + 4 + 8 + 4 + 4
)

func epochsFile(dir string) string { return dir + ".epochs" }

// epochFile is that file, open for appending, and what it says in the end.
type epochFile struct {
	f     *os.File
	state derecho.LogState
}

// epochEntry is one entry.
type epochEntry struct {
	kind  byte
	epoch uint32
	ch    derecho.ChannelID
	body  []byte
}

// openEpochs opens the file, and makes it if there is none.
func openEpochs(path string) (*epochFile, error) {
	entries, whole, err := readEpochs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	e := &epochFile{f: f}
	// What is torn was not told to anybody.
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, x := range entries {
		e.follow(x)
	}
	if e.state.ID == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:])
		b[0] |= 1
		if err := e.put(epochEntry{kind: entryLog, body: b[:]}); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return e, nil
}

func (e *epochFile) follow(x epochEntry) {
	switch x.kind {
	case entryLog:
		e.state.ID = binary.LittleEndian.Uint64(x.body)
	case entryBegin:
		e.state.Epoch, e.state.Seq, e.state.Logs = x.epoch, 0, nil
		for b := x.body; len(b) >= 8; b = b[8:] {
			e.state.Logs = append(e.state.Logs, binary.LittleEndian.Uint64(b))
		}
	}
}

// put appends an entry and makes it durable.
func (e *epochFile) put(x epochEntry) error {
	if _, err := e.f.Write(x.append(nil)); err != nil {
		return err
	}
	if err := e.f.Sync(); err != nil {
		return err
	}
	e.follow(x)
	return nil
}

func (x epochEntry) append(b []byte) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = append(b, x.kind)
	b = le.AppendUint32(b, x.epoch)
	b = le.AppendUint64(b, uint64(x.ch))
	b = le.AppendUint32(b, uint32(len(x.body)))
	b = le.AppendUint32(b, crc32.Update(crc32.Checksum(b[start:], castagnoli), castagnoli, x.body))
	return append(b, x.body...)
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
	return entries, int64(len(b) - len(rest)), nil
}

func parseEpochs(b []byte) (entries []epochEntry, rest []byte) {
	le := binary.LittleEndian
	for len(b) >= epochEntrySize {
		size := int(le.Uint32(b[13:]))
		if size < 0 || size > len(b)-epochEntrySize {
			break
		}
		x := epochEntry{b[0], le.Uint32(b[1:]), derecho.ChannelID(le.Uint64(b[5:])), b[epochEntrySize : epochEntrySize+size]}
		if crc32.Update(crc32.Checksum(b[:17], castagnoli), castagnoli, x.body) != le.Uint32(b[17:]) || x.kind == entryLog && size != 8 {
			break
		}
		entries = append(entries, x)
		b = b[epochEntrySize+size:]
	}
	return entries, b
}

// stateOf is the latest state of a channel that the entries have, and the epoch at whose beginning it was taken.
func stateOf(entries []epochEntry, ch derecho.ChannelID) (state []byte, from uint32) {
	for _, x := range entries {
		if x.kind == entryState && x.ch == ch {
			state, from = x.body, x.epoch
		}
	}
	return state, from
}
