package dcps

import (
	"encoding/binary"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// What a history keeps depends on when its writers have ended: what is left of those gives way to what comes then, and a set
// that is open does not count any more. Who closes a writer says so in its last message. Of one whose process has ended nobody
// does, so a log records in its file of epochs (logepochs.go) before which message that was known: a history that is made of
// the log is then the one that was made of the messages.

// endedWriters are writers that have ended before a message.
type endedWriters struct {
	at      storage.Version
	writers []endpointKey // nil: all that there were, as a run of the process begins there
}

const endedWriterSize = 8 + 4

// entry is what is recorded; its body, of each writer: node(u64) id(u32).
func (e endedWriters) entry() epochEntry {
	le := binary.LittleEndian
	var b []byte
	for _, key := range e.writers {
		b = le.AppendUint64(b, uint64(key.node))
		b = le.AppendUint32(b, uint32(key.id))
	}
	return epochEntry{kind: entryEnded, epoch: e.at.Epoch, ch: derecho.ChannelID(e.at.Seq), body: b}
}

func (x *epochEntry) ending() (e endedWriters) {
	le := binary.LittleEndian
	e.at = x.after()
	for b := x.body; len(b) >= endedWriterSize; b = b[endedWriterSize:] {
		e.writers = append(e.writers, endpointKey{derecho.NodeID(le.Uint64(b)), derecho.EndpointID(le.Uint32(b[8:]))})
	}
	return e
}

// ended records that a writer has ended, with the next message. The polling goroutine's.
func (s *logSet) ended(sg derecho.SubgroupID, writer endpointKey) {
	if l := s.onDisk(sg); l != nil {
		l.ended = append(l.ended, writer)
	}
}

// gone forgets what a writer announced that was removed: at once, or when the log has what came of it. The polling goroutine's.
func (s *logSet) gone(sg derecho.SubgroupID, writer endpointKey) {
	if l := s.onDisk(sg); l != nil {
		l.removed = append(l.removed, writer)
	} else {
		s.announced.Delete(writer)
	}
}

// endingsOf are the endings behind the latest state of a channel, which tells of those before, in their order.
func endingsOf(entries []epochEntry, ch derecho.ChannelID) (list []endedWriters) {
	opened := false // and no epoch has begun since
	for _, x := range entries {
		switch x.kind {
		case entryOpened:
			opened = true
		case entryEnded:
			list = append(list, x.ending())
		case entryState:
			if x.ch == ch {
				list = nil
			}
		case entryStart:
			if opened {
				list = append(list, endedWriters{at: storage.Version{Epoch: x.epoch}})
			}
			opened = false
			s, _ := x.start() // it was read before: parseEpochs
			for _, c := range s.Channels {
				if c.Channel == ch && c.Loaded {
					list = nil
				}
			}
		}
	}
	return list
}

// endThose follows the endings before a message, and gives those that are left.
func (s *store) endThose(list []endedWriters, before storage.Version) []endedWriters {
	for len(list) > 0 && list[0].at.Compare(before) <= 0 {
		if list[0].writers == nil {
			s.endAll()
		}
		for _, key := range list[0].writers {
			s.end(key)
		}
		list = list[1:]
	}
	return list
}
