package qos

import "time"

// DomainParticipant is the standard's DomainParticipantQos.
type DomainParticipant struct {
	UserData      UserData
	EntityFactory EntityFactory
}

// Topic is the standard's TopicQos.
type Topic struct {
	TopicData          TopicData
	Durability         Durability
	DurabilityService  DurabilityService
	Deadline           Deadline
	LatencyBudget      LatencyBudget
	Liveliness         Liveliness
	Reliability        Reliability
	DestinationOrder   DestinationOrder
	History            History
	ResourceLimits     ResourceLimits
	TransportPriority  TransportPriority
	Lifespan           Lifespan
	Ownership          Ownership
	DataRepresentation DataRepresentation
	Consistency        Consistency
}

// Publisher is the standard's PublisherQos.
type Publisher struct {
	Presentation  Presentation
	Partition     Partition
	GroupData     GroupData
	EntityFactory EntityFactory
}

// Subscriber is the standard's SubscriberQos.
type Subscriber struct {
	Presentation  Presentation
	Partition     Partition
	GroupData     GroupData
	EntityFactory EntityFactory
}

// DataWriter is the standard's DataWriterQos.
type DataWriter struct {
	Durability          Durability
	DurabilityService   DurabilityService
	Deadline            Deadline
	LatencyBudget       LatencyBudget
	Liveliness          Liveliness
	Reliability         Reliability
	DestinationOrder    DestinationOrder
	History             History
	ResourceLimits      ResourceLimits
	TransportPriority   TransportPriority
	Lifespan            Lifespan
	UserData            UserData
	Ownership           Ownership
	OwnershipStrength   OwnershipStrength
	WriterDataLifecycle WriterDataLifecycle
	DataRepresentation  DataRepresentation
	Consistency         Consistency
}

// DataReader is the standard's DataReaderQos.
type DataReader struct {
	Durability                 Durability
	Deadline                   Deadline
	LatencyBudget              LatencyBudget
	Liveliness                 Liveliness
	Reliability                Reliability
	DestinationOrder           DestinationOrder
	History                    History
	ResourceLimits             ResourceLimits
	UserData                   UserData
	Ownership                  Ownership
	TimeBasedFilter            TimeBasedFilter
	ReaderDataLifecycle        ReaderDataLifecycle
	DataRepresentation         DataRepresentation
	TypeConsistencyEnforcement TypeConsistencyEnforcement
	Consistency                Consistency
}

// The default values of the table in clause 2.2.3.
var (
	defaultDurabilityService = DurabilityService{
		HistoryKind: HistoryKeepLast, HistoryDepth: 1,
		MaxSamples: LengthUnlimited, MaxInstances: LengthUnlimited, MaxSamplesPerInstance: LengthUnlimited,
	}
	defaultPresentation   = Presentation{AccessScope: PresentationInstance}
	defaultLiveliness     = Liveliness{LivelinessAutomatic, Infinite}
	defaultHistory        = History{HistoryKeepLast, 1}
	defaultResourceLimits = ResourceLimits{LengthUnlimited, LengthUnlimited, LengthUnlimited}
)

const defaultMaxBlockingTime = 100 * time.Millisecond

// DefaultDomainParticipant is the standard's PARTICIPANT_QOS_DEFAULT.
func DefaultDomainParticipant() DomainParticipant {
	return DomainParticipant{EntityFactory: EntityFactory{true}}
}

// DefaultTopic is the standard's TOPIC_QOS_DEFAULT.
func DefaultTopic() Topic {
	return Topic{
		Durability:        Durability{DurabilityVolatile},
		DurabilityService: defaultDurabilityService,
		Deadline:          Deadline{Infinite},
		Liveliness:        defaultLiveliness,
		Reliability:       Reliability{ReliabilityBestEffort, defaultMaxBlockingTime},
		DestinationOrder:  DestinationOrder{DestinationOrderByReceptionTimestamp},
		History:           defaultHistory,
		ResourceLimits:    defaultResourceLimits,
		Lifespan:          Lifespan{Infinite},
		Ownership:         Ownership{OwnershipShared},
		Consistency:       Consistency{ConsistencyAuto},
	}
}

// DefaultPublisher is the standard's PUBLISHER_QOS_DEFAULT.
func DefaultPublisher() Publisher {
	return Publisher{Presentation: defaultPresentation, EntityFactory: EntityFactory{true}}
}

// DefaultSubscriber is the standard's SUBSCRIBER_QOS_DEFAULT.
func DefaultSubscriber() Subscriber {
	return Subscriber{Presentation: defaultPresentation, EntityFactory: EntityFactory{true}}
}

// DefaultDataWriter is the standard's DATAWRITER_QOS_DEFAULT. It is RELIABLE; a topic and a reader are not.
func DefaultDataWriter() DataWriter {
	return DataWriter{
		Durability:          Durability{DurabilityVolatile},
		DurabilityService:   defaultDurabilityService,
		Deadline:            Deadline{Infinite},
		Liveliness:          defaultLiveliness,
		Reliability:         Reliability{ReliabilityReliable, defaultMaxBlockingTime},
		DestinationOrder:    DestinationOrder{DestinationOrderByReceptionTimestamp},
		History:             defaultHistory,
		ResourceLimits:      defaultResourceLimits,
		Lifespan:            Lifespan{Infinite},
		Ownership:           Ownership{OwnershipShared},
		WriterDataLifecycle: WriterDataLifecycle{true},
		Consistency:         Consistency{ConsistencyAuto},
	}
}

// DefaultDataReader is the standard's DATAREADER_QOS_DEFAULT.
func DefaultDataReader() DataReader {
	return DataReader{
		Durability:          Durability{DurabilityVolatile},
		Deadline:            Deadline{Infinite},
		Liveliness:          defaultLiveliness,
		Reliability:         Reliability{ReliabilityBestEffort, defaultMaxBlockingTime},
		DestinationOrder:    DestinationOrder{DestinationOrderByReceptionTimestamp},
		History:             defaultHistory,
		ResourceLimits:      defaultResourceLimits,
		Ownership:           Ownership{OwnershipShared},
		ReaderDataLifecycle: ReaderDataLifecycle{Infinite, Infinite},
		TypeConsistencyEnforcement: TypeConsistencyEnforcement{
			Kind: TypeConsistencyAllowTypeCoercion, IgnoreSequenceBounds: true, IgnoreStringBounds: true,
		},
		Consistency: Consistency{ConsistencyAuto},
	}
}

// CopyFromTopic gives q with every policy that a topic has too taken from t (DDS: copy_from_topic_qos).
func (q DataWriter) CopyFromTopic(t Topic) DataWriter {
	q.Durability, q.DurabilityService = t.Durability, t.DurabilityService
	q.Deadline, q.LatencyBudget, q.Liveliness = t.Deadline, t.LatencyBudget, t.Liveliness
	q.Reliability, q.DestinationOrder = t.Reliability, t.DestinationOrder
	q.History, q.ResourceLimits = t.History, t.ResourceLimits
	q.TransportPriority, q.Lifespan, q.Ownership = t.TransportPriority, t.Lifespan, t.Ownership
	q.DataRepresentation, q.Consistency = t.DataRepresentation, t.Consistency
	return q
}

// CopyFromTopic gives q with every policy that a topic has too taken from t (DDS: copy_from_topic_qos).
func (q DataReader) CopyFromTopic(t Topic) DataReader {
	q.Durability = t.Durability
	q.Deadline, q.LatencyBudget, q.Liveliness = t.Deadline, t.LatencyBudget, t.Liveliness
	q.Reliability, q.DestinationOrder = t.Reliability, t.DestinationOrder
	q.History, q.ResourceLimits, q.Ownership = t.History, t.ResourceLimits, t.Ownership
	q.DataRepresentation, q.Consistency = t.DataRepresentation, t.Consistency
	return q
}
