package dcps

import (
	"context"
	"errors"
	"maps"

	"github.com/omg-dds-go/dds/derecho"
)

// ignoreSet is a set of handles, of participants, topics, writers and readers; replaced as a whole, and it only grows.
type ignoreSet map[InstanceHandle]bool

// ignores tells whether this participant ignores a writer or reader of another one, which may be gone.
func (h *hub) ignores(e *endpoint) bool {
	set := h.p.ignored.Load()
	return set != nil && origin(e.key.node) != origin(derecho.NodeID(h.self.Load())) &&
		((*set)[e.handle] || (*set)[handleOfParticipant(e.key)] || (*set)[handleOfTopic(e.ann.topic, e.ann.typeName)])
}

func (p *DomainParticipant) ignoresHandle(h InstanceHandle) bool {
	set := p.ignored.Load()
	return set != nil && (*set)[h]
}

// IgnoreParticipant has this participant act from now on as if another one were not there (DDS: ignore_participant): its writers
// and readers are not matched. The handle is a key of DCPSParticipant. There is no way back. The other one is not told, and
// counts the match.
func (p *DomainParticipant) IgnoreParticipant(h InstanceHandle) error {
	return p.ignore("IgnoreParticipant", "participant", h, func(d *directory) bool {
		_, known := d.participants[h]
		return known
	})
}

// IgnoreTopic does so for the writers and readers of a topic at other participants (DDS: ignore_topic). The handle is a key of
// DCPSTopic.
func (p *DomainParticipant) IgnoreTopic(h InstanceHandle) error {
	return p.ignore("IgnoreTopic", "topic", h, func(d *directory) bool { return d.topics[h] != nil })
}

// IgnorePublication does so for a writer (DDS: ignore_publication). The handle is a key of DCPSPublication, or that of
// SubscriptionMatchedStatus.
func (p *DomainParticipant) IgnorePublication(h InstanceHandle) error {
	return p.ignore("IgnorePublication", "writer", h, func(d *directory) bool {
		f := d.publications[h]
		return f != nil && !f.own
	})
}

// IgnoreSubscription does so for a reader (DDS: ignore_subscription). The handle is a key of DCPSSubscription, or that of
// PublicationMatchedStatus.
func (p *DomainParticipant) IgnoreSubscription(h InstanceHandle) error {
	return p.ignore("IgnoreSubscription", "reader", h, func(d *directory) bool {
		f := d.subscribers[h]
		return f != nil && !f.own
	})
}

func (p *DomainParticipant) ignore(op, what string, h InstanceHandle, known func(*directory) bool) error {
	if p.absent() {
		return noParticipant(op)
	}
	d := &p.directory
	d.lock()
	err := d.usable(op)
	found := err != nil || known(d)
	d.unlock()
	switch {
	case err != nil:
		return err
	case p.ignoresHandle(h):
		return nil
	case !found:
		return &Error{Op: op, Entity: "participant", Code: ErrBadParameter,
			Detail: "no " + what + " of another participant has the handle " + h.String()}
	}
	p.mu.Lock()
	set := ignoreSet{}
	if old := p.ignored.Load(); old != nil {
		set = maps.Clone(*old)
	}
	set[h] = true
	p.ignored.Store(&set)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.lifetime, operationTimeout)
	defer cancel()
	err = p.core.Upcall(ctx, p.hub.ignoreKnown)
	if err == nil || errors.Is(err, derecho.ErrExcluded) { // then all are added anew
		return nil
	}
	if p.lifetime.Err() != nil {
		return p.closedError(op)
	}
	return p.unagreed(op, "participant", "", err)
}

// ignoreKnown ends the matches with what is ignored since the last time. The polling goroutine's.
func (h *hub) ignoreKnown() {
	for _, e := range h.endpoints {
		if e.ignored || !h.ignores(e) {
			continue
		}
		peers := h.topics[e.ann.topic]
		if e.ann.writes {
			for _, r := range peers.readers {
				h.adjust(e, r, h.relate(e, r), relation{})
			}
		} else {
			for _, w := range peers.writers {
				h.adjust(w, e, h.relate(w, e), relation{})
			}
		}
		e.ignored = true
		handle := e.handle
		h.p.directory.learn(func(d *directory) { d.forget(handle) })
	}
	h.showMembers()
}
