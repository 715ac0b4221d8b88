package conformance

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/assert"
)

// rxo is one row of the table (policy, offered, requested, compatible). Of the two values only the policy under
// test differs from the default of the standard.
type rxo[P any] struct {
	offered, requested P
	compatible         bool
	// The texts that a mismatch reports.
	offeredText, requestedText string
}

// side is the QoS of one side of a match.
type side struct {
	writer qos.DataWriter
	reader qos.DataReader
	pub    qos.Publisher
	sub    qos.Subscriber
}

// checkRxO runs a table. set writes the policy into the QoS of a writer and its publisher (offered) or of a
// reader and its subscriber (requested).
func checkRxO[P any](t *testing.T, id qos.PolicyID, set func(s *side, offered, requested P), rows []rxo[P]) {
	t.Helper()
	for _, row := range rows {
		s := side{qos.DefaultDataWriter(), qos.DefaultDataReader(), qos.DefaultPublisher(), qos.DefaultSubscriber()}
		set(&s, row.offered, row.requested)
		var want []qos.Incompatibility
		if !row.compatible {
			want = []qos.Incompatibility{{Policy: id, Offered: row.offeredText, Requested: row.requestedText}}
		}
		got := qos.Compatible(s.writer, s.reader, s.pub, s.sub)
		assert.Equal(t, want, got, "%v offered %v requested %v", id, row.offered, row.requested)
	}
}

func TestDDS14_2_2_3_RxO_Durability(t *testing.T) {
	const v, l, tr, p = qos.DurabilityVolatile, qos.DurabilityTransientLocal, qos.DurabilityTransient, qos.DurabilityPersistent
	checkRxO(t, qos.PolicyDurability,
		func(s *side, o, r qos.DurabilityKind) { s.writer.Durability.Kind, s.reader.Durability.Kind = o, r },
		[]rxo[qos.DurabilityKind]{
			{v, v, true, "", ""},
			{v, l, false, "VOLATILE", "TRANSIENT_LOCAL"},
			{v, tr, false, "VOLATILE", "TRANSIENT"},
			{v, p, false, "VOLATILE", "PERSISTENT"},
			{l, v, true, "", ""},
			{l, l, true, "", ""},
			{l, tr, false, "TRANSIENT_LOCAL", "TRANSIENT"},
			{l, p, false, "TRANSIENT_LOCAL", "PERSISTENT"},
			{tr, v, true, "", ""},
			{tr, l, true, "", ""},
			{tr, tr, true, "", ""},
			{tr, p, false, "TRANSIENT", "PERSISTENT"},
			{p, v, true, "", ""},
			{p, l, true, "", ""},
			{p, tr, true, "", ""},
			{p, p, true, "", ""},
		})
}

func TestDDS14_2_2_3_RxO_Presentation(t *testing.T) {
	const i, to, g = qos.PresentationInstance, qos.PresentationTopic, qos.PresentationGroup
	at := func(scope qos.PresentationAccessScopeKind, coherent, ordered bool) qos.Presentation {
		return qos.Presentation{AccessScope: scope, CoherentAccess: coherent, OrderedAccess: ordered}
	}
	const (
		plainInstance = "INSTANCE coherent_access false ordered_access false"
		plainTopic    = "TOPIC coherent_access false ordered_access false"
		plainGroup    = "GROUP coherent_access false ordered_access false"
	)
	checkRxO(t, qos.PolicyPresentation,
		func(s *side, o, r qos.Presentation) { s.pub.Presentation, s.sub.Presentation = o, r },
		[]rxo[qos.Presentation]{
			{at(i, false, false), at(i, false, false), true, "", ""},
			{at(i, false, false), at(to, false, false), false, plainInstance, plainTopic},
			{at(i, false, false), at(g, false, false), false, plainInstance, plainGroup},
			{at(to, false, false), at(i, false, false), true, "", ""},
			{at(to, false, false), at(to, false, false), true, "", ""},
			{at(to, false, false), at(g, false, false), false, plainTopic, plainGroup},
			{at(g, false, false), at(i, false, false), true, "", ""},
			{at(g, false, false), at(to, false, false), true, "", ""},
			{at(g, false, false), at(g, false, false), true, "", ""},
			// requested.coherent_access is FALSE, or both are TRUE; ordered_access likewise.
			{at(i, true, false), at(i, false, false), true, "", ""},
			{at(i, true, false), at(i, true, false), true, "", ""},
			{at(i, false, false), at(i, true, false), false, plainInstance, "INSTANCE coherent_access true ordered_access false"},
			{at(i, false, true), at(i, false, false), true, "", ""},
			{at(i, false, true), at(i, false, true), true, "", ""},
			{at(i, false, false), at(i, false, true), false, plainInstance, "INSTANCE coherent_access false ordered_access true"},
			// A wider scope does not make up for what is missing in another field.
			{at(g, true, false), at(i, true, true), false,
				"GROUP coherent_access true ordered_access false", "INSTANCE coherent_access true ordered_access true"},
		})
}

func TestDDS14_2_2_3_RxO_Deadline(t *testing.T) {
	checkRxO(t, qos.PolicyDeadline,
		func(s *side, o, r time.Duration) { s.writer.Deadline.Period, s.reader.Deadline.Period = o, r },
		[]rxo[time.Duration]{
			{time.Second, time.Second, true, "", ""},
			{time.Second, 2 * time.Second, true, "", ""},
			{2 * time.Second, time.Second, false, "2s", "1s"},
			{time.Second + time.Nanosecond, time.Second, false, "1.000000001s", "1s"},
			{time.Second, qos.Infinite, true, "", ""},
			{qos.Infinite, time.Second, false, "INFINITE", "1s"},
			{qos.Infinite, qos.Infinite, true, "", ""},
		})
}

func TestDDS14_2_2_3_RxO_LatencyBudget(t *testing.T) {
	checkRxO(t, qos.PolicyLatencyBudget,
		func(s *side, o, r time.Duration) {
			s.writer.LatencyBudget.Duration, s.reader.LatencyBudget.Duration = o, r
		},
		[]rxo[time.Duration]{
			{0, 0, true, "", ""},
			{0, time.Millisecond, true, "", ""},
			{time.Millisecond, 0, false, "1ms", "0s"},
			{time.Millisecond, time.Millisecond, true, "", ""},
			{2 * time.Millisecond, time.Millisecond, false, "2ms", "1ms"},
			{qos.Infinite, time.Millisecond, false, "INFINITE", "1ms"},
		})
}

func TestDDS14_2_2_3_RxO_Ownership(t *testing.T) {
	const s, e = qos.OwnershipShared, qos.OwnershipExclusive
	checkRxO(t, qos.PolicyOwnership,
		func(x *side, o, r qos.OwnershipKind) { x.writer.Ownership.Kind, x.reader.Ownership.Kind = o, r },
		[]rxo[qos.OwnershipKind]{
			{s, s, true, "", ""},
			{e, e, true, "", ""},
			{s, e, false, "SHARED", "EXCLUSIVE"},
			{e, s, false, "EXCLUSIVE", "SHARED"},
		})
}

func TestDDS14_2_2_3_RxO_Liveliness(t *testing.T) {
	const a, p, to = qos.LivelinessAutomatic, qos.LivelinessManualByParticipant, qos.LivelinessManualByTopic
	const sec = time.Second
	at := func(k qos.LivelinessKind, lease time.Duration) qos.Liveliness {
		return qos.Liveliness{Kind: k, LeaseDuration: lease}
	}
	checkRxO(t, qos.PolicyLiveliness,
		func(s *side, o, r qos.Liveliness) { s.writer.Liveliness, s.reader.Liveliness = o, r },
		[]rxo[qos.Liveliness]{
			{at(a, sec), at(a, sec), true, "", ""},
			{at(a, sec), at(p, sec), false, "AUTOMATIC lease_duration 1s", "MANUAL_BY_PARTICIPANT lease_duration 1s"},
			{at(a, sec), at(to, sec), false, "AUTOMATIC lease_duration 1s", "MANUAL_BY_TOPIC lease_duration 1s"},
			{at(p, sec), at(a, sec), true, "", ""},
			{at(p, sec), at(p, sec), true, "", ""},
			{at(p, sec), at(to, sec), false, "MANUAL_BY_PARTICIPANT lease_duration 1s", "MANUAL_BY_TOPIC lease_duration 1s"},
			{at(to, sec), at(a, sec), true, "", ""},
			{at(to, sec), at(p, sec), true, "", ""},
			{at(to, sec), at(to, sec), true, "", ""},
			{at(a, sec), at(a, 2*sec), true, "", ""},
			{at(a, 2*sec), at(a, sec), false, "AUTOMATIC lease_duration 2s", "AUTOMATIC lease_duration 1s"},
			{at(a, qos.Infinite), at(a, sec), false, "AUTOMATIC lease_duration INFINITE", "AUTOMATIC lease_duration 1s"},
			{at(a, sec), at(a, qos.Infinite), true, "", ""},
			// A stronger kind does not make up for a longer lease.
			{at(to, 2*sec), at(a, sec), false, "MANUAL_BY_TOPIC lease_duration 2s", "AUTOMATIC lease_duration 1s"},
		})
}

func TestDDS14_2_2_3_RxO_Reliability(t *testing.T) {
	const b, r = qos.ReliabilityBestEffort, qos.ReliabilityReliable
	checkRxO(t, qos.PolicyReliability,
		func(s *side, o, r qos.ReliabilityKind) { s.writer.Reliability.Kind, s.reader.Reliability.Kind = o, r },
		[]rxo[qos.ReliabilityKind]{
			{b, b, true, "", ""},
			{b, r, false, "BEST_EFFORT", "RELIABLE"},
			{r, b, true, "", ""},
			{r, r, true, "", ""},
		})
}

// max_blocking_time is not part of the contract between the two sides.
func TestDDS14_2_2_3_RxO_Reliability_MaxBlockingTime(t *testing.T) {
	checkRxO(t, qos.PolicyReliability,
		func(s *side, o, r time.Duration) {
			s.writer.Reliability.MaxBlockingTime, s.reader.Reliability.MaxBlockingTime = o, r
		},
		[]rxo[time.Duration]{{0, time.Second, true, "", ""}, {time.Second, 0, true, "", ""}})
}

func TestDDS14_2_2_3_RxO_DestinationOrder(t *testing.T) {
	const rec, src = qos.DestinationOrderByReceptionTimestamp, qos.DestinationOrderBySourceTimestamp
	checkRxO(t, qos.PolicyDestinationOrder,
		func(s *side, o, r qos.DestinationOrderKind) {
			s.writer.DestinationOrder.Kind, s.reader.DestinationOrder.Kind = o, r
		},
		[]rxo[qos.DestinationOrderKind]{
			{rec, rec, true, "", ""},
			{rec, src, false, "BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"},
			{src, rec, true, "", ""},
			{src, src, true, "", ""},
		})
}

// The writer offers its first representation; the reader accepts any of its own. Empty means XCDR.
func TestXTypes13_7_6_3_1_RxO_DataRepresentation(t *testing.T) {
	const x1, x2, xml, auto = qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2, qos.DataRepresentationXML, qos.DataRepresentationAuto
	type list = []qos.DataRepresentationKind
	checkRxO(t, qos.PolicyDataRepresentation,
		func(s *side, o, r list) { s.writer.DataRepresentation.Value, s.reader.DataRepresentation.Value = o, r },
		[]rxo[list]{
			{nil, nil, true, "", ""},
			{nil, list{x1}, true, "", ""},
			{nil, list{x2}, false, "XCDR", "[XCDR2]"},
			{nil, list{x2, x1}, true, "", ""},
			{list{x2}, nil, false, "XCDR2", "[XCDR]"},
			{list{x2, x1}, list{x1}, false, "XCDR2", "[XCDR]"},
			{list{xml}, list{x1, x2}, false, "XML", "[XCDR XCDR2]"},
			{list{auto}, list{x2}, true, "", ""},
			{list{x2}, list{auto}, true, "", ""},
			{list{xml}, list{auto}, false, "XML", "[AUTO]"},
		})
}

// All policies that do not fit are reported, not only the first, in the order of their numbers.
func TestDDS14_2_2_3_RxO_AllIncompatibilities(t *testing.T) {
	w, r := qos.DefaultDataWriter(), qos.DefaultDataReader()
	w.Reliability.Kind, r.Reliability.Kind = qos.ReliabilityBestEffort, qos.ReliabilityReliable
	w.Deadline.Period, r.Deadline.Period = 2*time.Second, time.Second
	r.Durability.Kind = qos.DurabilityPersistent
	var got []string
	for _, i := range qos.Compatible(w, r, qos.DefaultPublisher(), qos.DefaultSubscriber()) {
		got = append(got, i.String())
	}
	assert.Equal(t, []string{
		"DURABILITY offered VOLATILE requested PERSISTENT",
		"DEADLINE offered 2s requested 1s",
		"RELIABILITY offered BEST_EFFORT requested RELIABLE",
	}, got)
}

// Policies whose RxO column says "no" never keep two endpoints apart.
func TestDDS14_2_2_3_RxO_OthersAreNotCompared(t *testing.T) {
	w, r := qos.DefaultDataWriter(), qos.DefaultDataReader()
	pub, sub := qos.DefaultPublisher(), qos.DefaultSubscriber()
	w.UserData.Value = []byte("w")
	r.UserData.Value = []byte("r")
	w.History = qos.History{Kind: qos.HistoryKeepAll}
	r.History.Depth = 9
	w.ResourceLimits.MaxSamples = 1
	r.ResourceLimits.MaxInstances = 7
	w.TransportPriority.Value = 3
	w.Lifespan.Duration = time.Second
	w.OwnershipStrength.Value = 5
	w.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	r.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = time.Second
	r.TimeBasedFilter.MinimumSeparation = time.Second
	r.TypeConsistencyEnforcement.Kind = qos.TypeConsistencyDisallowTypeCoercion
	w.DurabilityService.HistoryDepth = 4
	pub.GroupData.Value = []byte("p")
	pub.EntityFactory.AutoenableCreatedEntities = false
	pub.Partition.Name, sub.Partition.Name = []string{"A"}, []string{"B"}
	assert.Empty(t, qos.Compatible(w, r, pub, sub))
}
