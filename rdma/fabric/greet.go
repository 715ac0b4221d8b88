package fabric

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

// A greeting is answered by a verdict and the answering node's own greeting.
const (
	accept    = 0 // the link is up
	callBack  = 1 // your ID is the larger: I shall dial you
	duplicate = 2 // we have a link, or are making one
	useTCP    = 3 // dial my tcp address instead
	refuse    = 4 // the configurations differ
	leaving   = 5 // I am closing
	gone      = 6 // I do not have the session that you want to resume
	useSlot   = 7 // we share memory: dial my slot instead
	stranger  = 8 // I am of another domain
)

// errRefused carries a verdict other than accept.
type errRefused struct {
	verdict byte
	peer    rdma.PeerInfo
	version uint32 // of the protocol that the peer speaks; if it is another, peer is not known
}

func (e errRefused) Error() string {
	return fmt.Sprintf("fabric: verdict %d from %s", e.verdict, e.peer.Name)
}

// judge decides, at the node that was dialled, what becomes of a greeting. If it accepts, the entry
// in links is reserved. c is the connection if it is one over tcp, else nil.
func (f *Fabric) judge(p rdma.PeerInfo, c net.Conn) byte {
	overTCP := c != nil
	if p.Domain != f.self.Domain {
		return stranger
	}
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
	case p.ID > f.self.ID && !(overTCP && onlyThere(p.Addr, c)):
		return callBack
	case !overTCP && !rdma.Aliased(p, f.self):
		return useTCP
	case overTCP && rdma.Aliased(p, f.self):
		return useSlot // whoever hears of both takes it that they read each other's memory
	}
	f.links[p.ID] = nil
	return accept
}

// onlyThere: the address that a peer gives is one of its own host, or of a link of that, and means nothing here: whoever dials it
// does not meet the peer.
func onlyThere(addr string, c net.Conn) bool {
	listens, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false
	}
	remote, far := c.RemoteAddr().(*net.TCPAddr)
	local, near := c.LocalAddr().(*net.TCPAddr)
	if !far || !near || remote.IP.IsLoopback() || remote.IP.Equal(local.IP) {
		return false // it is this host
	}
	own := listens.Addr().Unmap()
	return own.IsLoopback() || own.IsUnspecified() || own.IsLinkLocalUnicast()
}

func (f *Fabric) dropReserved(id uint64) {
	f.mu.Lock()
	if f.links[id] == nil {
		delete(f.links, id)
	}
	f.mu.Unlock()
}

// up makes a greeted connection a link. The entry in links is reserved. It fails if the fabric is
// being closed.
func (f *Fabric) up(l link) error {
	id := l.Peer().ID
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return net.ErrClosed
	}
	f.links[id] = l // Close ends it from now on, and waits until Run has returned
	f.mu.Unlock()
	f.events.LinkUp(l)
	f.mu.Lock()
	f.reported[id] = true
	f.unexpect(id)
	delete(f.misses, id)
	f.mu.Unlock()
	f.spawn("link", l.Run)
	return nil
}

// linkEvents are the events as the links see them. A link that went down is forgotten when that was
// reported, so that a new one to the same peer is not reported up before.
type linkEvents struct {
	rdma.Events
	f *Fabric
}

func (e linkEvents) LinkDown(l rdma.Link, died bool, err error) {
	e.Events.LinkDown(l, died, err)
	e.f.mu.Lock()
	delete(e.f.links, l.Peer().ID)
	delete(e.f.reported, l.Peer().ID)
	e.f.forget(l.(link))
	e.f.mu.Unlock()
	if l, ok := l.(*shm.Link); ok && l.Lost() {
		// Both live, as far as anybody knows. What ended the link may end the next one too: not at once.
		e.f.spawn("dial", func() {
			select {
			case <-time.After(lastRedial):
				e.f.Dial(l.Peer())
			case <-e.f.ctx.Done():
			}
		})
	}
}

// --- Unix sockets: one packet each way, the doorbell's descriptor rides along.

func (f *Fabric) acceptUnix() {
	for {
		c, err := f.unix.AcceptUnix()
		if err != nil && !errors.Is(err, net.ErrClosed) && f.ctx.Err() == nil {
			f.pause() // out of descriptors, or the peer has gone again
			continue
		}
		if err != nil {
			return
		}
		f.spawn("greet", func() {
			if f.answerUnix(c) != nil {
				c.Close()
			}
		})
	}
}

// pause keeps a loop whose cause of failure may pass from spinning.
func (f *Fabric) pause() {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-f.ctx.Done():
	}
}

// limit bounds the time that a greeting may take, and ends it with a context.
type limit struct {
	c    net.Conn
	stop func() bool
}

func (f *Fabric) newLimit(ctx context.Context, c net.Conn) (limit, error) {
	if err := c.SetDeadline(time.Now().Add(f.greetTimeout)); err != nil {
		return limit{}, err
	}
	return limit{c, context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })}, nil
}

// lift takes the bound away from a connection that becomes a link's.
func (l limit) lift() error {
	if !l.stop() {
		return net.ErrClosed
	}
	return l.c.SetDeadline(time.Time{})
}

func (f *Fabric) answerUnix(c *net.UnixConn) error {
	lim, err := f.newLimit(f.ctx, c)
	if err != nil {
		return err
	}
	defer lim.stop()
	b, bell, err := readPacket(c)
	defer bell.close()
	if err != nil {
		return err
	}
	pid, err := checkUser(c)
	if err != nil {
		return err
	}
	p, version, err := rdma.ParseHello(b)
	if err != nil && (version == 0 || version == rdma.ProtocolVersion) {
		return err
	}
	p = certified(p, pid)
	v := byte(refuse)
	if err == nil {
		v = f.judge(p, nil)
	}
	err = f.sendGreeting(c, []byte{v}, v == accept)
	if v != accept {
		f.declined(v, p, version)
		if err == nil {
			err = errRefused{v, p, version}
		}
		return err
	}
	if err == nil {
		err = f.finishUnix(c, p, bell, lim)
	}
	if err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

// declined acts on a verdict that this node gave to a peer that dialled.
func (f *Fabric) declined(v byte, p rdma.PeerInfo, version uint32) {
	switch v {
	case callBack, useSlot: // who was sent to the slot may not find it: then this node will not find it either, and says so
		f.Dial(p)
	case refuse:
		f.refuses(p, f.mismatch(p, version))
	}
}

// refuses reports a peer that can not be in one group with this node, once.
func (f *Fabric) refuses(p rdma.PeerInfo, why error) {
	f.mu.Lock()
	known := f.refused[p.ID]
	f.refused[p.ID] = true
	f.mu.Unlock()
	if !known {
		f.events.Refused(p, why)
	}
}

func (f *Fabric) mismatch(p rdma.PeerInfo, version uint32) error {
	if version != rdma.ProtocolVersion {
		return fmt.Errorf("fabric: a process of domain %d speaks protocol version %d, this process %d", f.cfg.Domain, version, rdma.ProtocolVersion)
	}
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

// dialPeerSlot greets a node that shares memory with this one, as both say. If another one is at its slot, or none, it
// may have ended. Or it lives elsewhere: who still answers at its address had its slot all the time (strays).
func (f *Fabric) dialPeerSlot(p rdma.PeerInfo) error {
	who, err := f.dialSlot(int(p.Slot))
	if !errors.Is(err, syscall.ECONNREFUSED) && (who == 0 || who == p.ID) {
		return err
	}
	f.mu.Lock()
	f.misses[p.ID]++
	f.mu.Unlock()
	return f.dialTCP(p.Addr, "", f.greetTimeout)
}

// strays: a node that shares memory with this one, as both say, and has just answered over tcp, was not at its slot
// before, several times. Each time is certain, as it has bound the slot for as long as it answers.
func (f *Fabric) strays(p rdma.PeerInfo) bool {
	f.mu.Lock()
	missed := f.misses[p.ID] >= maxMisses
	if missed {
		f.unexpect(p.ID)
	}
	f.mu.Unlock()
	if missed {
		f.refuses(p, fmt.Errorf("fabric: %s (process %d on %s) and this process (%d on %s) can not share memory, although their boot IDs, network namespaces and users are the same: "+
			"if these are two hosts with one boot ID, such as virtual machines that were resumed from one snapshot, reboot one of them, or set DDS_TRANSPORT=tcp on one of them; "+
			"if it is one host, the address %s of the other process is that of another domain", p.Name, p.PID, p.Host, f.self.PID,
			f.self.Host, p.Addr))
	}
	return missed
}

// knock connects to whoever is bound to a slot of this host. It does not wait for anybody.
func (f *Fabric) knock(slot int) (*net.UnixConn, error) {
	return net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: f.slotName(slot), Net: "unixpacket"})
}

// dialSlot greets whoever is bound to a slot of this host, and tells who that is, 0 if that is not known.
func (f *Fabric) dialSlot(slot int) (who uint64, err error) {
	c, err := f.knock(slot)
	if err != nil {
		return 0, err
	}
	return f.greetSlot(c, slot)
}

func (f *Fabric) greetSlot(c *net.UnixConn, slot int) (who uint64, err error) {
	p, err := f.greetUnix(c)
	if err != nil {
		c.Close()
		err = f.wasDeclined(err, func() error {
			_, err := f.dialSlot(slot)
			return err
		})
	}
	return p.ID, err
}

func (f *Fabric) greetUnix(c *net.UnixConn) (p rdma.PeerInfo, err error) {
	lim, err := f.newLimit(f.ctx, c)
	if err != nil {
		return p, err
	}
	defer lim.stop()
	pid, err := checkUser(c)
	if err != nil {
		return p, err
	}
	if err := f.sendGreeting(c, nil, true); err != nil {
		return p, err
	}
	b, bell, err := readPacket(c)
	defer bell.close()
	if err != nil {
		return p, err
	}
	p, err = verdict(b)
	if err != nil {
		return p, err
	}
	p = certified(p, pid)
	if !f.reserve(p.ID) {
		return p, errRefused{duplicate, p, rdma.ProtocolVersion}
	}
	if err = f.finishUnix(c, p, bell, lim); err != nil {
		f.dropReserved(p.ID)
	}
	return p, err
}

// finishUnix makes the link. It takes bell.
func (f *Fabric) finishUnix(c *net.UnixConn, p rdma.PeerInfo, bell *descriptor, lim limit) error {
	if bell.fd < 0 {
		return errors.New("fabric: greeting without doorbell")
	}
	b, err := shm.MapBell(bell.take())
	if err != nil {
		return err
	}
	if err := lim.lift(); err != nil {
		return err
	}
	return f.up(shm.NewLink(c, p, b, shmExporter{f}, linkEvents{f.events, f}))
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

// verdict reads the answer to a greeting: the peer that accepted, or errRefused.
func verdict(b []byte) (rdma.PeerInfo, error) {
	if len(b) < 1 {
		return rdma.PeerInfo{}, rdma.ErrHello
	}
	p, version, err := rdma.ParseHello(b[1:])
	switch {
	case version != 0 && version != rdma.ProtocolVersion:
		return p, errRefused{refuse, p, version}
	case err != nil:
		return p, err
	case b[0] != accept:
		return p, errRefused{b[0], p, version}
	}
	return p, nil
}

// wasDeclined acts on the verdict of a peer that this node dialled. What needs no further act of
// ours is no error. ask dials once more.
func (f *Fabric) wasDeclined(err error, ask func() error) error {
	var r errRefused
	if !errors.As(err, &r) {
		return err
	}
	switch r.verdict {
	case callBack: // there will be a link, made elsewhere
		f.expect(r.peer.ID, ask)
	case duplicate: // or there is one; or the peer has not seen yet that the last one ended
		if f.expect(r.peer.ID, ask) {
			return err
		}
	case useTCP, useSlot:
		f.expect(r.peer.ID, ask)
		f.Dial(r.peer)
	case refuse:
		f.refuses(r.peer, f.mismatch(r.peer, r.version))
	case leaving:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unexpect(r.peer.ID)
	}
	return nil
}

// descriptor is a file descriptor with one owner.
type descriptor struct{ fd int } // -1: none

func (d *descriptor) take() int {
	fd := d.fd
	d.fd = -1
	return fd
}

func (d *descriptor) close() {
	if fd := d.take(); fd >= 0 {
		unix.Close(fd)
	}
}

func readPacket(c *net.UnixConn) ([]byte, *descriptor, error) {
	b, oob := make([]byte, 8<<10), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, &descriptor{-1}, err
	}
	return b[:n], &descriptor{shm.ReceivedFD(oob[:oobn])}, nil
}

// checkUser returns the process at the other end, as the kernel certifies it, and refuses those of
// other users: abstract sockets have no permissions, whoever knows the name can bind or dial it.
func checkUser(c *net.UnixConn) (pid uint32, err error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if e := rc.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, os.NewSyscallError("getsockopt(SO_PEERCRED)", err)
	}
	if int(cred.Uid) != os.Getuid() {
		return 0, fmt.Errorf("fabric: rendezvous slot of user %d is used by user %d", os.Getuid(), cred.Uid)
	}
	return uint32(cred.Pid), nil
}

// certified is what a peer tells of itself, with the number that its process has here. If it has another one there,
// threads are numbered differently, too: the thread that it names is none here, or one of any process.
func certified(p rdma.PeerInfo, pid uint32) rdma.PeerInfo {
	if p.PID != pid {
		p.Thread = 0
	}
	p.PID = pid
	return p
}

// --- TCP: the same greeting, each with a length in front; the one that dials adds the session.

func (f *Fabric) acceptTCP() {
	for {
		c, err := f.tcpL.Accept()
		if err != nil && !errors.Is(err, net.ErrClosed) && f.ctx.Err() == nil {
			f.pause()
			continue
		}
		if err != nil {
			return
		}
		f.spawn("greet", func() {
			if f.answerTCP(c) != nil {
				c.Close()
			}
		})
	}
}

func (f *Fabric) answerTCP(c net.Conn) error {
	lim, err := f.newLimit(f.ctx, c)
	if err != nil {
		return err
	}
	defer lim.stop()
	b, err := readSized(c)
	if err != nil {
		return err
	}
	if r, ok := parseResume(b); ok {
		return f.answerResume(c, r, lim)
	}
	p, session, version, err := parseFirst(b)
	if err != nil && (version == 0 || version == rdma.ProtocolVersion) {
		return err
	}
	v := byte(refuse)
	if err == nil {
		v = f.judge(p, c)
	}
	answer := rdma.AppendHello([]byte{v}, f.selfOn(c))
	if l := f.suspended(p.ID); v == duplicate && l != nil {
		return f.askHeld(c, answer, l)
	}
	err = writeSized(c, answer)
	if v != accept {
		f.declined(v, p, version)
		if err == nil {
			err = errRefused{v, p, version}
		}
		return err
	}
	if err == nil {
		err = f.finishTCP(c, session, false, p, lim)
	}
	if err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

// dialTCP greets a node at an address. configured is that address if it comes from the
// configuration: then who answers is remembered.
func (f *Fabric) dialTCP(addr, configured string, limit time.Duration) error {
	d := net.Dialer{Timeout: limit}
	c, err := d.DialContext(f.ctx, "tcp", addr)
	if err != nil {
		f.tried(configured, err)
		return err
	}
	err = f.greetTCP(c, configured)
	f.tried(configured, err)
	if err != nil {
		c.Close()
		var r errRefused
		if errors.As(err, &r) && (r.verdict == callBack || r.verdict == useSlot) && rdma.Aliased(r.peer, f.self) {
			if f.strays(r.peer) {
				return nil
			}
			if r.verdict == callBack {
				f.Dial(r.peer) // it calls back at the slot of this node, and may not find it
			}
		}
		return f.wasDeclined(err, func() error { return f.dialTCP(addr, configured, limit) })
	}
	return nil
}

func (f *Fabric) greetTCP(c net.Conn, configured string) error {
	lim, err := f.newLimit(f.ctx, c)
	if err != nil {
		return err
	}
	defer lim.stop()
	session := rand.Uint64()
	f.mu.Lock()
	f.offered[session] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.offered, session)
		f.mu.Unlock()
	}()
	if err := writeSized(c, appendFirst(nil, f.selfOn(c), session)); err != nil {
		return err
	}
	b, err := readSized(c)
	if err != nil {
		return err
	}
	p, err := verdict(b)
	if configured != "" && p.ID != 0 {
		f.mu.Lock()
		f.answered[configured] = p.ID
		f.mu.Unlock()
	}
	if err != nil {
		f.tellHeld(c, b)
		return err
	}
	if !f.reserve(p.ID) {
		return errRefused{duplicate, p, rdma.ProtocolVersion}
	}
	if err = f.finishTCP(c, session, true, p, lim); err != nil {
		f.dropReserved(p.ID)
	}
	return err
}

func (f *Fabric) finishTCP(c net.Conn, session uint64, initiator bool, p rdma.PeerInfo, lim limit) error {
	if err := noticeSilence(c); err != nil {
		return err
	}
	if err := lim.lift(); err != nil {
		return err
	}
	return f.up(tcp.NewLink(c, tcp.Config{
		Peer: p, Session: session, Initiator: initiator, Bell: f.bell.Bell(), Fence: f.fence,
		Exporter: tcpExporter{f}, Events: linkEvents{f.events, f}, EachPost: f.cfg.EachPost,
		Mark:   f.markConn,
		Redial: f.redialler(session, p, addressFor(c, initiator, p)),
	}))
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
