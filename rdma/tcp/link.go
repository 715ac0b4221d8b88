package tcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// lingerTime is how long a closing link waits for the peer to take what is left and to close too.
const lingerTime = time.Second

// Exporter finds regions that peers ask for. Want answers through Link.Export, now or when the
// region is registered.
type Exporter interface {
	Want(l *Link, key rdma.Key, shape rdma.Shape)
}

// Config is what a link needs of its node.
type Config struct {
	Peer rdma.PeerInfo
	// Session names the link in greetings that resume it; both ends have the same.
	Session uint64
	// Initiator: this end makes the connections. The other end can only ask for one.
	Initiator bool
	Bell      *rdma.Bell  // this node's: frames that were applied are news for its poller
	Fence     *rdma.Fence // this node's: nothing is sent while it is raised
	Exporter  Exporter
	Events    rdma.Events
	// EachPost is for experiments: a post of data returns when it is written, so that no two become one frame. Other than
	// package rdma says, it then waits for the peer, to make room in its socket.
	EachPost bool
	// Redial tries once to get a connection on which the peer has agreed to resume the session. At
	// the end that is not the initiator it only makes the peer do so, and never returns one. An
	// error that is ErrGone ends the link; after any other one Redial is called again, and one that is ErrRefused
	// makes the peer dying.
	//
	// The initiator numbers its attempts: generation is the number of this one. At the other end it
	// is that of the connection that broke.
	Redial func(ctx context.Context, generation uint64) (net.Conn, error)
	// Mark, if not nil, marks what is sent on a connection for the network: it is called when one comes into use, and by
	// Link.Mark.
	Mark func(net.Conn)
}

// Link connects two nodes over TCP, for longer than one connection lasts. It takes over the first
// connection after the greeting.
//
// Goroutines: Run has the link from its beginning to its end, reads each connection, and makes the
// next. For each connection it starts a writer, which has ended before the next one begins. So what
// Run tells the peer when a session is resumed needs no lock. While a link is hushed, quiet frames are sent and
// received by whoever posts quietly (quiet.go).
type Link struct {
	cfg  Config
	out  *rdma.Outbox[[]byte]
	each *each // nil unless Config.EachPost

	// sending is held by the writer but while it waits for something to send, and by whoever sends in its place then. It guards:
	sending sync.Mutex
	sender  sender
	writing *connection // that turns go to; nil: there is none
	quietly turn        // of sendQuiet, reused
	pace    pace

	nap atomic.Pointer[nap] // of the reader; nil: it is awake

	// exports is replaced, never changed, so that Post can look it up without a lock.
	exports atomic.Pointer[map[rdma.Key]*export]

	// Numbered frames (see doc.go), counted since the link was made.
	received  atomic.Uint64 // that came and were handled; stored by the reader
	confirmed atomic.Uint64 // that the peer has handled, as it says; stored by the reader, judged by the writer (trim)

	mu         sync.Mutex // guards writers of exports, and what follows
	opening    map[rdma.Key]rdma.Shape
	copies     map[rdma.Key]*rdma.Region // read by the reader
	conn       net.Conn                  // the connection in use; nil while the link is suspended
	generation uint64                    // of conn, or of the last one; the first is 0
	arrived    net.Conn                  // on which the peer resumes, not taken yet
	interrupt  context.CancelFunc        // ends an attempt to redial; nil when there is none

	refused atomic.Bool   // the peer was told to be dying, and has not resumed; stored by Run
	closing atomic.Bool   // Close was called: a peer that refuses connections is not waited for
	news    chan struct{} // capacity 1: something arrived, or the peer asks for a connection
	ctx     context.Context
	end     context.CancelCauseFunc // ends the link at once
	ended   chan struct{}           // closed when Run returns
}

// NewLink makes a link of a greeted connection.
func NewLink(conn net.Conn, cfg Config) *Link {
	l := &Link{
		cfg: cfg, conn: conn, out: rdma.NewOutbox[[]byte](),
		opening: map[rdma.Key]rdma.Shape{}, copies: map[rdma.Key]*rdma.Region{},
		news: make(chan struct{}, 1), ended: make(chan struct{}),
		pace: pace{least: leastTurn, most: mostTurn, whole: wholeBytes, room: firstTurn},
	}
	if cfg.EachPost {
		l.each = newEach()
	}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.exports.Store(&map[rdma.Key]*export{})
	return l
}

// Run reads and writes until the link is down and has been reported so. LinkUp must have been
// reported before.
func (l *Link) Run() {
	defer close(l.ended)
	err := l.serve(l.conn, false)
	for errors.Is(err, errBroken) {
		var conn net.Conn
		if conn, err = l.reconnect(err); err == nil {
			err = l.serve(conn, true)
		}
	}
	l.end(err)
	l.mu.Lock()
	if l.arrived != nil {
		l.arrived.Close()
	}
	l.mu.Unlock()
	l.out.Close()
	l.cfg.Events.LinkDown(l, false, fmt.Errorf("tcp: link to %s: %w", l.cfg.Peer.Name, err))
}

// connection is what reader and writer of one connection share.
type connection struct {
	net.Conn
	socket  *rdma.Socket // nil if it has none
	gather  *rdma.Gather // of socket; the writer's
	resumed bool
	own     position      // what this end had when the last connection was over
	peer    chan position // capacity 1: from the reader to the writer, if resumed
	over    chan struct{} // closed when the reader has ended
	left    atomic.Bool   // the writer has said goodbye

	// Guarded by Link.sending:
	quiet  int    // turns in a row that were quiet
	hushed bool   // the peer was told that only quiet frames follow
	rest   []byte // of a quiet frame that the socket took in part; it goes first
}

// serve uses one connection until it ends. An error that is errBroken is the connection's; any other
// one ends the link.
func (l *Link) serve(conn net.Conn, resumed bool) error {
	c := &connection{
		Conn: conn, socket: rdma.SocketOf(conn), resumed: resumed, own: l.position(), peer: make(chan position, 1), over: make(chan struct{}),
	}
	if c.socket != nil {
		c.gather = c.socket.Gather()
	}
	stop := context.AfterFunc(l.ctx, func() { conn.Close() })
	defer stop()
	l.Mark() // conn is in use: whoever sets another mark from now on finds it
	written := make(chan error, 1)
	go func() { written <- l.write(c) }()
	err := l.read(c)
	close(c.over)
	conn.Close()
	l.out.Nudge() // the writer sees that it is over
	failure := <-written
	l.sending.Lock()
	if bad := l.trim(); bad != nil { // the last that came may have been a confirmation
		failure = bad
	}
	l.sending.Unlock()
	// What the writer met says more, if it ends the link, or if reading ended because of it.
	if failure != nil && errors.Is(err, errBroken) &&
		(!errors.Is(failure, errBroken) || errors.Is(err, errClosed) || errors.Is(err, net.ErrClosed)) {
		err = failure
	}
	l.mu.Lock()
	l.conn = nil
	l.mu.Unlock()
	return err
}

// Mark has the connection in use marked anew.
func (l *Link) Mark() {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil && l.cfg.Mark != nil {
		l.cfg.Mark(conn)
	}
}

// Session names the link in greetings that resume it.
func (l *Link) Session() uint64 { return l.cfg.Session }

// Initiator: this end makes the connections.
func (l *Link) Initiator() bool { return l.cfg.Initiator }

// Peer implements rdma.Link.
func (l *Link) Peer() rdma.PeerInfo { return l.cfg.Peer }

// Aliased implements rdma.Link: the peer has a copy.
func (l *Link) Aliased() bool { return false }

// Ring implements rdma.Link: applying a frame rings the peer's bell there.
func (l *Link) Ring() {}

// RaiseFence implements rdma.Link: no memory is shared.
func (l *Link) RaiseFence() {}

// FenceLowered lets what the fence held go on.
func (l *Link) FenceLowered() { l.out.Nudge() }

// Drop implements rdma.Link. The peer learns that the session is gone when it tries to resume it.
func (l *Link) Drop(err error) { l.end(err) }

// Died implements rdma.Link: nobody certifies that.
func (l *Link) Died() bool { return false }

// Post implements rdma.Link.
func (l *Link) Post(key rdma.Key) {
	if e := (*l.exports.Load())[key]; e != nil {
		// Who finds it loud has nothing to add: whoever made it so nudges, or FenceLowered does, and the writer takes
		// it back before it captures, so the capture has what was stored before this load.
		if e.posted.Load() != postedLoud {
			e.posted.Or(postedLoud)
			l.out.Nudge()
		}
		if l.each != nil && key.Fenced() {
			l.each.wait(e)
		}
	}
}

// PostQuiet implements rdma.Link.
func (l *Link) PostQuiet(key rdma.Key) {
	if e := (*l.exports.Load())[key]; e != nil {
		e.posted.Or(postedQuiet)
		if !l.sendQuiet(e) {
			l.out.Nudge()
		}
	}
}

// Send implements rdma.Link.
func (l *Link) Send(msg []byte) { l.out.Put(append(frame(frameControl, len(msg)), msg...)) }

// Open implements rdma.Link.
func (l *Link) Open(key rdma.Key, shape rdma.Shape) {
	l.mu.Lock()
	l.opening[key] = shape
	l.mu.Unlock()
	l.out.Put(shape.Append(key.Append(frame(frameOpen, 16))))
}

// Release implements rdma.Link.
func (l *Link) Release(key rdma.Key) {
	l.mu.Lock()
	delete(l.opening, key)
	delete(l.copies, key)
	l.mu.Unlock()
}

// Export answers Exporter.Want with the region, or err says why there is none. Without ring the peer
// gets the cells only.
func (l *Link) Export(key rdma.Key, r *rdma.Region, ring bool, err error) {
	if err != nil {
		l.out.Put(append(key.Append(frame(frameOpenFail, 8+len(err.Error()))), err.Error()...))
		return
	}
	n := r.Shape().Cells
	e := &export{key: key, region: r, ring: ring, sent: make([]uint64, n), now: make([]uint64, n)}
	e.posted.Store(postedLoud) // whatever was posted before the peer asked
	l.changeExports(func(m map[rdma.Key]*export) { m[key] = e })
	l.out.Nudge()
}

// Withdraw ends an export: the peer gets the last state, then nothing more.
func (l *Link) Withdraw(key rdma.Key) {
	if e := (*l.exports.Load())[key]; e != nil {
		e.closing.Store(true)
		e.posted.Or(postedLoud)
		l.out.Nudge()
	}
}

func (l *Link) changeExports(change func(map[rdma.Key]*export)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := maps.Clone(*l.exports.Load())
	change(m)
	l.exports.Store(&m)
}

// Close ends the link from this side and waits for its end: what was queued or posted is still
// sent, unless the peer does not take it.
func (l *Link) Close() {
	linger := time.AfterFunc(lingerTime, func() {
		l.end(fmt.Errorf("closed; the peer did not take the rest within %v", lingerTime))
	})
	defer linger.Stop()
	l.out.Close()
	l.closing.Store(true)
	l.wake()
	<-l.ended
}
