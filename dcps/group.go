package dcps

import (
	"errors"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/internal/sequence"
)

// group is what Publisher and Subscriber are: a list of writers or readers that is closed as a whole.
type group[E interface {
	comparable
	Close() error
}] struct {
	p      *DomainParticipant // nil if no constructor made it
	what   string             // for errors
	number uint32             // among the Publishers and Subscribers of its participant
	ending ending             // of Close
	state  groupEntity

	mu      sync.Mutex
	closed  bool
	members sequence.Set[E]

	toEnable []E // that could not be enabled with the group; guarded by state.changing
}

// groupEntity is what a Publisher or Subscriber has to wait on. Only DATA_ON_READERS concerns it.
type groupEntity struct {
	entity
	status *StatusCondition
	data   dataOnReaders // of a Subscriber
}

func (g *groupEntity) apply(it *item) {
	switch it.kind {
	case itemFailed:
		g.failure = it.ctl.err
	case itemOnReaders:
		g.data.arrived(g)
	}
}

func (g *groupEntity) nextTick() int64 { return 0 }
func (g *groupEntity) tick(int64)      {}

// begin makes the group one of a participant.
func (g *group[E]) begin(p *DomainParticipant, what string, of Entity) {
	g.p, g.what, g.number = p, what, p.groups.Add(1)
	g.state.init(p, what, &g.state)
	g.state.status = newStatusCondition(&g.state.entity)
	g.state.status.of = of
}

// enable enables the group, under the lock that SetQos decides by what may change, and its members if all tells so,
// which is called with that lock held. Of a group that is enabled it goes on with those that a call before could not
// enable, and with no others.
func (g *group[E]) enable(all func() bool, enable func(E) error) error {
	g.state.changing.Lock()
	defer g.state.changing.Unlock()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return g.state.deleted("Enable")
	}
	if !g.state.enabled.Swap(true) && all() {
		g.toEnable = slices.Collect(g.members.All())
	}
	left := slices.DeleteFunc(g.toEnable, func(e E) bool { return !g.members.Has(e) })
	g.mu.Unlock()
	var errs []error
	g.toEnable = slices.DeleteFunc(left, func(e E) bool {
		err := enable(e)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// usable tells why an operation can not be done, if so.
func (g *group[E]) usable(op string) error {
	g.state.lock()
	defer g.state.unlock()
	return g.state.usable(op)
}

func (g *group[E]) add(op string, e E) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return g.state.deleted(op)
	}
	g.members.Add(e)
	return nil
}

func (g *group[E]) remove(e E) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members.Remove(e)
}

func (g *group[E]) list() []E {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(g.members.All())
}

// shut lets nothing in any more.
func (g *group[E]) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *group[E]) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// close lets nothing in any more and closes the members.
func (g *group[E]) close() error {
	g.shut()
	var errs []error
	for _, e := range g.list() {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}
