package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

const addrInUse = syscall.EADDRINUSE

// A greeting is answered by a verdict and the answering node's own greeting.
const (
	accept    = 0 // the link is up
	callBack  = 1 // your ID is the larger: I shall dial you
	duplicate = 2 // we have a link, or are making one
	useTCP    = 3 // dial my tcp address instead
	refuse    = 4 // the configurations differ
	leaving   = 5 // I am closing
)

// errRefused carries a verdict other than accept.
type errRefused struct {
	verdict byte
	peer    rdma.PeerInfo
}

func (e errRefused) Error() string {
	return fmt.Sprintf("fabric: verdict %d from %s", e.verdict, e.peer.Name)
}

// judge decides, at the node that was dialled, what becomes of a greeting. If it accepts, the entry
// in links is reserved.
func (f *Fabric) judge(p rdma.PeerInfo, overTCP bool) byte {
	if p.Fingerprint != f.self.Fingerprint {
		return refuse
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, have := f.links[p.ID]
	switch {
	case f.closed:
		return leaving
	case have || p.ID == f.self.ID:
		return duplicate
	case p.ID > f.self.ID:
		return callBack
	case !overTCP && !rdma.Aliased(p, f.self):
		return useTCP
	}
	f.links[p.ID] = nil
	return accept
}

func (f *Fabric) dropReserved(id uint64) {
	f.mu.Lock()
	if f.links[id] == nil {
		delete(f.links, id)
	}
	f.mu.Unlock()
}

// up makes a greeted connection a link. The entry in links is reserved.
func (f *Fabric) up(l link) {
	f.mu.Lock()
	f.links[l.Peer().ID] = l
	closed := f.closed
	f.mu.Unlock()
	f.events.LinkUp(l)
	f.mu.Lock()
	if c := f.expected[l.Peer().ID]; c != nil {
		delete(f.expected, l.Peer().ID)
		close(c)
	}
	f.mu.Unlock()
	l.Start()
	if closed {
		l.Close()
	}
}

// events as the links see them: a link that goes down is forgotten first.
type linkEvents struct {
	rdma.Events
	f *Fabric
}

func (e linkEvents) LinkDown(l rdma.Link, died bool, err error) {
	e.f.mu.Lock()
	delete(e.f.links, l.Peer().ID)
	e.f.mu.Unlock()
	e.Events.LinkDown(l, died, err)
}

// --- Unix sockets: one packet each way, the doorbell's descriptor rides along.

func (f *Fabric) acceptUnix() {
	defer f.wg.Done()
	for {
		c, err := f.unix.AcceptUnix()
		if err != nil {
			return
		}
		f.wg.Add(1)
		go func() {
			defer f.wg.Done()
			if f.answerUnix(c) != nil {
				c.Close()
			}
		}()
	}
}

func (f *Fabric) answerUnix(c *net.UnixConn) error {
	if err := c.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	b, fd, err := readPacket(c)
	if err != nil {
		return err
	}
	p, _, err := rdma.ParseHello(b)
	if err != nil {
		closeFD(fd)
		return err
	}
	p.PID = peerPID(c, p.PID)
	v := f.judge(p, false)
	err = f.sendGreeting(c, []byte{v}, v == accept)
	if v != accept {
		closeFD(fd)
		f.declined(v, p, true)
		if err == nil {
			err = errRefused{v, p}
		}
		return err
	}
	if err == nil {
		err = f.finishUnix(c, p, fd)
	}
	if err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

// declined acts on a verdict that this node gave to a peer that dialled.
func (f *Fabric) declined(v byte, p rdma.PeerInfo, onHost bool) {
	switch v {
	case callBack:
		if onHost && rdma.Aliased(p, f.self) {
			f.dialOnce(fmt.Sprintf("slot %d", p.Slot), func() error { return f.dialSlot(int(p.Slot)) })
		} else {
			f.Dial(p)
		}
	case refuse:
		f.events.Refused(p, f.mismatch(p))
	}
}

func (f *Fabric) mismatch(p rdma.PeerInfo) error {
	return fmt.Errorf("fabric: %s (process %d on %s) runs with %q, this process with %q", p.Name, p.PID, p.Host, p.Fingerprint, f.self.Fingerprint)
}

func (f *Fabric) sendGreeting(c *net.UnixConn, prefix []byte, withBell bool) error {
	var oob []byte
	if withBell {
		oob = f.bell.Rights()
	}
	_, _, err := c.WriteMsgUnix(rdma.AppendHello(prefix, f.self), oob, nil)
	return err
}

// dialSlot greets whoever is bound to a slot of this host.
func (f *Fabric) dialSlot(slot int) error {
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: f.slotName(slot), Net: "unixpacket"})
	if err != nil {
		return err
	}
	if err := f.greetUnix(c); err != nil {
		c.Close()
		return f.wasDeclined(err)
	}
	return nil
}

func (f *Fabric) greetUnix(c *net.UnixConn) error {
	if err := c.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	if err := f.sendGreeting(c, nil, true); err != nil {
		return err
	}
	b, fd, err := readPacket(c)
	if err != nil {
		return err
	}
	p, v, err := f.verdict(b)
	if err != nil {
		closeFD(fd)
		return err
	}
	p.PID = peerPID(c, p.PID)
	if v != accept || !f.reserve(p.ID) {
		closeFD(fd)
		return errRefused{v, p}
	}
	if err = f.finishUnix(c, p, fd); err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

func (f *Fabric) finishUnix(c *net.UnixConn, p rdma.PeerInfo, bellFD int) error {
	if bellFD < 0 {
		return errors.New("fabric: greeting without doorbell")
	}
	bell, err := shm.MapBell(bellFD)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	f.up(shm.NewLink(c, p, bell, shmExporter{f}, linkEvents{f.events, f}))
	return nil
}

// reserve takes the entry of a peer that accepted; it fails if there is one already.
func (f *Fabric) reserve(id uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, have := f.links[id]; have || f.closed {
		return false
	}
	f.links[id] = nil
	return true
}

func (f *Fabric) verdict(b []byte) (rdma.PeerInfo, byte, error) {
	if len(b) < 1 {
		return rdma.PeerInfo{}, 0, rdma.ErrHello
	}
	p, version, err := rdma.ParseHello(b[1:])
	if err != nil && version != 0 {
		err = fmt.Errorf("fabric: peer speaks protocol version %d, this process %d", version, rdma.ProtocolVersion)
	}
	return p, b[0], err
}

// wasDeclined acts on the verdict of a peer that this node dialled. What needs no further act of
// ours is no error.
func (f *Fabric) wasDeclined(err error) error {
	var r errRefused
	if !errors.As(err, &r) {
		return err
	}
	switch r.verdict {
	case callBack, duplicate: // there will be a link, made elsewhere
		f.expect(r.peer.ID)
	case useTCP:
		f.expect(r.peer.ID)
		f.Dial(r.peer)
	case refuse:
		f.events.Refused(r.peer, f.mismatch(r.peer))
	}
	return nil
}

func readPacket(c *net.UnixConn) ([]byte, int, error) {
	b, oob := make([]byte, 8<<10), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, -1, err
	}
	return b[:n], shm.ReceivedFD(oob[:oobn]), nil
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// peerPID is the process ID that the kernel certifies, in place of the one that the peer claims.
func peerPID(c *net.UnixConn, claimed uint32) uint32 {
	rc, err := c.SyscallConn()
	if err != nil {
		return claimed
	}
	_ = rc.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			claimed = uint32(cred.Pid)
		}
	})
	return claimed
}

// --- TCP: the same greeting, each with a length in front.

func (f *Fabric) acceptTCP() {
	defer f.wg.Done()
	for {
		c, err := f.tcpL.Accept()
		if err != nil {
			return
		}
		f.wg.Add(1)
		go func() {
			defer f.wg.Done()
			if f.answerTCP(c) != nil {
				c.Close()
			}
		}()
	}
}

func (f *Fabric) answerTCP(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	b, err := readSized(c)
	if err != nil {
		return err
	}
	p, _, err := rdma.ParseHello(b)
	if err != nil {
		return err
	}
	v := f.judge(p, true)
	err = writeSized(c, rdma.AppendHello([]byte{v}, f.selfOn(c)))
	if v != accept {
		f.declined(v, p, false)
		if err == nil {
			err = errRefused{v, p}
		}
		return err
	}
	if err == nil {
		err = f.finishTCP(c, p)
	}
	if err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

// dialTCP greets a node at an address.
func (f *Fabric) dialTCP(addr string, limit time.Duration) error {
	d := net.Dialer{Timeout: limit}
	c, err := d.DialContext(f.ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if err := f.greetTCP(c); err != nil {
		c.Close()
		return f.wasDeclined(err)
	}
	return nil
}

func (f *Fabric) greetTCP(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	if err := writeSized(c, rdma.AppendHello(nil, f.selfOn(c))); err != nil {
		return err
	}
	b, err := readSized(c)
	if err != nil {
		return err
	}
	p, v, err := f.verdict(b)
	if err != nil {
		return err
	}
	if v != accept || !f.reserve(p.ID) {
		return errRefused{v, p}
	}
	if err = f.finishTCP(c, p); err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

func (f *Fabric) finishTCP(c net.Conn, p rdma.PeerInfo) error {
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	f.up(tcp.NewLink(c, p, f.bell.Bell, tcpExporter{f}, linkEvents{f.events, f}))
	return nil
}

// selfOn is what this node tells of itself over c: a listener on all addresses is reached at the one
// that the connection uses.
func (f *Fabric) selfOn(c net.Conn) rdma.PeerInfo {
	self := f.self
	if l, ok := f.tcpL.Addr().(*net.TCPAddr); ok && l.IP.IsUnspecified() {
		if local, ok := c.LocalAddr().(*net.TCPAddr); ok {
			self.Addr = net.JoinHostPort(local.IP.String(), strconv.Itoa(l.Port))
		}
	}
	return self
}

func writeSized(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readSized(r io.Reader) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(n[:])
	if size > 8<<10 {
		return nil, rdma.ErrHello
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}
