package dcps

import (
	"errors"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/qos"
)

// group is what Publisher and Subscriber are: a list of writers or readers that is closed as a whole.
type group[E interface {
	comparable
	Close() error
}] struct {
	p      *DomainParticipant // nil if no constructor made it
	what   string             // for errors
	ending ending             // of Close

	mu      sync.Mutex
	closed  bool
	members []E
}

// checkGroup refuses what is not enforced of the QoS that Publisher and Subscriber share: coherent sets, order over
// several topics, entities that are not enabled.
func checkGroup(op string, found error, f qos.EntityFactory, p qos.Presentation) error {
	if err := invalid(op, "", found); err != nil {
		return err
	}
	if err := checkFactory(op, "", f); err != nil {
		return err
	}
	if p.CoherentAccess || (p.AccessScope == qos.PresentationGroup && p.OrderedAccess) {
		return unsupported(op, "", qos.PolicyPresentation, p.String())
	}
	return nil
}

func (g *group[E]) add(op string, e E) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return &Error{Op: op, Entity: g.what, Code: ErrAlreadyDeleted, Detail: "it was closed"}
	}
	g.members = append(g.members, e)
	return nil
}

func (g *group[E]) remove(e E) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = slices.DeleteFunc(g.members, func(o E) bool { return o == e })
}

func (g *group[E]) list() []E {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

// close lets nothing in any more and closes the members.
func (g *group[E]) close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	var errs []error
	for _, e := range g.list() {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}
