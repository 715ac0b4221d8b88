package fabric

import (
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
	defer f.wg.Done()
	for slot := range Slots {
		if slot != int(f.self.Slot) {
			_ = f.dialSlot(slot) // mostly nobody there; a peer in trouble will scan us or be dialled
		}
	}
	first := make(chan struct{}, len(f.cfg.Peers))
	for _, addr := range f.cfg.Peers {
		f.wg.Add(1)
		go f.keepDialling(addr, first)
	}
	for range f.cfg.Peers {
		<-first
	}
	f.awaitExpected()
	f.events.Scanned()
}

// expect notes that a link to a peer is on its way.
func (f *Fabric) expect(id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.links[id]; l == nil && f.expected[id] == nil && id != f.self.ID {
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
	defer f.wg.Done()
	reported := false
	for f.ctx.Err() == nil {
		if !f.linkedTo(addr) {
			_ = f.dialTCP(addr, firstDialTime)
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

func (f *Fabric) linkedTo(addr string) bool {
	if addr == f.self.Addr {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.links {
		if l != nil && l.Peer().Addr == addr {
			return true
		}
	}
	return false
}

// Dial implements rdma.Fabric: it makes a link to a node of which another one told, or that asked
// to be called back. Nothing happens if there is one.
func (f *Fabric) Dial(p rdma.PeerInfo) {
	f.dialOnce(p.Addr, func() error { return f.dialTCP(p.Addr, greetTimeout) })
}

// dialOnce runs dial in the background, unless the same target is being dialled; while the target
// does not answer it is dialled again, a few times.
func (f *Fabric) dialOnce(target string, dial func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.dialing[target] {
		return
	}
	f.dialing[target] = true
	f.wg.Add(1)
	go func() {
		defer f.wg.Done()
		for range 5 {
			err := dial()
			if err == nil || f.ctx.Err() != nil || errors.Is(err, syscall.ECONNREFUSED) {
				break
			}
			var n net.Error
			if !errors.As(err, &n) {
				break
			}
		}
		f.mu.Lock()
		delete(f.dialing, target)
		f.mu.Unlock()
	}()
}
