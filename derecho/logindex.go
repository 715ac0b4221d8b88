package derecho

import (
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// EpochStart is what a log records when an epoch begins. It is written as one: after a crash the log has all of it, with the
// states, or nothing.
type EpochStart struct {
	Epoch uint32
	// Channels are those that the log has from now on, ascending. What it is given of others in this epoch does not count.
	Channels []ChannelStart
	// Moves, if not nil, is called by who writes it each time that another part is on disk: with large states it may
	// take longer than Config.LogTimeout.
	Moves func()
}

// ChannelStart is the beginning of an epoch, as far as a channel is concerned.
type ChannelStart struct {
	Channel ChannelID
	Logs    []uint64 // that have the channel in the epoch, ascending
	// Openings: how often each of Logs had been opened when it was announced; nil if that is not recorded (LogState).
	Openings []uint32
	Past     []Opening // of logs that had the channel before (LogState)
	History  uint64    // what it is a part of (LogState)
	Written  bool
	// Since is the first epoch whose messages count, if those did not that came before this epoch; else it is Epoch.
	Since uint32
	// Loaded: State was the state of the channel when the epoch began, and supersedes what the log had of it.
	Loaded bool
	State  []byte
}

// LogIndex is what a log has of each channel, by the beginnings of epochs that it has recorded, in their order. The zero
// LogIndex is that of an empty log.
type LogIndex struct {
	ID       uint64
	opened   uint32
	begun    uint32
	after    *position  // of the last message before the next beginning; nil: not recorded
	every    logChannel // what was recorded of all channels alike, by earlier versions
	channels map[ChannelID]logChannel
}

// logChannel is what a log has of a channel.
type logChannel struct {
	start  ChannelStart // the latest, without state
	epoch  uint32       // of it
	counts []epochSpan  // ascending
	has    *uint64      // everything below is there of epoch, which is over; nil: everything
}

// position is where a message is.
type position struct {
	epoch uint32
	seq   uint64
}

type epochSpan struct{ from, to uint32 }

// oldHistory names the histories of logs from before histories had names.
const oldHistory = 1

// After says which message was the last in the log, of the epochs that have begun, before the beginning that follows;
// both are 0 if there was none.
//
// A node begins an epoch when it has stored the one before. But its disk may have lost of that what it had called
// durable, and the node began another channel then. So of an epoch that ended the log has no more than was there when
// the next began.
func (x *LogIndex) After(epoch uint32, seq uint64) { x.after = &position{epoch, seq} }

// Open takes note that the log was opened, for the n-th time. That is durable before the log is announced to anybody.
func (x *LogIndex) Open(n uint32) { x.opened = max(x.opened, n) }

// Opened is how often the log was opened.
func (x *LogIndex) Opened() uint32 { return x.opened }

// Begin takes note of a beginning.
func (x *LogIndex) Begin(s *EpochStart) {
	for ch, c := range x.channels {
		if c.epoch == x.begun {
			c.has = x.had()
			x.channels[ch] = c
		}
	}
	x.begun, x.after = s.Epoch, nil
	for _, start := range s.Channels {
		start.State = nil
		c := x.channel(start.Channel)
		if start.Loaded {
			c.counts = nil
		}
		c.begin(s.Epoch, start)
		x.set(start.Channel, c)
	}
}

// had is below what the log had everything of the epoch that ends; nil: everything.
func (x *LogIndex) had() *uint64 {
	switch a := x.after; {
	case a == nil:
		return nil
	case a.epoch == x.begun:
		return new(a.seq + 1)
	}
	return new(uint64)
}

// BeginAll takes note of a beginning that is of all channels alike, and names no history.
func (x *LogIndex) BeginAll(epoch uint32, logs []uint64) {
	start := ChannelStart{Logs: logs, History: oldHistory, Written: true, Since: epoch}
	if x.begun == 0 {
		start.Since = 0 // what is older is from before beginnings were recorded
	}
	x.begun = epoch
	x.every.begin(epoch, start)
	for ch, c := range x.channels {
		c.begin(epoch, start)
		x.channels[ch] = c
	}
}

// Load takes note of a state that was recorded for itself, after the beginning of its epoch.
func (x *LogIndex) Load(ch ChannelID, epoch uint32) {
	c := x.channel(ch)
	c.counts = []epochSpan{{epoch, epoch}}
	x.set(ch, c)
}

func (c *logChannel) begin(epoch uint32, start ChannelStart) {
	c.start, c.epoch, c.has = start, epoch, nil
	if n := len(c.counts); n > 0 && c.counts[n-1].to+1 >= start.Since {
		c.counts = append(slices.Clone(c.counts[:n-1]), epochSpan{c.counts[n-1].from, epoch})
	} else {
		c.counts = append(slices.Clip(c.counts), epochSpan{start.Since, epoch})
	}
}

func (x *LogIndex) channel(ch ChannelID) logChannel {
	if c, known := x.channels[ch]; known {
		return c
	}
	return x.every
}

func (x *LogIndex) set(ch ChannelID, c logChannel) {
	if x.channels == nil {
		x.channels = map[ChannelID]logChannel{}
	}
	x.channels[ch] = c
}

// Clone is a LogIndex of its own.
func (x *LogIndex) Clone() *LogIndex {
	y := *x
	y.channels = maps.Clone(x.channels)
	return &y
}

// Begun is the last epoch that the log has recorded.
func (x *LogIndex) Begun() uint32 { return x.begun }

// Has reports whether the log has begun to have a channel, at any time. If it has not, and its node does not keep the channel,
// what it was given of it up to now will never count: when the node begins to keep it the log begins with a state, or with
// what comes from the epoch on in which the node has announced that (ChannelStart.Since).
func (x *LogIndex) Has(ch ChannelID) bool { return x.channel(ch).epoch != 0 }

// Counts reports whether the messages of an epoch count: the log had the channel then, and no later state supersedes them.
func (x *LogIndex) Counts(ch ChannelID, epoch uint32) bool {
	return slices.ContainsFunc(x.channel(ch).counts, func(s epochSpan) bool { return s.from <= epoch && epoch <= s.to })
}

// Holds is what the log holds of a channel, if it has everything below seq of the last epoch that has begun. Of an
// earlier one it has what was there when the next began (After).
func (x *LogIndex) Holds(ch ChannelID, seq uint64) *LogState {
	c := x.channel(ch)
	if mutant.Is("log-channels-alike") {
		c.epoch = x.begun
	}
	if c.epoch != x.begun {
		if seq = ^uint64(0); c.has != nil {
			seq = *c.has
		}
	}
	if c.epoch == 0 {
		seq = 0
	}
	return &LogState{
		ID: x.ID, Begun: x.begun, Epoch: c.epoch, Seq: seq, Logs: c.start.Logs, Openings: c.start.Openings, Past: c.start.Past, Opened: x.opened,
		History: c.start.History, Written: c.start.Written,
	}
}
