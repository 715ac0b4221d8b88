package dcps

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// A process that joins again is given what others have stored of a topic, all of it, and records that with the
// beginning of the epoch (logepochs.go). It supersedes what the log had of that topic, the state before among it, whose
// bytes nobody will read again. They go when the file is opened, once they are most of it.

// worthwhile is how many bytes of superseded states a file of epochs may have for the sake of not being written anew.
const worthwhile = 64 << 10

// dropSuperseded leaves out what later states supersede. All else stays, that a state came among it: indexOf and
// stateOf of what it returns are those of entries.
func dropSuperseded(entries []epochEntry) (kept []epochEntry, dropped int) {
	kept = make([]epochEntry, len(entries))
	later := map[derecho.ChannelID]bool{} // channels of which a later entry has a state
	for i, x := range slices.Backward(entries) {
		if kept[i] = x; x.kind != entryStart { // states of their own, of earlier versions, stay
			continue
		}
		s, without, _ := x.startWithout() // it was read before: parseEpochs
		before := dropped
		for _, c := range s.Channels {
			switch {
			case !c.Loaded:
			case later[c.Channel]:
				if !slices.Contains(without, c.Channel) {
					without = append(without, c.Channel)
					dropped += len(c.State)
				}
			default:
				later[c.Channel] = true
			}
		}
		if dropped > before {
			kept[i] = startEntry(s, without...)
		}
	}
	return kept, dropped
}

// checkStates: no channel goes on with a state that is left out. It does if its disk has lost the one that took its
// place, and had called that durable; with the messages before that the beginning is cut off that had it (openEpochs).
func checkStates(path string, entries []epochEntry) error {
	lacks := map[derecho.ChannelID]uint32{}
	for _, x := range entries {
		if x.kind != entryStart {
			continue
		}
		s, without, _ := x.startWithout() // it was read before: parseEpochs
		for _, c := range s.Channels {
			if c.Loaded {
				delete(lacks, c.Channel)
			}
		}
		for _, ch := range without {
			lacks[ch] = x.epoch
		}
	}
	for _, ch := range slices.Sorted(maps.Keys(lacks)) {
		return &storage.CorruptError{Path: path, Reason: fmt.Sprintf("the state of channel %016x as of epoch %d was superseded by a later one, which the disk has lost", uint64(ch), lacks[ch])}
	}
	return nil
}

// slim writes a file of epochs anew without the states that are superseded, if it is worthwhile. The new one takes the
// place of the old one when it is on disk, so after a crash there is the one or the other, and both say the same. Nor
// does it matter if there is no room for it.
func slim(path string, entries []epochEntry, whole int64) ([]epochEntry, int64) {
	next := path + ".new"
	if err := removeIfThere(next); err != nil {
		return entries, whole
	}
	kept, dropped := dropSuperseded(entries)
	if dropped < worthwhile || int64(dropped) < whole/2 {
		return entries, whole
	}
	var b []byte
	for _, x := range kept {
		b = x.append(b)
	}
	if err := replaceFile(path, next, b); err != nil {
		_ = os.Remove(next) // what the error is about: the old file is as good
		return entries, whole
	}
	return kept, int64(len(b))
}

// replaceFile gives a file new contents by way of another one beside it.
func replaceFile(path, next string, b []byte) error {
	f, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path) // until the directory is synced (openDisk) a crash brings the old file back
}
