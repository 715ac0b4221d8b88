package fabric

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

const (
	// resumeDialTime is how long an attempt to resume a session waits for a connection before there is another one, and
	// longDialTime how long it waits at most.
	resumeDialTime = 500 * time.Millisecond
	longDialTime   = 4 * time.Second
	// silenceTime is how long the other host may leave what was sent without an acknowledgement of
	// its kernel before the connection counts as broken.
	silenceTime = time.Second
)

// A connection over tcp begins with one of two messages, told apart by their magic. The first makes a
// link:
//
//	greeting (package rdma) | session u64
//
// and is answered by a verdict and a greeting. If the verdict is duplicate, and that link is suspended, its session
// follows, and the peer answers by the verdict that it would give to its resumption: at gone the link ends, and there
// may be a new one. The node that was dialled may have no other way to ask. That the peer wants a new link is no proof,
// it may have found another address.
//
// The other one resumes the session of a link that both nodes have, by their IDs:
//
//	magic "DDSR" | version u32 | session u64 | from u64 | to u64 | generation u64
//
// and is answered by a verdict alone: accept, and the connection is the session's; callBack, from the
// node that makes its connections; duplicate, if the link is being made, or a later request has come;
// gone, if there is no such session. All little endian.

func appendFirst(b []byte, self rdma.PeerInfo, session uint64) []byte {
	return binary.LittleEndian.AppendUint64(rdma.AppendHello(b, self), session)
}

func parseFirst(b []byte) (p rdma.PeerInfo, session uint64, version uint32, err error) {
	p, version, err = rdma.ParseHello(b)
	if err != nil {
		return p, 0, version, err
	}
	_, rest, err := rdma.ParsePeerInfo(b[8:])
	if err == nil && len(rest) < 8 {
		err = rdma.ErrHello
	}
	if err != nil {
		return p, 0, version, err
	}
	return p, binary.LittleEndian.Uint64(rest), version, nil
}

// resumption asks for a session to be resumed.
type resumption struct{ session, from, to, generation uint64 }

var resumeMagic = [4]byte{'D', 'D', 'S', 'R'}

const resumptionBytes = 8 + 4*8

func (r resumption) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, resumeMagic[:]...), rdma.ProtocolVersion)
	for _, v := range []uint64{r.session, r.from, r.to, r.generation} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func parseResume(b []byte) (r resumption, ok bool) {
	if len(b) < resumptionBytes || [4]byte(b) != resumeMagic || binary.LittleEndian.Uint32(b[4:]) != rdma.ProtocolVersion {
		return r, false
	}
	for i, v := range []*uint64{&r.session, &r.from, &r.to, &r.generation} {
		*v = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	return r, true
}

// judgeResume decides, at the node that was dialled, what becomes of a session.
func (f *Fabric) judgeResume(r resumption) (byte, *tcp.Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held, have := f.links[r.from]
	l, overTCP := held.(*tcp.Link)
	switch {
	case f.offered[r.session]: // it becomes a link, if the peer has accepted
		return duplicate, nil
	case r.to != f.self.ID || !have || f.closed:
		return gone, nil
	case held == nil:
		return duplicate, nil
	case !overTCP || l.Session() != r.session:
		return gone, nil
	case l.Down():
		return gone, nil
	case l.Initiator(): // not always the one with the smaller ID: see judge
		return callBack, l
	case !l.Resumable(r.generation):
		return duplicate, nil
	}
	return accept, l
}

// answerResume answers a node that dialled to resume a session.
func (f *Fabric) answerResume(c net.Conn, r resumption, lim limit) error {
	v, l := f.judgeResume(r)
	if err := writeSized(c, []byte{v}); err != nil {
		return err
	}
	if v == callBack {
		l.Asked(r.generation)
	}
	if v != accept {
		return errResume(v)
	}
	if err := noticeSilence(c); err != nil {
		return err
	}
	if err := lim.lift(); err != nil {
		return err
	}
	if !l.Resume(c, r.generation) {
		return errResume(duplicate)
	}
	return nil
}

// suspended is the link to a peer, if there is one that is suspended.
func (f *Fabric) suspended(id uint64) *tcp.Link {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.links[id].(*tcp.Link); ok && l.Suspended() {
		return l
	}
	return nil
}

// askHeld answers a node that asks for a new link, and asks it in turn whether it still has the one that is suspended.
func (f *Fabric) askHeld(c net.Conn, answer []byte, l *tcp.Link) error {
	if err := writeSized(c, binary.LittleEndian.AppendUint64(answer, l.Session())); err != nil {
		return err
	}
	b, err := readSized(c)
	switch {
	case err != nil:
		return err
	case len(b) != 1:
		return rdma.ErrHello
	case b[0] == gone:
		l.Drop(fmt.Errorf("the peer asks for a new link, this one is %w", tcp.ErrGone)) // it is accepted when it dials again
	}
	return errResume(b[0])
}

// tellHeld is the other end of askHeld.
func (f *Fabric) tellHeld(c net.Conn, answer []byte) {
	rest, _ := bytes.CutPrefix(answer, []byte{duplicate})
	if p, session, _, err := parseFirst(rest); err == nil {
		v, _ := f.judgeResume(resumption{session: session, from: p.ID, to: f.self.ID})
		_ = writeSized(c, []byte{v})
	}
}

// errResume is a verdict on a resumption other than accept.
type errResume byte

func (e errResume) Error() string { return fmt.Sprintf("fabric: verdict %d on a session", byte(e)) }

// dialAgain dials, and once more whenever resumeDialTime has passed: a SYN that meets a dead network is sent again after a
// second only, or two, so another attempt finds earlier that the network is back. Those before go on, as the way there and back
// may take longer than that. The first answer counts.
func dialAgain(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	type answer struct {
		c   net.Conn
		err error
	}
	var attempts sync.WaitGroup
	defer attempts.Wait()
	ctx, stop := context.WithTimeout(ctx, longDialTime)
	defer stop() // first: it ends those that are left
	answers := make(chan answer)
	again := time.NewTicker(resumeDialTime)
	defer again.Stop()
	for {
		attempts.Go(func() {
			c, err := dial(ctx)
			select {
			case answers <- answer{c, err}:
			case <-ctx.Done():
				if c != nil {
					c.Close()
				}
			}
		})
		select {
		case a := <-answers:
			return a.c, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}

// redialler makes the function by which a link resumes its session with peer at addr.
func (f *Fabric) redialler(session uint64, peer rdma.PeerInfo, addr string) func(context.Context, uint64) (net.Conn, error) {
	if addr == "" {
		return func(context.Context, uint64) (net.Conn, error) { return nil, errNoAddress }
	}
	return func(ctx context.Context, generation uint64) (net.Conn, error) {
		c, err := dialAgain(ctx, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		})
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w: %w", tcp.ErrRefused, err)
		}
		if err != nil {
			return nil, err
		}
		if err := f.askResume(ctx, c, resumption{session, f.self.ID, peer.ID, generation}); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
}

var errNoAddress = errors.New("fabric: the peer gave no address at which this host could reach it")

func (f *Fabric) askResume(ctx context.Context, c net.Conn, r resumption) error {
	lim, err := f.newLimit(ctx, c)
	if err != nil {
		return err
	}
	defer lim.stop()
	if err := noticeSilence(c); err != nil {
		return err
	}
	if err := writeSized(c, r.append(nil)); err != nil {
		return err
	}
	b, err := readSized(c)
	if err != nil {
		return err
	}
	switch {
	case len(b) != 1:
		return rdma.ErrHello
	case b[0] == gone:
		return fmt.Errorf("%w: what answers at %s does not have this link any more", tcp.ErrGone, c.RemoteAddr())
	case b[0] != accept:
		return errResume(b[0])
	}
	return lim.lift()
}

// addressFor is where a peer is dialled to resume: where it was reached, or where it says that it
// listens, unless that is an address of its own host only.
func addressFor(c net.Conn, initiator bool, p rdma.PeerInfo) string {
	if initiator {
		return c.RemoteAddr().String()
	}
	if _, err := netip.ParseAddrPort(p.Addr); err != nil || onlyThere(p.Addr, c) {
		return ""
	}
	return p.Addr
}

// noticeSilence makes a connection break when the other host is silent: data without acknowledgement
// for silenceTime, or, if nothing is sent, a probe that is not answered.
func noticeSilence(c net.Conn) error {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	if err := t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: silenceTime, Interval: silenceTime, Count: 1}); err != nil {
		return err
	}
	rc, err := t.SyscallConn()
	if err != nil {
		return err
	}
	if e := rc.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silenceTime.Milliseconds()))
	}); e != nil {
		return e
	}
	return os.NewSyscallError("setsockopt(TCP_USER_TIMEOUT)", err)
}
