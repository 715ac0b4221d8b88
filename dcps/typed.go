package dcps

import (
	"context"

	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// What DataWriter and DataReader do without their type, they pass on to their untyped part.

// untyped is the writer, or what stands in for one that does not exist.
func (w *DataWriter[T]) untyped() *writer {
	if w == nil || w.writer == nil {
		return noWriter
	}
	return w.writer
}

// Topic gives the writer's Topic.
func (w *DataWriter[T]) Topic() *Topic[T] {
	if w == nil {
		return nil
	}
	return w.of
}

// Handle names the writer in its domain (DDS: get_instance_handle), also after its process has joined again. It is
// HandleNil until the writer is enabled.
func (w *DataWriter[T]) Handle() InstanceHandle { return w.untyped().handleNow() }

// Publisher gives the writer's Publisher.
func (w *DataWriter[T]) Publisher() *Publisher { return w.untyped().pub }

// Qos gives the writer's QoS (DDS: get_qos).
func (w *DataWriter[T]) Qos() qos.DataWriter { return w.untyped().qosNow() }

// TopicName is the name of the writer's topic.
func (w *DataWriter[T]) TopicName() string { return w.untyped().topic.name }

// DeliveryPath tells how the writer's samples travel. It follows from the QoS, which may change until the writer is enabled.
func (w *DataWriter[T]) DeliveryPath() topic.Path { return w.untyped().pathNow() }

// MaxSampleSize is the size of the largest encoded sample that can be written; 0 until the writer is enabled.
func (w *DataWriter[T]) MaxSampleSize() int {
	u := w.untyped()
	if !u.enabled.Load() {
		return 0
	}
	return u.maxSize // stored before enabled
}

// Dropped counts the samples of a best-effort writer that were not sent because its ring was full, or had to grow for
// them. Its readers count them in SAMPLE_LOST.
func (w *DataWriter[T]) Dropped() uint64 { return w.untyped().dropped.Load() }

// StatusCondition gives the condition over the writer's statuses (DDS: get_statuscondition).
func (w *DataWriter[T]) StatusCondition() *StatusCondition { return w.untyped().status }

// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
func (w *DataWriter[T]) StatusChanges() StatusMask { return w.untyped().statusChanges() }

// PublicationMatchedStatus gives the status and starts a new count of changes; so do the others.
func (w *DataWriter[T]) PublicationMatchedStatus() PublicationMatchedStatus {
	return w.untyped().PublicationMatchedStatus()
}

// OfferedIncompatibleQosStatus tells of readers that ask for more than the writer offers.
func (w *DataWriter[T]) OfferedIncompatibleQosStatus() OfferedIncompatibleQosStatus {
	return w.untyped().OfferedIncompatibleQosStatus()
}

// OfferedDeadlineMissedStatus tells of instances that were not written within DEADLINE.
func (w *DataWriter[T]) OfferedDeadlineMissedStatus() OfferedDeadlineMissedStatus {
	return w.untyped().OfferedDeadlineMissedStatus()
}

// WaitForMatch waits until at least n readers are matched (extension).
func (w *DataWriter[T]) WaitForMatch(ctx context.Context, n int) error {
	u := w.untyped()
	return u.awaitMatch(ctx, "readers", n, &u.matched, &u.incompatible)
}

// WaitForAcknowledgments waits until all that was written before has been handed over at every receiving process, and
// with DURABILITY PERSISTENT is on disk at every process that stores it (DDS: wait_for_acknowledgments). WaitForStable and
// WaitForDurable wait for the one or for the other. A reader that came late, and is still being given a large history, has
// it behind that (DataReader.WaitForHistoricalData).
//
// If the others went on without this process, be it before it knew of a sample that Write accepted, that is not known of what
// was not acknowledged before, and may not be so: the call fails with ErrPreconditionNotMet and derecho.ErrExcluded. So do all
// calls that have begun by then, or the next one if there are none; after that it is about what was written since. nil always
// means that of everything up to the call either this is so, or a call that has returned said that it may not be. Several
// goroutines that share a writer share what is said; DomainParticipant.ViewChangedStatus tells each of them.
func (w *DataWriter[T]) WaitForAcknowledgments(ctx context.Context) error {
	return w.untyped().WaitForAcknowledgments(ctx)
}

// Close discards the writer's loans, unregisters all its instances, waits until its samples were handed over, and
// deletes it (DDS: delete_datawriter). Closing again gives the same result; see DomainParticipant.Close.
func (w *DataWriter[T]) Close() error { return w.untyped().Close() }

// untyped is the reader, or what stands in for one that does not exist.
func (r *DataReader[T]) untyped() *reader {
	if r == nil || r.reader == nil {
		return noReader
	}
	return r.reader
}

// Topic gives the reader's Topic, which of a ContentFilteredTopic is the related one; nil for a reader of a MultiTopic.
func (r *DataReader[T]) Topic() *Topic[T] {
	if r == nil {
		return nil
	}
	return r.of
}

// Handle names the reader in its domain (DDS: get_instance_handle), also after its process has joined again. It is
// HandleNil until the reader is enabled.
func (r *DataReader[T]) Handle() InstanceHandle { return r.untyped().handleNow() }

// Subscriber gives the reader's Subscriber.
func (r *DataReader[T]) Subscriber() *Subscriber { return r.untyped().sub }

// Qos gives the reader's QoS (DDS: get_qos).
func (r *DataReader[T]) Qos() qos.DataReader { return r.untyped().qosNow() }

// TopicName is the name of the reader's topic.
func (r *DataReader[T]) TopicName() string { return r.untyped().topic.name }

// StatusCondition gives the condition over the reader's statuses (DDS: get_statuscondition).
func (r *DataReader[T]) StatusCondition() *StatusCondition { return r.untyped().status }

// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
func (r *DataReader[T]) StatusChanges() StatusMask { return r.untyped().statusChanges() }

// SubscriptionMatchedStatus gives the status and starts a new count of changes; so do the others.
func (r *DataReader[T]) SubscriptionMatchedStatus() SubscriptionMatchedStatus {
	return r.untyped().SubscriptionMatchedStatus()
}

// RequestedIncompatibleQosStatus tells of writers that offer less than the reader asks for.
func (r *DataReader[T]) RequestedIncompatibleQosStatus() RequestedIncompatibleQosStatus {
	return r.untyped().RequestedIncompatibleQosStatus()
}

// SampleLostStatus counts samples that were sent but did not arrive.
func (r *DataReader[T]) SampleLostStatus() SampleLostStatus { return r.untyped().SampleLostStatus() }

// SampleRejectedStatus counts samples that RESOURCE_LIMITS kept out.
func (r *DataReader[T]) SampleRejectedStatus() SampleRejectedStatus {
	return r.untyped().SampleRejectedStatus()
}

// RequestedDeadlineMissedStatus counts instances without a sample within DEADLINE.
func (r *DataReader[T]) RequestedDeadlineMissedStatus() RequestedDeadlineMissedStatus {
	return r.untyped().RequestedDeadlineMissedStatus()
}

// LivelinessChangedStatus tells how many matched writers are alive, and how many are not.
func (r *DataReader[T]) LivelinessChangedStatus() LivelinessChangedStatus {
	return r.untyped().LivelinessChangedStatus()
}

// MatchedPublications lists the matched writers (DDS: get_matched_publications, get_matched_publication_data).
func (r *DataReader[T]) MatchedPublications() []Peer { return r.untyped().matchedPublications() }

// WaitForMatch waits until at least n writers are matched (extension).
func (r *DataReader[T]) WaitForMatch(ctx context.Context, n int) error {
	u := r.untyped()
	return u.awaitMatch(ctx, "writers", n, &u.matched, &u.incompatible)
}

// WaitForHistoricalData waits until the reader has all samples that were kept for late joiners (DDS: wait_for_historical_data). A
// VOLATILE reader has them at once: there are none. What writers of this participant have sent before the call is there, too. Of
// that, what was delivered before the reader was matched comes from the history, as much as HISTORY of the writers keeps; what
// was still on its way came after that, as all samples do; what was written while a Loan of before was neither published nor
// discarded is sent when it is, and not waited for. When the domain went on without this process all but a VOLATILE reader wait
// anew, until the process has joined again and the reader has what was kept for it meanwhile. While the log that a PERSISTENT
// reader needs can not be used then, it fails with ErrPreconditionNotMet and says why; the reader is announced, and the wait
// succeeds, when that is mended.
func (r *DataReader[T]) WaitForHistoricalData(ctx context.Context) error {
	const op = "WaitForHistoricalData"
	u := r.untyped()
	if u.join == nil || ctx == nil {
		return u.awaitHistory(ctx, op)
	}
	return u.join.history(ctx, op)
}

// Close deletes the reader (DDS: delete_datareader). What it lent stays valid until it is given back. Closing again
// gives the same result; see DomainParticipant.Close.
func (r *DataReader[T]) Close() error { return r.untyped().Close() }
