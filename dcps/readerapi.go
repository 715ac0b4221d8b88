package dcps

import (
	"context"
	"errors"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// The untyped part of what DataReader offers; see typed.go.

func (r *reader) SubscriptionMatchedStatus() SubscriptionMatchedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SubscriptionMatchedStatusBit
	return r.matched.taken()
}

func (r *reader) RequestedIncompatibleQosStatus() RequestedIncompatibleQosStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= RequestedIncompatibleQosStatusBit
	return r.incompatible.taken()
}

func (r *reader) SampleLostStatus() SampleLostStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SampleLostStatusBit
	out := r.lost
	r.lost.TotalCountChange = 0
	return out
}

func (r *reader) SampleRejectedStatus() SampleRejectedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SampleRejectedStatusBit
	out := r.rejected
	r.rejected.TotalCountChange = 0
	return out
}

func (r *reader) RequestedDeadlineMissedStatus() RequestedDeadlineMissedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= RequestedDeadlineMissedStatusBit
	return r.deadlineMissed.taken()
}

func (r *reader) LivelinessChangedStatus() LivelinessChangedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= LivelinessChangedStatusBit
	out := r.liveliness
	r.liveliness.AliveCountChange, r.liveliness.NotAliveCountChange = 0, 0
	return out
}

func (r *reader) matchedPublications() []Peer {
	if r.join != nil {
		return r.join.publications()
	}
	r.lock()
	defer r.unlock()
	var out []Peer
	for _, s := range r.writers {
		out = append(out, s.peer)
	}
	return out
}

func (r *reader) Close() error {
	if r.p == nil {
		return r.deleted("Close")
	}
	return r.ending.do(func() error {
		r.ended.Store(true)
		r.die()           // a SetQos that waits for the domain gives up
		r.changing.Lock() // an Enable that is under way comes to its end first
		defer r.changing.Unlock()
		r.close()
		if r.join != nil {
			defer r.dismantle()
			return r.join.close()
		}
		if !r.enabled.Load() || r.builtin {
			r.dismantle()
			return nil
		}
		ctx, cancel := r.p.parting()
		defer cancel()
		err := r.p.core.RemoveEndpoint(ctx, r.id)
		r.dismantle()
		if err == nil || errors.Is(err, derecho.ErrClosed) || r.p.failure.Load() != nil {
			return nil
		}
		return r.p.unagreed("Close", r.what, withdrawnDetail, err)
	})
}

// dismantle takes the reader out of what its participant knows.
func (r *reader) dismantle() {
	r.close()
	r.finish()
	r.sub.remove(r)
	r.p.retire(r.id)
	r.p.delist(&r.entity)
	r.topic.release()
}

// awaitHistory waits until nothing of a history is owed, and what the participant's own writers have sent is delivered here: who
// has written, and then makes a reader, knows what there is to be seen.
func (r *reader) awaitHistory(ctx context.Context, op string) error {
	if err := r.awaitComplete(ctx, op); err != nil || !r.durable {
		return err
	}
	var written []derecho.SubgroupID
	for w := range r.p.writers.all() {
		if w.topic == r.topic && w.enabled.Load() && slices.Contains(r.subgroups, w.at.sg) {
			w.batch.hurry()
			written = append(written, w.at.sg)
		}
	}
	slices.Sort(written)
	for _, sg := range slices.Compact(written) {
		waiting, end := until(ctx, r.lifetime)
		err := r.p.core.WaitHanded(waiting, sg)
		end()
		switch {
		case err == nil:
		case r.ended.Load():
			return r.deleted(op)
		case errors.Is(err, derecho.ErrExcluded):
			return r.awaitComplete(ctx, op) // what is to be seen of that is owed now
		default:
			return failure(op, r.what, "what this participant has written is not delivered yet", err)
		}
	}
	return r.awaitComplete(ctx, op) // an exclusion that came and went meanwhile ends no wait of another incarnation
}

func (r *reader) awaitComplete(ctx context.Context, op string) error {
	return r.awaitKnown(ctx, op, func() bool { return r.complete })
}
