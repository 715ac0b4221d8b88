package shm

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
)

// Message types of a Unix link; one message is one packet.
const (
	msgControl  = 1 // bytes of the layer above
	msgOpen     = 2 // key, shape
	msgOpened   = 3 // key; the descriptor rides along
	msgOpenFail = 4 // key, text
	msgBye      = 5 // the last one: the end of the connection that follows is not a death
	msgOffer    = 6 // key, shape; the descriptor rides along
)

// maxOffers bounds the regions that a peer may offer and this node has not opened yet. More are not taken: it asks for them.
const maxOffers = 1 << 12

// lingerTime is how long a closing link waits for the peer to take what was queued and to close too.
const lingerTime = time.Second

// deathTime is how long the kernel may take from closing the sockets of a dying process to
// reporting its death.
const deathTime = time.Second

// Exporter finds regions that peers ask for. Want answers through Link.Export, now or when the
// region is registered.
type Exporter interface {
	Want(l *Link, key rdma.Key, shape rdma.Shape)
	// Offer offers the region through Link.Offer, if it is registered.
	Offer(l *Link, key rdma.Key)
}

// Link connects two processes of one host. It takes over the connection after the greeting.
//
// Two goroutines: Run reads, and is the one that ends the link; write writes. A write that fails
// only ends reading, behind what has already arrived.
type Link struct {
	conn   *net.UnixConn
	peer   rdma.PeerInfo
	bell   *BellMemory
	exp    Exporter
	events rdma.Events
	out    *rdma.Outbox[packet]
	pidfd  *os.File          // of the peer; nil where the kernel has none. Closed by Run, or with the link: Died
	thread *rdma.ThreadWatch // of the peer's canary; nil where it has none or the kernel can not; closed by Run
	ended  chan struct{}     // closed when Run returns
	lost   bool              // set by Run

	closing  atomic.Bool           // set by Close
	dropped  atomic.Pointer[error] // set by Drop before it ends reading
	writeErr atomic.Pointer[error] // set by write before it ends reading

	mu       sync.Mutex
	opening  map[rdma.Key]rdma.Shape // asked for, not answered
	offered  map[rdma.Key]offer      // not opened yet, and not over; nil when the link is down
	released map[uint32]uint32       // last epoch by subgroup: of those only in which this node was a member
}

// offer is a region of the peer that this node can open without asking.
type offer struct {
	shape rdma.Shape
	m     *Memory
}

type packet struct {
	b  []byte
	fd int // -1: none; closed when sent
}

// NewLink makes a link of a greeted connection; bell is the peer's.
func NewLink(conn *net.UnixConn, peer rdma.PeerInfo, bell *BellMemory, exp Exporter, events rdma.Events) *Link {
	return &Link{
		conn: conn, peer: peer, bell: bell, exp: exp, events: events,
		out: rdma.NewOutbox[packet](), pidfd: peerProcess(conn, peer.PID), thread: peerThread(peer), ended: make(chan struct{}),
		opening: map[rdma.Key]rdma.Shape{}, offered: map[rdma.Key]offer{}, released: map[uint32]uint32{},
	}
}

// peerProcess is a descriptor of the process at the other end, nil if the kernel has none. The
// socket knows it for certain; a process ID might have been given to another process by now.
func peerProcess(conn *net.UnixConn, pid uint32) *os.File {
	fd := -1
	if rc, err := conn.SyscallConn(); err == nil {
		_ = rc.Control(func(s uintptr) {
			if got, err := unix.GetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
				fd = got
			}
		})
	}
	if fd < 0 { // before Linux 6.5
		if got, err := unix.PidfdOpen(int(pid), 0); err == nil {
			fd = got
		}
	}
	if fd < 0 {
		return nil
	}
	return os.NewFile(uintptr(fd), "process")
}

// peerThread watches the canary of the process at the other end.
func peerThread(peer rdma.PeerInfo) *rdma.ThreadWatch {
	if peer.Thread == 0 {
		return nil
	}
	w, err := rdma.WatchThread(peer.PID, peer.Thread)
	if err != nil {
		return nil
	}
	return w
}

// watch tells when the peer's canary ends. The function that it returns ends that.
func (l *Link) watch() (end func()) {
	if l.thread == nil {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if errors.Is(l.thread.Wait(), io.EOF) {
			l.events.Dying(l)
		}
	}()
	return func() {
		l.thread.Close()
		<-over
	}
}

// Run reads and writes until the link is down and has been reported so. LinkUp must have been
// reported before.
func (l *Link) Run() {
	defer close(l.ended)
	unwatch := l.watch()
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write()
	}()
	end, err := l.read()
	if p := l.writeErr.Load(); p != nil {
		err = *p
	}
	died := false
	if p := l.dropped.Load(); p != nil {
		err = *p
	} else if !l.closing.Load() {
		died = end == endBroken && l.diesWithin(deathTime)
		l.lost = end != endBye && !died
	}
	if died {
		err = fmt.Errorf("process %d died (%w)", l.peer.PID, err)
	}
	unwatch()
	l.conn.Close()
	l.out.Close()
	<-written
	l.refuseOffers()
	if died || l.closing.Load() {
		l.pidfd.Close()
	}
	l.events.LinkDown(l, died, fmt.Errorf("shm: link to %s: %w", l.peer.Name, err))
}

// Lost reports whether the link ended though neither end wanted that, and no process is known to have
// died. It may be asked once the link has been reported down.
func (l *Link) Lost() bool { return l.lost }

// Died implements rdma.Link. As with its regions, the collector closes the descriptor of a link that is down: whoever
// gives the link up need not say so.
func (l *Link) Died() bool { return l.diesWithin(0) }

// diesWithin waits for the kernel to certify the death of the peer's process: its sockets are closed before its death
// can be seen.
func (l *Link) diesWithin(limit time.Duration) (died bool) {
	rc, err := l.pidfd.SyscallConn()
	if err != nil {
		return false
	}
	until := time.Now().Add(limit)
	_ = rc.Control(func(fd uintptr) {
		for {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(p, int(max(0, time.Until(until).Milliseconds())))
			if !errors.Is(err, unix.EINTR) {
				died = err == nil && n > 0
				return
			}
		}
	})
	return died
}

// Close ends the link from this side and waits for its end: what was queued is still sent, unless
// the peer does not take it.
func (l *Link) Close() {
	l.closing.Store(true)
	_ = l.conn.SetWriteDeadline(time.Now().Add(lingerTime))
	l.out.Close()
	<-l.ended
}

// Drop implements rdma.Link. The peer is told that this is no death, if the socket takes that.
func (l *Link) Drop(err error) {
	if !l.dropped.CompareAndSwap(nil, &err) {
		return
	}
	if rc, err := l.conn.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) {
			_, _ = unix.SendmsgN(int(fd), []byte{msgBye}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		})
	}
	_ = l.conn.CloseRead()
}

// Peer implements rdma.Link.
func (l *Link) Peer() rdma.PeerInfo { return l.peer }

// Aliased implements rdma.Link: what is opened here is the owner's memory.
func (l *Link) Aliased() bool { return true }

// Post implements rdma.Link: the owner's store was the push.
func (l *Link) Post(rdma.Key) {}

// PostQuiet implements rdma.Link.
func (l *Link) PostQuiet(rdma.Key) {}

// HearQuiet implements rdma.Link.
func (l *Link) HearQuiet() {}

// Ring implements rdma.Link.
func (l *Link) Ring() { l.bell.Ring() }

// Bell implements rdma.Direct.
func (l *Link) Bell() *rdma.Bell { return l.bell.Bell() }

// RaiseFence implements rdma.Link.
func (l *Link) RaiseFence() { l.bell.RaiseFence() }

// Send implements rdma.Link.
func (l *Link) Send(msg []byte) {
	l.out.Put(packet{append([]byte{msgControl}, msg...), -1})
}

// Open implements rdma.Link. Whoever opens a peer's region for a key mostly has one for the same key that the peer is
// about to open: both are members of one epoch. So it is offered, and whoever comes second need not ask. The
// round trip of a request takes four threads that have to be woken, an offer two.
func (l *Link) Open(key rdma.Key, shape rdma.Shape) {
	l.mu.Lock()
	o, has := l.offered[key]
	delete(l.offered, key)
	served := has && o.shape.Serves(shape)
	if !served {
		l.opening[key] = shape
	}
	l.mu.Unlock()
	if served {
		l.events.Opened(l, key, RegionOver(shape, o.m), nil)
	} else {
		if has {
			o.m.Close()
		}
		l.out.Put(packet{shape.Append(key.Append([]byte{msgOpen})), -1})
	}
	l.exp.Offer(l, key)
}

// Release implements rdma.Link. The mapping goes when the last reference to the region does, so a
// straggler that still reads it reads old memory, not unmapped memory.
func (l *Link) Release(key rdma.Key) {
	l.answered(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over(key) {
		l.released[key.Subgroup] = key.Epoch
	}
	maps.DeleteFunc(l.offered, func(k rdma.Key, o offer) bool {
		over := l.over(k)
		if over {
			o.m.Close() // nobody has seen it
		}
		return over
	})
}

// over: this node has released the region, or one of a later epoch of the subgroup. Epochs of a subgroup only grow, and
// who has ended one has opened what it needed of those before. If it opens one of them after all it asks. The caller
// holds mu.
func (l *Link) over(key rdma.Key) bool {
	last, some := l.released[key.Subgroup]
	return some && key.Epoch <= last
}

// answered ends a request, and reports its shape if there was one.
func (l *Link) answered(key rdma.Key) (rdma.Shape, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shape, wanted := l.opening[key]
	delete(l.opening, key)
	return shape, wanted
}

// Export answers Exporter.Want with the memory of the region, or err says why there is none.
func (l *Link) Export(key rdma.Key, m *Memory, err error) {
	if err == nil {
		err = l.pass(key.Append([]byte{msgOpened}), m)
	}
	if err != nil {
		l.out.Put(packet{append(key.Append([]byte{msgOpenFail}), err.Error()...), -1})
	}
}

// Offer hands the peer the memory of a region that it has not asked for. An offer that can not be made does no harm: the
// peer asks.
func (l *Link) Offer(key rdma.Key, shape rdma.Shape, m *Memory) {
	_ = l.pass(shape.Append(key.Append([]byte{msgOffer})), m)
}

// pass sends a message with the memory.
func (l *Link) pass(b []byte, m *Memory) error {
	// A descriptor of its own: the packet may outlive the region.
	fd, err := unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if p := (packet{b, fd}); !l.out.Put(p) {
		p.close()
	}
	return nil
}

func (p packet) close() {
	if p.fd >= 0 {
		unix.Close(p.fd)
	}
}

// write sends what is queued until the outbox is closed, then says bye and closes its half.
func (l *Link) write() {
	var items []packet
	for closed := false; !closed; {
		items, closed = l.out.Take(items)
		for i, p := range items {
			if err := l.send(p); err != nil {
				l.giveUp(err, items[i+1:])
				return
			}
		}
	}
	// Half-close, and let the reader see the peer's end: to close with unread input would reset the
	// connection and could take back what was just sent.
	_ = l.conn.SetReadDeadline(time.Now().Add(lingerTime))
	if err := l.send(packet{[]byte{msgBye}, -1}); err != nil {
		l.giveUp(err, nil)
		return
	}
	_ = l.conn.CloseWrite()
}

func (l *Link) send(p packet) error {
	defer p.close()
	var oob []byte
	if p.fd >= 0 {
		oob = unix.UnixRights(p.fd)
	}
	_, _, err := l.conn.WriteMsgUnix(p.b, oob, nil)
	return err
}

// giveUp ends a link that can not be written any more. The peer's last words are still read.
func (l *Link) giveUp(err error, unsent []packet) {
	l.writeErr.Store(&err)
	_ = l.conn.CloseRead()
	l.out.Close()
	left, _ := l.out.Drain(nil)
	for _, p := range append(left, unsent...) {
		p.close()
	}
}

// ending is how reading ended.
type ending int

const (
	endBye    ending = iota // after the peer's goodbye
	endBroken               // unannounced
	endFault                // with a message that can not be handled
)

// read handles messages until there are no more.
func (l *Link) read() (ending, error) {
	buf := make([]byte, rdma.MaxMessage+64)
	oob := make([]byte, unix.CmsgSpace(4))
	end, reset := endBroken, false
	for {
		n, oobn, flags, _, err := l.conn.ReadMsgUnix(buf, oob)
		if err == nil && n == 0 {
			err = io.EOF
		}
		if errors.Is(err, unix.ECONNRESET) && !reset {
			reset = true // the peer closed with unread input; what it sent before still lies behind
			continue
		}
		if err != nil {
			return end, err
		}
		fd := ReceivedFD(oob[:oobn])
		if flags&unix.MSG_TRUNC != 0 {
			packet{fd: fd}.close()
			return endFault, errors.New("message too long")
		}
		if flags&unix.MSG_CTRUNC != 0 && fd < 0 { // this process has no descriptor to spare
			if buf[0] == msgOffer {
				continue // it asks for the region when it opens it
			}
			return endFault, errDescriptors
		}
		if buf[0] == msgBye {
			packet{fd: fd}.close()
			end = endBye
			continue
		}
		if err := l.handle(buf[:n], fd); err != nil {
			return endFault, err
		}
	}
}

var errDescriptors = fmt.Errorf("the memory of a peer can not be opened, raise the limit of open files: %w", unix.EMFILE)

// handle acts on one message. It owns fd.
func (l *Link) handle(b []byte, fd int) error {
	kind, b := b[0], b[1:]
	if kind == msgOpened && len(b) == 8 && fd >= 0 {
		return l.finishOpen(rdma.ParseKey(b), fd)
	}
	if kind == msgOffer && len(b) == 16 && fd >= 0 {
		return l.takeOffer(rdma.ParseKey(b), rdma.ParseShape(b[8:]), fd)
	}
	packet{fd: fd}.close()
	switch {
	case fd >= 0:
		return fmt.Errorf("unexpected descriptor with message %d of %d bytes", kind, len(b))
	case kind == msgControl:
		l.events.Message(l, append([]byte(nil), b...))
	case kind == msgOpen && len(b) == 16:
		shape := rdma.ParseShape(b[8:])
		if err := shape.Check(); err != nil {
			return err
		}
		l.exp.Want(l, rdma.ParseKey(b), shape)
	case kind == msgOpenFail && len(b) >= 8:
		key := rdma.ParseKey(b)
		if _, wanted := l.answered(key); wanted {
			l.events.Opened(l, key, nil, fmt.Errorf("shm: %s: %s: %s", l.peer.Name, key, b[8:]))
		}
	default:
		return fmt.Errorf("message %d of %d bytes is none of this protocol", kind, len(b))
	}
	return nil
}

func (l *Link) finishOpen(key rdma.Key, fd int) error {
	shape, wanted := l.answered(key)
	if !wanted { // released in the meantime
		unix.Close(fd)
		return nil
	}
	m, err := Map(fd, shape.Size())
	if err != nil {
		return err
	}
	l.events.Opened(l, key, RegionOver(shape, m), nil)
	return nil
}

// takeOffer maps what the peer offers, and keeps it until this node opens it; here, so that the poller does not wait
// for it. It may come when this node has released the region already: that the peer is done with the epoch is told by
// its memory, and overtakes what it sends.
func (l *Link) takeOffer(key rdma.Key, shape rdma.Shape, fd int) error {
	if err := shape.Check(); err != nil {
		unix.Close(fd)
		return err
	}
	m, err := Map(fd, shape.Size())
	if err != nil {
		return nil // it is asked for
	}
	o := offer{shape, m}
	l.mu.Lock()
	before, twice := l.offered[key]
	wanted, waits := l.opening[key]
	waits = waits && shape.Serves(wanted)
	useless := l.over(key) || len(l.offered) >= maxOffers
	switch {
	case waits:
		delete(l.opening, key)
	case !useless:
		l.offered[key] = o
	}
	l.mu.Unlock()
	switch {
	case waits:
		l.events.Opened(l, key, RegionOver(wanted, m), nil)
	case useless:
		m.Close()
	case twice:
		before.m.Close()
	}
	return nil
}

// refuseOffers ends what nobody has opened; the link is down.
func (l *Link) refuseOffers() {
	l.mu.Lock()
	offered := l.offered
	l.offered = nil
	l.mu.Unlock()
	for _, o := range offered {
		o.m.Close()
	}
}

// RegionOver makes a region of the beginning of m that is unmapped when nothing refers to the region any more. The
// collector decides, because a goroutine of the application may still hold the epoch that the
// region belonged to; unmapping under it would be a fault, not an error.
func RegionOver(shape rdma.Shape, m *Memory) *rdma.Region {
	r := rdma.NewRegion(shape, m.mem[:shape.Size():shape.Size()])
	size := len(m.mem)
	runtime.AddCleanup(r, func(m *Memory) {
		m.Close()
		pace.shrink(size)
	}, m)
	pace.grow(size)
	return r
}

// ReceivedFD is the descriptor of a control message, or -1.
func ReceivedFD(oob []byte) int {
	if len(oob) == 0 {
		return -1
	}
	cmsgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1
	}
	for _, c := range cmsgs {
		if fds, err := unix.ParseUnixRights(&c); err == nil && len(fds) > 0 {
			for _, extra := range fds[1:] {
				unix.Close(extra)
			}
			unix.CloseOnExec(fds[0])
			return fds[0]
		}
	}
	return -1
}
