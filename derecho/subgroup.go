package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// subgroup is the sequence of epochs of one subgroup in which this node is, or was, a member. The
// poller owns it, except for sending.
type subgroup struct {
	m  *machine
	id SubgroupID
	// epochs that are not released, oldest first. The first that is not drained delivers.
	epochs []*epoch
	idle   int // looks in a row that found no work, up to idleAfter
	// newest is the latest descriptor, whether or not this node is a member.
	newest *descriptor
	// sending is the epoch that takes new messages; nil if this node has no writer. It may be behind newest while members make
	// themselves able to read each other's rows.
	sending atomic.Pointer[epoch]
	log     *logger // Logged only, from the first epoch in which this node receives

	// loading are channels whose state is on its way to this node, with the epoch that it is for.
	loading map[ChannelID]uint32
	// awaiting are the same channels, with the first of the epochs as of which their state was to come. What came of
	// them since then counts by a state alone.
	awaiting map[ChannelID]uint32
	// lacks are those of them of which this node has said that it has not got it, and does not take it any more, or
	// which nobody had when it began to keep them. The log is not held for them.
	lacks map[ChannelID]bool
	// untold are channels whose state has come, for that epoch, and is not on disk yet, so that this node has not said
	// that it has it.
	untold map[ChannelID]uint32
	// barren are channels of which this node owes no states of an epoch, or of those before it: it never had them, or
	// is given a later one.
	barren map[ChannelID]uint32
	// unsure are messages of this node that it was handed on channels whose state it waited for: the last of each
	// writer and epoch. If nobody has that state they may be in none (resume).
	unsure map[ChannelID][]ownMessage
	// resumed are channels that were bereft and went on, while epochs before that are not drained.
	resumed map[ChannelID]resumption
	// heldFrom is the epoch from which on the log is held, if a state comes as of a later one than it was to; else 0.
	heldFrom uint32
	// holds are the channels of which a reader of this node is full.
	holds map[ChannelID]bool
	// unannounced: the layer above has not been told yet that it keeps channels of a Fresh epoch, or that it goes on without
	// a state that it waited for, so it can not be asked for their state.
	unannounced bool
	// serving are transfers that this node owes before it may deliver the current epoch.
	serving []serving
	// growing is how large a ring this node has asked for, as long as nobody has executed that here; else 0.
	growing uint32
	// storing are the channels that the log gets in the newest epoch, with the first of the epochs without a gap in
	// which it does.
	storing map[ChannelID]uint32
	// ownStates are channels whose state the log has to get from this node, which keeps it, and the epoch at whose beginning.
	ownStates map[ChannelID]uint32
}

// ownMessage is a message of this node.
type ownMessage struct {
	epoch     uint32
	seq       uint64
	writer    EndpointID
	writerSeq uint64
}

// resumption is what is missing of a channel that was bereft, which has gone on with an epoch.
type resumption struct {
	gap
	epoch uint32
}

// serving is a transfer for an epoch.
type serving struct {
	transfer
	epoch uint32
}

// current is the epoch that delivers, nil if there is none.
func (g *subgroup) current() *epoch {
	for _, e := range g.epochs {
		if !e.drained {
			return e
		}
	}
	return nil
}

// install prepares a new epoch: its rows are opened. Messages go there from when all members can read them, or at once,
// and those of the old one come to their end. Nobody waits.
func (g *subgroup) install(d *descriptor) error {
	before := g.newest
	g.newest = d
	g.unannounced = d.keepsFresh(g.m.id) || slices.Contains(d.heirs(), g.m.id)
	g.giveUpLoading(d)
	g.giveUpOwed(d)
	g.resume(d)
	g.reload(d)
	var next *epoch
	if d.member(g.m.id) >= 0 {
		var err error
		if next, err = newEpoch(g, d); err != nil {
			return err
		}
		next.start = g.starts(before, d)
		// Of a channel that this node waits for since before it announced its log the log gets the state later. What
		// comes until then does not count in it.
		next.uncounted = slices.ContainsFunc(next.start.channels, func(c channelStarts) bool {
			return c.awaits != 0 && c.awaits == g.loading[c.Channel] && !g.stores(c.Channel, c.awaits)
		})
		if err := g.openLog(next); err != nil {
			return err
		}
		if d.loads(g.m.id) {
			g.holdLog(d.Epoch) // before it hears of the epoch
		} else if len(g.ownStates) > 0 {
			g.holdLog(0)
		}
		g.epochs = append(g.epochs, next)
		g.m.note(Installed, next)
		next.tellHolds(g.holds)
		next.openRows()
	}
	if next == nil || !g.mayPrepare(next) {
		g.begin(next)
	}
	if next != nil && g.current() == next { // those before it are drained, if perhaps not released
		g.startServing(next)
	}
	return nil
}

// mayPrepare: this node goes on sending in the epoch that it is in until all members of the next one can read its rows
// (takeOver). To the others it is one that executes the command late, so all that has to be right is what it does
// itself meanwhile: docs/adr/0031.
func (g *subgroup) mayPrepare(next *epoch) bool {
	now := g.sending.Load()
	return g.id != 0 && now != nil && next.sender != nil &&
		!slices.Contains(now.gone, true) // perhaps they keep its ring full, for ever
}

// begin has messages go to an epoch from now on, to none if there is none or this node has no writer in it.
func (g *subgroup) begin(next *epoch) {
	if next != nil && next.sender != nil {
		if now := g.sending.Load(); now != nil && now != next {
			next.inheritHolds(now)
		}
		g.sending.Store(next)
	} else {
		g.sending.Store(nil)
	}
	// After the new epoch takes messages: whoever finds the old one closed looks for the new one, and who is told that
	// this node sends there (epoch.sentByAll) gets what it sends from then on.
	for _, e := range g.epochs {
		if e != next {
			e.close()
		}
		if e.sender != nil && g.id != 0 {
			e.tellBegun(sendsHere)
		}
		if e == next {
			break // those behind it are being prepared
		}
	}
}

// reached: messages of this node go to this epoch or a later one.
func (g *subgroup) reached(epoch uint32) bool {
	now := g.sending.Load()
	return now == nil || now.desc.Epoch >= epoch
}

// backlog is how many epochs are not drained.
func (g *subgroup) backlog() (n int) {
	for _, e := range g.epochs {
		if !e.drained {
			n++
		}
	}
	return n
}

// takeOver has messages go to the last epoch that all members can read, and could read all before. It reports whether
// there is one.
func (g *subgroup) takeOver() bool {
	now := g.sending.Load()
	if now == nil || now.desc.Epoch == g.newest.Epoch {
		return false
	}
	next := now
	for _, e := range g.epochs {
		if e.desc.Epoch > now.desc.Epoch {
			if !e.readByAll() {
				break
			}
			next = e
		}
	}
	if next == now {
		return false
	}
	g.begin(next)
	return true
}

// receives reports whether this node receives in the newest epoch: only then has the log another beginning to come.
func (g *subgroup) receives() bool {
	i := g.newest.member(g.m.id)
	return i >= 0 && g.newest.Members[i].receives()
}

// catchUp has messages go to the newest epoch, whether members can read it or not.
func (g *subgroup) catchUp() {
	if g.id != 0 && !g.reached(g.newest.Epoch) {
		g.begin(g.epochs[len(g.epochs)-1])
	}
}

// announce tells the layer above which channels this node begins to receive, and whether their
// state follows.
func (g *subgroup) announce(d *descriptor) {
	for _, t := range d.Transfers {
		if from := g.loading[t.Channel]; t.To == g.m.id && t.From == t.To && from != 0 {
			// Nobody has a state any more.
			delete(g.loading, t.Channel)
			delete(g.awaiting, t.Channel)
			delete(g.lacks, t.Channel)
			if g.log != nil {
				g.m.h.AwaitState(g.id, t.Channel, from, false)
			} else {
				g.m.h.ReadState(g.id, t.Channel, nil)()
			}
		}
	}
	before := g.m.receives[g.id]
	now := d.Members[d.member(g.m.id)].Channels
	var coming []ChannelID // whose states follow
	for _, t := range d.Transfers {
		if t.To == g.m.id && t.From != t.To {
			coming = append(coming, t.Channel)
		}
	}
	slices.Sort(coming)
	channels := slices.Concat(coming, now.since(before), d.Fresh)
	slices.Sort(channels)
	for _, ch := range slices.Compact(channels) {
		keeps, receives := now.get(ch)
		if !receives {
			continue
		}
		_, pending := slices.BinarySearch(coming, ch)
		if pending {
			g.loading[ch] = d.Epoch
			if _, since := g.awaiting[ch]; !since {
				g.awaiting[ch] = cmp.Or(g.supersedes(ch), d.Epoch)
			}
			delete(g.lacks, ch)
			if t, _ := d.transferTo(g.m.id, ch); t.From == 0 {
				g.lacks[ch] = true
			}
		}
		// Of a fresh channel nobody has a state but what the logs hold: who waited for one goes on from there. And who only
		// received a channel begins with nothing else when it is the first to keep it.
		kept, received := before.get(ch)
		switch {
		case pending || keeps && (d.fresh(ch) || !kept):
			g.m.h.AwaitState(g.id, ch, d.Epoch, pending)
		case !received:
			g.m.h.AwaitState(g.id, ch, 0, false)
		}
	}
	g.m.receives[g.id] = now
	g.unannounced = false
	g.holdLog(0)
	g.serve()
	g.m.takeEarly(g)
}

// drained: e has delivered its last. What was put off until then is done, and the next epoch may
// begin, after the state as of this moment was handed to those who are new in it.
func (g *subgroup) drained(e *epoch) {
	for _, f := range e.afterDrain {
		f()
	}
	e.afterDrain = nil
	if g.id == 0 {
		g.m.controlDrained(e)
		return
	}
	if next := g.current(); next != nil {
		g.m.meet(next)
		g.startServing(next)
	}
}

// startServing notes the transfers that this node owes as of the beginning of e, and does what it can.
func (g *subgroup) startServing(e *epoch) {
	if g.log != nil && e.receiving && e.desc.Mode == Logged && (len(e.start.channels) > 0 || mutant.Is("log-unannounced")) {
		g.log.begin(e.start)
	}
	for _, t := range e.desc.Transfers {
		if t.From == g.m.id && t.To != t.From && e.desc.Epoch > g.barren[t.Channel] {
			g.serving = append(g.serving, serving{t, e.desc.Epoch})
		}
	}
	for _, c := range e.start.channels {
		if g.ownStates[c.Channel] == e.desc.Epoch {
			g.serving = append(g.serving, serving{transfer{From: g.m.id, To: g.m.id, Channel: c.Channel}, e.desc.Epoch})
		}
	}
	g.serve()
}

// holdLog keeps the log from what follows a state that is on its way, and from a further epoch on, if that is not 0.
func (g *subgroup) holdLog(from uint32) {
	if g.log == nil {
		return
	}
	hold := func(epoch uint32) {
		if from == 0 || epoch < from {
			from = epoch
		}
	}
	for ch, epoch := range g.loading {
		if g.stores(ch, epoch) && (!g.lacks[ch] || mutant.Is("bereft-holds")) {
			hold(epoch)
		}
	}
	for _, epoch := range g.ownStates {
		hold(epoch)
	}
	if from == 0 {
		g.heldFrom = 0
	} else if g.heldFrom != 0 {
		from = min(from, g.heldFrom)
	}
	g.log.hold(from)
}

// stores: the log gets the channel, and did so in an epoch already.
func (g *subgroup) stores(ch ChannelID, epoch uint32) bool {
	since, stores := g.storing[ch]
	return stores && since <= epoch || mutant.Is("log-unannounced")
}

// reload: the state of a channel comes as of a later epoch than it was to. The log is held from the first one on. But a
// node that keeps other channels, too, does not wait with the epochs between: whoever has the state may wait for the
// state of one of those, which this node gives when it has ended them. It does not tell that they are stored, for of
// the channel they do not count in its log.
func (g *subgroup) reload(d *descriptor) {
	for _, t := range d.Transfers {
		from := cmp.Or(g.loading[t.Channel], g.supersedes(t.Channel))
		if from == 0 || t.To != g.m.id || t.From == t.To || !g.stores(t.Channel, from) {
			continue
		}
		if g.lacks[t.Channel] { // the log has not been held since, and what came perhaps is not in the state
			since := g.awaiting[t.Channel]
			if mutant.Is("bereft-told-before") {
				since = from
			}
			if !mutant.Is("bereft-told") {
				g.disown(since)
			}
			continue
		}
		if g.heldFrom != 0 {
			from = min(from, g.heldFrom)
		}
		if g.heldFrom = from; g.keepsOther(t.Channel, d) {
			g.heldFrom = 0
			g.uncount(from)
		}
	}
}

// supersedes: a state that has come, as of an epoch, is not on disk yet, and will not be if another one is to come: the
// log has nothing of the channel then that counts since that epoch. 0 if there is none.
func (g *subgroup) supersedes(ch ChannelID) uint32 {
	if mutant.Is("superseded-counts") {
		return 0
	}
	return g.untold[ch]
}

// noteOwn takes note of messages of this node that it is handed on channels whose state it waits for.
func (g *subgroup) noteOwn(batch []Message) {
	if len(g.loading) == 0 && len(g.resumed) == 0 {
		return
	}
	late := missed{}
	for i := range batch {
		m := &batch[i]
		if m.Sender != g.m.id {
			continue
		}
		own := ownMessage{m.Epoch, m.Seq, m.Writer, m.WriterSeq}
		if r, is := g.resumed[m.Channel]; is && m.Epoch >= r.epoch {
			delete(g.resumed, m.Channel)
		} else if is && r.has(m.Epoch, m.Seq) {
			late.add(m.Channel, own)
			continue
		}
		if g.loading[m.Channel] == 0 {
			continue
		}
		list := g.unsure[m.Channel]
		if k := slices.IndexFunc(list, func(o ownMessage) bool { return o.epoch == own.epoch && o.writer == own.writer }); k >= 0 {
			list[k] = own
		} else {
			g.unsure[m.Channel] = append(list, own)
		}
	}
	late.tell(g)
}

// missed are messages that a history went on without: the last number of each writer, by channel.
type missed map[ChannelID]map[EndpointID]uint64

func (x missed) add(ch ChannelID, own ownMessage) {
	if x[ch] == nil {
		x[ch] = map[EndpointID]uint64{}
	}
	x[ch][own.writer] = max(x[ch][own.writer], own.writerSeq)
}

func (x missed) tell(g *subgroup) {
	for _, ch := range slices.Sorted(maps.Keys(x)) {
		for _, w := range slices.Sorted(maps.Keys(x[ch])) {
			g.m.h.LeftOut(g.id, ch, w, x[ch][w])
		}
	}
}

// resume: channels that were bereft go on. What this node has sent on them meanwhile may not be in what they go on
// with: the layer above is told before it can hear that they do not wait any more.
func (g *subgroup) resume(d *descriptor) {
	for _, t := range d.Transfers {
		if t.gap == nil || t.To != g.m.id || g.loading[t.Channel] == 0 {
			continue
		}
		r := resumption{*t.gap, d.Epoch}
		r.since = min(r.since, d.Epoch)
		g.resumed[t.Channel] = r
		out := missed{}
		kept := slices.DeleteFunc(g.unsure[t.Channel], func(own ownMessage) bool {
			if !r.has(own.epoch, own.seq) {
				return false
			}
			out.add(t.Channel, own)
			return true
		})
		if g.unsure[t.Channel] = kept; t.From == t.To { // they are in what this node has
			delete(g.unsure, t.Channel)
		}
		out.tell(g)
	}
}

// starts is what the log records when an epoch begins, as far as it is known when the epoch is announced: only of
// channels with which this node has announced the log (Endpoint.Log). Nothing else is written to it. So whenever it
// gets something the group knows what it holds, and goes on with epochs behind the last that it has (catalogue.logged);
// of one that was not announced it may have epochs with the numbers of those that come.
//
// A node may have kept a channel in memory before it has a log of it. Then the log is a newcomer, to which the node
// itself gives the state (ownStates): as of the beginning of this epoch, which delivers nothing before. If the node
// still waits for the state itself, that is as of an earlier one; so no two wait for each other.
func (g *subgroup) starts(before, d *descriptor) epochStarts {
	s := epochStarts{epoch: d.Epoch}
	storing := map[ChannelID]uint32{}
	for _, l := range d.Logs {
		if !d.replica(g.m.id, l.Channel) || g.m.cat.announcedLog(replica{g.id, l.Channel, g.m.id}) == 0 && !mutant.Is("log-unannounced") {
			continue
		}
		c := channelStarts{channelLogs: l, since: d.Epoch, awaits: g.loading[l.Channel]}
		since, stores := g.storing[l.Channel]
		whole := g.stores(l.Channel, c.awaits)
		t, moved := d.transferTo(g.m.id, l.Channel)
		own := !moved && !stores && !g.lacks[l.Channel] && before != nil && before.replica(g.m.id, l.Channel)
		switch {
		case moved && t.From != t.To:
			c.awaits = d.Epoch
		case moved && c.awaits != 0 && whole: // it goes on with what came since
			c.since, c.awaits = c.awaits, 0
		case moved && c.awaits != 0, own && !mutant.Is("log-starts-empty"): // and its log has not got all of that
			c.awaits = d.Epoch
			g.ownStates[l.Channel] = d.Epoch
		case g.ownStates[l.Channel] != 0:
			c.awaits = g.ownStates[l.Channel]
		}
		if !stores {
			since = d.Epoch
		}
		storing[l.Channel] = since
		s.channels = append(s.channels, c)
	}
	g.storing = storing
	return s
}

// serve sends states that are owed. A channel whose own state is still on its way waits for it, and
// so does the epoch: the state must be the one at its beginning.
func (g *subgroup) serve() {
	g.serving = slices.DeleteFunc(g.serving, func(t serving) bool {
		if g.loading[t.Channel] != 0 && !mutant.Is("transfer-unloaded") || g.unannounced {
			return false
		}
		// Taken here, at the end of what was delivered; encoded elsewhere, while deliveries go on.
		encode, m, group := g.m.h.SaveState(g.id, t.Channel), g.m, g.m.view.group
		m.encoding++
		m.shell.background(func() {
			msg := channelState{group: group, subgroup: g.id, epoch: t.epoch, channel: t.Channel}
			if encode != nil {
				msg.state = encode()
			}
			if mutant.Is("state-truncated") {
				msg.state = nil
			}
			if t.To == m.id {
				m.shell.post(func(m *machine) {
					m.encoding--
					g.stateForLog(msg, encode != nil)
				})
				return
			}
			m.shell.post(func(m *machine) {
				m.encoding--
				m.sendState(t.To, msg)
			})
		})
		return true
	})
}

// stateForLog gives the log the state of a channel that this node kept before it; there is none if the layer above has
// withdrawn meanwhile what kept it.
func (g *subgroup) stateForLog(s channelState, there bool) {
	if g.ownStates[s.channel] != s.epoch {
		return // it gets a later one
	}
	delete(g.ownStates, s.channel)
	if there {
		g.log.state(s)
		g.m.whenReady(func() bool { return g.log.has(s.channel, s.epoch) || g.log.failed() != nil }, func() {
			if g.log.has(s.channel, s.epoch) {
				g.tell(cmdLoaded, s.channel, s.epoch)
			}
		})
	} else {
		g.uncount(s.epoch)
	}
	g.holdLog(0)
}

// giveUpOwed: who is to get the state of a channel as of an epoch gives none as of an earlier one, neither to others
// nor to its own log. Those to whom it owed that get a later one, too: either all who keep the channel do, as it goes
// on with what logs hold, or they waited, by way of this node, for the same node in vain. And it must not wait with the
// earlier epoch until it has the state: who gives that may wait for the state of another channel, which this node gives
// at the end of that epoch. What is delivered meanwhile does not count in its log.
func (g *subgroup) giveUpOwed(d *descriptor) {
	for _, t := range d.Transfers {
		if t.To == g.m.id && (!mutant.Is("owed-outdated") || g.ownStates[t.Channel] != 0) {
			g.owesNothing(t.Channel, d.Epoch-1)
		}
	}
}

// blocked: the current epoch must not deliver yet.
func (g *subgroup) blocked() bool {
	return len(g.serving) > 0 && !mutant.Is("transfer-late") || g.log != nil && g.log.full()
}

// came decodes, elsewhere, the state of a channel that this node waits for.
func (g *subgroup) came(s channelState) {
	m := g.m
	if !g.awaits(s) || mutant.Is("deaf-state") && g.log != nil && len(m.cat.missingLogs()) > 0 {
		return
	}
	m.shell.background(func() {
		s.join()
		load := m.h.ReadState(g.id, s.channel, s.state)
		m.shell.post(func(*machine) { g.loaded(s, load) })
	})
}

// loaded takes it over, pass by pass, unless it is not the one that this node waits for any more.
func (g *subgroup) loaded(s channelState, load func() (done bool)) {
	if !g.awaits(s) && !mutant.Is("load-any-epoch") {
		return
	}
	if !load() && !mutant.Is("load-unfinished") {
		g.m.shell.post(func(*machine) { g.loaded(s, load) })
		return
	}
	delete(g.loading, s.channel)
	delete(g.awaiting, s.channel)
	delete(g.unsure, s.channel)
	g.logState(s)
	g.tellLoaded(s)
	g.serve()
}

// tellLoaded tells that a state has come, as soon as it is on disk here, if it is to be: the group counts on the log
// that it came from until then. It may be the only one that has it, and its node leave. If the log has failed the group
// counts on that one on.
func (g *subgroup) tellLoaded(s channelState) {
	g.untold[s.channel] = s.epoch
	stored := func() bool {
		return g.log == nil || !g.stores(s.channel, s.epoch) || g.log.has(s.channel, s.epoch) || mutant.Is("loaded-unstored")
	}
	g.m.whenReady(func() bool { return g.untold[s.channel] != s.epoch || stored() || g.log.failed() != nil }, func() {
		switch {
		case g.untold[s.channel] != s.epoch:
			return
		case stored() || mutant.Is("unstored-counts"):
			g.tell(cmdLoaded, s.channel, s.epoch)
		default:
			g.tell(cmdHas, s.channel, s.epoch)
		}
		delete(g.untold, s.channel)
	})
}

// awaits: the state is the one that this node waits for.
func (g *subgroup) awaits(s channelState) bool {
	return g.loading[s.channel] == s.epoch && !g.lacks[s.channel]
}

// asked tells that a state that this node waited for has not come. If it has, that was said before, and is said again;
// or it is said now that it has come, though it is not on disk yet: others wait for the answer.
func (g *subgroup) asked(ch ChannelID) {
	switch epoch, has := g.untold[ch]; {
	case has && mutant.Is("unstored-counts"):
		delete(g.untold, ch)
		g.tell(cmdLoaded, ch, epoch)
	case has:
		g.tell(cmdHas, ch, epoch)
	}
	epoch := g.loading[ch]
	if epoch == 0 {
		return
	}
	g.lacks[ch] = true
	g.holdLog(0)
	g.owesNothing(ch, g.newest.Epoch)
	g.tell(cmdLacks, ch, epoch)
}

// owesNothing: nobody waits any more for the state of a channel from this node, as of an epoch or one before: who did
// is an orphan, as this node is, or gets a later one.
func (g *subgroup) owesNothing(ch ChannelID, until uint32) {
	g.barren[ch] = until
	g.serving = slices.DeleteFunc(g.serving, func(t serving) bool { return t.Channel == ch && t.epoch <= until })
	if epoch, owes := g.ownStates[ch]; owes && epoch <= until { // to its own log
		delete(g.ownStates, ch)
		g.uncount(epoch)
		g.holdLog(0)
	}
}

// tell submits a command about a state.
func (g *subgroup) tell(cmd uint8, ch ChannelID, epoch uint32) {
	var w writer
	w.u8(cmd)
	w.u32(uint32(g.id))
	w.u64(uint64(ch))
	w.u32(epoch)
	g.m.submit(w.b)
}

// giveUpLoading: of a channel that begins afresh no state comes that was on its way before, and none of a channel that
// this node keeps no more. What was delivered meanwhile, without them, does not count in the log.
func (g *subgroup) giveUpLoading(d *descriptor) {
	given := false
	for ch := range g.loading {
		if d.fresh(ch) || !d.replica(g.m.id, ch) {
			g.uncount(g.awaiting[ch])
			delete(g.loading, ch)
			delete(g.awaiting, ch)
			delete(g.lacks, ch)
			delete(g.unsure, ch)
			g.owesNothing(ch, d.Epoch-1)
			if g.log != nil {
				g.log.forgo(ch)
			}
			given = true
		}
	}
	if given {
		g.holdLog(0)
	}
}

// keepsOther: the node keeps another channel, too, or did in an epoch that it has not ended.
func (g *subgroup) keepsOther(ch ChannelID, d *descriptor) bool {
	other := func(c ChannelID) bool { return c != ch }
	return slices.ContainsFunc(d.keptBy(g.m.id), other) || slices.ContainsFunc(g.epochs, func(e *epoch) bool {
		return !e.drained && slices.ContainsFunc(e.desc.keptBy(g.m.id), other)
	})
}

// uncount: what was delivered from an epoch on does not count in the log for some channel. So this node does not tell
// that it is stored.
func (g *subgroup) uncount(from uint32) {
	for _, e := range g.epochs {
		if e.desc.Epoch >= from && !e.drained {
			e.uncounted = true
		}
	}
}

// disown is uncount, and nothing more is told of epochs that were drained in the meantime either.
func (g *subgroup) disown(from uint32) {
	for _, e := range g.epochs {
		if e.desc.Epoch >= from {
			e.uncounted = true
		}
	}
}

// logState stores a state that has come; when all have, the log may go on.
func (g *subgroup) logState(s channelState) {
	if g.log != nil {
		g.log.state(s)
		g.holdLog(0)
	}
}

// deliver hands a batch up, at most some messages with one upcall.
func (g *subgroup) deliver(batch []Message, most int) {
	if g.id == 0 {
		for i := range batch {
			g.m.noteCommand(&batch[i])
			g.m.command(batch[i].Sender, batch[i].Payload)
			if g.m.dead() {
				return
			}
		}
		return
	}
	for ; len(batch) > most; batch = batch[most:] {
		g.m.h.Deliver(g.id, batch[:most])
	}
	g.m.h.Deliver(g.id, batch)
}

func (g *subgroup) openLog(e *epoch) error {
	if len(e.start.channels) == 0 && !mutant.Is("log-unannounced") || e.desc.Mode != Logged || !e.receiving || g.log != nil {
		return nil
	}
	log := g.m.logs.take(g.id)
	if log == nil {
		return fmt.Errorf("%w: no log for subgroup %d", ErrLog, g.id)
	}
	g.log = newLogger(log, g.m.bell, func(err error) { g.m.logFailed(g.id, err) })
	g.m.shell.startLogger(g.log)
	g.holdLog(0) // states may be on their way that the node waits for without it
	return nil
}

// release ends an epoch that all members have drained.
func (g *subgroup) release(e *epoch) {
	g.epochs = slices.DeleteFunc(g.epochs, func(x *epoch) bool { return x == e })
	g.sending.CompareAndSwap(e, nil)
	for i := range e.desc.Members {
		if l := g.m.links[e.node(i)]; l != nil && i != e.me {
			l.Release(e.key)
		}
	}
	for i := range e.desc.Members {
		k := openKey{e.node(i), e.key}
		delete(g.m.opens, k)
		delete(g.m.unproven, k)
	}
	g.m.fabric.Deregister(e.key)
	if e.lends() {
		g.m.h.Reclaim(g.id) // or a small message keeps a whole ring mapped
	}
	e.released.Store(true)
	e.wakeAll()
}

// setHold tells the writers of a channel whether to wait.
func (g *subgroup) setHold(ch ChannelID, held bool) {
	if held == g.holds[ch] {
		return
	}
	if held {
		g.holds[ch] = true
	} else {
		delete(g.holds, ch)
	}
	for _, e := range g.epochs {
		e.tellHolds(g.holds)
	}
}

// step makes one pass over the epochs.
func (g *subgroup) step() bool {
	work := g.takeOver()
	// A trigger may release an epoch, or install one.
	for i := 0; i < len(g.epochs); i++ {
		e := g.epochs[i]
		if e.agree != nil {
			work = e.agree.step() || work
			if g.m.dead() {
				return true
			}
			g.m.pause()
		}
		work = e.preds.Evaluate() || work
		if i < len(g.epochs) && g.epochs[i] != e {
			i--
		}
	}
	return work
}
