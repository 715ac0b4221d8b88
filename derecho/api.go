package derecho

import (
	"errors"
	"fmt"
	"time"
)

// NodeID names an incarnation of one process (one DomainParticipant) in the group. It is drawn at
// random at start, so a restarted process is a new node; its low 16 bits count the incarnations: a
// process that the group went on without comes back under the next number. Zero is no node.
type NodeID uint64

const incarnations = 1<<16 - 1

// Incarnation tells how often the process has joined.
func (id NodeID) Incarnation() int { return int(id & incarnations) }

func (id NodeID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// EndpointID names a DataWriter or DataReader within its node. Zero is no endpoint.
type EndpointID uint32

// ChannelID names a topic inside a subgroup; topics that share a subgroup differ in it.
type ChannelID uint64

// SubgroupID names a subgroup within the top-level group. Zero is the control subgroup, which
// every member belongs to and which no endpoint may use.
type SubgroupID uint32

// Mode is how a subgroup delivers.
type Mode uint8

const (
	// Unordered delivers on receipt: per-sender order, no stability wait, a full ring drops
	// the new sample at the sender.
	Unordered Mode = 1
	// Ordered is atomic multicast: one total order for all members, delivered when stable.
	Ordered Mode = 2
	// Logged is Ordered, and members append what they deliver to a log on disk, of the channels with which they have
	// announced it (Endpoint.Log); see Config.OpenLog and Node.WaitDurable.
	Logged Mode = 3
)

// Subgroup says where samples of an endpoint travel.
type Subgroup struct {
	ID   SubgroupID
	Mode Mode // all endpoints that name the same ID name the same Mode
}

// Endpoint is a DataWriter or DataReader as the group knows it. All members learn of endpoints
// in the same order (they are announced through the control subgroup).
type Endpoint struct {
	Node    NodeID
	ID      EndpointID
	Channel ChannelID
	// Writes is the subgroup that the endpoint sends on; ID 0 for a reader.
	Writes Subgroup
	// Reads are the subgroups that the endpoint can receive from. A writer that lists its own
	// subgroup here is a replica of its channel: it is handed what it and others send.
	// A subgroup is only joined for reading while some endpoint writes this channel on it.
	Reads []Subgroup
	// Replica says that the endpoint's node keeps the state of the channel (for late joiners):
	// it joins the subgroups in Reads even while nobody writes, gets the state of another replica
	// when it joins, and gives it to those who join later.
	Replica bool
	// Log is what the node's log of a Logged subgroup held when the endpoint was announced; nil for an
	// endpoint that keeps none. Config.LogState fills it in.
	Log *LogState
	// Info is the announcement of the layer above, at most MaxInfo bytes; derecho carries it unread.
	Info []byte
}

// LogState is what a log on disk holds of a channel, as it is found when a node starts: by it the
// members agree whose log is taken up when all of them were gone (docs/adr/0013, 0019). LogIndex makes it.
type LogState struct {
	ID    uint64 // of the log, drawn when it was made and kept in it; never zero
	Begun uint32 // the last epoch of the subgroup that the log knows, be it without the channel; 0 for an empty log
	Epoch uint32 // the last one in which the log had the channel; 0 if there is none
	// Seq is how far it has come in that epoch: it holds all of the channel whose sequence number is below it.
	Seq uint64
	// Logs are those that had the channel in that epoch, ascending.
	Logs []uint64
	// Openings says of each of them how often it had been opened when the epoch began, as far as the members knew; nil:
	// not recorded, by an earlier version.
	Openings []uint32
	// Past are the logs that had the channel in an epoch of this line before, ascending, and how often each had been
	// opened, as far as the members knew.
	Past []Opening
	// Opened is how often this log has been opened, this time included.
	Opened uint32
	// History names the history of the channel that the log holds a part of; 0 for none.
	History uint64
	// Written: there was a writer in that history, so it may hold something.
	Written bool
}

// View is the membership of the group, as its members have agreed on it.
type View struct {
	// Epoch counts the views of the group: all members give one view the same number. It is that of the control subgroup.
	Epoch uint32
	// Members are in the order in which they joined.
	Members []MemberInfo
	// Failed are the members of the view before that are not in this one because the group goes on without them; others
	// that are missing have left.
	Failed []NodeID
}

// Kind says what a message is to the layer above. derecho carries it unread.
type Kind uint8

// Header is the part of a message that its sender chooses.
type Header struct {
	Writer    EndpointID
	WriterSeq uint64 // 1, 2, 3, ... per writer; a gap at an Unordered reader is loss
	Timestamp int64  // source timestamp, ns since the Unix epoch
	Kind      Kind
	Flags     uint8
}

// Message is one delivered message. Payload points into the sender's ring: it is valid until the
// upcall returns, or as long as it is lent (Lend), and must not be written. To keep a message, keep what With gives.
type Message struct {
	Header
	Sender  NodeID
	Channel ChannelID // channel of the writer, 0 if that writer is not known any more
	Epoch   uint32
	Seq     uint64 // position in the total order of (subgroup, epoch); per-sender index when Unordered
	Payload []byte

	from *lender // nil: it can not be lent
	at   uint64  // where it lies in the ring
	loan *Loan   // if it is lent
}

// Handler is the layer above. Every method is called on the polling goroutine, in one total
// sequence: it must not block, must not call back into Node except where noted, and what it needs
// of a Payload it copies out, or has lent to it, before it returns.
type Handler interface {
	// Entered says that this node has become a member, under this ID, before anything else of the
	// group is told. It is called again, with another ID, when the node has joined again.
	Entered(id NodeID)
	// EndpointAdded comes in the same order at every member, own endpoints included; EndpointRemoved when the last
	// message of the endpoint was delivered here, so its place among other endpoints may differ. A node that joins gets
	// EndpointAdded for all that exist before Join returns. What this node sends after it was told of a reader reaches
	// that reader.
	EndpointAdded(ep Endpoint)
	EndpointRemoved(ep Endpoint)
	// EndpointChanged says that an endpoint has another Info from now on (Node.ChangeEndpoint). That of one that writes has
	// its place among the messages of its subgroup, the same at every member that receives them: between two epochs. Of the
	// others it comes at the same place of the order of EndpointAdded.
	EndpointChanged(ep Endpoint)
	// Viewed tells of the view that the node is in from now on. The first one follows Entered, and so does the first of
	// each later incarnation.
	Viewed(v View)
	// NodeJoined and NodeLeft report members; a leaving node's endpoints are removed first.
	NodeJoined(id NodeID)
	NodeLeft(id NodeID)
	// Deliver hands over one batch of a subgroup, in delivery order. The slice is reused. EndpointAdded was called for
	// whoever writes.
	Deliver(sg SubgroupID, batch []Message)
	// Reclaim says that a sender waits for room that is lent here, or that an epoch is over: whatever is not in use is to be
	// copied and released.
	Reclaim(sg SubgroupID)
	// SaveState takes the state of a channel for a node that starts to receive it: exactly what was
	// delivered so far. It takes it quickly; what it returns is called once, on a goroutine of its own,
	// while deliveries go on, and encodes it. It may wait for upcalls (Node.Upcall). nil if there is no state.
	SaveState(sg SubgroupID, ch ChannelID) (encode func() []byte)
	// AwaitState says that this node, from epoch from on, starts to keep the state of ch on sg; if from is 0, that it
	// starts to receive ch without keeping its state, which it may still be asked for if it has kept it until now. If
	// pending is true ReadState follows with the state as of the beginning of that epoch, or another AwaitState; or the
	// node's own endpoint is withdrawn first. Deliver may still bring messages of ch from epochs before, if the node
	// received ch for another endpoint: that state covers them already. If pending is false nobody has a state: the
	// node goes on from what its log held, if it keeps one, and what it was handed from that epoch on, if it waited
	// until now.
	AwaitState(sg SubgroupID, ch ChannelID, from uint32, pending bool)
	// ReadState decodes a state that has come, which is not called on the polling goroutine but on one of
	// its own. What it returns is an upcall like the others, and takes the state over. It is called until it
	// returns true, once a pass, with other upcalls in between, so that none of these calls need take long; and not any more
	// if another state is on its way by then. That of a nil state returns true at once.
	ReadState(sg SubgroupID, ch ChannelID, state []byte) (load func() (done bool))
	// LogFailed reports that a member (maybe this one) can not log the subgroup any more. If this one has joined again
	// and its endpoints that need the log are left out until it can be used, that is a LogError which is Refused.
	// EndpointAdded follows for each when it is announced, and nil when all are.
	LogFailed(sg SubgroupID, node NodeID, err error)
	// LeftOut says that messages of a writer of this node, which keeps the state of its channel on a Logged subgroup,
	// are not in the history with which that goes on, up to one with the number upTo: nobody had the state when they
	// were sent, and it was taken from logs that have come back. Those who received them then were handed them. Others
	// may have been in time. It comes before WaitDurable fails no more for the logs that were away.
	LeftOut(sg SubgroupID, ch ChannelID, writer EndpointID, upTo uint64)
	// Silence tells, with every heartbeat of this node while another member is silent, for how long it has been,
	// and 0 when it is heard again. It is much less than Config.Lease for one that is well; the group goes on
	// without one that is silent for longer. Under two heartbeats (Heartbeats) it has no meaning.
	Silence(id NodeID, d time.Duration)
	// NodeFailed reports a member that the group goes on without. Its endpoints are removed after that,
	// when all that they sent before is delivered, then it has left.
	NodeFailed(id NodeID)
	// Isolated reports that too few members are heard to agree on anything: nothing is delivered, and Reserve fails
	// with the same error. nil: it is over. Excluded follows if the others went on without this node meanwhile. nil
	// also follows Excluded, when the node has joined again and all its endpoints are announced again: then Reserve
	// works. It does not come earlier, also if the node is isolated for a while before that. Before this node has
	// joined, for the first time or again, it tells that the group lets nobody in, because the members that are left
	// are too few to agree on it.
	Isolated(err error)
	// Undelivered hands over what this node had committed and was not handed itself, in order, when the group has gone
	// on without it: others may have been handed it, all of them or nobody. It is called of subgroups that the node
	// receives. Endpoints are removed, and Excluded follows, after that. Slot.Commit tells of what is committed later.
	Undelivered(sg SubgroupID, own []Message)
	// Excluded reports that the group went on without this node. It joins again by itself, as a new
	// node: EndpointRemoved for every endpoint and NodeLeft for every node came before, and
	// EndpointAdded follows for those that there are then, its own included.
	Excluded(err error)
	// Failed reports that this node can not go on. No further upcall follows.
	Failed(err error)
}

var (
	// ErrTimeout: the ring stayed full, or a channel stayed held, until the deadline.
	ErrTimeout = errors.New("derecho: timed out")
	// ErrTooLarge: the message does not fit the ring; see Config.RingBytes.
	ErrTooLarge = errors.New("derecho: message too large")
	// ErrWouldBlock: an Unordered sender's ring is full; the message was not sent.
	ErrWouldBlock = errors.New("derecho: ring full")
	// ErrNotSender: the node has no writer on this subgroup.
	ErrNotSender = errors.New("derecho: not a sender of this subgroup")
	// ErrClosed: the node has left, or is leaving, the group.
	ErrClosed = errors.New("derecho: closed")
	// ErrConfig: the peer was started with an incompatible configuration.
	ErrConfig = errors.New("derecho: incompatible configuration")
	// ErrLog: a member can not write its log.
	ErrLog = errors.New("derecho: log failed")
	// ErrPeerLost: a peer can not be understood.
	ErrPeerLost = errors.New("derecho: peer lost")
	// ErrNoMajority: too few members are heard to go on without the others (no split brain).
	ErrNoMajority = errors.New("derecho: no majority")
	// ErrRecovering: too few of the logs that were written last are there to take one of them up.
	ErrRecovering = errors.New("derecho: logs are missing")
	// ErrHistory: the log of this node holds another history of the channel than the one that the members go on with,
	// or what was stored in theirs without their knowledge.
	ErrHistory = errors.New("derecho: another history")
	// ErrCopied: another node that lives has the log of this one; the directory of one is a copy of the other's.
	ErrCopied = errors.New("derecho: a copied log")
	// ErrExcluded: the group went on without this node.
	ErrExcluded = errors.New("derecho: excluded")
	// ErrOtherGroup is an ErrExcluded: this node left its group for another of the same domain that it met, which is
	// larger, or has a majority.
	ErrOtherGroup = fmt.Errorf("%w: another group of the domain", ErrExcluded)
)
