package derecho

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/smc"
)

// Spindle switches off what makes the data path fast, to measure what it is worth (docs/spindle.md). The zero value has
// everything on; with everything off a message costs what it does in the baseline of the Spindle paper: one message, one
// acknowledgement and one push at a time. The control subgroup is not touched.
//
// What is delivered, and in which order at all members, is the same with any of them, but for NoNulls: then a message
// waits until every other sender of its subgroup has sent as many, or the epoch ends.
type Spindle struct {
	NoSendBatching    bool // each message is published by itself, with a push of its own
	NoReceiveBatching bool // a pass acknowledges one message of each sender, with a push of its own; not on Unordered subgroups
	NoDeliverBatching bool // a pass delivers one message of a subgroup, with an upcall and a push of its own
	NoUpcallBatching  bool // of what a pass delivers, each message has an upcall of its own
	NoNulls           bool // a sender that has nothing to send promises nothing: the others wait for it
	NoSilence         bool // a sender that has been silent for long promises its turns away round by round
	NoLatePosting     bool // pushes are posted while the baton, and with NoLockFree the writers' lock, is held
	NoLockFree        bool // goroutines take turns, under a lock, from Reserve to Commit
	NoCoalescing      bool // over tcp each push is written by itself, and who pushes waits for that
	NoSharedAcks      bool // what is published in memory that a receiver maps is acknowledged like what is copied
	NoLending         bool // no message is lent beyond the upcall that hands it over: who keeps it copies it
}

// spindleSwitch is a switch as ParseSpindle reads it.
type spindleSwitch struct {
	name string
	of   func(*Spindle) *bool
}

var spindleSwitches = []spindleSwitch{
	{"batch-send", func(s *Spindle) *bool { return &s.NoSendBatching }},
	{"batch-receive", func(s *Spindle) *bool { return &s.NoReceiveBatching }},
	{"batch-deliver", func(s *Spindle) *bool { return &s.NoDeliverBatching }},
	{"batch-upcall", func(s *Spindle) *bool { return &s.NoUpcallBatching }},
	{"nulls", func(s *Spindle) *bool { return &s.NoNulls }},
	{"silence", func(s *Spindle) *bool { return &s.NoSilence }},
	{"late-post", func(s *Spindle) *bool { return &s.NoLatePosting }},
	{"lock-free", func(s *Spindle) *bool { return &s.NoLockFree }},
	{"coalesce", func(s *Spindle) *bool { return &s.NoCoalescing }},
	{"shared-acks", func(s *Spindle) *bool { return &s.NoSharedAcks }},
	{"lend", func(s *Spindle) *bool { return &s.NoLending }},
}

// SpindleNames are the names of all switches.
func SpindleNames() []string {
	var names []string
	for _, s := range spindleSwitches {
		names = append(names, s.name)
	}
	return names
}

// ParseSpindle reads what is to be switched off: "-nulls,-batch-send", or "-all"; "" for nothing.
func ParseSpindle(list string) (Spindle, error) {
	var s Spindle
	if list == "" {
		return s, nil
	}
	for _, entry := range strings.Split(list, ",") {
		name, off := strings.CutPrefix(entry, "-")
		i := slices.IndexFunc(spindleSwitches, func(n spindleSwitch) bool { return n.name == name })
		switch {
		case off && name == "all":
			for _, n := range spindleSwitches {
				*n.of(&s) = true
			}
		case i < 0:
			return Spindle{}, fmt.Errorf("%w: there is no switch %q; there are -all, -%s", ErrConfig, entry, strings.Join(SpindleNames(), ", -"))
		case !off:
			return Spindle{}, fmt.Errorf("%w: the switch %q is on unless it is switched off; say -%s", ErrConfig, entry, name)
		default:
			*spindleSwitches[i].of(&s) = true
		}
	}
	return s, nil
}

// String is what ParseSpindle reads.
func (s Spindle) String() string {
	var off []string
	for _, n := range spindleSwitches {
		if *n.of(&s) {
			off = append(off, "-"+n.name)
		}
	}
	return strings.Join(off, ",")
}

// experiment sets what is constant in an epoch.
func (e *epoch) experiment() {
	e.most, e.upcall = maxBatch, maxBatch
	if e.desc.Subgroup == 0 {
		return // experiments are about data
	}
	e.off = e.g.m.cfg.Spindle
	if e.off.NoDeliverBatching {
		e.most = 1
	}
	if e.off.NoUpcallBatching {
		e.upcall = 1
	}
	if e.off.NoLockFree {
		e.writersMu = new(sync.Mutex)
	}
	if e.off.NoReceiveBatching && e.desc.Mode != Unordered {
		e.walks = make([]*smc.Receiver, len(e.desc.Members))
	}
}

// holdsPublished: whoever maps the memory of a sender holds what is published there, and does not say so.
func (e *epoch) holdsPublished() bool {
	return (e.desc.Subgroup != 0 || mutant.Is("control-unacked")) && !e.off.NoSharedAcks
}

// owesAck: receive has not acknowledged all that it has seen.
func (e *epoch) owesAck() bool {
	for rank, r := range e.recvs {
		if r != nil && e.tellsAck[rank] && !e.gone[e.senders[rank]] && e.table.Row(e.me).Load(e.table.Received(rank)) != r.Next() {
			return true
		}
	}
	return false
}

// acknowledge tells of one message of each sender, with a push for each. Nulls have no record: those behind the last message
// go together. The ring is read before anything of it is handed over: see settle.
func (e *epoch) acknowledge() {
	for rank, r := range e.recvs {
		col := e.table.Received(rank)
		if r == nil || !e.tellsAck[rank] || e.gone[e.senders[rank]] || e.table.Row(e.me).Load(col) == r.Next() {
			continue
		}
		if e.walks[rank] == nil {
			e.walks[rank] = smc.NewReceiver(e.table.Row(e.senders[rank]).Region())
		}
		w, next := e.walks[rank], r.Next()
		w.Poll()
		// deliver reports an error
		if rec, err := w.Peek(); err == nil && rec != nil && rec.Index < next {
			next = rec.Index + 1
			w.Take()
		}
		e.raise(col, next)
		e.kick()
	}
}

// errBusy: another goroutine reserves, fills and commits.
var errBusy = fmt.Errorf("%w: it is another goroutine's turn", smc.ErrFull)

// lockAndReserve is Reserve under the lock, which the caller has if there is no error.
func (e *epoch) lockAndReserve(size int) (smc.Reservation, error) {
	if !e.writersMu.TryLock() {
		return smc.Reservation{}, errBusy
	}
	r, err := e.sender.Reserve(size)
	if err != nil {
		e.writersMu.Unlock()
	}
	return r, err
}

// flushAndUnlock publishes, and lets the next goroutine in.
func (e *epoch) flushAndUnlock() {
	if e.off.NoLatePosting {
		e.flush()
	}
	e.writersMu.Unlock()
	e.wakeAll() // after the lock is free: who has begun to wait by now looks again
	if !e.off.NoLatePosting {
		e.flush()
	}
}
