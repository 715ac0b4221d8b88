package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// onDisk is what a log is known to have: the beginning of an epoch, and of which line of history it is.
type onDisk struct {
	line uint32
	lastEpoch
}

// history is from which epoch on a group follows which line.
type history struct{ from, line uint32 }

// lastEpoch is an epoch of the Logged subgroup, and the logs that belong to it, with how often each had been opened.
type lastEpoch struct {
	epoch    uint32
	logs     []uint64
	openings []uint32
	opened   map[uint64]uint32 // the same, and of logs that had the channel before
	written  bool              // the log may hold something
}

// lastEpochOf is the one that a Begun or Found tells of.
func lastEpochOf(e *Event) lastEpoch {
	l := lastEpoch{e.Epoch, e.Logs, e.Openings, map[uint64]uint32{}, e.Written}
	for _, o := range e.Past {
		l.opened[o.Log] = o.Count
	}
	for i, n := range e.Openings {
		l.opened[e.Logs[i]] = max(l.opened[e.Logs[i]], n)
	}
	return l
}

// before: another epoch is later, whatever the numbers are. One of the logs was opened again between this epoch and
// that. Or those who began the other knew of all logs of this one's line, and that some had been opened again since.
func (e lastEpoch) before(o lastEpoch) bool {
	for i, log := range e.logs {
		if k := slices.Index(o.logs, log); k >= 0 && e.openings[i] < o.openings[k] {
			return true
		}
	}
	again := false
	for log, n := range e.opened {
		if o.opened[log] < n {
			return false
		}
		again = again || o.opened[log] > n
	}
	return again
}

// lastWithout is the latest of some epochs of a group that was begun without a log as it is opened in another, since the
// group began anew from logs; the zero lastEpoch if there is none.
func lastWithout(epochs []lastEpoch, log uint64, in lastEpoch, anew uint32) (last lastEpoch) {
	for _, e := range epochs {
		if e.opened[log] < in.opened[log] && e.epoch >= max(last.epoch, anew) {
			last = e
		}
	}
	return last
}

// unknownTo: whoever began another epoch had not been told of this one: but for the log that is asked about, it names
// some that had been opened more often than they knew. That others of its logs had been opened again says nothing: an
// epoch also names logs that are waited for, which have not begun it.
func (e lastEpoch) unknownTo(o lastEpoch, log uint64) bool {
	for l, n := range e.opened {
		if l != log && o.opened[l] < n {
			return o.logs != nil
		}
	}
	return false
}

// parted: each of two epochs names a log that was opened more often than those who began the other knew: to go on from
// one loses what was stored in the other. Two that name one opening of a log are of one group, and each knows only so
// many of the logs that have gone.
func (e lastEpoch) parted(o lastEpoch) bool {
	for i, log := range e.logs {
		if k := slices.Index(o.logs, log); k >= 0 && e.openings[i] > 0 && e.openings[i] == o.openings[k] {
			return false
		}
	}
	return e.names(o) && o.names(e)
}

// names: of some log this epoch says that it was opened more often than another does.
func (e lastEpoch) names(o lastEpoch) bool {
	for log, n := range e.opened {
		if o.opened[log] < n {
			return true
		}
	}
	return false
}

// latest are those of some epochs, or of those of logs that may hold something if there are any, that are not before
// another, and of these the ones with the highest number. If disks that lie have forgotten how often they were opened,
// two may be each before the other: then neither is; or more in a circle: then all count.
func latest(epochs []lastEpoch) (last []lastEpoch) {
	if slices.ContainsFunc(epochs, func(e lastEpoch) bool { return e.written }) {
		epochs = slices.DeleteFunc(slices.Clone(epochs), func(e lastEpoch) bool { return !e.written })
	}
	last = slices.DeleteFunc(slices.Clone(epochs), func(e lastEpoch) bool {
		return slices.ContainsFunc(epochs, func(o lastEpoch) bool { return e.before(o) && !o.before(e) })
	})
	if len(last) == 0 {
		last = slices.Clone(epochs)
	}
	number := uint32(0)
	for _, e := range last {
		number = max(number, e.epoch)
	}
	return slices.DeleteFunc(last, func(e lastEpoch) bool { return e.epoch < number })
}

// restored: these logs are enough to go on from the epoch.
func (e lastEpoch) restored(logs []uint64) bool {
	n := 0
	for _, l := range e.logs {
		if slices.Contains(logs, l) {
			n++
		}
	}
	return 2*n > len(e.logs) || len(e.logs) == 0
}

// logOf is a log, as far as a channel is concerned; begun is a channel in a group.
type (
	logOf struct {
		log     uint64
		channel derecho.ChannelID
	}
	begun struct {
		group   uint64
		channel derecho.ChannelID
	}
)

// written is a history with which an epoch of a log began, and whether there was something of it.
type written struct {
	history   uint64
	something bool
}

// reborn: a stored channel that nobody kept in the epoch before begins with a majority of the logs of the last epoch of
// it that any of those which are there knows. It is the same in a group that has never had it and in one that lives on
// without anybody who keeps it.
func (c *checker) reborn(group uint64, w derecho.Event) {
	for _, l := range w.Logs {
		at := begun{group, l.Channel}
		if epoch, again := c.begun[at]; !l.Fresh || again && epoch >= w.Epoch {
			continue // another member has begun it
		}
		c.begun[at] = w.Epoch
		// A node that keeps the channel in memory may be about to announce its log, which is waited for until then.
		there := present(&w, l, c.logs, func(n derecho.NodeID) bool { return c.announced[keptBy{n, l.Channel}] })
		var known []lastEpoch
		for _, log := range there {
			known = append(known, c.found[logOf{log, l.Channel}])
		}
		for i, e := range known {
			for j, o := range known[:i] {
				if e.written && o.written && e.parted(o) {
					c.failf("P4: epoch %d begins with the logs %016x of channel %d, of which %016x and %016x have parted",
						w.Epoch, there, l.Channel, there[i], there[j])
				}
			}
		}
		last := latest(known)
		if len(last) > 0 && !slices.ContainsFunc(last, func(e lastEpoch) bool { return e.restored(there) }) {
			c.failf("P4: epoch %d begins with the logs %016x of channel %d, no majority of those of epoch %d, the last that they know: %016x",
				w.Epoch, there, l.Channel, last[0].epoch, last[0].logs)
		}
	}
}

// present are the logs of a channel that are there when an epoch begins, of nodes that have announced them: it may also
// have some that are waited for.
func present(w *derecho.Event, of derecho.EventLogs, logs map[derecho.NodeID]uint64, announced func(derecho.NodeID) bool) (there []uint64) {
	for _, n := range slices.Sorted(maps.Keys(w.Kept)) {
		if slices.Contains(w.Kept[n], of.Channel) && slices.Contains(of.Logs, logs[n]) && announced(n) {
			there = append(there, logs[n])
		}
	}
	return there
}

// twins: of the members of an epoch that keep a stored channel no two have one log.
func (c *checker) twins(w derecho.Event) {
	if w.Subgroup != channels[logged].ID {
		return
	}
	of := map[uint64]derecho.NodeID{}
	for _, n := range slices.Sorted(maps.Keys(w.Kept)) {
		log := c.logs[n]
		if other, twice := of[log]; twice && log != 0 && len(w.Kept[n]) > 0 {
			c.failf("P5: %s and %s keep one log, %016x, in epoch %d", other, n, log, w.Epoch)
		}
		if len(w.Kept[n]) > 0 {
			of[log] = n
		}
	}
}

// begins: a log that holds something of one history of a channel is never given another.
func (c *checker) begins(e Event) {
	at := logOf{e.Log, e.Channel}
	for _, before := range c.histories[at] {
		if before.something && before.history != e.History {
			c.failf("P3: log %016x holds history %016x of channel %d, and is given %016x", e.Log, before.history, e.Channel, e.History)
		}
	}
	c.histories[at] = append(c.histories[at], written{e.History, e.Written})
}

// keptBy is a channel in the log of a node, and epochSpan is from an epoch to another.
type (
	keptBy struct {
		node    derecho.NodeID
		channel derecho.ChannelID
	}
	epochSpan struct{ from, to uint32 }
)

// count takes note of what counts in a log when an epoch has begun there. A state supersedes what came before it.
func (c *checker) count(e Event) {
	at := keptBy{e.Node, e.Channel}
	if e.Since > 0 {
		c.counts[at] = append(c.counts[at], epochSpan{e.Since, e.Epoch})
		return
	}
	c.counts[at] = []epochSpan{{e.Epoch, e.Epoch}}
	c.states[at] = map[string]bool{}
	for _, text := range strings.Fields(e.Text) {
		c.states[at][text] = true
	}
}

// counted: a message that came in an epoch counts.
func (c *checker) counted(node derecho.NodeID, ch derecho.ChannelID, epoch uint32, text string) bool {
	at := keptBy{node, ch}
	return c.states[at][text] || slices.ContainsFunc(c.counts[at], func(s epochSpan) bool { return s.from <= epoch && epoch <= s.to })
}

// logPosition is where a message is in a log.
type logPosition struct {
	epoch uint32
	seq   uint64
}

// ascends: positions in a log ascend, from one run of its process to the next. Else one of two messages with one
// position, or epoch, may count as the other.
func (c *checker) ascends(e Event) {
	last, any := c.appended[e.Log]
	if any && (e.Epoch < last.epoch || e.Epoch == last.epoch && e.Seq <= last.seq) {
		c.failf("P5: log %016x gets message %d of epoch %d after message %d of epoch %d", e.Log, e.Seq, e.Epoch, last.seq, last.epoch)
	}
	c.appended[e.Log] = logPosition{e.Epoch, e.Seq}
}

// unbegins: the last that a log was given was a lie of its disk.
func (c *checker) unbegins(e Event) {
	at := logOf{e.Log, e.Channel}
	c.histories[at] = c.histories[at][:len(c.histories[at])-1]
}

// sources are those of some logs that know the latest epoch which any of them knows.
func sources(there []uint64, logs map[uint64]onDisk) (latestOf []uint64) {
	var known []lastEpoch
	for _, l := range there {
		known = append(known, logs[l].lastEpoch)
	}
	for _, last := range latest(known) {
		for _, l := range there {
			if s := logs[l]; s.epoch == last.epoch && slices.Equal(s.logs, last.logs) && slices.Equal(s.openings, last.openings) {
				latestOf = append(latestOf, l)
			}
		}
	}
	return latestOf
}

const forever32 = ^uint32(0)

// lineOf is the line that a group follows in an epoch: who is still in an old one is not on a later line.
func lineOf(h []history, epoch uint32) (at history) {
	for _, l := range h {
		if l.from <= epoch && l.from >= at.from {
			at = l
		}
	}
	return at
}

// majority: most of the logs are there.
func majority(there, of []uint64) bool {
	n := 0
	for _, l := range of {
		if slices.Contains(there, l) {
			n++
		}
	}
	return 2*n > len(of)
}

// checkDurable: what every log of its epoch had on disk is in the state that the members hold in the end (P2, P3).
// Promised is it as long as a majority of the logs of the last epoch comes back, which those that come back need not
// know of; else another line of history begins. While no log is there at all, who begins to keep the channel in memory
// has nothing. What disks have lied about is promised as far as lies.go says. Two groups that know nothing of each
// other are two lines; when they meet one goes on, and the logs of the other are refused.
func (c *checker) checkDurable(events []Event) {
	for ch := range channels {
		if stored(ch) {
			c.checkStored(events, ch)
		}
	}
}

// checkStored is checkDurable of one channel.
func (c *checker) checkStored(events []Event, ch derecho.ChannelID) {
	var lines uint32
	group := map[derecho.NodeID]uint64{} // of a node
	line := map[uint64][]history{}       // of a group
	logs := map[uint64]onDisk{}          // what each log has
	lies := newLies()
	newest := map[uint32]onDisk{} // epoch of a line, known to those who begin anew or not
	have := map[string]map[uint64]bool{}
	at := map[string]onDisk{}
	var text []string // in order
	var held *Event
	found := map[derecho.NodeID]uint64{}         // its log
	executed := map[derecho.NodeID]bool{}        // some member has executed that it announces that
	met := map[derecho.NodeID][]derecho.NodeID{} // the nodes of whose endpoints of the channel a node was told
	keep := keepers{}
	announced := func(to derecho.NodeID) (logs []uint64) {
		for n, log := range found {
			if slices.Contains(met[to], n) {
				logs = append(logs, log)
			}
		}
		return logs
	}
	there := map[place][]uint64{}  // logs of which an epoch goes on
	newestOf := map[uint64]place{} // the latest of them, by group
	ended := map[derecho.NodeID]bool{}
	// goesOn: another group is on a line, lives, and goes on with logs of which none is among some, with which a group
	// begins anew. Neither knows of the other.
	goesOn := func(on uint32, anew uint64, but []uint64) bool {
		for n, g := range group {
			own := there[newestOf[g]]
			if g != anew && !ended[n] && lineOf(line[g], forever32).line == on && len(own) > 0 &&
				!slices.ContainsFunc(own, func(l uint64) bool { return slices.Contains(but, l) }) {
				return true
			}
		}
		return false
	}
	givenUp := map[derecho.NodeID]bool{}
	bare := map[uint64]uint32{}         // the epoch of a group in which the history began where it is kept in memory, with no log there, then or since
	began := map[place]bool{}           // epochs that anybody has installed
	begunIn := map[uint64][]lastEpoch{} // as logs of a group tell
	blank := map[uint32]bool{}          // lines that began with logs which knew of no epoch, and that no log has taken up since
	// everywhere: all logs of the epoch of a message had it, or those of the last epoch of its line have it, however it came there.
	//
	// A log that was given a state without a message since, which it alone had, has it no more: it had left, and the one that
	// went on without it had not got so far when it crashed.
	replaced := map[string]map[uint64]bool{}
	everywhere := func(t string) bool {
		if now := newest[at[t].line]; len(now.logs) > 0 && now.epoch >= at[t].epoch &&
			!slices.ContainsFunc(now.logs, func(l uint64) bool { return !have[t][l] || replaced[t][l] || lies.copies[t][l] <= 0 }) {
			return true
		}
		return len(at[t].logs) > 0 && !slices.ContainsFunc(at[t].logs, func(l uint64) bool { return !have[t][l] })
	}
	for _, e := range events {
		if e.Kind == Decision && e.What.Kind == derecho.Installed {
			began[place{e.What.Group, e.What.Subgroup, e.What.Epoch}] = true
		}
	}
	for i := range events {
		var own derecho.EventLogs // of the channel, in an epoch that is installed
		if e := &events[i]; e.Kind == Decision {
			group[e.Node] = e.What.Group
			if k := slices.IndexFunc(e.What.Logs, func(l derecho.EventLogs) bool { return l.Channel == ch }); k >= 0 {
				own = e.What.Logs[k]
				at := place{e.What.Group, e.What.Subgroup, e.What.Epoch}
				if there[at] = own.Logs; at.epoch > newestOf[at.group].epoch {
					newestOf[at.group] = at
				}
				if at.epoch > bare[at.group] { // who is slow installs one from before, with those who have left since
					delete(bare, at.group)
				}
			}
		}
		switch e := &events[i]; {
		case e.Kind == Crashed || e.Kind == Excluded || e.Kind == GaveWay || e.Kind == Left:
			ended[e.Node] = true
		case own.Fresh:
			if lineOf(line[e.What.Group], e.What.Epoch).from == e.What.Epoch {
				break // another member has begun it
			}
			before := lineOf(line[e.What.Group], e.What.Epoch).line
			delete(blank, before)
			if majority(own.Logs, newest[before].logs) && slices.ContainsFunc(text, func(t string) bool { return at[t].line == before }) {
				break // what the group itself has stored goes before what a log of another line knows
			}
			var known []lastEpoch
			for _, l := range own.Logs {
				known = append(known, logs[l].lastEpoch)
			}
			var last onDisk
			if e := latest(known); len(e) > 0 {
				k := slices.IndexFunc(own.Logs, func(l uint64) bool {
					return logs[l].epoch == e[0].epoch && slices.Equal(logs[l].logs, e[0].logs) && slices.Equal(logs[l].openings, e[0].openings)
				})
				last = newest[logs[own.Logs[k]].line]
			}
			on := last.line
			if goesOn(on, e.What.Group, own.Logs) {
				lines++
				line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, lines})
				break
			}
			delete(blank, on)
			if !majority(own.Logs, last.logs) {
				lines++
				on, blank[lines] = lines, len(last.logs) == 0
			}
			line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, on})
			// What the logs that are there have in the latest epoch that they know is promised all the same: it is only
			// of later ones that they can not know.
			for _, l := range sources(present(e.What, own, found, func(n derecho.NodeID) bool { return executed[n] }), logs) {
				for _, t := range text {
					if s := at[t]; s.line != on && s.line == logs[l].line && have[t][l] && lies.copies[t][l] > 0 {
						s.line = on
						at[t] = s
					}
				}
			}
		case own.Logs != nil && !began[place{e.What.Group, e.What.Subgroup, e.What.Epoch - 1}]:
			// Whoever began afresh, without the logs, has died before it had installed that epoch; or a number was left out.
			of := newest[lineOf(line[e.What.Group], e.What.Epoch).line].logs
			if len(of) > 0 && !majority(own.Logs, of) && !lies.of(e.What.Group).goesOn(e.What, ch) {
				lines++
				line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, lines})
			}
		case e.Kind == Begun && e.Channel == ch:
			on := lineOf(line[group[e.Node]], e.Epoch)
			s := onDisk{on.line, lastEpochOf(e)}
			given, was := "", logs[e.Log]
			switch {
			case !was.written || e.Since > 0:
			case blank[s.line] && was.line != s.line:
				given = "a history which began with nothing"
			case was.unknownTo(lastWithout(begunIn[group[e.Node]], e.Log, s.lastEpoch, on.from), e.Log):
				given = "what was stored without knowledge of that"
			}
			if given != "" {
				for _, t := range text {
					if at[t].line == was.line && lies.copies[t][e.Log] > 0 && !lies.excused[t] && everywhere(t) &&
						!slices.Contains(strings.Fields(e.Text), t) {
						c.failf("P2: %.40s was durable in all logs of epoch %d, and log %016x that has it is given %s", t, at[t].epoch, e.Log, given)
					}
				}
			}
			begunIn[group[e.Node]] = append(begunIn[group[e.Node]], s.lastEpoch)
			lies.begun(e, logs[e.Log])
			logs[e.Log] = s
			state := strings.Fields(e.Text) // with which it begins
			if was.written && e.Since == 0 {
				for t, logs := range have {
					if logs[e.Log] && !slices.Contains(state, t) {
						if replaced[t] == nil {
							replaced[t] = map[uint64]bool{}
						}
						replaced[t][e.Log] = true
					}
				}
			}
			for _, t := range state {
				if have[t] != nil {
					have[t][e.Log] = true
					delete(replaced[t], e.Log)
				}
			}
			if last := newest[s.line]; s.epoch > last.epoch || last.before(s.lastEpoch) {
				newest[s.line] = s
			}
		case e.Kind == GivenUp:
			givenUp[e.Node] = true
		case e.Kind == Durable && e.Channel == ch && givenUp[e.Node]:
			// The write that did not answer does. But the epoch has ended without it by then, and nobody is told that
			// it is stored.
		case e.Kind == Durable && e.Channel == ch:
			if have[e.Text] == nil {
				have[e.Text] = map[uint64]bool{}
				text = append(text, e.Text)
			}
			lies.durable(e)
			if s := logs[e.Log]; s.epoch == e.Epoch { // else it does not count
				have[e.Text][e.Log], at[e.Text] = true, s
			}
		case e.Kind == Lost && e.Channel == ch:
			lies.lost(e)
		case e.Kind == Unbegun && e.Channel == ch:
			logs[e.Log] = lies.unbegun(e)
		case e.Kind == Await && e.Channel == ch && e.Epoch != 0 && e.Text != "pending":
			if in := group[e.Node]; len(there[place{in, channels[ch].ID, e.Epoch}]) == 0 {
				bare[in] = e.Epoch
			}
			on := lineOf(line[group[e.Node]], e.Epoch).line
			h := lies.of(group[e.Node])
			lies.resumed(found[e.Node], h, there[place{group[e.Node], channels[ch].ID, e.Epoch}], announced(e.Node), on, newest[on].logs, logs, at)
			h.has(e.Node, found[e.Node], on)
		case e.Kind == Await && e.Channel == ch && e.Text == "pending":
			lies.of(group[e.Node]).awaits(e.Node)
		case e.Kind == Load && e.Channel == ch:
			lies.of(group[e.Node]).has(e.Node, found[e.Node], lineOf(line[group[e.Node]], e.Epoch).line)
		case e.Kind == Known && e.Channel == ch:
			if met[e.Node] = append(met[e.Node], e.Sender); e.Keeps {
				keep.known(e.Sender, e.Text)
			}
		case e.Kind == Decision && e.What.Kind == derecho.Executed:
			keep.executed(e.What)
			for _, ep := range e.What.Announced() {
				executed[ep.Node] = executed[ep.Node] || ep.Log != nil && ep.Channel == ch
			}
		case e.Kind == Decision && e.What.Kind == derecho.Installed && e.What.Subgroup == 0:
			lies.of(e.What.Group).install(e.What.Epoch, e.What.Members, keep)
		case e.Kind == Found && e.Channel == ch:
			found[e.Node] = e.Log
		case e.Kind == Holds && e.Channel == ch:
			held = e
		}
	}
	if held == nil || bare[group[held.Node]] > 0 {
		return
	}
	in := map[string]bool{}
	for _, t := range strings.Fields(held.Text) {
		in[t] = true
	}
	for _, t := range text {
		if (everywhere(t) || c.assured[t]) && !in[t] && !lies.excused[t] && at[t].line == lineOf(line[group[held.Node]], forever32).line {
			c.failf("P2: %.40s was durable in all logs of epoch %d, or told to be, and %s does not hold it", t, at[t].epoch, held.Node)
		}
	}
}
