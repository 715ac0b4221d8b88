package derecho

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/rdma"
)

// Messages between two nodes, over a link, and commands, in the control subgroup. Little endian,
// explicit; rdma.ProtocolVersion covers them.

// Link messages: type, then "more follows" flag, then bytes. Large ones go in several parts.
const (
	msgStatus    = 1 // what this node is, see status
	msgJoin      = 2 // please announce me (the link says who)
	msgWelcome   = 3 // view and catalogue for a node that was announced
	msgState     = 4 // piece of the state of a channel, see states.go
	msgRemoved   = 5 // the group of this number goes on without you
	msgStateMore = 6 // a piece of a state was taken, and more is to follow
	msgVouch     = 7 // show that your group goes on
	msgVouched   = 8 // status, of a group that has gone on since it was asked to show that
)

// Commands of the control subgroup.
const (
	cmdJoin   = 1 // PeerInfo
	cmdLeave  = 2
	cmdAdd    = 3  // endpoints, up to the end
	cmdRemove = 4  // endpoint ID
	cmdTrim   = 5  // trimReport
	cmdLoaded = 6  // subgroup, channel, epoch of a transfer that has arrived
	cmdHurry  = 7  // subgroup, channel: a majority of its logs is enough now
	cmdLacks  = 8  // subgroup, channel, epoch of a transfer that has not arrived and will not
	cmdChange = 9  // endpoint ID, its new Info
	cmdHas    = 10 // subgroup, channel, epoch of a transfer that has arrived and is not in the log
	cmdGrow   = 11 // subgroup, bytes that the ring of the member is to have
	cmdVouch  = 12 // node that asks whether this group goes on: it does if this is executed
)

var errWire = errors.New("derecho: malformed message")

type writer struct{ b []byte }

func (w *writer) u8(v uint8)   { w.b = append(w.b, v) }
func (w *writer) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) bytes(b []byte) {
	w.u32(uint32(len(b)))
	w.b = append(w.b, b...)
}

func (w *writer) flag(v bool) {
	if v {
		w.u8(1)
	} else {
		w.u8(0)
	}
}

// reader reads what writer wrote; the error is sticky and values after it are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) flag() bool    { return r.u8() != 0 }
func (r *reader) bytes() []byte { return r.take(int(r.u32())) }

// count reads the length of a list whose elements take at least size bytes each.
func (r *reader) count(size int) int {
	n := int(r.u32())
	if n < 0 || n*size > len(r.b) {
		r.bad = true
		return 0
	}
	return n
}

func (w *writer) u64s(list []uint64) {
	w.u32(uint32(len(list)))
	for _, v := range list {
		w.u64(v)
	}
}

func (r *reader) u64s() (list []uint64) {
	for range r.count(8) {
		list = append(list, r.u64())
	}
	return list
}

func (w *writer) counts(counts []uint32) {
	w.u32(uint32(len(counts)))
	for _, n := range counts {
		w.u32(n)
	}
}

func (r *reader) counts() (counts []uint32) {
	for range r.count(4) {
		counts = append(counts, r.u32())
	}
	return counts
}

func (w *writer) openings(all []Opening) {
	w.u32(uint32(len(all)))
	for _, o := range all {
		w.u64(o.Log)
		w.u32(o.Count)
	}
}

func (r *reader) openings() (all []Opening) {
	for range r.count(12) {
		all = append(all, Opening{r.u64(), r.u32()})
	}
	return all
}

func (w *writer) kept(k keptChannel) {
	w.u32(uint32(k.subgroup))
	w.u64(uint64(k.channel))
}

func (r *reader) kept() keptChannel { return keptChannel{SubgroupID(r.u32()), ChannelID(r.u64())} }

func (w *writer) peer(p rdma.PeerInfo) { w.b = rdma.AppendPeerInfo(w.b, p) }

func (r *reader) peer() rdma.PeerInfo {
	p, rest, err := rdma.ParsePeerInfo(r.b)
	if err != nil {
		r.bad = true
	}
	r.b = rest
	return p
}

func (w *writer) subgroup(s Subgroup) {
	w.u32(uint32(s.ID))
	w.u8(uint8(s.Mode))
}

func (r *reader) subgroup() Subgroup {
	return Subgroup{ID: SubgroupID(r.u32()), Mode: Mode(r.u8())}
}

func (w *writer) endpoint(e Endpoint) {
	w.u64(uint64(e.Node))
	w.u32(uint32(e.ID))
	w.u64(uint64(e.Channel))
	w.subgroup(e.Writes)
	w.u32(uint32(len(e.Reads)))
	for _, s := range e.Reads {
		w.subgroup(s)
	}
	w.flag(e.Replica)
	w.flag(e.Log != nil)
	if e.Log != nil {
		w.u64(e.Log.ID)
		w.u32(e.Log.Begun)
		w.u32(e.Log.Epoch)
		w.u64(e.Log.Seq)
		w.u64s(e.Log.Logs)
		w.counts(e.Log.Openings)
		w.openings(e.Log.Past)
		w.u32(e.Log.Opened)
		w.u64(e.Log.History)
		w.flag(e.Log.Written)
	}
	w.bytes(e.Info)
}

func (r *reader) endpoint() Endpoint {
	e := Endpoint{Node: NodeID(r.u64()), ID: EndpointID(r.u32()), Channel: ChannelID(r.u64()), Writes: r.subgroup()}
	for range r.count(5) {
		e.Reads = append(e.Reads, r.subgroup())
	}
	r.bad = r.bad || e.readsControl()
	e.Replica = r.flag()
	if r.flag() {
		e.Log = &LogState{ID: r.u64(), Begun: r.u32(), Epoch: r.u32(), Seq: r.u64(), Logs: r.u64s(), Openings: r.counts(),
			Past: r.openings(), Opened: r.u32(), History: r.u64(), Written: r.flag()}
	}
	e.Info = append([]byte(nil), r.bytes()...)
	return e
}

// endpoints are those that a node announces by a command.
func (r *reader) endpoints(from NodeID) (eps []Endpoint) {
	for len(r.b) > 0 && !r.bad {
		ep := r.endpoint()
		ep.Node = from
		eps = append(eps, ep)
	}
	return eps
}

// status is what a node tells its peers of itself when a link comes up and when it changes.
type status struct {
	alone   bool // in no group, and not about to be
	outcast bool // founds none
	joined  bool // takes requests to join
	members uint32
	group   uint64 // drawn by the founder of the group; 0 for a node that is in none
	asks    uint64 // the group that it has asked to let it in
	before  ending // of the view before the one that the node is in
	cutOff  string // why nobody can join, if this node hears too few members to agree on anything
	parted  []parting
}

func (s status) encode() []byte {
	var w writer
	w.flag(s.alone)
	w.flag(s.outcast)
	w.flag(s.joined)
	w.u32(s.members)
	w.u64(s.group)
	w.u64(s.asks)
	w.ending(s.before)
	w.bytes([]byte(s.cutOff))
	w.u32(uint32(len(s.parted)))
	for _, p := range s.parted {
		w.u64(p.group)
		w.u64(uint64(p.node))
		w.flag(p.whole)
		w.u32(p.view)
	}
	return w.b
}

func (w *writer) ending(e ending) {
	w.u32(e.view)
	w.u32(uint32(len(e.stay)))
	for _, id := range e.stay {
		w.u64(uint64(id))
	}
	w.u64s(e.ends)
	w.u64s(e.reals)
}

func (r *reader) ending() ending {
	e := ending{view: r.u32()}
	for range r.count(8) {
		e.stay = append(e.stay, NodeID(r.u64()))
	}
	e.ends, e.reals = r.u64s(), r.u64s()
	return e
}

func parseStatus(b []byte) (status, error) {
	r := reader{b: b}
	s := status{alone: r.flag(), outcast: r.flag(), joined: r.flag(), members: r.u32(), group: r.u64(), asks: r.u64(),
		before: r.ending(), cutOff: string(r.bytes())}
	for range r.count(8 + 8 + 1 + 4) {
		s.parted = append(s.parted, parting{group: r.u64(), node: NodeID(r.u64()), whole: r.flag(), view: r.u32()})
	}
	return s, r.err()
}

func (r *reader) err() error {
	if r.bad {
		return errWire
	}
	return nil
}

// welcome is what a new member needs: the view that it is a member of, and the catalogue as it was
// when that view began.
type welcome struct {
	group     uint64
	epoch     uint32
	members   []rdma.PeerInfo
	endpoints []Endpoint
	subgroups []Subgroup
	epochs    []uint32        // of subgroups
	logs      [][]channelLogs // of subgroups
	loading   map[replica]arrival
	unstored  map[replica]uint32
	bereaved  map[keptChannel]bereavement
	recovery  map[keptChannel]recovery
	opened    map[uint64]uint32
	rings     map[sender]uint32
	before    ending
}

func (v welcome) encode() []byte {
	var w writer
	w.u64(v.group)
	w.u32(v.epoch)
	w.u32(uint32(len(v.members)))
	for _, p := range v.members {
		w.peer(p)
	}
	w.u32(uint32(len(v.endpoints)))
	for _, e := range v.endpoints {
		w.endpoint(e)
	}
	w.u32(uint32(len(v.subgroups)))
	for i, s := range v.subgroups {
		w.subgroup(s)
		w.u32(v.epochs[i])
		w.u32(uint32(len(v.logs[i])))
		for _, l := range v.logs[i] {
			w.u64(uint64(l.Channel))
			w.u64s(l.Logs)
			w.counts(l.Openings)
			w.openings(l.Past)
			w.u64(l.History)
			w.flag(l.Written)
		}
	}
	w.u32(uint32(len(v.loading)))
	for _, r := range slices.SortedFunc(maps.Keys(v.loading), replica.compare) {
		a := v.loading[r]
		w.u32(uint32(r.subgroup))
		w.u64(uint64(r.channel))
		w.u64(uint64(r.node))
		w.u64(uint64(a.from))
		w.u32(a.epoch)
		w.u64(a.log)
		w.flag(a.lacks)
		w.flag(a.fresh)
	}
	w.u32(uint32(len(v.unstored)))
	for _, r := range slices.SortedFunc(maps.Keys(v.unstored), replica.compare) {
		w.u32(uint32(r.subgroup))
		w.u64(uint64(r.channel))
		w.u64(uint64(r.node))
		w.u32(v.unstored[r])
	}
	w.u32(uint32(len(v.bereaved)))
	for _, k := range slices.SortedFunc(maps.Keys(v.bereaved), keptChannel.compare) {
		w.kept(k)
		w.flag(v.bereaved[k].hurry)
		w.u64s(v.bereaved[k].logs)
		w.u64(v.bereaved[k].history)
		w.unheard(v.bereaved[k].unheard)
		w.openings(v.bereaved[k].line)
	}
	w.u32(uint32(len(v.recovery)))
	for _, k := range slices.SortedFunc(maps.Keys(v.recovery), keptChannel.compare) {
		w.kept(k)
		w.flag(v.recovery[k].done)
		w.flag(v.recovery[k].hurry)
		w.flag(v.recovery[k].virgin)
		w.u64(v.recovery[k].history)
		w.u64s(v.recovery[k].last)
		w.unheard(v.recovery[k].unheard)
		w.openings(v.recovery[k].line)
	}
	w.u32(uint32(len(v.opened)))
	for _, id := range slices.Sorted(maps.Keys(v.opened)) {
		w.u64(id)
		w.u32(v.opened[id])
	}
	w.u32(uint32(len(v.rings)))
	for _, s := range slices.SortedFunc(maps.Keys(v.rings), sender.compare) {
		w.u32(uint32(s.subgroup))
		w.u64(uint64(s.node))
		w.u32(v.rings[s])
	}
	w.ending(v.before)
	return w.b
}

func (w *writer) unheard(list []unheard) {
	w.u32(uint32(len(list)))
	for _, u := range list {
		w.u64(u.log)
		w.u32(u.opening)
		w.u32(u.epoch)
		w.flag(u.only)
	}
}

func (r *reader) unheard() (list []unheard) {
	for range r.count(17) {
		list = append(list, unheard{r.u64(), r.u32(), r.u32(), r.flag()})
	}
	return list
}

func parseWelcome(b []byte) (v welcome, err error) {
	r := reader{b: b}
	v.group, v.epoch = r.u64(), r.u32()
	for range r.count(32) {
		v.members = append(v.members, r.peer())
	}
	for range r.count(30) {
		v.endpoints = append(v.endpoints, r.endpoint())
	}
	for range r.count(13) {
		sg := r.subgroup()
		r.bad = r.bad || sg.ID == 0 // its epochs are the views
		v.subgroups = append(v.subgroups, sg)
		v.epochs = append(v.epochs, r.u32())
		var logs []channelLogs
		for range r.count(29) {
			logs = append(logs, channelLogs{ChannelID(r.u64()), r.u64s(), r.counts(), r.openings(), r.u64(), r.flag()})
		}
		v.logs = append(v.logs, logs)
	}
	v.loading = map[replica]arrival{}
	for range r.count(42) {
		to := replica{SubgroupID(r.u32()), ChannelID(r.u64()), NodeID(r.u64())}
		v.loading[to] = arrival{NodeID(r.u64()), r.u32(), r.u64(), r.flag(), r.flag()}
	}
	v.unstored = map[replica]uint32{}
	for range r.count(24) {
		has := replica{SubgroupID(r.u32()), ChannelID(r.u64()), NodeID(r.u64())}
		v.unstored[has] = r.u32()
	}
	v.bereaved = map[keptChannel]bereavement{}
	for range r.count(33) {
		k := r.kept()
		v.bereaved[k] = bereavement{hurry: r.flag(), logs: r.u64s(), history: r.u64(), unheard: r.unheard(), line: r.openings()}
	}
	v.recovery = map[keptChannel]recovery{}
	for range r.count(35) {
		k := r.kept()
		v.recovery[k] = recovery{done: r.flag(), hurry: r.flag(), virgin: r.flag(), history: r.u64(), last: r.u64s(),
			unheard: r.unheard(), line: r.openings()}
	}
	v.opened = map[uint64]uint32{}
	for range r.count(12) {
		id := r.u64()
		v.opened[id] = r.u32()
	}
	v.rings = map[sender]uint32{}
	for range r.count(16) {
		s := sender{SubgroupID(r.u32()), NodeID(r.u64())}
		v.rings[s] = r.u32()
	}
	v.before = r.ending()
	return v, r.err()
}

// channelState is the state of a channel for a member that is new in an epoch.
type channelState struct {
	group    uint64 // of the node that sends it
	subgroup SubgroupID
	epoch    uint32
	channel  ChannelID
	state    []byte
	pieces   [][]byte // as which it came; joined where that holds nobody up
}

// stateHead is what is before the first piece.
const stateHead = 24

func (s *channelState) encodeHead(w *writer) {
	w.u64(s.group)
	w.u32(uint32(s.subgroup))
	w.u32(s.epoch)
	w.u64(uint64(s.channel))
}

func parseStateHead(b []byte) (s channelState, rest []byte, err error) {
	if len(b) < stateHead {
		return s, nil, errWire
	}
	r := reader{b: b[:stateHead]}
	s.group, s.subgroup, s.epoch, s.channel = r.u64(), SubgroupID(r.u32()), r.u32(), ChannelID(r.u64())
	return s, b[stateHead:], r.err()
}

// join makes one of the pieces.
func (s *channelState) join() {
	if len(s.pieces) == 1 {
		s.state = s.pieces[0]
	} else {
		size := 0
		for _, b := range s.pieces {
			size += len(b)
		}
		s.state = make([]byte, 0, size) // not slices.Concat: it clears a large one at once, and no goroutine runs meanwhile
		for _, b := range s.pieces {
			s.state = append(s.state, b...)
		}
	}
	s.pieces = nil
}

// trimReport tells how much a receiver has of senders that failed.
type trimReport struct {
	subgroup SubgroupID
	epoch    uint32
	ranks    []uint32 // of the senders
	has      []uint64 // indices below it are known here
}

func (t trimReport) encode() []byte {
	var w writer
	w.u8(cmdTrim)
	w.u32(uint32(t.subgroup))
	w.u32(t.epoch)
	w.u32(uint32(len(t.ranks)))
	for i, rank := range t.ranks {
		w.u32(rank)
		w.u64(t.has[i])
	}
	return w.b
}

func (r *reader) trimReport() trimReport {
	t := trimReport{subgroup: SubgroupID(r.u32()), epoch: r.u32()}
	for range r.count(12) {
		t.ranks, t.has = append(t.ranks, r.u32()), append(t.has, r.u64())
	}
	return t
}
