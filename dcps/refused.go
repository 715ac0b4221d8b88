package dcps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// When this process has joined again its logs are opened anew. Writers and readers whose log can not be opened, or
// holds another history than the domain goes on with, or is a copy, are refused: the domain does not know them. The
// core tries again until they are announced.

// refuse tells the writers and readers of this process that need the log of a subgroup, and are not announced.
func (h *hub) refuse(sg derecho.SubgroupID, err *derecho.LogError) {
	todo := "see to the log, " + h.p.logDir(sg) + ": is it there, has its disk room, does another process use it?"
	switch {
	case errors.Is(err, derecho.ErrHistory):
		todo = "decide which of the two is to go on; this log is " + h.p.logDir(sg)
	case errors.Is(err, derecho.ErrCopied):
		todo = "the directory of this process is " + h.p.logDir(sg)
	}
	why := &Error{Code: ErrPreconditionNotMet, Err: err,
		Detail: "this process has joined the domain again, and its log can not be used. That is tried again by itself: " + todo}
	var all []string
	tell := func(e *entity, id derecho.EndpointID) {
		if h.endpoints[endpointKey{derecho.NodeID(h.self.Load()), id}] != nil {
			return
		}
		own := *why
		own.Entity = e.what
		text := error(&own)
		e.refused.Store(&text)
		all = append(all, e.what)
		it := &item{kind: itemOutage}
		e.post(it, it)
	}
	for w := range h.p.writers.all() {
		if w.at.sg == sg && w.path == topic.Logged && !w.ended.Load() {
			tell(&w.entity, w.id)
		}
	}
	for r := range h.p.readers.all() {
		if r.durable && slices.Contains(r.subgroups, sg) && !r.ended.Load() {
			tell(&r.entity, r.id)
		}
	}
	if len(all) == 0 {
		return // closed meanwhile
	}
	slices.Sort(all)
	all = slices.Compact(all)
	of := *why
	of.Op, of.Entity = "log", "this process"
	of.Detail = fmt.Sprintf("%s is away: %s", strings.Join(all, ", "), why.Detail)
	if len(all) > 1 {
		of.Detail = fmt.Sprintf("%s are away: %s", strings.Join(all, ", "), why.Detail)
	}
	h.p.problems.tell(refusedLogs{}, &of)
}

// accepted: the domain knows a writer or reader of this process.
func (h *hub) accepted(e *entity) {
	if e.refused.Swap(nil) == nil {
		return
	}
	it := &item{kind: itemOutage}
	e.post(it, it)
	h.noneRefused()
}

// noneRefused has Err not tell any more what was refused, if nothing is that is not closed.
func (h *hub) noneRefused() {
	for w := range h.p.writers.all() {
		if w.refused.Load() != nil && !w.ended.Load() {
			return
		}
	}
	for r := range h.p.readers.all() {
		if r.refused.Load() != nil && !r.ended.Load() {
			return
		}
	}
	h.p.problems.ended(refusedLogs{})
}

// refusal is why nothing can be done because the domain does not know the entity; nil if it does, or is to be told of it yet.
func (e *entity) refusal(op string) error {
	p := e.refused.Load()
	if p == nil {
		return nil
	}
	err := *(*p).(*Error)
	err.Op = op
	return &err
}

// awaitKnown is await for what does not come while the domain does not know the entity.
func (e *entity) awaitKnown(ctx context.Context, op string, cond func() bool) error {
	var refused error
	err := e.await(ctx, op, func() bool {
		if cond() {
			return true
		}
		refused = e.refusal(op)
		return refused != nil
	})
	if err == nil {
		return refused
	}
	return err
}

// awaitMatch waits until so many of the others are matched, and says of what is missing what is known when the wait ends.
func (e *entity) awaitMatch(ctx context.Context, others string, n int, have *MatchedStatus, refused *IncompatibleQosStatus) error {
	err := e.awaitKnown(ctx, "WaitForMatch", func() bool { return int(have.CurrentCount) >= n })
	late := (*Error)(nil)
	if !errors.As(err, &late) || late.Code != ErrTimeout || late.Detail != "" {
		return err
	}
	unreached := e.p.UnreachedPeers()
	e.lock()
	defer e.unlock()
	late.Detail = fmt.Sprintf("%d of %d %s are matched", have.CurrentCount, n, others)
	if k := len(refused.Details); k > 0 {
		late.Detail += fmt.Sprintf("; refused were %d, the latest for %v", refused.TotalCount, refused.Details[k-1])
	} else {
		late.Detail += "; none was refused for its QoS or type, so the others are not there, or in another domain or partition"
	}
	late.Detail += notReached(unreached)
	return err
}

// UnreachedPeers lists the entries of Settings.Peers, or DDS_PEERS, that this process has no connection to, each with what came
// of the latest attempt. They are dialled again and again: one that is not up yet is nothing to worry about, one whose name
// does not resolve, or where something else listens, is probably mistyped. Err does not tell of them; the errors of waits for
// others that were in vain do.
func (p *DomainParticipant) UnreachedPeers() []string {
	if p.absent() || !p.enabled() {
		return nil
	}
	return p.core.Unreached()
}

// notReached is what a wait for others that was in vain tells of the peers that were not reached.
func notReached(unreached []string) string {
	if len(unreached) == 0 {
		return ""
	}
	return "; of the peers in Settings.Peers or DDS_PEERS these are not reached, see whether they are right and up: " + strings.Join(unreached, "; ")
}
