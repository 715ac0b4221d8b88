// Package dcps is the DDS API: domain participants, publishers, subscribers, topics, data writers and data readers
// (DDS 1.4 §2.2.2), over the replicated core of package derecho.
//
//	p, err := dcps.NewDomainParticipant(ctx, 0)
//	defer p.Close()
//	tracks, err := dcps.NewTopic[avionics.Track](p, "Track")
//	pub, err := p.NewPublisher()
//	w, err := dcps.NewDataWriter(pub, tracks, dcps.WithWriterQos(q))
//	err = w.Write(ctx, &avionics.Track{Icao: "4840D6", Altitude: 31000})
//
//	sub, err := p.NewSubscriber()
//	r, err := dcps.NewDataReader(sub, tracks, dcps.WithReaderQos(rq))
//	for s, err := range r.Stream(ctx) {
//		if track := s.Data(); track != nil { ... }
//	}
//
// What a writer's QoS asks for decides how its samples travel; see DataWriter.DeliveryPath. On all paths but the
// unordered one, all readers of a topic see the same samples in the same order: SampleInfo.Epoch and Sequence.
//
// # Concurrency
//
// Every method of every entity may be called by several goroutines at once. What Read, Take, TakeLoan and Loan return
// belongs to one goroutine. Listeners run on a goroutine of their entity, outside of all locks, one call at a time: they
// may call anything, also Close. A callback that runs when its entity is closed runs to its end.
//
// Inside, the state of an entity is a plain single-threaded value behind a lock that the core's polling goroutine never
// waits for: it posts to an inbox and goes on; whoever holds the lock applies what was posted (entity.go). Matching,
// histories and all else that follows the core's upcalls belong to the polling goroutine (hub.go): to the core's own,
// or to one that waits in WaitSet.Wait and does its work meanwhile. Locks are taken in this order: entity.changing;
// DomainParticipant.builtinMaking; DomainParticipant.listening; multiTopic.mu; joiner.mu; presenting.sets, and behind
// it the turns of writers by their ids; accessState.mu; DomainParticipant.mu; that of a Publisher or Subscriber; an
// entity's, or with GROUP access those of several readers by their ids; writerInstances.mu or batch.mu. Nothing is
// locked while leases.mu or WaitSet.mu is held.
//
// Close of any entity may be called again, and while another goroutine is at it: all wait for the end and get one
// result. Who waits for something at the entity, or for its being enabled, does so no longer: ErrAlreadyDeleted. Its
// conditions end, too: they do not hold any more, the channels of Ready are closed, and Wait of a WaitSet that has one fails
// so until it is detached. In an outage Close waits for a moment only, and then fails with ErrTimeout: the entity is closed
// all the same, and the others learn of it when they hear this process.
//
// # Samples and memory
//
// A sample is encoded once, into the ring that its receivers read, and copied once, by each reader. Readers recycle the
// copies: what Samples and LoanedSamples lend is valid until their Close. A writer's Loan is room in the ring until Publish,
// Discard or the writer's Close, and holds its subgroup up so long. TakeLoan, and a writer's Loan and Write, allocate
// nothing in the steady state; Sample.Data decodes into memory of the caller's own.
//
// # Invariants
//
//  1. All participants match the same writers and readers, from the announcements alone.
//  2. A reader sees the sequence numbers of a writer ascend, and none twice; on the reliable paths none is missing that
//     came after the reader matched, or after the history it was given, until one of the two is cut off.
//  3. A sample that is not delivered is counted: SAMPLE_LOST, SAMPLE_REJECTED, DataWriter.Dropped.
//  4. A policy whose value has no effect here is refused with ErrUnsupported.
//  5. Nothing that a peer sends, or that a log holds, makes this package panic.
//  6. Nor does a caller: nil, a zero value in place of an entity, or a zero entity gives ErrBadParameter, which names it,
//     and zero statuses (absent.go).
//
// # A full reader
//
// A RELIABLE reader whose RESOURCE_LIMITS leave no room, be it KEEP_ALL or KEEP_LAST, makes the writers of its topic wait,
// for as long as their max_blocking_time says; what is in flight meanwhile is parked and let in later, in order. A
// best-effort reader rejects and counts.
//
// # Failures
//
// When a process fails, the others go on: its writers are not alive at once, and unmatched when what they sent is
// delivered. With EXCLUSIVE ownership they own their instances until then, so that all readers see the next owner from the
// same sample on. (Where an owner loses an instance by DEADLINE, or by LIVELINESS while its process lives, each reader goes
// by its own clock.) A process that hears too few others to know that it is not the one that is cut off delivers nothing until it
// hears them again: writes fail at once with ErrPreconditionNotMet and derecho.ErrNoMajority, DomainParticipant.Err tells
// who is not heard, and the writers of all other processes are not alive. DomainParticipant.WaitForDomain waits for the end.
// The code is not ErrTimeout, as trying again at once does not help.
//
// A process that the others went on without (derecho.ErrExcluded) joins again by itself. Its readers and writers are
// unmatched and matched anew, and keep their handles, samples, numbers and statuses:
//
//   - No reader sees a sample twice, wherever the process was that was away. For each writer that went without a farewell
//     it remembers a number; with DURABILITY above VOLATILE for every writer that it has met.
//   - What was written meanwhile a reader gets if it asks for history, and WaitForHistoricalData waits for that; to a VOLATILE one it is
//     as if it had come late. A disposal is not part of a history. Nothing of it counts as lost.
//   - A sample that was on its way when the process was cut off, loans included, may be lost, and also one that was written
//     after that, before the process knew. WaitForAcknowledgments says that it does not know what became of what was not
//     acknowledged before: to all who wait, or else to the next who does. Publish of a loan of before fails.
//   - A TRANSIENT_LOCAL writer sends again what is kept for late readers, and what was on its way, before anything new, except
//     instances that it has unregistered. Who lacks it is handed it at a later place of the order than those who had it. A
//     disposal among it counts for what has no later source timestamp.
//   - DomainParticipant.ViewChangedStatus tells that the process was cut off, and that it is back, also afterwards.
//
// # Where the standard leaves room
//
//   - A change to not-alive comes as an entry without data if no unread entry of the instance can tell of it; there is
//     at most one, and the next sample replaces it.
//   - Without PRESENTATION ordered access, Read and Take give the samples of an instance together. InOrder and Stream
//     give them in the order of reception.
//   - The handle of an instance is its key hash, so it is the same at every process.
//   - Histories for late joiners keep, of each instance and writer, as many samples as HISTORY says; for TRANSIENT and
//     PERSISTENT, more if DURABILITY_SERVICE says so. A disposed instance is not kept, unless that has a
//     service_cleanup_delay. What is past its LIFESPAN by the latest source timestamp of the topic is not kept.
//   - A writer's samples are in a ring of its process, whose size is Settings.RingBytes. For a sample that is larger than half of it the ring grows:
//     Write waits for that, some milliseconds, within max_blocking_time; of a best-effort writer, which never waits, samples are lost until then.
//     RESOURCE_LIMITS max_samples and
//     max_samples_per_instance of a writer bound what is kept for late joiners. Writing beyond fails with
//     ErrOutOfResources at once, as waiting would not help. Those of a VOLATILE one with KEEP_ALL bound what is not
//     acknowledged yet: it waits for that, up to max_blocking_time.
//   - LIVELINESS AUTOMATIC: a writer of another process is not alive while that is silent for longer than the offered
//     lease_duration, as seen at the next heartbeat of this process. Less than two heartbeats, which are two thirds of
//     Settings.Lease, counts as two. The writers of the own process are alive. The other two kinds are timed by each reader,
//     and by the writer, from one assertion to the next (liveliness.go).
//   - When the domain goes on without a process, its writers are not alive at once, whatever lease_duration says.
//   - TIME_BASED_FILTER goes by the time of reception. A RELIABLE reader gets the last sample of an instance when
//     minimum_separation is over, or when the instance ends.
//   - LATENCY_BUDGET of a writer lets its samples wait for each other for half of it; default writers do not wait (batch.go).
//   - PRESENTATION: coherent sets are whole for each Subscriber; in GROUP scope readers are read between BeginAccess and
//     EndAccess (docs/adr/0023). With coherent_access in the scopes INSTANCE and TOPIC a set is one of a writer.
//   - DESTINATION_ORDER BY_SOURCE_TIMESTAMP drops what is older than a sample that was read or taken (cachesource.go).
//   - An instance that a writer lost by not being alive, or not being matched, is alive again with the writer's next
//     sample, and OWNERSHIP EXCLUSIVE goes to whoever writes next.
//   - SetQos is announced to all, and all match anew by it. That of a writer, or of its Publisher, has its place among the
//     samples, the same at all readers and in all histories: what is written after it comes by the new QoS, and of what was
//     on its way all agree by which it comes (docs/adr/0037). What a reader holds is not judged anew; a LIFESPAN is for samples
//     that come after it.
//   - A topic without writers and readers is known in its own participant only: DCPSTopic, FindTopic and DiscoveredTopics of
//     others tell of topics that are used.
//   - A listener that is set hears at once of what has changed before and was not looked at.
//   - OWNERSHIP ties go to the smaller handle of the writer.
//   - A reader of a ContentFilteredTopic keeps the last sample of an instance that passed, and its state, when later ones do not
//     pass; these hold off DEADLINE, and count for OWNERSHIP of instances that it knows (docs/filters.md).
//   - A sample that the reader's type can not hold, as the writer's has another enumerator, say, counts as lost: XTypes discards
//     it. A coherent set is seen without it.
//   - An instance of a MultiTopic whose samples do not match any more is NOT_ALIVE_NO_WRITERS.
//
// # What it does not do
//
// get_listener: who sets a listener has it. docs/conformance.md lists every operation and policy of the standard.
package dcps
