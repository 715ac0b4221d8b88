package derecho

import (
	"cmp"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// memberDesc is a member of an epoch: what it sends and what it receives.
type memberDesc struct {
	Node     NodeID
	Writers  tree[EndpointID, struct{}] // not empty for a sender
	Channels tree[ChannelID, bool]      // that it receives, and whether it keeps their state
	Ring     uint32                     // bytes of the ring of a sender that has asked for more than Config.RingBytes; else 0
}

// descriptor is everything that members must agree on about an epoch.
type descriptor struct {
	Subgroup  SubgroupID
	Mode      Mode
	Epoch     uint32
	Members   []memberDesc // ascending by node
	Transfers []transfer
	Logs      []channelLogs // of the channels whose state is kept on disk, ascending
	Fresh     []ChannelID   // that are kept, and that nobody kept in the epoch before; ascending
	Waiting   []ChannelID   // of which nobody sends or receives yet, because logs are waited for
}

// channelLogs are the logs that have a channel in an epoch, and of which history.
type channelLogs struct {
	Channel  ChannelID
	Logs     []uint64  // ascending
	Openings []uint32  // of each
	Past     []Opening // of those that had it before
	History  uint64
	Written  bool
}

func sameLogs(a, b []channelLogs) bool {
	return slices.EqualFunc(a, b, func(x, y channelLogs) bool {
		return x.Channel == y.Channel && x.History == y.History && x.Written == y.Written && slices.Equal(x.Logs, y.Logs) &&
			slices.Equal(x.Openings, y.Openings) && slices.Equal(x.Past, y.Past)
	})
}

// transfer says that From hands the state of a channel, as of the end of the epoch before, to To. If
// they are the same nobody has a state: To goes on with what its log held, if there is one, and what came since. If From
// is 0 it is not known yet who has it (bereft.go).
type transfer struct {
	From, To NodeID
	Channel  ChannelID
	gap      *gap // if the channel was bereft, and goes on from From; else nil
}

func (m *memberDesc) sends() bool    { return !m.Writers.empty() }
func (m *memberDesc) receives() bool { return !m.Channels.empty() }

func (d *descriptor) member(id NodeID) int {
	return slices.IndexFunc(d.Members, func(m memberDesc) bool { return m.Node == id })
}

// channels lists all channels of the epoch, ascending: the position, modulo 64, is the bit in the hold cell.
func (d *descriptor) channels() (all []ChannelID) {
	for i := range d.Members {
		for ch := range d.Members[i].Channels.all() {
			all = append(all, ch)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// same: it sends and receives the same. The size of its ring is another matter.
func (m *memberDesc) same(o *memberDesc) bool {
	return m.Node == o.Node && m.Writers.same(o.Writers) && m.Channels.same(o.Channels)
}

func sameMembers(a, b []memberDesc) bool {
	return slices.EqualFunc(a, b, func(x, y memberDesc) bool { return x.same(&y) && x.Ring == y.Ring })
}

// catalogue is the replicated state of the control subgroup: which endpoints there are, and which
// epoch each subgroup is in. It is a value that all members fold from the same commands.
type catalogue struct {
	roster
	subgroups map[SubgroupID]*descriptor
	// loading are replicas whose state is on its way to them, by what it is.
	loading map[replica]arrival
	// unstored are replicas whose state has come, for that epoch, and whose log has not got it, or not yet: they have
	// it as those do that keep it in memory, and what counts are the logs that had it before (recovery.last).
	unstored map[replica]uint32
	// bereaved are channels that nobody is known to have the state of (bereft.go).
	bereaved map[keptChannel]bereavement
	// recovery is how far each channel of a Logged subgroup has come to take up a log (recovery.go).
	recovery map[keptChannel]recovery
	// rings are the bytes of those that have grown (grow.go).
	rings map[sender]uint32
}

// replica is a node that keeps the state of a channel.
type replica struct {
	subgroup SubgroupID
	channel  ChannelID
	node     NodeID
}

func (r replica) compare(o replica) int {
	return cmp.Or(cmp.Compare(r.subgroup, o.subgroup), cmp.Compare(r.channel, o.channel), cmp.Compare(r.node, o.node))
}

// arrival is where a state comes from, and the epoch at whose beginning it is taken.
type arrival struct {
	from  NodeID // 0: of nobody any more
	epoch uint32
	log   uint64 // of the node that it comes from, 0 if that stores nothing
	lacks bool   // it has come from nobody, and will not
	// fresh: the channel begins with it, from what logs hold. As long as one waits for it nothing is told to be stored
	// that came since.
	fresh bool
}

func newCatalogue() *catalogue {
	return &catalogue{
		roster: newRoster(), subgroups: map[SubgroupID]*descriptor{}, loading: map[replica]arrival{}, unstored: map[replica]uint32{},
		bereaved: map[keptChannel]bereavement{}, recovery: map[keptChannel]recovery{}, rings: map[sender]uint32{},
	}
}

// add announces endpoints of a node and returns the subgroups that thereby change, as new descriptors. What several of them
// change is one epoch.
func (c *catalogue) add(eps ...Endpoint) []*descriptor {
	eps = slices.DeleteFunc(slices.Clone(eps), func(ep Endpoint) bool { return c.find(ep.Node, ep.ID) != nil })
	var begin []replica
	for i := range eps {
		begin = append(begin, c.beginLogs(&eps[i])...)
	}
	for i := range eps {
		c.insert(&eps[i])
	}
	for _, r := range begin {
		c.unstored[r] = 0 // the epoch is not known yet
	}
	changed := c.refresh(nobody, eps...)
	for _, r := range begin {
		if _, unstored := c.unstored[r]; unstored {
			c.unstored[r] = c.subgroups[r.subgroup].Epoch
		}
	}
	return changed
}

// beginLogs are the replicas of a node that have kept their channel in memory, and get a log with an endpoint. It has
// nothing: the node gives it the state at the beginning of the epoch that begins with it (subgroup.starts), and tells
// when that is on disk.
func (c *catalogue) beginLogs(ep *Endpoint) (rs []replica) {
	if ep.Log == nil || !ep.Replica || mutant.Is("unstored-counts") || mutant.Is("newcomer-counts") {
		return nil
	}
	for _, sg := range ep.Reads {
		r := replica{sg.ID, ep.Channel, ep.Node}
		if d := c.subgroups[sg.ID]; d != nil && d.replica(r.node, r.channel) && c.announcedLog(r) == 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// remove withdraws an endpoint. asked are replicas that waited for the state from its node, which had not got it itself.
// ok is false if there is none.
func (c *catalogue) remove(node NodeID, id EndpointID) (ep Endpoint, changed []*descriptor, asked []replica, ok bool) {
	e := c.find(node, id)
	if e == nil {
		return ep, nil, nil, false
	}
	c.roster.delete(e)
	ep = *e
	// Who lacks the state has nothing to hand on: it is gone like one that failed.
	var left []replica
	gone := func(r replica) bool { return slices.Contains(left, r) }
	for _, sg := range ep.Reads {
		r := replica{sg.ID, ep.Channel, node}
		if slices.Contains(c.keepers(r.kept()), r) {
			continue
		}
		delete(c.unstored, r)
		if _, waits := c.loading[r]; waits {
			left = append(left, r)
			asked = append(asked, c.orphans(c.subgroups[sg.ID], gone)...)
			delete(c.loading, r)
		}
	}
	return ep, c.refresh(gone, ep), asked, true
}

// removeNodes withdraws all endpoints of nodes that failed, in the order of their announcement. asked are replicas that
// waited for a state in vain.
func (c *catalogue) removeNodes(failed func(NodeID) bool) (changed []*descriptor, asked []replica) {
	gone := func(r replica) bool { return failed(r.node) }
	var touched []Endpoint
	for _, sg := range slices.Sorted(maps.Keys(c.subgroups)) {
		d := c.subgroups[sg]
		asked = append(asked, c.orphans(d, gone)...)
		touched = append(touched, Endpoint{Reads: []Subgroup{{sg, d.Mode}}})
	}
	touched = append(touched, c.deleteNodes(failed)...)
	maps.DeleteFunc(c.loading, func(r replica, _ arrival) bool { return failed(r.node) })
	maps.DeleteFunc(c.unstored, func(r replica, _ uint32) bool { return failed(r.node) })
	return c.refresh(gone, touched...), asked
}

// loaded takes note of a state that has arrived, and is on disk if the node stores it. If the node that it came from is
// gone, its log does not count any more.
func (c *catalogue) loaded(r replica, epoch uint32) []*descriptor {
	a, waits := c.loading[r]
	since, unstored := c.unstored[r]
	switch {
	case waits && a.epoch == epoch:
		delete(c.loading, r)
	case unstored && since == epoch:
		delete(c.unstored, r)
	default:
		return nil
	}
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{r.subgroup, c.subgroups[r.subgroup].Mode}}})
}

// has takes note of a state that has arrived and is not in the log of its node: that may be still writing, or has failed.
func (c *catalogue) has(r replica, epoch uint32) []*descriptor {
	if a, waits := c.loading[r]; !waits || a.epoch != epoch {
		return nil
	}
	delete(c.loading, r)
	c.unstored[r] = epoch
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{r.subgroup, c.subgroups[r.subgroup].Mode}}})
}

// owes: a state is to come from a node, and is not known to have arrived.
func (c *catalogue) owes(node NodeID) bool {
	for _, a := range c.loading {
		if a.from == node {
			return true
		}
	}
	return false
}

func nobody(replica) bool { return false }

// part begins an epoch of a subgroup in which an endpoint writes, if only to part what is before it from what comes after.
func (c *catalogue) part(sg Subgroup, node NodeID, writer EndpointID) []*descriptor {
	if d := c.subgroups[sg.ID]; d == nil || !d.writes(node, writer) {
		return nil // it sends nothing yet, or nothing for now
	}
	return c.renew(sg.ID, nobody, Endpoint{Reads: []Subgroup{sg}})
}

// refresh computes anew the subgroups that some endpoints name, when some replicas are gone. One of which nothing has changed
// begins no epoch.
func (c *catalogue) refresh(gone func(replica) bool, eps ...Endpoint) (changed []*descriptor) {
	return c.renew(0, gone, eps...)
}

// renew is refresh, and a subgroup begins an epoch in any case, if it is not 0.
func (c *catalogue) renew(anyway SubgroupID, gone func(replica) bool, eps ...Endpoint) (changed []*descriptor) {
	var named []Subgroup
	for _, ep := range eps {
		named = append(named, ep.subgroups()...)
	}
	for _, sg := range eachOnce(named) {
		before := c.subgroups[sg.ID]
		if before == nil {
			before = &descriptor{Subgroup: sg.ID, Mode: sg.Mode}
		}
		now := *before
		waited := c.unrecovered(sg.ID)
		anew := c.recover(before)
		waiting := c.unrecovered(sg.ID)
		if len(anew) > 0 {
			before = before.without(anew)
		}
		heirs := c.heirs(before)
		c.tell(sg.ID)
		members := c.members(&now, eps, waited, waiting)
		c.sizeRings(sg.ID, members)
		next := &descriptor{Subgroup: sg.ID, Mode: before.Mode, Epoch: max(before.Epoch, c.logged(sg.ID)) + 1, Members: members, Waiting: waiting}
		touched := touched(sg.ID, eps, waited, waiting, anew)
		for _, ch := range touched {
			if next.kept(ch) && !before.kept(ch) {
				next.Fresh = append(next.Fresh, ch)
			}
		}
		next.Transfers = c.transfers(before, next, touched, heirs, gone)
		refused := len(members) > 0 && !slices.Equal(before.Waiting, next.Waiting)
		if sameMembers(before.Members, members) && sameLogs(before.Logs, c.logs(sg.ID)) && len(next.Transfers) == 0 &&
			len(anew) == 0 && !refused && sg.ID != anyway && !mutant.Is("disturb-others") {
			continue
		}
		c.depart(next)
		next.Logs = c.logs(sg.ID)
		c.subgroups[sg.ID] = next
		changed = append(changed, next)
	}
	c.forgetOpenings()
	return changed
}

// touched are the channels of a subgroup that some endpoints name, and others: what the members do with all but these
// is as it was. Ascending.
func touched(sg SubgroupID, eps []Endpoint, others ...[]ChannelID) []ChannelID {
	channels := slices.Concat(others...)
	for _, ep := range eps {
		if ep.names(sg) {
			channels = append(channels, ep.Channel)
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}

// transfers finds the replicas that need the state of their channel: those that are new, and those that have waited for
// it in vain. It comes from a replica that there was before: one that has it, or else the one that will have it first.
// Channels that were not touched, and of which nobody waits for a state, are not looked at.
func (c *catalogue) transfers(before, after *descriptor, touched []ChannelID, heirs map[ChannelID]succession,
	gone func(replica) bool) (ts []transfer) {
	channels := slices.AppendSeq(slices.Concat(touched, c.bereavedOf(after.Subgroup)), maps.Keys(heirs))
	for r, a := range c.loading {
		if r.subgroup == after.Subgroup && a.orphan() {
			channels = append(channels, r.channel)
		}
	}
	slices.Sort(channels)
	channels = slices.Compact(channels)
	for _, m := range after.Members {
		for _, ch := range channels {
			if keeps, _ := m.Channels.get(ch); !keeps {
				continue
			}
			to := replica{after.Subgroup, ch, m.Node}
			a, waits := c.loading[to]
			_, bereaved := c.bereaved[to.kept()]
			known := before.replica(m.Node, ch)
			var from NodeID
			heir, settled := heirs[ch]
			switch {
			case settled:
				from = heir.node
			case bereaved && known:
				continue
			case bereaved: // it waits like the others
				ts = append(ts, transfer{To: to.node, Channel: ch})
				continue
			case after.fresh(ch):
				from = c.longest(to.kept(), func(*LogState) bool { return true })
			case known && !(waits && a.orphan()):
				continue
			default:
				from = c.source(before, to, gone)
			}
			if from != 0 {
				ts = append(ts, transfer{From: from, To: to.node, Channel: ch, gap: heir.gap})
			}
		}
	}
	return ts
}

// depart notes that the states of an epoch are on their way.
func (c *catalogue) depart(d *descriptor) {
	for _, t := range d.Transfers {
		to := replica{d.Subgroup, t.Channel, t.To}
		delete(c.unstored, to)
		switch t.From {
		case t.To:
			delete(c.loading, to)
		case 0:
			c.loading[to] = arrival{epoch: d.Epoch, lacks: true}
		default:
			c.loading[to] = arrival{from: t.From, epoch: d.Epoch, log: c.logOf(replica{d.Subgroup, t.Channel, t.From}),
				fresh: d.fresh(t.Channel) || c.loading[to].fresh}
		}
	}
}

// source is who hands the state of a channel to a replica; 0 if there is none.
func (c *catalogue) source(before *descriptor, to replica, gone func(replica) bool) NodeID {
	var first NodeID // of those that have not got it themselves
	var epoch uint32
	for _, b := range before.Members {
		r := replica{to.subgroup, to.channel, b.Node}
		if !before.replica(b.Node, to.channel) || gone(r) {
			continue
		}
		a, waits := c.loading[r]
		if !waits {
			return b.Node
		}
		if !a.orphan() && (first == 0 || a.epoch < epoch) {
			first, epoch = b.Node, a.epoch
		}
	}
	return first
}

// transferTo is the transfer of a channel to a node, if there is one.
func (d *descriptor) transferTo(node NodeID, ch ChannelID) (t transfer, is bool) {
	i := slices.IndexFunc(d.Transfers, func(t transfer) bool { return t.To == node && t.Channel == ch })
	if i < 0 {
		return t, false
	}
	return d.Transfers[i], true
}

// replica: the node keeps the state of the channel in this epoch.
func (d *descriptor) replica(node NodeID, ch ChannelID) bool {
	i := d.member(node)
	if i < 0 {
		return false
	}
	keeps, _ := d.Members[i].Channels.get(ch)
	return keeps
}

// fresh: the state of the channel is kept from this epoch on, and was not before.
func (d *descriptor) fresh(ch ChannelID) bool {
	_, fresh := slices.BinarySearch(d.Fresh, ch)
	return fresh
}

// kept: somebody keeps the state of the channel.
func (d *descriptor) kept(ch ChannelID) bool {
	return slices.ContainsFunc(d.Members, func(m memberDesc) bool { keeps, _ := m.Channels.get(ch); return keeps })
}

// keepsFresh: a node keeps the state of a channel that nobody kept in the epoch before.
func (d *descriptor) keepsFresh(node NodeID) bool {
	return slices.ContainsFunc(d.Fresh, func(ch ChannelID) bool { return d.replica(node, ch) })
}

// keptBy are the channels whose state a node keeps, ascending.
func (d *descriptor) keptBy(node NodeID) (channels []ChannelID) {
	if i := d.member(node); i >= 0 {
		for ch, keeps := range d.Members[i].Channels.all() {
			if keeps {
				channels = append(channels, ch)
			}
		}
	}
	return channels
}

// without is the epoch as if nobody had received some channels.
func (d *descriptor) without(channels []ChannelID) *descriptor {
	w := *d
	w.Members = slices.Clone(d.Members)
	for i := range w.Members {
		for _, ch := range channels {
			w.Members[i].Channels = w.Members[i].Channels.without(ch)
		}
	}
	return &w
}

// loads: the node waits for a state that is taken when the epoch begins.
func (d *descriptor) loads(node NodeID) bool {
	return slices.ContainsFunc(d.Transfers, func(t transfer) bool { return t.To == node && t.From != t.To })
}

// heirs are the nodes that go on without a state that others had.
func (d *descriptor) heirs() (nodes []NodeID) {
	for _, t := range d.Transfers {
		if t.From == t.To {
			nodes = append(nodes, t.To)
		}
	}
	return nodes
}

// arriving are the replicas of a channel with a log for which its state is on its way, or may be.
func (c *catalogue) arriving(k keptChannel) (rs []replica) {
	for r := range c.loading {
		if r.kept() == k && c.arrives(r) {
			rs = append(rs, r)
		}
	}
	return rs
}

func (c *catalogue) arrives(r replica) bool {
	a, waits := c.loading[r]
	return waits && !a.lacks && c.announcedLog(r) != 0
}

// arrived: none of some replicas waits for a state any more, and those who may have one that nobody else has have all said so.
func (c *catalogue) arrived(k keptChannel, rs []replica) bool {
	if _, is := c.bereaved[k]; is && !c.bereft(k) {
		return false
	}
	return !slices.ContainsFunc(rs, c.arrives)
}
