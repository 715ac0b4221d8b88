// Package tcp emulates one-sided writes over TCP, for longer than one connection lasts.
//
// The peer's copy of a region lives in its heap; frames are applied straight into it. The sending
// side keeps dirty state, not a queue: Post marks a region dirty, and the link's writer, when the
// socket takes more, captures the newest cells, then sends the ring bytes that they cover, then the
// cells, one writev over all dirty regions. A value overwritten meanwhile is never sent; a slow peer
// delays itself and costs no memory beyond the rings.
//
// Order (package rdma, rule 3): cells are captured from the last to the first and applied from the
// first to the last. If the owner stores a before b and a < b, then a capture that has the new b
// loaded a later still, so it has the new a, and the peer stores a first. The tail is cell 0: it is
// captured last, after every cell that speaks of ring contents, and applied after the bytes.
//
// # Turns are short
//
// A turn has room for so many ring bytes (pace.go), so that heartbeats, which are in every turn, do not wait behind a
// large sample, or behind a full ring on a slow line (ADR 0038). A region that has more keeps what was captured; its bytes
// go in frames of their own, ahead, and the cells with the last of them. The peer notes how many bytes it has beyond its
// tail, and no more: nobody sees anything of them. So a tail in the midst of a message is never seen, and cells are captured
// anew only when those before were sent, else they would never be while the owner publishes. What was captured is given up
// when a fence was raised, and on a new connection, and captured anew.
//
// # A broken connection is not a failure
//
// A link is a session, which outlives its connections. While it has none it is suspended, without
// limit: whoever uses it decides by heartbeats when to Drop it. It ends by itself only if
//
//   - one end closes it: the goodbye comes behind everything else, then the end of the connection;
//   - the peer is gone for certain: who answers at its address does not have the session, or it says
//     so itself when it asks for a new link (package fabric);
//   - what the peer sends can not be.
//
// A peer whose address refuses connections is dying, as far as is known (rdma.Events): its process has ended, or what
// forwards to it has, or a firewall rejects. It is dialled on all the same.
//
// The initiator dials again; the other end can only ask it to, and thereby also learns whether the
// peer is still there. Either may see a break first, so a resumption replaces a connection that
// looks alive. Attempts are numbered, so one that was overtaken by the next is told from it.
//
// On a connection that resumes, the first frame in each direction is the position of its sender: how
// many numbered frames it has handled, and for each copy the tail that it has applied. It is taken when
// the reader of the last connection has ended, so it is exact. The other end goes back to it:
//
//  1. Numbered frames are kept until they are confirmed, and sent again from the first that the peer
//     has not handled. None is lost, none comes twice.
//  2. All cells of all regions are sent again. They carry state: newer values do no harm.
//  3. Ring bytes are sent from the tail on that the peer has applied. They are still in the ring: the
//     owner waits for the peer's cells before it reuses them, and the peer can not have told, in cells
//     of its own, that it is done with bytes that it does not have. What was applied of them above the
//     tail when the connection broke is written again, to the same place.
//  4. The last state of a withdrawn region is kept until the peer has it: the frame withdrawn, behind
//     it, is numbered.
//
// # The fence
//
// What a link sends of a fenced region (rdma.Key) passes the node's fence: the writer captures, then
// looks, then sends (package rdma, Fence). If the fence is raised, nothing of those captures is sent;
// what is dirty is captured anew when the fence was lowered. A link that is closed meanwhile waits for
// that, too.
//
// # Sockets
//
// Go switches Nagle's algorithm off, and the kernel sizes the buffers (ADR 0033). What of them was not sent yet is bounded
// as a turn is: the writer waits until there is less.
// A turn is one writev; what is stored while the socket is full becomes one larger frame. The system calls are made
// behind the back of the Go runtime, unless they are long (rdma.Gather, rdma.Scatter): before any other one it wakes
// its monitor thread, if the process was idle.
//
// # Framing
//
// Little endian; those with # are numbered, by counting them:
//
//	length u32 (of what follows) | type u8 | ...
//	control   1 #  bytes
//	open      2 #  subgroup u32, epoch u32, cells u32, ring u32
//	openfail  3 #  subgroup, epoch, text
//	opened    4 #  subgroup, epoch
//	write     5    subgroup, epoch, ring position u64, ring bytes u32, cells u32, cells * (index u32, value u64), bytes
//	position  6    numbered frames handled u64, copies * (subgroup, epoch, tail u64)
//	confirm   7    numbered frames handled u64
//	withdrawn 8 #  subgroup, epoch
//	bye       9    nothing follows
//	quiet    10    as write; the peer's poller is not woken
//	hush     11    nothing follows; until wake only quiet frames come
//	wake     12    zeros
//	ahead    13    as quiet, without cells: bytes behind those that came before, up to a tail that comes with a later write
package tcp
