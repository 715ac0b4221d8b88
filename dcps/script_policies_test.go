package dcps

import (
	"strings"
	"time"

	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// policies are those that an entity has; nil for the others.
type policies struct {
	reliability     *qos.Reliability
	durability      *qos.Durability
	service         *qos.DurabilityService
	history         *qos.History
	limits          *qos.ResourceLimits
	ownership       *qos.Ownership
	strength        *qos.OwnershipStrength
	deadline        *qos.Deadline
	budget          *qos.LatencyBudget
	liveliness      *qos.Liveliness
	order           *qos.DestinationOrder
	lifespan        *qos.Lifespan
	separation      *qos.TimeBasedFilter
	priority        *qos.TransportPriority
	writerLifecycle *qos.WriterDataLifecycle
	readerLifecycle *qos.ReaderDataLifecycle
	consistency     *qos.Consistency
	presentation    *qos.Presentation
	partition       *qos.Partition
	factory         *qos.EntityFactory
}

func policiesOfTopic(q *qos.Topic) policies {
	return policies{
		reliability: &q.Reliability, durability: &q.Durability, service: &q.DurabilityService, history: &q.History, limits: &q.ResourceLimits,
		ownership: &q.Ownership, deadline: &q.Deadline, budget: &q.LatencyBudget, liveliness: &q.Liveliness, order: &q.DestinationOrder,
		lifespan: &q.Lifespan, priority: &q.TransportPriority, consistency: &q.Consistency,
	}
}

// policiesOfWriter includes those of the writer's own publisher, if it has one.
func policiesOfWriter(q *qos.DataWriter, pub *qos.Publisher) policies {
	p := policies{
		reliability: &q.Reliability, durability: &q.Durability, service: &q.DurabilityService, history: &q.History, limits: &q.ResourceLimits,
		ownership: &q.Ownership, strength: &q.OwnershipStrength, deadline: &q.Deadline, budget: &q.LatencyBudget, liveliness: &q.Liveliness,
		order: &q.DestinationOrder, lifespan: &q.Lifespan, priority: &q.TransportPriority, writerLifecycle: &q.WriterDataLifecycle,
		consistency: &q.Consistency,
	}
	if pub != nil {
		p.presentation, p.partition, p.factory = &pub.Presentation, &pub.Partition, &pub.EntityFactory
	}
	return p
}

func policiesOfReader(q *qos.DataReader, sub *qos.Subscriber) policies {
	p := policies{
		reliability: &q.Reliability, durability: &q.Durability, history: &q.History, limits: &q.ResourceLimits, ownership: &q.Ownership,
		deadline: &q.Deadline, budget: &q.LatencyBudget, liveliness: &q.Liveliness, order: &q.DestinationOrder, separation: &q.TimeBasedFilter,
		readerLifecycle: &q.ReaderDataLifecycle, consistency: &q.Consistency,
	}
	if sub != nil {
		p.presentation, p.partition, p.factory = &sub.Presentation, &sub.Partition, &sub.EntityFactory
	}
	return p
}

func policiesOfPublisher(q *qos.Publisher) policies {
	return policies{presentation: &q.Presentation, partition: &q.Partition, factory: &q.EntityFactory}
}

func policiesOfSubscriber(q *qos.Subscriber) policies {
	return policies{presentation: &q.Presentation, partition: &q.Partition, factory: &q.EntityFactory}
}

// scriptPolicies has the words for the policies. A policy that the entity does not have makes the test panic.
var scriptPolicies = map[string]func(s *script, p policies, a datadriven.Arg){
	"best-effort":      func(_ *script, p policies, _ datadriven.Arg) { p.reliability.Kind = qos.ReliabilityBestEffort },
	"reliable":         func(_ *script, p policies, _ datadriven.Arg) { p.reliability.Kind = qos.ReliabilityReliable },
	"blocking":         func(s *script, p policies, a datadriven.Arg) { p.reliability.MaxBlockingTime = s.lease(a.Vals[0]) },
	"volatile":         func(_ *script, p policies, _ datadriven.Arg) { p.durability.Kind = qos.DurabilityVolatile },
	"transient-local":  func(_ *script, p policies, _ datadriven.Arg) { p.durability.Kind = qos.DurabilityTransientLocal },
	"transient":        func(_ *script, p policies, _ datadriven.Arg) { p.durability.Kind = qos.DurabilityTransient },
	"service-keep-all": func(_ *script, p policies, _ datadriven.Arg) { p.service.HistoryKind = qos.HistoryKeepAll },
	"service-depth":    func(s *script, p policies, a datadriven.Arg) { p.service.HistoryDepth = s.number(a.Vals[0]) },
	"cleanup":          func(s *script, p policies, a datadriven.Arg) { p.service.ServiceCleanupDelay = s.lease(a.Vals[0]) },
	"keep-all":         func(_ *script, p policies, _ datadriven.Arg) { p.history.Kind = qos.HistoryKeepAll },
	"keep-last": func(s *script, p policies, a datadriven.Arg) {
		*p.history = qos.History{Kind: qos.HistoryKeepLast, Depth: s.number(a.Vals[0])}
	},
	"max-samples":      func(s *script, p policies, a datadriven.Arg) { p.limits.MaxSamples = s.number(a.Vals[0]) },
	"max-instances":    func(s *script, p policies, a datadriven.Arg) { p.limits.MaxInstances = s.number(a.Vals[0]) },
	"max-per-instance": func(s *script, p policies, a datadriven.Arg) { p.limits.MaxSamplesPerInstance = s.number(a.Vals[0]) },
	"exclusive":        func(_ *script, p policies, _ datadriven.Arg) { p.ownership.Kind = qos.OwnershipExclusive },
	"strength":         func(s *script, p policies, a datadriven.Arg) { p.strength.Value = s.number(a.Vals[0]) },
	"deadline":         func(s *script, p policies, a datadriven.Arg) { p.deadline.Period = s.lease(a.Vals[0]) },
	"budget":           func(s *script, p policies, a datadriven.Arg) { p.budget.Duration = s.lease(a.Vals[0]) },
	"lifespan":         func(s *script, p policies, a datadriven.Arg) { p.lifespan.Duration = s.lease(a.Vals[0]) },
	"separation":       func(s *script, p policies, a datadriven.Arg) { p.separation.MinimumSeparation = s.lease(a.Vals[0]) },
	"priority":         func(s *script, p policies, a datadriven.Arg) { p.priority.Value = s.number(a.Vals[0]) },
	"automatic":        func(s *script, p policies, a datadriven.Arg) { s.live(p, qos.LivelinessAutomatic, a) },
	"by-participant":   func(s *script, p policies, a datadriven.Arg) { s.live(p, qos.LivelinessManualByParticipant, a) },
	"by-topic":         func(s *script, p policies, a datadriven.Arg) { s.live(p, qos.LivelinessManualByTopic, a) },
	"by-source":        func(_ *script, p policies, _ datadriven.Arg) { p.order.Kind = qos.DestinationOrderBySourceTimestamp },
	"no-autodispose": func(_ *script, p policies, _ datadriven.Arg) {
		p.writerLifecycle.AutodisposeUnregisteredInstances = false
	},
	"purge-disposed": func(s *script, p policies, a datadriven.Arg) {
		p.readerLifecycle.AutopurgeDisposedSamplesDelay = s.lease(a.Vals[0])
	},
	"purge-no-writers": func(s *script, p policies, a datadriven.Arg) {
		p.readerLifecycle.AutopurgeNowriterSamplesDelay = s.lease(a.Vals[0])
	},
	"consistency": func(s *script, p policies, a datadriven.Arg) {
		kind, ok := map[string]qos.ConsistencyKind{
			"per-writer": qos.ConsistencyPerWriter, "total-order": qos.ConsistencyTotalOrder, "total-order-durable": qos.ConsistencyTotalOrderDurable,
		}[a.Vals[0]]
		require.True(s.t, ok, "no consistency is called %q", a.Vals[0])
		p.consistency.Kind = kind
	},
	"partition": func(_ *script, p policies, a datadriven.Arg) {
		p.partition.Name = strings.Split(strings.Join(a.Vals, ","), ",")
	},
	"no-autoenable": func(_ *script, p policies, _ datadriven.Arg) { p.factory.AutoenableCreatedEntities = false },
	"instance":      func(_ *script, p policies, _ datadriven.Arg) { p.presentation.AccessScope = qos.PresentationInstance },
	"topic":         func(_ *script, p policies, _ datadriven.Arg) { p.presentation.AccessScope = qos.PresentationTopic },
	"group":         func(_ *script, p policies, _ datadriven.Arg) { p.presentation.AccessScope = qos.PresentationGroup },
	"coherent":      func(_ *script, p policies, _ datadriven.Arg) { p.presentation.CoherentAccess = true },
	"ordered":       func(_ *script, p policies, _ datadriven.Arg) { p.presentation.OrderedAccess = true },
}

func (s *script) setAll(p policies, args []datadriven.Arg) {
	for _, a := range args {
		set := scriptPolicies[a.Key]
		if set == nil {
			s.t.Fatalf("no policy or option is called %q", a.Key)
		}
		set(s, p, a)
	}
}

// lease is a duration, or "infinite".
func (s *script) lease(text string) time.Duration {
	if text == "infinite" {
		return qos.Infinite
	}
	return s.duration(text)
}

func (s *script) live(p policies, kind qos.LivelinessKind, a datadriven.Arg) {
	*p.liveliness = qos.Liveliness{Kind: kind, LeaseDuration: qos.Infinite}
	if len(a.Vals) > 0 {
		p.liveliness.LeaseDuration = s.lease(a.Vals[0])
	}
}
