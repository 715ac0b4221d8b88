package fabric

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// scan greets every slot of this host and every configured address once, reports Scanned, and then
// keeps dialling the addresses to which there is no link.
func (f *Fabric) scan() {
	f.scanSlots()
	first := make(chan struct{}, len(f.cfg.Peers))
	for _, addr := range f.cfg.Peers {
		f.spawn("dial", func() { f.keepDialling(addr, first) })
	}
	for range f.cfg.Peers {
		<-first
	}
	f.awaitExpected()
	f.events.Scanned()
}

// scanSlots greets whoever is at the slots of this host, all at once: one that stands still lets everybody wait who greets it.
// For such a one nobody waits longer than a quarter of greetTimeout if there is somebody else, who is in a group or finds it.
func (f *Fabric) scanSlots() {
	answers, asked := make(chan struct{}, Slots), 0
	for slot := range Slots {
		if slot == int(f.self.Slot) || f.ctx.Err() != nil {
			continue
		}
		c, err := f.knock(slot)
		if err != nil {
			continue // mostly nobody there; a peer in trouble will scan us or be dialled
		}
		asked++
		f.spawn("greet", func() {
			_, _ = f.greetSlot(c, slot)
			answers <- struct{}{}
		})
	}
	look := time.NewTicker(f.greetTimeout / 4)
	defer look.Stop()
	for asked > 0 {
		select {
		case <-answers:
			asked--
		case <-look.C:
			f.mu.Lock()
			met := len(f.reported) > 0
			f.mu.Unlock()
			if met {
				return
			}
		}
	}
}

// expectation is a link that is made elsewhere.
type expectation struct {
	ask func() error  // greets the peer once more
	end chan struct{} // closed when the link was reported up, or the peer has gone
}

// expect notes that a link to a peer is on its way, or made but not reported yet. It reports whether
// this node does not even know of a greeting.
func (f *Fabric) expect(id uint64, ask func() error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reported[id] && f.expected[id] == nil && id != f.self.ID {
		f.expected[id] = &expectation{ask, make(chan struct{})}
	}
	_, have := f.links[id]
	return !have && id != f.self.ID
}

// unexpect ends an expectation. The caller holds mu.
func (f *Fabric) unexpect(id uint64) {
	if x := f.expected[id]; x != nil {
		delete(f.expected, id)
		close(x.end)
	}
}

// awaitExpected waits for the links that are on their way. A peer that was found must be known
// before this node decides that it is alone. One that goes away meanwhile is not waited for: a
// greeting that failed may be repeated, so what counts is that nobody is there any more.
func (f *Fabric) awaitExpected() {
	ctx, stop := context.WithTimeout(f.ctx, f.greetTimeout)
	defer stop()
	f.mu.Lock()
	waits := maps.Clone(f.expected)
	f.mu.Unlock()
	for id, x := range waits {
		f.spawn("expect", func() { f.askAgain(ctx, id, x) })
	}
	for _, x := range waits {
		select {
		case <-x.end:
		case <-ctx.Done():
			return
		}
	}
}

// askAgain greets a peer that is expected, until it is linked to or has gone.
func (f *Fabric) askAgain(ctx context.Context, id uint64, x *expectation) {
	for wait := firstAsk; ; wait = min(2*wait, redialEvery) {
		select {
		case <-x.end:
			return
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if errors.Is(x.ask(), syscall.ECONNREFUSED) {
			f.mu.Lock()
			f.unexpect(id)
			f.mu.Unlock()
		}
	}
}

// keepDialling dials one configured address for as long as the fabric lives. It reports to first
// when the address was linked to, or refused, or has not answered for a while; also in a fabric that
// is closed before it comes to dial, since Close waits for who waits for that.
func (f *Fabric) keepDialling(addr string, first chan<- struct{}) {
	f.dialUnlinked(addr)
	first <- struct{}{}
	for {
		select {
		case <-time.After(redialEvery):
			f.dialUnlinked(addr)
		case <-f.ctx.Done():
			return
		}
	}
}

// dialUnlinked dials a configured address if there is no link to it.
func (f *Fabric) dialUnlinked(addr string) {
	if f.ctx.Err() == nil && !f.linkedTo(addr) {
		_ = f.dialTCP(addr, addr, f.firstDialTime)
	}
}

// linkedTo: whoever answered at a configured address, under whatever name, is this node itself or
// has a link.
func (f *Fabric) linkedTo(addr string) bool {
	if addr == f.self.Addr {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id, met := f.answered[addr]
	return met && (id == f.self.ID || f.links[id] != nil)
}

// Dial implements rdma.Fabric: it makes a link to a node of which another one told, or that asked
// to be called back. Nothing happens if there is one. Who shares memory with this node is met at its slot only.
func (f *Fabric) Dial(p rdma.PeerInfo) {
	if rdma.Aliased(p, f.self) {
		f.mu.Lock()
		refused := f.refused[p.ID]
		f.mu.Unlock()
		if !refused {
			f.dialOnce(fmt.Sprintf("slot %d of %d", p.Slot, p.ID), func() error { return f.dialPeerSlot(p) })
		}
		return
	}
	f.dialOnce(p.Addr, func() error { return f.dialTCP(p.Addr, "", f.greetTimeout) })
}

// dialOnce runs dial in the background. A target that is being dialled already is dialled once more
// afterwards: it may have come up behind the dial that is under way.
func (f *Fabric) dialOnce(target string, dial func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if _, busy := f.dialing[target]; busy {
		f.dialing[target] = true
		return
	}
	f.dialing[target] = false
	f.spawn("dial", func() {
		for again := true; again; {
			redial(f.ctx, dial)
			f.mu.Lock()
			again = f.dialing[target] && f.ctx.Err() == nil
			if f.dialing[target] = false; !again {
				delete(f.dialing, target)
			}
			f.mu.Unlock()
		}
	})
}

// redial dials until there is an answer that settles it, a few times.
func redial(ctx context.Context, dial func() error) {
	wait := firstRedial
	for range redials {
		err := dial()
		if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		var n net.Error
		var r errRefused
		if !errors.As(err, &n) && !errors.As(err, &r) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, lastRedial)
	}
}
