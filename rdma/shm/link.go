package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
)

const lingerTime = time.Second // that a closing link waits for the peer to close too

// Exporter finds regions that peers ask for. Want answers through Link.Export, now or when the
// region is registered.
type Exporter interface {
	Want(l *Link, key rdma.Key, shape rdma.Shape)
}

// Link connects two processes of one host. It takes over the connection after the greeting.
type Link struct {
	conn   *net.UnixConn
	peer   rdma.PeerInfo
	bell   *BellMemory
	exp    Exporter
	events rdma.Events
	out    *rdma.Outbox[packet]
	pidfd  *os.File // nil where the kernel has none

	mu      sync.Mutex
	opening map[rdma.Key]rdma.Shape
	opened  map[rdma.Key]*rdma.Region

	died atomic.Bool // set before the connection is closed by the pidfd watcher
	down sync.Once
	wg   sync.WaitGroup
}

type packet struct {
	b  []byte
	fd int // -1: none; closed when sent
}

// NewLink makes a link of a greeted connection; bell is the peer's.
func NewLink(conn *net.UnixConn, peer rdma.PeerInfo, bell *BellMemory, exp Exporter, events rdma.Events) *Link {
	l := &Link{
		conn: conn, peer: peer, bell: bell, exp: exp, events: events,
		out:     rdma.NewOutbox[packet](),
		opening: map[rdma.Key]rdma.Shape{}, opened: map[rdma.Key]*rdma.Region{},
	}
	if fd, err := unix.PidfdOpen(int(peer.PID), unix.PIDFD_NONBLOCK); err == nil {
		l.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	return l
}

// Start begins to read and write. LinkUp must have been reported before.
func (l *Link) Start() {
	l.wg.Add(2)
	go l.read()
	go l.write()
	if l.pidfd != nil {
		l.wg.Add(1)
		go l.watch()
	}
}

// Peer implements rdma.Link.
func (l *Link) Peer() rdma.PeerInfo { return l.peer }

// Aliased implements rdma.Link: what is opened here is the owner's memory.
func (l *Link) Aliased() bool { return true }

// Post implements rdma.Link: the owner's store was the push.
func (l *Link) Post(rdma.Key) {}

// Ring implements rdma.Link.
func (l *Link) Ring() { l.bell.Ring() }

// Send implements rdma.Link.
func (l *Link) Send(msg []byte) {
	l.out.Put(packet{append([]byte{msgControl}, msg...), -1})
}

// Open implements rdma.Link.
func (l *Link) Open(key rdma.Key, shape rdma.Shape) {
	l.mu.Lock()
	l.opening[key] = shape
	l.mu.Unlock()
	b := appendKey([]byte{msgOpen}, key)
	b = binary.LittleEndian.AppendUint32(b, uint32(shape.Cells))
	b = binary.LittleEndian.AppendUint32(b, uint32(shape.Ring))
	l.out.Put(packet{b, -1})
}

// Release implements rdma.Link. The mapping goes when the last reference to the region does, so a
// straggler that still reads it reads old memory, not unmapped memory.
func (l *Link) Release(key rdma.Key) {
	l.mu.Lock()
	delete(l.opening, key)
	delete(l.opened, key)
	l.mu.Unlock()
}

// Export answers Exporter.Want with the memory of the region, or err says why there is none.
func (l *Link) Export(key rdma.Key, m *Memory, err error) {
	fd := -1
	if err == nil {
		// A descriptor of its own: the packet may outlive the region.
		fd, err = unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		l.out.Put(packet{append(appendKey([]byte{msgOpenFail}, key), err.Error()...), -1})
		return
	}
	l.out.Put(packet{appendKey([]byte{msgOpened}, key), fd})
}

// Close ends the link from this side: what was queued is still sent.
func (l *Link) Close() {
	l.out.Close()
	l.wg.Wait()
}

func appendKey(b []byte, key rdma.Key) []byte {
	b = binary.LittleEndian.AppendUint32(b, key.Subgroup)
	return binary.LittleEndian.AppendUint32(b, key.Epoch)
}

func parseKey(b []byte) rdma.Key {
	return rdma.Key{Subgroup: binary.LittleEndian.Uint32(b), Epoch: binary.LittleEndian.Uint32(b[4:])}
}

func (l *Link) fail(err error) {
	l.down.Do(func() {
		l.conn.Close()
		if l.pidfd != nil {
			l.pidfd.Close()
		}
		l.out.Close()
		l.events.LinkDown(l, l.died.Load(), err)
	})
}

func (l *Link) write() {
	defer l.wg.Done()
	var items []packet
	for {
		var closed bool
		items, closed = l.out.Take(items)
		for _, p := range items {
			var oob []byte
			if p.fd >= 0 {
				oob = unix.UnixRights(p.fd)
			}
			_, _, err := l.conn.WriteMsgUnix(p.b, oob, nil)
			if p.fd >= 0 {
				unix.Close(p.fd)
			}
			if err != nil {
				l.fail(fmt.Errorf("shm: send to %s: %w", l.peer.Name, err))
				return
			}
		}
		if closed {
			// Half-close, and let the reader see the peer's end: to close with unread input
			// would reset the connection and could take back what was just sent.
			_ = l.conn.SetReadDeadline(time.Now().Add(lingerTime))
			if l.conn.CloseWrite() != nil {
				l.fail(nil)
			}
			return
		}
	}
}

func (l *Link) read() {
	defer l.wg.Done()
	buf := make([]byte, rdma.MaxMessage+64)
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, flags, _, err := l.conn.ReadMsgUnix(buf, oob)
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err == nil && flags&unix.MSG_TRUNC != 0 {
			err = errors.New("message too long")
		}
		if err != nil {
			l.fail(fmt.Errorf("shm: link to %s: %w", l.peer.Name, err))
			return
		}
		fd := ReceivedFD(oob[:oobn])
		if err := l.handle(buf[:n], fd); err != nil {
			l.fail(fmt.Errorf("shm: link to %s: %w", l.peer.Name, err))
			return
		}
	}
}

func (l *Link) handle(b []byte, fd int) error {
	if fd >= 0 && b[0] != msgOpened {
		unix.Close(fd)
		return errors.New("unexpected descriptor")
	}
	kind, b := b[0], b[1:]
	if kind == msgControl {
		l.events.Message(l, append([]byte(nil), b...))
		return nil
	}
	if len(b) < 8 {
		return errors.New("short message")
	}
	key, b := parseKey(b), b[8:]
	switch kind {
	case msgOpen:
		if len(b) < 8 {
			return errors.New("short message")
		}
		shape := rdma.Shape{Cells: int(binary.LittleEndian.Uint32(b)), Ring: int(binary.LittleEndian.Uint32(b[4:]))}
		if err := shape.Check(); err != nil {
			return err
		}
		l.exp.Want(l, key, shape)
	case msgOpened:
		return l.finishOpen(key, fd)
	case msgOpenFail:
		l.mu.Lock()
		delete(l.opening, key)
		l.mu.Unlock()
		l.events.Opened(l, key, nil, fmt.Errorf("shm: %s: %s: %s", l.peer.Name, key, b))
	default:
		return fmt.Errorf("unknown message %d", kind)
	}
	return nil
}

func (l *Link) finishOpen(key rdma.Key, fd int) error {
	if fd < 0 {
		return errors.New("descriptor missing")
	}
	l.mu.Lock()
	shape, wanted := l.opening[key]
	delete(l.opening, key)
	l.mu.Unlock()
	if !wanted { // released in the meantime
		unix.Close(fd)
		return nil
	}
	m, err := Map(fd, shape.Size())
	if err != nil {
		return err
	}
	r := RegionOver(shape, m)
	l.mu.Lock()
	l.opened[key] = r
	l.mu.Unlock()
	l.events.Opened(l, key, r, nil)
	return nil
}

// RegionOver makes a region of m that is unmapped when nothing refers to the region any more. The
// collector decides, because a goroutine of the application may still hold the epoch that the
// region belonged to; unmapping under it would be a fault, not an error.
func RegionOver(shape rdma.Shape, m *Memory) *rdma.Region {
	r := rdma.NewRegion(shape, m.mem)
	runtime.AddCleanup(r, (*Memory).Close, m)
	return r
}

// watch waits for the kernel to certify the death of the peer's process.
func (l *Link) watch() {
	defer l.wg.Done()
	rc, err := l.pidfd.SyscallConn()
	if err != nil {
		return
	}
	err = rc.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		return err == nil && n > 0
	})
	if err == nil {
		l.died.Store(true)
		l.fail(fmt.Errorf("shm: process %d (%s) died", l.peer.PID, l.peer.Name))
	}
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
