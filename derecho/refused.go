package derecho

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A node that has joined again announces what its application has. An endpoint whose log can not be opened any more, as
// its disk is full or another process has it, is left out, and so is one that the members refuse as its log holds
// another history (ErrHistory). The others work. The layer above is told, as it may need people to mend that, and
// nobody tells this node when they have: it tries again every refusedDelay.

// refusedDelay is how long a node waits before it tries again to announce an endpoint that was refused.
const refusedDelay = time.Second

// announced is what has become of an endpoint that was to be announced again.
type announced struct {
	ep  Endpoint
	err error
}

// reopen makes endpoints those of this incarnation, and opens the logs that they need, all at once. Those whose log can
// not be opened, or does not within Config.LogTimeout, are not among them.
func (l *life) reopen(all []Endpoint) (eps []Endpoint, refused map[EndpointID]error) {
	errs := map[SubgroupID]*error{} // of those that are needed
	var opening sync.WaitGroup
	for _, ep := range all {
		sg := ep.logged()
		if !ep.Replica || sg == 0 || errs[sg] != nil {
			continue
		}
		err := new(error)
		errs[sg] = err
		opening.Go(func() { *err = l.openInTime(&ep) })
	}
	opening.Wait()
	refused = map[EndpointID]error{}
	for _, ep := range all {
		ep.Node = l.id
		if err := errs[ep.logged()]; ep.Replica && err != nil && *err != nil {
			refused[ep.ID] = *err
		} else {
			eps = append(eps, ep)
		}
	}
	return eps, refused
}

// openInTime is openLog, but for no longer than Config.LogTimeout.
func (l *life) openInTime(ep *Endpoint) error {
	limit := l.n.cfg.LogTimeout
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := l.openLog(ctx, ep)
	if errors.Is(err, ErrTimeout) {
		return fmt.Errorf("the log was not open within %v: its disk does not answer, or there is much to read; it is tried again", limit)
	}
	return err
}

// refusal is why an endpoint is not announced.
type refusal struct {
	err  error
	open bool // it is being announced
}

// leaveOut notes why endpoints are refused, and tells what is new, once for each subgroup. The caller holds endpointsMu.
func (n *Node) leaveOut(l *life, why map[EndpointID]error) {
	type reason struct {
		sg   SubgroupID
		text string
	}
	told := map[reason]bool{}
	for _, id := range slices.Sorted(maps.Keys(why)) {
		ep, err := n.endpoints.find(0, id), why[id]
		if ep == nil {
			continue // withdrawn meanwhile
		}
		before, known := l.refused[id]
		l.refused[id] = refusal{err: err}
		now := reason{ep.logged(), err.Error()}
		if known && before.err.Error() == now.text || told[now] {
			continue
		}
		told[now] = true
		if !slices.Contains(n.unusable, now.sg) {
			n.unusable = append(n.unusable, now.sg)
		}
		l.post(func(m *machine) { m.leftOut(now.sg, err) })
	}
}

// leftOut tells that endpoints of this node are not announced, because of the log of a subgroup; nil: all are.
func (m *machine) leftOut(sg SubgroupID, err error) {
	if err != nil {
		err = &LogError{Member: m.member(m.id), Err: err, Refused: true}
	}
	if !m.dead() {
		m.h.LogFailed(sg, m.id, err)
	}
}

// insist announces the endpoints that an incarnation was refused, as soon as it can. No others are refused to it later:
// AddEndpoint returns the error.
func (n *Node) insist(l *life, refused map[EndpointID]error) {
	again := time.NewTicker(refusedDelay)
	defer again.Stop()
	answers := make(chan announced, len(refused)) // each endpoint is announced once at a time
	for {
		var eps []Endpoint // to be announced
		var left bool
		if !n.withEndpoints(l, func() {
			for _, id := range slices.Sorted(maps.Keys(l.refused)) {
				switch ep := n.endpoints.find(0, id); {
				case ep == nil:
					delete(l.refused, id) // withdrawn
				case !l.refused[id].open:
					eps = append(eps, *ep)
				}
			}
			left = len(l.refused) > 0
			n.tellAccepted(l)
		}) || !left {
			return
		}
		select {
		case <-again.C:
		case a := <-answers:
			n.withEndpoints(l, func() { n.answered(l, a) })
			continue
		case <-l.over:
			return
		case <-n.ctx.Done():
			return
		}
		ready, why := l.reopen(eps) // without the lock: a disk may not answer
		n.withEndpoints(l, func() {
			n.leaveOut(l, why)
			n.announceAgain(l, ready, answers)
		})
	}
}

// withEndpoints does something while nobody else changes endpoints; false if the incarnation has ended.
func (n *Node) withEndpoints(l *life, f func()) bool {
	select {
	case n.endpointsMu <- struct{}{}:
		defer n.unlockEndpoints()
		f()
		return true
	case <-l.over:
	case <-n.ctx.Done():
	}
	return false
}

// tellAccepted tells of each subgroup of which no endpoint is refused any more: all were announced or withdrawn, be it
// in this incarnation or, if it was told in an earlier one, when this one began. The caller holds endpointsMu.
func (n *Node) tellAccepted(l *life) {
	n.unusable = slices.DeleteFunc(n.unusable, func(sg SubgroupID) bool {
		for id := range l.refused {
			if ep := n.endpoints.find(0, id); ep != nil && ep.logged() == sg {
				return false
			}
		}
		l.post(func(m *machine) { m.leftOut(sg, nil) })
		return true
	})
}

// announceAgain announces endpoints that were refused, as they are now. The caller holds endpointsMu.
func (n *Node) announceAgain(l *life, ready []Endpoint, answers chan<- announced) {
	var eps []Endpoint
	for _, ep := range ready {
		now, before := n.endpoints.find(0, ep.ID), l.refused[ep.ID]
		if now == nil || before.err == nil {
			continue // withdrawn meanwhile
		}
		before.open = true
		l.refused[ep.ID] = before
		ep.Info = now.Info
		eps = append(eps, ep)
	}
	l.post(func(m *machine) {
		var good []Endpoint
		for _, ep := range eps {
			probe := ep
			probe.Log = m.logState(ep)
			if history, foreign := m.cat.foreign(&probe); foreign { // the members need not be asked
				answers <- announced{ep, otherHistory(&probe, history)}
			} else {
				good = append(good, ep)
			}
		}
		m.addEndpoints(good, true, func(ep Endpoint, err error) { answers <- announced{ep, err} })
	})
}

// answered notes what has become of an endpoint that was refused before. The caller holds endpointsMu.
func (n *Node) answered(l *life, a announced) {
	if _, known := l.refused[a.ep.ID]; !known {
		return // withdrawn meanwhile
	}
	if a.err != nil {
		n.leaveOut(l, map[EndpointID]error{a.ep.ID: a.err})
		return
	}
	delete(l.refused, a.ep.ID)
}
