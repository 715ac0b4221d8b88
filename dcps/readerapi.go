package dcps

import (
	"context"
	"errors"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// Handle names the reader in its domain (DDS: get_instance_handle).
func (r *reader) Handle() InstanceHandle { return r.handle }

// Subscriber gives the reader's Subscriber.
func (r *reader) Subscriber() *Subscriber { return r.sub }

// Qos gives the QoS that the reader was made with.
func (r *reader) Qos() qos.DataReader { return r.q }

// TopicName is the name of the reader's topic.
func (r *reader) TopicName() string { return r.topic.name }

// StatusCondition gives the condition over the reader's statuses (DDS: get_statuscondition).
func (r *reader) StatusCondition() *StatusCondition { return r.status }

// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
func (r *reader) StatusChanges() StatusMask {
	r.lock()
	defer r.unlock()
	return r.changed
}

// SubscriptionMatchedStatus gives the status and starts a new count of changes; so do the others.
func (r *reader) SubscriptionMatchedStatus() SubscriptionMatchedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SubscriptionMatchedStatusBit
	return r.matched.taken()
}

// RequestedIncompatibleQosStatus tells of writers that offer less than the reader asks for.
func (r *reader) RequestedIncompatibleQosStatus() RequestedIncompatibleQosStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= RequestedIncompatibleQosStatusBit
	return r.incompatible.taken()
}

// SampleLostStatus counts samples that were sent but did not arrive.
func (r *reader) SampleLostStatus() SampleLostStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SampleLostStatusBit
	out := r.lost
	r.lost.TotalCountChange = 0
	return out
}

// SampleRejectedStatus counts samples that RESOURCE_LIMITS kept out.
func (r *reader) SampleRejectedStatus() SampleRejectedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= SampleRejectedStatusBit
	out := r.rejected
	r.rejected.TotalCountChange = 0
	return out
}

// RequestedDeadlineMissedStatus counts instances without a sample within DEADLINE.
func (r *reader) RequestedDeadlineMissedStatus() RequestedDeadlineMissedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= RequestedDeadlineMissedStatusBit
	return r.deadlineMissed.taken()
}

// LivelinessChangedStatus tells how many matched writers are alive.
func (r *reader) LivelinessChangedStatus() LivelinessChangedStatus {
	r.lock()
	defer r.unlock()
	r.changed &^= LivelinessChangedStatusBit
	out := r.liveliness
	r.liveliness.AliveCountChange, r.liveliness.NotAliveCountChange = 0, 0
	return out
}

// MatchedPublications lists the matched writers (DDS: get_matched_publications, get_matched_publication_data).
func (r *reader) MatchedPublications() []Peer {
	r.lock()
	defer r.unlock()
	var out []Peer
	for _, s := range r.writers {
		out = append(out, s.peer)
	}
	return out
}

// WaitForMatch waits until at least n writers are matched (extension).
func (r *reader) WaitForMatch(ctx context.Context, n int) error {
	return r.await("WaitForMatch", ctx.Done(), ctx.Err, func() (bool, error) {
		return int(r.matched.CurrentCount) >= n, nil
	})
}

// WaitForHistoricalData waits until the reader has all samples that were kept for late joiners (DDS:
// wait_for_historical_data). A VOLATILE reader has them at once: there are none.
func (r *reader) WaitForHistoricalData(ctx context.Context) error {
	return r.await("WaitForHistoricalData", ctx.Done(), ctx.Err, func() (bool, error) { return r.complete, nil })
}

// Close deletes the reader (DDS: delete_datareader). What it lent stays valid until it is given back. Closing again has
// no effect.
func (r *reader) Close() error {
	if !r.close() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	err := r.p.core.RemoveEndpoint(ctx, r.id)
	r.finish()
	r.sub.remove(r)
	r.p.retire(r.id)
	r.p.delist(&r.entity)
	r.topic.release()
	if err == nil || errors.Is(err, derecho.ErrClosed) || r.p.failure.Load() != nil {
		return nil
	}
	return failure("Close", r.what, "", err)
}
