package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// When the node fails that was to send a state, whoever waits for it is an orphan. If there is another replica that has
// the state, or will have it, the orphan gets it from that. If there is none, the orphan may have it all the same: it says
// so by a command (cmdLoaded), and the view may have ended before that was executed. So all orphans are asked, and nothing
// is decided before they have answered, or failed too. What an orphan had to say it says again first; if it has not got
// the state it says that (cmdLacks), and from then on does not take it any more, should it still come. If one has it the
// others get it from there.
//
// If all lack it the channel is bereft. The logs of those who had the state must come back, or a majority of them and
// somebody has waited long enough (cmdHurry). The replicas go on from that of them which holds most, and whose node
// gives what it has to the others, by a transfer like any other. An orphan that failed, too, is not waited for; but if
// its log comes back and has the state it counts like the others: disks that lie may have left it more (unheard). If no
// log had the state then it is waited for, too. Until then what the replicas receive of the channel is put off. If what
// they have in their logs is nothing, any log will do; and without any the replica goes on that has waited longest,
// with what it has been handed since.
//
// What others have of other channels of the subgroup is not touched, and nothing of them waits: the logs may never come
// back. A log is not held for a channel that its node lacks. It writes what comes; the beginnings of epochs leave the
// channel out, so what comes of that does not count (logger.resolve) until the node goes on with it
// (ChannelStart.Since), and is not told to be stored before, or ever if the channel goes on from elsewhere
// (subgroup.disown). Nor is Drained held back for it (logger.lags): the members give their epochs up, and whoever wants
// to leaves.

// bereavement is of a channel that nobody has the state of, or will have, as far as is known.
type bereavement struct {
	logs    []uint64 // of those who had it, ascending
	hurry   bool     // a majority of them is enough
	history uint64   // that they are of
	unheard []unheard
	line    []Opening // as in recovery, which may be forgotten meanwhile
}

// unheard is the log of a replica that failed while it waited for a state, or stored it: nobody knows whether that
// came, and was on disk.
type unheard struct {
	log     uint64
	opening uint32 // how often it had been opened
	epoch   uint32 // of the state
	// only: no log had the state then, as it was kept in memory. What was told to be stored since is in this log if
	// anywhere, so it is waited for.
	only bool
}

func (u unheard) compare(o unheard) int {
	only := func(u unheard) int {
		if u.only {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(u.log, o.log), cmp.Compare(u.opening, o.opening), cmp.Compare(u.epoch, o.epoch), cmp.Compare(only(u), only(o)))
}

// loaded: the state had come, and was on its disk, as the log says that is there. It began the epoch, or a later one,
// while its process was a member of this group: what it holds is a part of what the members had. A log that has been
// opened since for another epoch, elsewhere, tells nothing of that.
func (u unheard) loaded(l *LogState) bool {
	i, in := slices.BinarySearch(l.Logs, u.log)
	return l.ID == u.log && in && l.opening(i) == u.opening && l.Epoch >= u.epoch && !mutant.Is("unheard-lost")
}

// sourceOf: the channel may go on from a log.
func (b bereavement) sourceOf(l *LogState) bool {
	return slices.Contains(b.logs, l.ID) || slices.ContainsFunc(b.unheard, func(u unheard) bool { return u.loaded(l) })
}

// numbers: the last epoch of a log is of the group that lost it, as far as its number goes. A log that has been opened
// again since may have begun another one elsewhere, whose number says nothing here: it may lack all that was sent
// meanwhile.
func (b bereavement) numbers(l *LogState) bool {
	i, in := slices.BinarySearch(l.Logs, l.ID)
	return in && !unknownTo(b.line, Opening{l.ID, l.opening(i)}) || mutant.Is("gap-any-group")
}

// keptChannel is a channel whose state is kept.
type keptChannel struct {
	subgroup SubgroupID
	channel  ChannelID
}

func (k keptChannel) compare(o keptChannel) int {
	return cmp.Or(cmp.Compare(k.subgroup, o.subgroup), cmp.Compare(k.channel, o.channel))
}

func (r replica) kept() keptChannel { return keptChannel{r.subgroup, r.channel} }

// orphan: nobody brings the state any more, and it may be here.
func (a arrival) orphan() bool { return a.from == 0 }

// orphans finds the replicas of a subgroup that wait for a state in vain when some are gone, and the channels that are
// left without any; it comes before those that are gone are forgotten. It returns those who are to be asked.
func (c *catalogue) orphans(d *descriptor, gone func(replica) bool) (asked []replica) {
	if mutant.Is("no-resource") {
		return nil
	}
	for _, ch := range d.channels() {
		var had []uint64 // logs of those who had the state
		var orphans []replica
		var failed []unheard
		keepers, kept, fresh := 0, false, false
		for _, m := range d.Members {
			r := replica{d.Subgroup, ch, m.Node}
			switch {
			case !d.replica(m.Node, ch):
				continue
			case c.willHave(r, gone):
				kept = true
			case !gone(r):
				orphans = append(orphans, r)
				fresh = fresh || c.loading[r].fresh && c.announcedLog(r) != 0
				fallthrough
			default:
				// Who had nothing but what all begin with is not waited for.
				rec := c.recovery[r.kept()]
				switch log := c.logBehind(r); {
				case d.Mode != Logged || rec.virgin:
				case log != 0:
					had = append(had, log)
				default:
					had = append(had, rec.last...) // it is somebody who had it in memory
				}
			}
			if epoch, may := c.mayHaveStored(r); may && gone(r) && d.Mode == Logged {
				log := c.announcedLog(r)
				failed = append(failed, unheard{log, c.opened[log], epoch, len(c.having(d, ch)) == 0 && !mutant.Is("unheard-unawaited")})
			}
			keepers++
		}
		for _, r := range orphans {
			a := c.loading[r]
			if !a.orphan() && !kept {
				asked = append(asked, r)
			}
			c.loading[r] = arrival{epoch: a.epoch, lacks: a.lacks, fresh: a.fresh}
		}
		k := keptChannel{d.Subgroup, ch}
		if r, known := c.recovery[k]; known && kept { // it may become bereft later
			for _, u := range failed {
				if u.only {
					r.unheard = append(slices.Clone(r.unheard), u)
				}
			}
			c.recovery[k] = r
		}
		if keepers > 0 && !kept {
			b := c.bereaved[k]
			if fresh && !c.recovery[k].virgin {
				// The source has failed before all had what it holds. Its log is one of those from which the channel
				// began, and they are as they were then.
				if latest := c.latest(k); len(latest) > 0 {
					had = latest
				}
			}
			b.logs = append(slices.Clone(b.logs), had...)
			slices.Sort(b.logs)
			b.logs = slices.Compact(b.logs)
			b.unheard = slices.Concat(b.unheard, c.recovery[k].unheard, failed)
			slices.SortFunc(b.unheard, unheard.compare) // it comes here with each failure, and those of before come again
			b.unheard = slices.Compact(b.unheard)
			if r := c.recovery[k]; !r.virgin {
				b.history = cmp.Or(r.history, b.history)
			}
			b.line = bound(mergeLines(b.line, c.recovery[k].line), c.present(k))
			c.bereaved[k] = b
		}
	}
	return asked
}

// mayHaveStored: a replica with a log waits for a state that may come, or has one that was not heard to be on its disk;
// and as of which epoch that is.
func (c *catalogue) mayHaveStored(r replica) (epoch uint32, may bool) {
	if c.announcedLog(r) == 0 {
		return 0, false
	}
	if a, waits := c.loading[r]; waits {
		return a.epoch, !a.lacks
	}
	epoch, may = c.unstored[r]
	return epoch, may
}

// willHave: a replica has the state of its channel, or waits for it from one that lives, and has it or will. That one
// may have withdrawn its endpoint; it sends what it owes before it leaves.
func (c *catalogue) willHave(r replica, gone func(replica) bool) bool {
	for before := ^uint32(0); !gone(r); {
		a, waits := c.loading[r]
		if !waits || a.epoch > before { // it had the state then, has withdrawn since, and come again
			return true
		}
		if a.orphan() {
			return false
		}
		r.node, before = a.from, a.epoch
	}
	return false
}

// logBehind is the log of the node that has, or had, what a replica waits for, which may be its own; 0 if there is none.
func (c *catalogue) logBehind(r replica) uint64 {
	log := c.logOf(r)
	for before := ^uint32(0); ; {
		a, waits := c.loading[r]
		if !waits || a.epoch > before {
			return log
		}
		log, r.node, before = a.log, a.from, a.epoch
	}
}

// bereavedOf are the channels of a subgroup that nobody is known to have the state of, ascending.
func (c *catalogue) bereavedOf(sg SubgroupID) (channels []ChannelID) {
	for k := range c.bereaved {
		if k.subgroup == sg {
			channels = append(channels, k.channel)
		}
	}
	slices.Sort(channels)
	return channels
}

// succession is from which replica a channel goes on that was bereft.
type succession struct {
	node NodeID
	gap  *gap
}

// gap is what is missing in what a bereft channel goes on with: whatever came of it after what the log has of the
// replica from which it goes on, and before that replica was handed what comes.
type gap struct {
	epoch uint32 // the log has all before this epoch
	seq   uint64 // and of it what is below
	since uint32 // the replica was handed this epoch and what follows
}

// has reports whether a message lies in the gap.
func (g *gap) has(epoch uint32, seq uint64) bool {
	return epoch < g.since && (epoch > g.epoch || epoch == g.epoch && seq >= g.seq) && !mutant.Is("gap-untold")
}

// heirs finds for each channel of a subgroup that is bereft the replica from which it goes on, if that can be told.
func (c *catalogue) heirs(before *descriptor) map[ChannelID]succession {
	heirs := map[ChannelID]succession{}
	for _, ch := range c.bereavedOf(before.Subgroup) {
		k := keptChannel{before.Subgroup, ch}
		if r, logged := c.recovery[k]; logged && !r.done {
			continue
		}
		keepers := c.keepers(k)
		found := slices.ContainsFunc(keepers, func(r replica) bool { _, waits := c.loading[r]; return !waits && before.replica(r.node, ch) })
		switch {
		case found:
			delete(c.bereaved, k)
		case len(keepers) == 0:
			if len(c.bereaved[k].awaited()) == 0 {
				delete(c.bereaved, k) // there is nothing that could come back
			}
		case c.bereft(k) && c.enough(k):
			heir := succession{node: c.heir(k), gap: &gap{}}
			if heir.gap.since = c.since(replica{k.subgroup, k.channel, heir.node}); c.bereaved[k].holds(c.present(k)) {
				for _, e := range c.onChannel[k] {
					if e.Node == heir.node && e.Log != nil && c.bereaved[k].numbers(e.Log) {
						heir.gap.epoch, heir.gap.seq = e.Log.Epoch, e.Log.Seq
					}
				}
			}
			heirs[ch] = heir
			delete(c.bereaved, k)
			c.follow(k, heir.node)
		}
	}
	return heirs
}

// follow takes note that a channel goes on from the log of a node, if it has one.
func (c *catalogue) follow(k keptChannel, node NodeID) {
	r, known := c.recovery[k]
	if i := slices.IndexFunc(c.onChannel[k], func(e *Endpoint) bool { return e.Node == node && e.Log != nil }); i >= 0 && known {
		r.line = mergeLines(r.line, c.onChannel[k][i].Log.line())
		c.recovery[k] = r
	}
}

// holds: of some logs one that counts may hold something, be it of an epoch before its last.
func (b bereavement) holds(logs []*LogState) bool {
	return slices.ContainsFunc(logs, func(l *LogState) bool {
		return (l.Written && !mutant.Is("heir-by-epoch") || l.Seq > 0) && b.sourceOf(l)
	})
}

// heir is the replica from which a channel goes on. A log that did not have the state does not count, however long it
// is: it may be of another line of the history, which ended when its node came here. But if those that had it hold
// nothing, nobody was told that anything of that is durable, and the log counts that knows the latest epoch.
func (c *catalogue) heir(k keptChannel) NodeID {
	b := c.bereaved[k]
	hold := b.holds(c.present(k))
	if node := c.longest(k, func(l *LogState) bool { return !hold || b.sourceOf(l) }); node != 0 && !mutant.Is("bereft-goes-on") {
		return node
	}
	first := slices.MinFunc(c.keepers(k), func(a, b replica) int {
		return cmp.Or(cmp.Compare(c.since(a), c.since(b)), a.compare(b))
	})
	return first.node
}

// since is the epoch from which on a replica that waits has been handed what came.
func (c *catalogue) since(r replica) uint32 {
	if a, waits := c.loading[r]; waits {
		return a.epoch
	}
	return ^uint32(0) // it comes just now
}

// keepers are the replicas of a channel, whether they have its state or not.
func (c *catalogue) keepers(k keptChannel) (rs []replica) {
	for _, e := range c.onChannel[k] {
		r := replica{k.subgroup, k.channel, e.Node}
		if e.Replica && !slices.Contains(rs, r) {
			rs = append(rs, r)
		}
	}
	return rs
}

// bereft: nobody has the state of the channel, as all have said who could have it.
func (c *catalogue) bereft(k keptChannel) bool {
	if _, is := c.bereaved[k]; !is {
		return false
	}
	return !slices.ContainsFunc(c.keepers(k), func(r replica) bool { a, waits := c.loading[r]; return waits && !a.lacks })
}

// enough of the logs of those who had the state are there.
func (c *catalogue) enough(k keptChannel) bool {
	b := c.bereaved[k]
	of, there := len(b.logs), len(b.logs)-len(c.away(k, b.logs))
	return len(c.away(k, b.only())) == 0 && (there == of || b.hurry && 2*there > of) || mutant.Is("bereft-goes-on")
}

// only are the logs that may have alone what was told to be stored, ascending.
func (b bereavement) only() (logs []uint64) {
	for _, u := range b.unheard {
		if u.only {
			logs = append(logs, u.log)
		}
	}
	slices.Sort(logs)
	return slices.Compact(logs)
}

// awaited are the logs that are waited for, ascending.
func (b bereavement) awaited() []uint64 {
	logs := slices.Concat(b.logs, b.only())
	slices.Sort(logs)
	return slices.Compact(logs)
}

// missed are the logs that are waited for and are not there.
func (c *catalogue) missed(k keptChannel) []uint64 { return c.away(k, c.bereaved[k].awaited()) }

// away are those of some logs that are not there, or not for this channel.
func (c *catalogue) away(k keptChannel, of []uint64) (logs []uint64) {
	for _, id := range of {
		if !slices.ContainsFunc(c.onChannel[k], func(e *Endpoint) bool { return e.Log != nil && e.Log.ID == id && e.Replica }) {
			logs = append(logs, id)
		}
	}
	return logs
}

// awaitsLogs: the channel is bereft, and not enough logs are there.
func (c *catalogue) awaitsLogs(k keptChannel) bool { return c.bereft(k) && !c.enough(k) }

// lacks takes note that an orphan has not got what it waited for.
func (c *catalogue) lacks(r replica, epoch uint32) []*descriptor {
	a, waits := c.loading[r]
	if !waits || a.epoch != epoch || !a.orphan() {
		return nil
	}
	a.lacks = true
	c.loading[r] = a
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{r.subgroup, c.subgroups[r.subgroup].Mode}}})
}

// bereftWaiting tells of each channel that waits for logs.
func (c *catalogue) bereftWaiting(tell func(k keptChannel, text string)) {
	for _, k := range slices.SortedFunc(maps.Keys(c.bereaved), keptChannel.compare) {
		if c.awaitsLogs(k) {
			missing := c.missed(k)
			tell(k, fmt.Sprintf("%d of the %d logs that have the latest of channel %016x are not there (%016x): start the processes that have them",
				len(missing), len(c.bereaved[k].awaited()), uint64(k.channel), missing))
		}
	}
}
