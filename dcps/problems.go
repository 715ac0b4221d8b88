package dcps

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// problems are those that no entity has a status for, and that are not over. Err tells the latest of them.
type problems struct {
	latest atomic.Pointer[error]

	mu  sync.Mutex
	all []problem // oldest first
}

// problem is about a logOf, a trimOf, the endpointKey of an announcement, or refusedLogs, until that is over; or about nothing
// that ends, until there is another such. What it is about has one.
type problem struct {
	of  any
	err error
}

// refusedLogs, as what a problem is about: refused.go.
type refusedLogs struct{}

// logOf is a log that has failed, as what a problem is about.
type logOf struct {
	sg   derecho.SubgroupID
	node derecho.NodeID
}

func (p *problems) tell(of any, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(slices.DeleteFunc(p.all, func(o problem) bool { return o.of == of }), problem{of, err})
	p.latest.Store(&err)
}

// end forgets what is over.
func (p *problems) end(over func(of any) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(o problem) bool { return o.of != nil && over(o.of) })
	if n := len(p.all); n > 0 {
		p.latest.Store(&p.all[n-1].err)
	} else {
		p.latest.Store(nil)
	}
}

// ended forgets the problem of one thing.
func (p *problems) ended(of any) {
	p.end(func(o any) bool { return o == of })
}

// problem is one of which nothing tells that it is over.
func (p *DomainParticipant) problem(err error) { p.problems.tell(nil, err) }
