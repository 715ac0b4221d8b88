package derecho

import (
	"encoding/binary"
	"errors"

	"github.com/omg-dds-go/dds/rdma"
)

// Messages between two nodes, over a link, and commands, in the control subgroup. Little endian,
// explicit; rdma.ProtocolVersion covers them.

// Link messages: type, then "more follows" flag, then bytes. Large ones go in several parts.
const (
	msgStatus  = 1 // what this node is, see status
	msgJoin    = 2 // please announce me (the link says who)
	msgWelcome = 3 // view and catalogue for a node that was announced
	msgState   = 4 // state of a channel
)

// Commands of the control subgroup.
const (
	cmdJoin   = 1 // PeerInfo
	cmdLeave  = 2
	cmdAdd    = 3 // endpoint
	cmdRemove = 4 // endpoint ID
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
	w.bytes(e.Info)
}

func (r *reader) endpoint() Endpoint {
	e := Endpoint{Node: NodeID(r.u64()), ID: EndpointID(r.u32()), Channel: ChannelID(r.u64()), Writes: r.subgroup()}
	for range r.count(5) {
		e.Reads = append(e.Reads, r.subgroup())
	}
	e.Replica = r.flag()
	e.Info = append([]byte(nil), r.bytes()...)
	return e
}

// status is what a node tells its peers of itself when a link comes up and when it changes.
type status struct {
	alone   bool // in no group, and not about to be
	joined  bool // takes requests to join
	members uint32
	group   uint64 // drawn by the founder of the group; 0 for a node that is in none
}

func (s status) encode() []byte {
	var w writer
	w.flag(s.alone)
	w.flag(s.joined)
	w.u32(s.members)
	w.u64(s.group)
	return w.b
}

func parseStatus(b []byte) (status, error) {
	r := reader{b: b}
	s := status{alone: r.flag(), joined: r.flag(), members: r.u32(), group: r.u64()}
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
	epochs    []uint32 // of subgroups
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
	}
	return w.b
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
	for range r.count(9) {
		v.subgroups = append(v.subgroups, r.subgroup())
		v.epochs = append(v.epochs, r.u32())
	}
	return v, r.err()
}

// channelState is the state of a channel for a member that is new in an epoch.
type channelState struct {
	subgroup SubgroupID
	epoch    uint32
	channel  ChannelID
	state    []byte
}

func (s channelState) encode() []byte {
	var w writer
	w.u32(uint32(s.subgroup))
	w.u32(s.epoch)
	w.u64(uint64(s.channel))
	w.bytes(s.state)
	return w.b
}

func parseChannelState(b []byte) (s channelState, err error) {
	r := reader{b: b}
	s.subgroup, s.epoch, s.channel = SubgroupID(r.u32()), r.u32(), ChannelID(r.u64())
	s.state = r.bytes()
	return s, r.err()
}
