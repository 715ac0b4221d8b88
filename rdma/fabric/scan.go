package fabric

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// scan greets every slot of this host and every configured address once, reports Scanned, and then
// keeps dialling the addresses to which there is no link.
func (f *Fabric) scan() {
	for slot := range Slots {
		if slot != int(f.self.Slot) && f.ctx.Err() == nil {
			_ = f.dialSlot(slot) // mostly nobody there; a peer in trouble will scan us or be dialled
		}
	}
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

// expect notes that a link to a peer is on its way, or made but not reported yet.
func (f *Fabric) expect(id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reported[id] && f.expected[id] == nil && id != f.self.ID {
		f.expected[id] = make(chan struct{})
	}
}

// awaitExpected waits for the links that are on their way. A peer that was found must be known
// before this node decides that it is alone.
func (f *Fabric) awaitExpected() {
	f.mu.Lock()
	waits := slices.Collect(maps.Values(f.expected))
	f.mu.Unlock()
	limit := time.NewTimer(greetTimeout)
	defer limit.Stop()
	for _, c := range waits {
		select {
		case <-c:
		case <-limit.C:
			return
		case <-f.ctx.Done():
			return
		}
	}
}

// keepDialling dials one configured address for as long as the fabric lives. It reports to first
// when the address was linked to, or refused, or has not answered for a while.
func (f *Fabric) keepDialling(addr string, first chan<- struct{}) {
	reported := false
	for f.ctx.Err() == nil {
		if !f.linkedTo(addr) {
			_ = f.dialTCP(addr, addr, firstDialTime)
		}
		if !reported {
			reported = true
			first <- struct{}{}
		}
		select {
		case <-time.After(redialEvery):
		case <-f.ctx.Done():
		}
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
// to be called back. Nothing happens if there is one.
func (f *Fabric) Dial(p rdma.PeerInfo) {
	f.dialOnce(p.Addr, func() error { return f.dialTCP(p.Addr, "", greetTimeout) })
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

// redial dials until there is an answer of any kind, a few times.
func redial(ctx context.Context, dial func() error) {
	for range 5 {
		err := dial()
		if err == nil || ctx.Err() != nil || errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		var n net.Error
		if !errors.As(err, &n) {
			return
		}
	}
}
