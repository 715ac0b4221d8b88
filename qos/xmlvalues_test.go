package qos

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDurationValues(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"<sec>2</sec>":                                                              2 * time.Second,
		"<nanosec>500000000</nanosec>":                                              500 * time.Millisecond,
		"<sec>0x10</sec><nanosec>1</nanosec>":                                       16*time.Second + 1,
		"<nanosec>1</nanosec><sec>1</sec>":                                          time.Second + 1,
		"<sec>DURATION_INFINITY</sec>":                                              Infinite,
		"<sec>DURATION_INFINITE_SEC</sec>":                                          Infinite,
		"<nanosec>DURATION_INFINITE_NSEC</nanosec>":                                 Infinite,
		"<sec>DURATION_INFINITY</sec><nanosec>DURATION_INFINITY</nanosec>":          Infinite,
		"<sec>DURATION_INFINITE_SEC</sec><nanosec>DURATION_INFINITE_NSEC</nanosec>": Infinite,
		"<sec>DURATION_INFINITE_SEC</sec><nanosec>0</nanosec>":                      Infinite,
		"<sec>2147483647</sec><nanosec>2147483647</nanosec>":                        Infinite,
		"<sec>DURATION_ZERO_SEC</sec><nanosec>DURATION_ZERO_NSEC</nanosec>":         0,
		"<sec> 3 </sec>\n":                                                          3 * time.Second,
		"<sec>1</sec><nanosec>999999999</nanosec>":                                  2*time.Second - 1,
		"<sec>DURATION_INFINITY</sec><nanosec>DURATION_ZERO_NSEC</nanosec>":         Infinite,
		"<sec>2147483646</sec><nanosec>999999999</nanosec>":                         2147483647*time.Second - 1,
		"<sec><!-- a comment -->4</sec>":                                            4 * time.Second,
		"<sec>1<!-- splits the number -->2</sec>":                                   12 * time.Second,
		"<sec><![CDATA[5]]></sec>":                                                  5 * time.Second,
		"<sec>&#54;</sec>":                                                          6 * time.Second,
		"<sec>+7</sec>":                                                             7 * time.Second,
		"<sec>010</sec>":                                                            10 * time.Second,
	} {
		p := mustLoad(t, inLibrary("<qos_profile name='A'><datareader_qos><latency_budget><duration>"+text+"</duration></latency_budget></datareader_qos></qos_profile>"))
		r, err := p.DataReader("L::A", "")
		require.NoError(t, err)
		assert.Equal(t, want, r.LatencyBudget.Duration, text)
	}
}

func TestOctetValues(t *testing.T) {
	for text, c := range map[string]struct {
		want      []byte
		ambiguous bool
	}{
		"<value/>":                       {nil, false},
		"<value> </value>":               {nil, false},
		"<value>84, 0x71</value>":        {[]byte{84, 0x71}, false},
		"<value>200</value>":             {[]byte{200}, false},
		"<value>0x84</value>":            {[]byte{0x84}, false},
		"<value>84</value>":              {[]byte{84}, true},
		"<value>1 2F</value>":            {nil, false}, // odd pairs, see below
		"<value>48 65 6c</value>":        {[]byte("Hel"), false},
		"<value>48656C6C</value>":        {[]byte("Hell"), true},
		"<value>SGVsbG8=</value>":        {[]byte("Hello"), false},
		"<valueB64>SGVs bG8=</valueB64>": {[]byte("Hello"), false},
		"<valueB64>4865</valueB64>":      {[]byte{0xe3, 0xce, 0xb9}, false},
		"<valueB64/>":                    {[]byte{}, false},
	} {
		p, err := Load("q", reader(inLibrary("<qos_profile name='A'><topic_qos><topic_data>"+text+"</topic_data></topic_qos></qos_profile>")))
		if text == "<value>1 2F</value>" {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, err, text)
		q, err := p.Topic("L::A", "")
		require.NoError(t, err)
		assert.Equal(t, c.want, q.TopicData.Value, text)
		assert.Equal(t, c.ambiguous, len(p.Warnings()) == 1, text)
	}
}

// Every element of the schema is read into its field.
func TestAllElements(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A">
	<participant_qos><user_data><value>1</value></user_data></participant_qos>
	<topic_qos>
		<topic_data><value>2,3</value></topic_data>
		<durability><kind>TRANSIENT_DURABILITY_QOS</kind></durability>
		<durability_service>
			<service_cleanup_delay><sec>1</sec></service_cleanup_delay><history_kind>KEEP_ALL_HISTORY_QOS</history_kind>
			<history_depth>2</history_depth><max_samples>30</max_samples><max_instances>4</max_instances>
			<max_samples_per_instance>5</max_samples_per_instance>
		</durability_service>
		<representation><value><element>XCDR2_DATA_REPRESENTATION</element></value></representation>
	</topic_qos>
	<subscriber_qos>
		<presentation><access_scope>GROUP_PRESENTATION_QOS</access_scope><coherent_access>true</coherent_access><ordered_access>1</ordered_access></presentation>
		<partition><name><element/><element> B </element></name></partition>
		<group_data><value>4,5</value></group_data>
		<entity_factory><autoenable_created_entities> false </autoenable_created_entities></entity_factory>
	</subscriber_qos>
	<datawriter_qos>
		<user_data><value>6,7</value></user_data>
		<latency_budget><duration><nanosec>8</nanosec></duration></latency_budget>
		<destination_order><kind>BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS</kind></destination_order>
		<history><kind>KEEP_ALL_HISTORY_QOS</kind></history>
		<resource_limits><max_samples>90</max_samples><max_instances>-1</max_instances>
			<max_samples_per_instance>LENGTH_UNLIMITED</max_samples_per_instance>
			<initial_samples>5</initial_samples><initial_instances>6</initial_instances></resource_limits>
		<transport_priority><value>-10</value></transport_priority>
		<lifespan><duration><sec>11</sec></duration></lifespan>
		<ownership><kind>EXCLUSIVE_OWNERSHIP_QOS</kind></ownership>
		<ownership_strength><value>0x0C</value></ownership_strength>
		<writer_data_lifecycle><autodispose_unregistered_instances>false</autodispose_unregistered_instances></writer_data_lifecycle>
		<data_representation><id><element>XCDR_DATA_REPRESENTATION</element><element>AUTO_DATA_REPRESENTATION</element></id></data_representation>
		<reliability><kind>BEST_EFFORT_RELIABILITY_QOS</kind><max_blocking_time><sec>0</sec></max_blocking_time></reliability>
	</datawriter_qos>
	<datareader_qos>
		<deadline><period><sec>13</sec></period></deadline>
		<liveliness><kind>MANUAL_BY_TOPIC_LIVELINESS_QOS</kind><lease_duration><sec>14</sec></lease_duration></liveliness>
		<time_based_filter><minimum_separation><sec>13</sec></minimum_separation></time_based_filter>
		<reader_data_lifecycle><autopurge_nowriter_samples_delay><sec>16</sec></autopurge_nowriter_samples_delay>
			<autopurge_disposed_samples_delay><sec>17</sec></autopurge_disposed_samples_delay></reader_data_lifecycle>
		<type_consistency><kind>DISALLOW_TYPE_COERCION</kind><ignore_sequence_bounds>false</ignore_sequence_bounds>
			<ignore_string_bounds>false</ignore_string_bounds><ignore_member_names>true</ignore_member_names>
			<prevent_type_widening>true</prevent_type_widening><force_type_validation>true</force_type_validation></type_consistency>
		<data_representation><value><element>XML_DATA_REPRESENTATION</element></value></data_representation>
	</datareader_qos>
	</qos_profile>`))

	participant, err := p.DomainParticipant("L::A")
	require.NoError(t, err)
	assert.Equal(t, DomainParticipant{UserData{[]byte{1}}, EntityFactory{true}}, participant)

	topic, err := p.Topic("L::A", "")
	require.NoError(t, err)
	wantTopic := DefaultTopic()
	wantTopic.TopicData.Value = []byte{2, 3}
	wantTopic.Durability.Kind = DurabilityTransient
	wantTopic.DurabilityService = DurabilityService{time.Second, HistoryKeepAll, 2, 30, 4, 5}
	wantTopic.DataRepresentation.Value = []DataRepresentationKind{DataRepresentationXCDR2}
	assert.Equal(t, wantTopic, topic)

	sub, err := p.Subscriber("L::A")
	require.NoError(t, err)
	assert.Equal(t, Subscriber{
		Presentation{PresentationGroup, true, true}, Partition{[]string{"", "B"}}, GroupData{[]byte{4, 5}}, EntityFactory{false},
	}, sub)

	w, err := p.DataWriter("L::A", "")
	require.NoError(t, err)
	wantWriter := DefaultDataWriter()
	wantWriter.UserData.Value = []byte{6, 7}
	wantWriter.LatencyBudget.Duration = 8
	wantWriter.DestinationOrder.Kind = DestinationOrderBySourceTimestamp
	wantWriter.History.Kind = HistoryKeepAll
	wantWriter.ResourceLimits.MaxSamples = 90
	wantWriter.TransportPriority.Value = -10
	wantWriter.Lifespan.Duration = 11 * time.Second
	wantWriter.Ownership.Kind = OwnershipExclusive
	wantWriter.OwnershipStrength.Value = 12
	wantWriter.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	wantWriter.DataRepresentation.Value = []DataRepresentationKind{DataRepresentationXCDR1, DataRepresentationAuto}
	wantWriter.Reliability = Reliability{ReliabilityBestEffort, 0}
	assert.Equal(t, wantWriter, w)

	r, err := p.DataReader("L::A", "")
	require.NoError(t, err)
	wantReader := DefaultDataReader()
	wantReader.Deadline.Period = 13 * time.Second
	wantReader.Liveliness = Liveliness{LivelinessManualByTopic, 14 * time.Second}
	wantReader.TimeBasedFilter.MinimumSeparation = 13 * time.Second
	wantReader.ReaderDataLifecycle = ReaderDataLifecycle{16 * time.Second, 17 * time.Second}
	wantReader.TypeConsistencyEnforcement = TypeConsistencyEnforcement{TypeConsistencyDisallowTypeCoercion, false, false, true, true, true}
	wantReader.DataRepresentation.Value = []DataRepresentationKind{DataRepresentationXML}
	assert.Equal(t, wantReader, r)
}

func TestElementsWithoutEffectAreWarnedOf(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A"><datawriter_qos><property><value/></property></datawriter_qos></qos_profile>`))
	require.Len(t, p.Warnings(), 1)
	assert.EqualError(t, p.Warnings()[0], "qos.xml:1:66: L::A/datawriter_qos/property: <property> has no effect here; it is of a later schema")
}

// Every leaf of the consistency rules is one that XML can set, so that its origin can be told.
func TestInconsistencyFieldsAreLeaves(t *testing.T) {
	q := DataReader{
		Deadline: Deadline{-2}, Liveliness: Liveliness{0, -1}, Reliability: Reliability{0, -1},
		LatencyBudget: LatencyBudget{-1}, TimeBasedFilter: TimeBasedFilter{-1}, ReaderDataLifecycle: ReaderDataLifecycle{-1, -1},
		History: History{HistoryKeepLast, 0}, DataRepresentation: DataRepresentation{[]DataRepresentationKind{0}},
	}
	topic := Topic{
		DurabilityService: DurabilityService{-1, HistoryKeepLast, 9, 3, 0, 5}, Lifespan: Lifespan{-1},
		History: History{HistoryKeepLast, 9}, ResourceLimits: ResourceLimits{3, 0, 5},
	}
	var unset Topic
	var pub Publisher
	problems := slices.Concat(inconsistencies(q.policies()), inconsistencies(topic.policies()),
		inconsistencies(unset.policies()), inconsistencies(pub.policies()))
	seen := map[string]bool{}
	for _, p := range problems {
		for _, f := range p.Fields {
			assert.Contains(t, leafNames, f)
			seen[f] = true
		}
	}
	assert.Len(t, seen, 28)
}
