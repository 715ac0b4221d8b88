package conformance

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/assert"
)

// The table of policies: number (2.3.3), name, RxO and Changeable columns (2.2.3).
func TestDDS14_2_2_3_TableOfPolicies(t *testing.T) {
	for _, c := range []struct {
		id              qos.PolicyID
		number          int
		name            string
		rxo, changeable bool
	}{
		{qos.PolicyInvalid, 0, "INVALID", false, false},
		{qos.PolicyUserData, 1, "USER_DATA", false, true},
		{qos.PolicyDurability, 2, "DURABILITY", true, false},
		{qos.PolicyPresentation, 3, "PRESENTATION", true, false},
		{qos.PolicyDeadline, 4, "DEADLINE", true, true},
		{qos.PolicyLatencyBudget, 5, "LATENCY_BUDGET", true, true},
		{qos.PolicyOwnership, 6, "OWNERSHIP", true, false},
		{qos.PolicyOwnershipStrength, 7, "OWNERSHIP_STRENGTH", false, true},
		{qos.PolicyLiveliness, 8, "LIVELINESS", true, false},
		{qos.PolicyTimeBasedFilter, 9, "TIME_BASED_FILTER", false, true},
		{qos.PolicyPartition, 10, "PARTITION", false, true},
		{qos.PolicyReliability, 11, "RELIABILITY", true, false},
		{qos.PolicyDestinationOrder, 12, "DESTINATION_ORDER", true, false},
		{qos.PolicyHistory, 13, "HISTORY", false, false},
		{qos.PolicyResourceLimits, 14, "RESOURCE_LIMITS", false, false},
		{qos.PolicyEntityFactory, 15, "ENTITY_FACTORY", false, true},
		{qos.PolicyWriterDataLifecycle, 16, "WRITER_DATA_LIFECYCLE", false, true},
		{qos.PolicyReaderDataLifecycle, 17, "READER_DATA_LIFECYCLE", false, true},
		{qos.PolicyTopicData, 18, "TOPIC_DATA", false, true},
		{qos.PolicyGroupData, 19, "GROUP_DATA", false, true},
		{qos.PolicyTransportPriority, 20, "TRANSPORT_PRIORITY", false, true},
		{qos.PolicyLifespan, 21, "LIFESPAN", false, true},
		{qos.PolicyDurabilityService, 22, "DURABILITY_SERVICE", false, false},
		{qos.PolicyDataRepresentation, 23, "DATA_REPRESENTATION", true, false},
		{qos.PolicyTypeConsistencyEnforcement, 24, "TYPE_CONSISTENCY_ENFORCEMENT", false, false},
	} {
		assert.Equal(t, c.number, int(c.id), c.name)
		assert.Equal(t, c.name, c.id.String())
		assert.Equal(t, c.rxo, c.id.RxO(), "%s RxO", c.name)
		assert.Equal(t, c.changeable, c.id.Changeable(), "%s changeable", c.name)
	}
}

var (
	durabilityService = qos.DurabilityService{
		ServiceCleanupDelay: 0, HistoryKind: qos.HistoryKeepLast, HistoryDepth: 1,
		MaxSamples: qos.LengthUnlimited, MaxInstances: qos.LengthUnlimited, MaxSamplesPerInstance: qos.LengthUnlimited,
	}
	presentation   = qos.Presentation{AccessScope: qos.PresentationInstance, CoherentAccess: false, OrderedAccess: false}
	liveliness     = qos.Liveliness{Kind: qos.LivelinessAutomatic, LeaseDuration: qos.Infinite}
	history        = qos.History{Kind: qos.HistoryKeepLast, Depth: 1}
	resourceLimits = qos.ResourceLimits{
		MaxSamples: qos.LengthUnlimited, MaxInstances: qos.LengthUnlimited, MaxSamplesPerInstance: qos.LengthUnlimited,
	}
)

func TestDDS14_2_2_3_Defaults_DomainParticipant(t *testing.T) {
	assert.Equal(t, qos.DomainParticipant{
		UserData:      qos.UserData{},
		EntityFactory: qos.EntityFactory{AutoenableCreatedEntities: true},
	}, qos.DefaultDomainParticipant())
}

func TestDDS14_2_2_3_Defaults_Topic(t *testing.T) {
	assert.Equal(t, qos.Topic{
		TopicData:          qos.TopicData{},
		Durability:         qos.Durability{Kind: qos.DurabilityVolatile},
		DurabilityService:  durabilityService,
		Deadline:           qos.Deadline{Period: qos.Infinite},
		LatencyBudget:      qos.LatencyBudget{Duration: 0},
		Liveliness:         liveliness,
		Reliability:        qos.Reliability{Kind: qos.ReliabilityBestEffort, MaxBlockingTime: 100 * time.Millisecond},
		DestinationOrder:   qos.DestinationOrder{Kind: qos.DestinationOrderByReceptionTimestamp},
		History:            history,
		ResourceLimits:     resourceLimits,
		TransportPriority:  qos.TransportPriority{Value: 0},
		Lifespan:           qos.Lifespan{Duration: qos.Infinite},
		Ownership:          qos.Ownership{Kind: qos.OwnershipShared},
		Consistency:        qos.Consistency{Kind: qos.ConsistencyAuto}, // an extension
		DataRepresentation: qos.DataRepresentation{},
	}, qos.DefaultTopic())
}

func TestDDS14_2_2_3_Defaults_Publisher(t *testing.T) {
	assert.Equal(t, qos.Publisher{
		Presentation:  presentation,
		Partition:     qos.Partition{},
		GroupData:     qos.GroupData{},
		EntityFactory: qos.EntityFactory{AutoenableCreatedEntities: true},
	}, qos.DefaultPublisher())
}

func TestDDS14_2_2_3_Defaults_Subscriber(t *testing.T) {
	assert.Equal(t, qos.Subscriber{
		Presentation:  presentation,
		Partition:     qos.Partition{},
		GroupData:     qos.GroupData{},
		EntityFactory: qos.EntityFactory{AutoenableCreatedEntities: true},
	}, qos.DefaultSubscriber())
}

func TestDDS14_2_2_3_Defaults_DataWriter(t *testing.T) {
	assert.Equal(t, qos.DataWriter{
		Durability:          qos.Durability{Kind: qos.DurabilityVolatile},
		DurabilityService:   durabilityService,
		Deadline:            qos.Deadline{Period: qos.Infinite},
		LatencyBudget:       qos.LatencyBudget{Duration: 0},
		Liveliness:          liveliness,
		Reliability:         qos.Reliability{Kind: qos.ReliabilityReliable, MaxBlockingTime: 100 * time.Millisecond},
		DestinationOrder:    qos.DestinationOrder{Kind: qos.DestinationOrderByReceptionTimestamp},
		History:             history,
		ResourceLimits:      resourceLimits,
		TransportPriority:   qos.TransportPriority{Value: 0},
		Lifespan:            qos.Lifespan{Duration: qos.Infinite},
		UserData:            qos.UserData{},
		Ownership:           qos.Ownership{Kind: qos.OwnershipShared},
		OwnershipStrength:   qos.OwnershipStrength{Value: 0},
		WriterDataLifecycle: qos.WriterDataLifecycle{AutodisposeUnregisteredInstances: true},
		Consistency:         qos.Consistency{Kind: qos.ConsistencyAuto}, // an extension
		DataRepresentation:  qos.DataRepresentation{},
	}, qos.DefaultDataWriter())
}

func TestDDS14_2_2_3_Defaults_DataReader(t *testing.T) {
	assert.Equal(t, qos.DataReader{
		Durability:       qos.Durability{Kind: qos.DurabilityVolatile},
		Deadline:         qos.Deadline{Period: qos.Infinite},
		LatencyBudget:    qos.LatencyBudget{Duration: 0},
		Liveliness:       liveliness,
		Reliability:      qos.Reliability{Kind: qos.ReliabilityBestEffort, MaxBlockingTime: 100 * time.Millisecond},
		DestinationOrder: qos.DestinationOrder{Kind: qos.DestinationOrderByReceptionTimestamp},
		History:          history,
		ResourceLimits:   resourceLimits,
		UserData:         qos.UserData{},
		Ownership:        qos.Ownership{Kind: qos.OwnershipShared},
		TimeBasedFilter:  qos.TimeBasedFilter{MinimumSeparation: 0},
		ReaderDataLifecycle: qos.ReaderDataLifecycle{
			AutopurgeNowriterSamplesDelay: qos.Infinite, AutopurgeDisposedSamplesDelay: qos.Infinite,
		},
		DataRepresentation: qos.DataRepresentation{},
		TypeConsistencyEnforcement: qos.TypeConsistencyEnforcement{ // XTypes 1.3, 7.6.3.4
			Kind: qos.TypeConsistencyAllowTypeCoercion, IgnoreSequenceBounds: true, IgnoreStringBounds: true,
			IgnoreMemberNames: false, PreventTypeWidening: false, ForceTypeValidation: false,
		},
		Consistency: qos.Consistency{Kind: qos.ConsistencyAuto}, // an extension
	}, qos.DefaultDataReader())
}

// "deadline period >= minimum_separation" must hold.
func TestDDS14_2_2_3_7_DeadlineNotBelowMinimumSeparation(t *testing.T) {
	q := qos.DefaultDataReader()
	q.Deadline.Period, q.TimeBasedFilter.MinimumSeparation = time.Second, time.Second
	assert.NoError(t, q.Validate())
	q.TimeBasedFilter.MinimumSeparation++
	assert.ErrorIs(t, q.Validate(), qos.ErrInconsistentPolicy)
}

// HISTORY depth must not be above RESOURCE_LIMITS max_samples_per_instance.
func TestDDS14_2_2_3_18_DepthNotAboveSamplesPerInstance(t *testing.T) {
	q := qos.DefaultDataWriter()
	q.History.Depth, q.ResourceLimits.MaxSamplesPerInstance = 4, 4
	assert.NoError(t, q.Validate())
	q.History.Depth++
	assert.ErrorIs(t, q.Validate(), qos.ErrInconsistentPolicy)
}

// max_samples must not be below max_samples_per_instance.
func TestDDS14_2_2_3_19_MaxSamplesNotBelowSamplesPerInstance(t *testing.T) {
	q := qos.DefaultDataWriter()
	q.ResourceLimits.MaxSamples, q.ResourceLimits.MaxSamplesPerInstance = 4, 4
	assert.NoError(t, q.Validate())
	q.ResourceLimits.MaxSamples--
	assert.ErrorIs(t, q.Validate(), qos.ErrInconsistentPolicy)
}

func TestDDS14_2_2_3_13_Partition(t *testing.T) {
	for name, c := range map[string]struct {
		pub, sub []string
		match    bool
	}{
		"the empty list is the default partition":       {nil, []string{""}, true},
		"at least one name in common":                   {[]string{"A", "B"}, []string{"B", "C"}, true},
		"no name in common":                             {[]string{"A"}, []string{"B"}, false},
		"a pattern on either side":                      {[]string{"A*"}, []string{"AB"}, true},
		"two names with wildcards are never considered": {[]string{"A*"}, []string{"A*"}, false},
	} {
		assert.Equal(t, c.match, qos.PartitionsMatch(c.pub, c.sub), name)
		assert.Equal(t, c.match, qos.PartitionsMatch(c.sub, c.pub), name)
	}
}
