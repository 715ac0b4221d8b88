package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// recovery is how a channel of a Logged subgroup takes up what was stored of it when nobody was there any more. Each
// log tells what it holds (LogState). Whose is taken up must not depend on who comes back first: it is a
// function of the endpoints and commands that all members have executed.
//
// Of the logs that are there, those that know the latest epoch of the channel name the logs that had it. When all of
// these are there, or a majority and somebody has waited long enough (cmdHurry), the channel begins: the longest log is
// the one that counts, and all others get its state, by the same transfer as any newcomer. A log that comes later finds
// a replica that lives, and gets the state from it, unless it is refused (foreign). Other channels of the subgroup do
// not wait.
//
// When members fail, and with them the last that have the state of a channel, it goes back to the logs
// (bereft.go).
type recovery struct {
	done  bool
	hurry bool // a majority is enough
	// virgin: no log that was there held anything, and there has been no writer since: whoever comes with a
	// log that does knows more than all who are there.
	virgin bool
	// history names what the channel goes on with: by the first of the logs with which it once began, and how often
	// that had been opened (newHistory). A log that holds another history is refused (foreign): the two have no common
	// order, and one would be lost.
	history uint64
	// last are the logs that had the state when any had it last: what those hold who keep it in memory goes on from
	// there. Ascending.
	last []uint64
	// unheard are logs that may have got the state since: whether they did nobody knows.
	unheard []unheard
	// line is what leads to the present epoch.
	line []Opening
}

// recover brings the recovery of the channels of a subgroup up to date. It returns those of which what the members
// have is to be taken from logs anew.
func (c *catalogue) recover(sg *descriptor) (anew []ChannelID) {
	if sg.Mode != Logged {
		return nil
	}
	for k, r := range c.recovery {
		if k.subgroup == sg.Subgroup && len(c.present(k)) == 0 && !(r.done && c.anyKeeps(k)) && !mutant.Is("again-any") {
			delete(c.recovery, k) // all have left: the next log begins anew
		}
	}
	for _, ch := range c.storedOf(sg.Subgroup) {
		k := keptChannel{sg.Subgroup, ch}
		r, known := c.recovery[k]
		present := c.present(k)
		written := slices.ContainsFunc(present, func(l *LogState) bool { return l.Written })
		switch {
		case r.done && (r.virgin || mutant.Is("late-returner")) && written:
			r, anew = recovery{}, append(anew, ch)
			c.forgetBereavement(k)
		case !known && sg.kept(ch) && !mutant.Is("memory-first"):
			anew = append(anew, ch) // who has kept it in memory until now was there before the first log, and has nothing
			if len(c.bereaved[k].awaited()) == 0 {
				c.forgetBereavement(k)
			}
		}
		b, bereaved := c.bereaved[k]
		if !r.done {
			missing, of := c.missing(k)
			r.done = (len(missing) == 0 || r.hurry && c.most(k)) && !(of > 0 && mutant.Is("recover-never"))
			r.virgin = r.done && !written && !bereaved
			if r.done {
				r.history = cmp.Or(b.history, historyOf(present))
			}
			if best := longestOf(present); r.done && !bereaved && best != nil {
				r.line = best.line()
			}
		}
		if r.done {
			r.line = mergeLines(r.line, b.line)
		}
		if had := c.having(sg, ch); r.done && len(had) > 0 {
			r.last, r.unheard = had, nil
		}
		r.virgin = r.virgin && !slices.ContainsFunc(c.onChannel[k], func(e *Endpoint) bool { return e.Writes.ID == sg.Subgroup })
		c.recovery[k] = r
	}
	return anew
}

// tell adds the logs that are there to the lines of channels that have begun: who comes with one is told what the
// channel goes on with. While that is not known, as logs are waited for, nobody is told of anything, and who is there may be gone
// before it is.
func (c *catalogue) tell(sg SubgroupID) {
	for _, ch := range c.storedOf(sg) {
		k := keptChannel{sg, ch}
		r := c.recovery[k]
		if _, waits := c.bereaved[k]; r.done && (!waits || mutant.Is("visitor-told")) {
			r.line = extend(r.line, c.present(k))
			c.recovery[k] = r
		}
	}
}

// forgetBereavement: nobody has the state of a channel, and what was to be had was nothing. A log has come that may
// hold something: all get that, and it is not one more that waits until those who were asked have answered. It would be
// forgotten if its node failed then.
func (c *catalogue) forgetBereavement(k keptChannel) {
	if !mutant.Is("bereft-of-nothing") {
		delete(c.bereaved, k)
	}
}

// having are the logs that have the state of a channel in an epoch, ascending.
func (c *catalogue) having(d *descriptor, ch ChannelID) (logs []uint64) {
	for _, e := range c.onChannel[keptChannel{d.Subgroup, ch}] {
		r := replica{d.Subgroup, ch, e.Node}
		_, waits := c.loading[r]
		if _, unstored := c.unstored[r]; e.Log != nil && !waits && !unstored && d.replica(e.Node, ch) {
			logs = append(logs, e.Log.ID)
		}
	}
	slices.Sort(logs)
	return slices.Compact(logs)
}

// anyKeeps: somebody keeps the channel, perhaps without a log.
func (c *catalogue) anyKeeps(k keptChannel) bool {
	return slices.ContainsFunc(c.onChannel[k], func(e *Endpoint) bool { return e.Replica })
}

// historyOf is the history that some logs go on with: that of the longest which holds something, else of the longest, else
// a new one.
func historyOf(logs []*LogState) (history uint64) {
	var best *LogState
	for _, l := range standing(logs) {
		if l.History != 0 && (best == nil || l.Written && !best.Written || l.Written == best.Written && l.counts(best)) {
			best = l
		}
	}
	if best == nil {
		return newHistory(logs)
	}
	return best.History
}

// newHistory names a history that begins with logs which hold none: by the first of them and how often that has been
// opened. It may be one of those that began an earlier history, and have failed before its disk had kept that; others
// went on, and what they have stored since is another history than this one.
func newHistory(logs []*LogState) uint64 {
	first := slices.MinFunc(logs, func(a, b *LogState) int { return cmp.Compare(a.ID, b.ID) })
	if mutant.Is("history-again") {
		return first.ID
	}
	const odd = 0x9e3779b97f4a7c15 // other numbers of openings give others
	return first.ID ^ uint64(first.Opened)*odd
}

// foreign: the log of an endpoint that is announced holds another history of its channel than what the members have, or
// wait for. It returns that one; it is that of the log if that has parted from their line.
func (c *catalogue) foreign(ep *Endpoint) (history uint64, is bool) {
	if ep.Log == nil || !ep.Log.Written || mutant.Is("history-lost") {
		return 0, false
	}
	for k, b := range c.bereaved {
		if k.channel == ep.Channel && ep.names(k.subgroup) && b.history != 0 &&
			(b.history != ep.Log.History || !c.expects(k, ep.Log) && apart(b.line, ep.Log)) {
			return b.history, true
		}
	}
	for k, r := range c.recovery {
		if k.channel != ep.Channel || !ep.names(k.subgroup) {
			continue
		}
		if r.done && !r.virgin && (r.history != ep.Log.History || !c.expects(k, ep.Log) && apart(r.line, ep.Log)) {
			return r.history, true
		}
		for _, l := range c.present(k) {
			if l.Written && (l.History != ep.Log.History || !r.done && parted(l, ep.Log)) {
				return l.History, true
			}
		}
	}
	return 0, false
}

// expects: a log is there already, with another endpoint, or is one of those that are waited for, whatever else it has been in.
func (c *catalogue) expects(k keptChannel, l *LogState) bool {
	return c.bereft(k) && c.bereaved[k].sourceOf(l) || slices.ContainsFunc(c.present(k), func(o *LogState) bool { return o.ID == l.ID })
}

// storedOf are the channels of a subgroup of which there is a log, ascending.
func (c *catalogue) storedOf(sg SubgroupID) (channels []ChannelID) {
	for _, e := range c.storing[sg] {
		channels = append(channels, e.Channel)
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}

// unrecovered are the channels of a subgroup whose logs are waited for, ascending.
func (c *catalogue) unrecovered(sg SubgroupID) (channels []ChannelID) {
	for k, r := range c.recovery {
		if k.subgroup == sg && !r.done {
			channels = append(channels, k.channel)
		}
	}
	slices.Sort(channels)
	return channels
}

// present are the logs of a channel that are there, each once.
func (c *catalogue) present(k keptChannel) (logs []*LogState) {
	for _, e := range c.onChannel[k] {
		if e.Log != nil && !slices.ContainsFunc(logs, func(l *LogState) bool { return l.ID == e.Log.ID }) {
			logs = append(logs, e.Log)
		}
	}
	return logs
}

func (e *Endpoint) names(sg SubgroupID) bool {
	return e.Writes.ID == sg || slices.ContainsFunc(e.Reads, func(s Subgroup) bool { return s.ID == sg })
}

// readsControl: it names the control subgroup, which the catalogue does not have. As what is written 0 is none.
func (e *Endpoint) readsControl() bool {
	return slices.ContainsFunc(e.Reads, func(s Subgroup) bool { return s.ID == 0 })
}

// logged is the Logged subgroup that the endpoint names, 0 if it names none.
func (e *Endpoint) logged() SubgroupID {
	for _, sg := range append([]Subgroup{e.Writes}, e.Reads...) {
		if sg.Mode == Logged {
			return sg.ID
		}
	}
	return 0
}

// latest are the logs that had a channel in the latest epoch of it that any log knows.
func (c *catalogue) latest(k keptChannel) []uint64 {
	present := c.present(k)
	if len(present) == 0 {
		return nil
	}
	order := (*LogState).compare
	if mutant.Is("epochs-by-number") {
		order = func(l, o *LogState) int { return cmp.Compare(l.Epoch, o.Epoch) } // the first that is told counts
	}
	return slices.MaxFunc(standing(present), order).Logs
}

// missing are those of the latest that are not there, and how many those are altogether.
func (c *catalogue) missing(k keptChannel) (missing []uint64, of int) {
	latest := c.latest(k)
	if len(latest) == 0 {
		return nil, 0
	}
	present := c.present(k)
	for _, id := range latest {
		if !slices.ContainsFunc(present, func(l *LogState) bool { return l.ID == id }) {
			missing = append(missing, id)
		}
	}
	return missing, len(latest)
}

// longest is the replica of a channel whose log holds most, of those that are let; of equals the first by ID of the log.
func (c *catalogue) longest(k keptChannel, let func(l *LogState) bool) NodeID {
	node := map[*LogState]NodeID{}
	var logs []*LogState
	for _, e := range c.onChannel[k] {
		if e.Log != nil && e.Replica && let(e.Log) {
			node[e.Log] = e.Node
			logs = append(logs, e.Log)
		}
	}
	return node[longestOf(logs)]
}

// longestOf is the one of some logs that counts; nil if there is none.
func longestOf(logs []*LogState) (best *LogState) {
	for _, l := range standing(logs) {
		if best == nil || l.counts(best) {
			best = l
		}
	}
	return best
}

// standing are those of some logs whose last epoch is not made void by that of another. If some hold something the
// others decide nothing. The number of an epoch does not tell that alone: when not all who had begun an epoch come
// back, the others may begin one with the same number, or go on to a lower one (docs/adr/0013).
func standing(logs []*LogState) (stand []*LogState) {
	if empty := func(l *LogState) bool { return !l.Written }; slices.ContainsFunc(logs, func(l *LogState) bool { return l.Written }) {
		logs = slices.DeleteFunc(slices.Clone(logs), empty)
	}
	var epochs []*lastEpoch // one log of each: mostly there is one epoch, and a hundred logs may know it
	epochOf := make([]*lastEpoch, len(logs))
	for i, l := range logs {
		k := slices.IndexFunc(epochs, func(o *lastEpoch) bool {
			return slices.Equal(l.Logs, o.Logs) && slices.Equal(l.Openings, o.Openings) && slices.Equal(l.Past, o.Past)
		})
		if k < 0 {
			k, epochs = len(epochs), append(epochs, newLastEpoch(l))
		}
		epochOf[i] = epochs[k]
	}
	for i, l := range logs {
		// A disk that has forgotten openings, or was put back, makes two epochs contradict each other. Then neither is
		// void by the other: else both were, and one that is older than the two would stand.
		if !slices.ContainsFunc(epochs, func(o *lastEpoch) bool { return epochOf[i].voided(o) && !o.voided(epochOf[i]) }) {
			stand = append(stand, l)
		}
	}
	if len(stand) == 0 { // more than two contradict each other
		return logs
	}
	return stand
}

// lastEpoch is that of a log, with its logs and its line.
type lastEpoch struct {
	*LogState
	named, line []Opening
}

func newLastEpoch(l *LogState) *lastEpoch {
	return &lastEpoch{l, openingsOf(l.Logs, l.Openings), l.line()}
}

// voided: the last epoch of o began after that of l, by what openings tell, and those who began it had been told what
// they could of that.
func (l *lastEpoch) voided(o *lastEpoch) bool {
	switch {
	case mutant.Is("epochs-by-number"):
		return false
	case l.reopened(o.named):
		return true
	}
	return !mutant.Is("past-forgotten") && !mutant.Is("heir-by-epoch") && within(l.line, o.line)
}

// compare orders logs by what they hold; of those that hold the same the first by ID counts.
func (l *LogState) compare(o *LogState) int {
	return cmp.Or(cmp.Compare(l.Epoch, o.Epoch), cmp.Compare(l.Seq, o.Seq), cmp.Compare(o.ID, l.ID))
}

// counts: it holds more than another log, or the same and is the first by ID.
func (l *LogState) counts(o *LogState) bool {
	switch {
	case mutant.Is("recover-first"):
		return false
	case mutant.Is("recover-by-length") && l.Seq != o.Seq:
		return l.Seq > o.Seq
	}
	return l.compare(o) > 0
}

// logs are the logs that have each channel of a subgroup in an epoch that begins now: those that are there, and those
// of nodes that are not any more, and have what another still waits for or nobody else has.
func (c *catalogue) logs(sg SubgroupID) (logs []channelLogs) {
	for _, ch := range c.storedOf(sg) {
		k := keptChannel{sg, ch}
		if !c.recovery[k].done {
			continue
		}
		ids := c.bereaved[k].awaited()
		for _, l := range c.present(k) {
			ids = append(ids, l.ID)
		}
		for to, a := range c.loading {
			if to.kept() == k && a.log != 0 {
				ids = append(ids, a.log)
			}
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		openings := make([]uint32, len(ids))
		for i, id := range ids {
			openings[i] = c.opened[id]
		}
		logs = append(logs, channelLogs{ch, ids, openings, pastOf(c.recovery[k].line, ids), c.recovery[k].history, !c.recovery[k].virgin})
	}
	return logs
}

// forgetOpenings forgets how often logs had been opened that an epoch can not name any more (logs). They say it when
// they come back. All that is looked at the members agree on.
func (c *catalogue) forgetOpenings() {
	if len(c.opened) == len(c.onLog) { // each that is there has one
		return
	}
	away := map[uint64]bool{}
	for _, b := range c.bereaved {
		for _, id := range b.awaited() {
			away[id] = true
		}
	}
	for _, a := range c.loading {
		away[a.log] = true
	}
	for _, r := range c.recovery { // they may become those of a channel that is bereft
		for _, id := range r.last {
			away[id] = true
		}
		for _, u := range r.unheard {
			away[u.log] = true
		}
	}
	maps.DeleteFunc(c.opened, func(id uint64, _ uint32) bool { return len(c.onLog[id]) == 0 && !away[id] })
}

// logOf is the log of the node that keeps, or kept, a channel; 0 if it has none, or that has not got the state.
func (c *catalogue) logOf(r replica) uint64 {
	if _, unstored := c.unstored[r]; unstored {
		return 0
	}
	if log := c.announcedLog(r); log != 0 {
		return log
	}
	for to, a := range c.loading { // its endpoint is gone already
		if to.kept() == r.kept() && a.from == r.node {
			return a.log
		}
	}
	return 0
}

// announcedLog is the log with which the node keeps a channel; 0 if there is none.
func (c *catalogue) announcedLog(r replica) uint64 {
	for _, e := range c.onChannel[r.kept()] {
		if e.Node == r.node && e.Log != nil {
			return e.Log.ID
		}
	}
	return 0
}

// logged is the latest epoch that any log knows: epochs go on from there, so that positions in logs of
// different runs and nodes can be compared.
func (c *catalogue) logged(sg SubgroupID) (epoch uint32) {
	for _, e := range c.storing[sg] {
		if !mutant.Is("restart-epochs") {
			epoch = max(epoch, e.Log.Begun)
		}
	}
	return epoch
}

// recovered: nobody waits for the logs of the endpoint's channel.
func (c *catalogue) recovered(ep Endpoint) bool {
	for k, r := range c.recovery {
		if !r.done && k.channel == ep.Channel && ep.names(k.subgroup) {
			return false
		}
	}
	return true
}

// patient: some logs of a channel are missing, and a majority of them is not enough yet.
func (c *catalogue) patient(k keptChannel) bool {
	if r, known := c.recovery[k]; known && !r.done {
		return !r.hurry
	}
	return c.awaitsLogs(k) && !c.bereaved[k].hurry
}

// most: more than half of the latest logs are there.
func (c *catalogue) most(k keptChannel) bool {
	missing, of := c.missing(k)
	there := of - len(missing)
	if mutant.Is("virgin-evidence") {
		there = len(c.present(k))
	}
	return 2*there > of || mutant.Is("hurry-any")
}

// majority: more than half of the logs that are waited for are there, and those that nothing replaces.
func (c *catalogue) majority(k keptChannel) bool {
	if r, known := c.recovery[k]; known && !r.done {
		return c.most(k)
	}
	b := c.bereaved[k]
	return len(c.away(k, b.only())) == 0 && 2*len(c.away(k, b.logs)) < len(b.logs)
}

// hurry lets a majority of the logs be enough, which is there.
func (c *catalogue) hurry(k keptChannel) []*descriptor {
	if !c.patient(k) || !c.majority(k) {
		return nil
	}
	if r, known := c.recovery[k]; known && !r.done {
		r.hurry = true
		c.recovery[k] = r
	}
	if c.awaitsLogs(k) {
		b := c.bereaved[k]
		b.hurry = true
		c.bereaved[k] = b
	}
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{k.subgroup, Logged}}})
}

// missingLogs tells which are missing, of each channel that waits for logs.
func (c *catalogue) missingLogs() map[keptChannel]string {
	var waiting map[keptChannel]string
	tell := func(k keptChannel, text string) {
		if waiting == nil {
			waiting = map[keptChannel]string{}
		}
		if before := waiting[k]; before != "" {
			text = before + "; " + text
		}
		waiting[k] = text
	}
	for k, r := range c.recovery {
		if !r.done {
			missing, of := c.missing(k)
			tell(k, fmt.Sprintf("%d of the %d logs that were written last are not there (%016x): start the processes that have them", len(missing), of, missing))
		}
	}
	c.bereftWaiting(tell)
	return waiting
}
