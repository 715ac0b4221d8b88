package rdma

// PeerInfo is what a node tells of itself when a link is made.
type PeerInfo struct {
	ID          uint64 // random, drawn at start
	Domain      uint32 // those of two domains are not linked, whatever address they have of each other
	Host        string
	PID         uint32
	Thread      uint32 // of the process: one that ends only with it (Canary); 0: none
	Name        string
	Addr        string // tcp address that the node listens on
	ShmDomain   uint64 // nodes with the same non-zero value map each other's memory
	Slot        uint32 // rendezvous slot on its host
	Fingerprint string // configuration that all nodes must share
}

// Aliased reports whether two nodes read each other's memory directly.
func Aliased(a, b PeerInfo) bool { return a.ShmDomain != 0 && a.ShmDomain == b.ShmDomain }

// Link is the connection to one peer. Its methods may be called by any goroutine; none of them
// waits for the peer.
type Link interface {
	Peer() PeerInfo
	// Send queues a control message: reliable, in order. At most MaxMessage bytes.
	Send(msg []byte)
	// Open asks for the peer's region; Events.Opened answers, once the peer has registered it. A
	// shape without ring asks for the cells only: a node that does not receive from the peer must
	// not ask for the ring, because its owner does not wait for it before it reuses the bytes.
	Open(key Key, shape Shape)
	// Release gives up a region that was opened. Nobody may touch its memory any more.
	Release(key Key)
	// Post brings the peer's copy of this node's region up to date. Where memory is aliased there
	// is nothing to do.
	Post(key Key)
	// PostQuiet is Post for what the peer looks at from time to time anyway: it does not wake the
	// peer. What was posted quietly is news with the next Post or Ring.
	PostQuiet(key Key)
	// HearQuiet brings this end's copies up to date with what the peer has posted quietly. A link may do that by itself.
	HearQuiet()
	// Ring wakes the peer if it sleeps. On links that copy, Post does.
	Ring()
	// Aliased reports whether regions opened over this link are the owner's memory itself.
	Aliased() bool
	// RaiseFence raises the peer's fence, if the link is Aliased, and wakes it. It works also when
	// the peer is stopped, and does no harm when it is dead. It works also when the link has ended: the word of the fence
	// stays mapped here as long as the Link is kept, and it is that of the peer for as long as its process lives.
	RaiseFence()
	// Drop gives the peer up: the link ends at once from this side, whatever has not been sent yet is
	// lost, and the peer sees the link end. LinkDown follows as an event, with err, without a
	// certified death. A new link to the same node may be made afterwards.
	Drop(err error)
	// Died reports whether the kernel certifies the death of the peer's process. It is asked of a link that is down without
	// one: of a death that comes later no event tells. Not every link knows. The peer is watched as long as somebody
	// refers to the link.
	Died() bool
}

// Direct is a Link over which nothing has to be posted, and that rings a bell in memory of the peer: who does so with
// each message can do it without the Link. It must be kept from the collector until Ring of the bell returns, since its
// memory stays mapped only as long.
type Direct interface{ Bell() *Bell }

// MaxMessage bounds a control message.
const MaxMessage = 48 << 10

// Events is told what happens on links. Calls come from goroutines of the fabric, one at a time
// per link, but for Dying and Resumed, which may come beside Message and Opened; they must not block.
type Events interface {
	// LinkUp: of the link before to the same node LinkDown has come.
	LinkUp(l Link)
	// LinkDown: died tells that the kernel certified the death of the peer's process.
	LinkDown(l Link, died bool, err error)
	// Dying: the peer's process is about to end, whether its memory is given back yet or not; or it has ended, for all
	// that is known: its host refuses connections. Its death is certain only when LinkDown says so, milliseconds later
	// perhaps; over a network that may be never, until the link is dropped. Not every link knows. It comes behind
	// LinkUp and before LinkDown, at any time between: what the peer has sent may come after it.
	Dying(l Link)
	// Resumed: the peer of which Dying told lives, and the link goes on where it was. It was not the process that
	// refused connections, but something on the way to it, or in its place.
	Resumed(l Link)
	Message(l Link, msg []byte) // msg is the receiver's to keep
	Opened(l Link, key Key, r *Region, err error)
	// Scanned comes once, when every peer that could be found at start has been asked.
	Scanned()
	// Refused: a peer with an incompatible configuration was met.
	Refused(peer PeerInfo, err error)
}

// Fabric keeps one link to every peer that it finds.
type Fabric interface {
	Register(key Key, shape Shape) (*Region, error)
	// Deregister ends a registration. Peers that copy get the last state first; the memory is
	// given back when they have it, and must not be touched by this node any more.
	Deregister(key Key)
	// Dial asks for a link to a node of which another peer told.
	Dial(p PeerInfo)
	Bell() *Bell
	// Fence is this node's. Lower it through LowerFence.
	Fence() *Fence
	// LowerFence lowers the fence and lets links that it held go on.
	LowerFence(value uint32)
	Close() error
}
