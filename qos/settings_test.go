package qos

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseEntityKind(t *testing.T) {
	for want, texts := range map[EntityKind][]string{
		EntityDomainParticipant: {"participant", "DomainParticipant", "domain_participant_qos", "domainparticipant_qos"},
		EntityTopic:             {"topic", "Topic", "topic_qos"},
		EntityPublisher:         {"publisher", "publisher_qos"},
		EntitySubscriber:        {"Subscriber"},
		EntityDataWriter:        {"writer", "DataWriter", "datawriter_qos", "data_writer"},
		EntityDataReader:        {"reader", "datareader"},
	} {
		for _, text := range texts {
			got, err := ParseEntityKind(text)
			require.NoError(t, err, text)
			assert.Equal(t, want, got, text)
		}
	}
	_, err := ParseEntityKind("writter")
	assert.EqualError(t, err, `qos: no entity is called "writter"; did you mean writer?`)
	assert.Equal(t, "INVALID_9", EntityKind(9).String())
	assert.Len(t, EntityKinds(), 6)
}

func TestElementsOfAProfile(t *testing.T) {
	p := NewProvider(Options{LookupEnv: noVariables})
	require.NoError(t, p.LoadFile(filepath.Join("testdata", "dialects", "standard.xml")))
	elements, err := p.Elements("Radar::Tracks")
	require.NoError(t, err)
	filtered, log := Element{EntityDataWriter, "", "Track*"}, Element{EntityDataWriter, "Log", ""}
	assert.Equal(t, []Element{
		{Kind: EntityDomainParticipant}, {Kind: EntityPublisher}, filtered, log, {Kind: EntityDataWriter}, {Kind: EntityDataReader},
	}, elements)
	only, err := p.Elements("Radar::Tracks::Log")
	require.NoError(t, err)
	assert.Equal(t, []Element{log}, only)

	for topic, want := range map[string]Element{"Track7": filtered, "Other": {Kind: EntityDataWriter}, "": {Kind: EntityDataWriter}} {
		got, ok, err := p.Select(EntityDataWriter, "Radar::Tracks", topic)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, want, got, topic)
	}
	_, ok, err := p.Select(EntityTopic, "Radar::Tracks", "Track7")
	require.NoError(t, err)
	assert.False(t, ok)

	settings, err := p.ElementSettings("Radar::Tracks", filtered)
	require.NoError(t, err)
	byTopic, err := p.Settings(EntityDataWriter, "Radar::Tracks", "Track7")
	require.NoError(t, err)
	assert.Equal(t, byTopic, settings)
	none, err := p.ElementSettings("Radar::Tracks", Element{Kind: EntityTopic})
	require.NoError(t, err)
	assert.Equal(t, Fields(EntityTopic), none, "the default of the standard")

	alone, err := p.Resolve("Radar::Tracks", func(e Element) bool { return e == filtered })
	require.NoError(t, err)
	assert.Equal(t, []string{"Radar::Tracks"}, alone.Profiles())
	want, err := p.DataWriter("Radar::Tracks", "Track7")
	require.NoError(t, err)
	got, err := alone.DataWriter("Radar::Tracks", "Track7")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	got, err = alone.DataWriter("Radar::Tracks", "Other")
	require.NoError(t, err)
	assert.Equal(t, DefaultDataWriter(), got, "what was not kept")

	for _, err := range []error{
		second3(p.Select(0, "Radar::Tracks", "")), second(p.Settings(9, "Radar::Tracks", "")), second(p.ElementSettings("Radar::Tracks", Element{})),
	} {
		assert.ErrorContains(t, err, "is none; use EntityDomainParticipant to EntityDataReader")
	}
	for _, err := range []error{
		second(p.Elements("No::Profile")), second(p.Resolve("No::Profile", nil)), second3(p.Select(EntityTopic, "No::Profile", "")),
		second(p.Settings(EntityTopic, "No::Profile", "")), second(p.ElementSettings("No::Profile", Element{Kind: EntityTopic})),
	} {
		assert.ErrorIs(t, err, ErrUnknownProfile)
	}
}

func second(_ any, err error) error     { return err }
func second3(_, _ any, err error) error { return err }

// Fields have the default of the standard, and say what they can be.
func TestFields(t *testing.T) {
	total := 0
	for _, kind := range EntityKinds() {
		for _, f := range Fields(kind) {
			total++
			assert.True(t, f.Origin.Default())
			assert.NotEmpty(t, f.Allowed, f.Path)
			assert.NotEqual(t, PolicyInvalid, f.Policy)
		}
	}
	assert.Equal(t, 92, total, "fields of all entities: a policy that is lost shows here")
	assert.Nil(t, Fields(0))
	assert.Equal(t, []EntityKind{EntityTopic, EntityDataWriter}, PolicyEntities(PolicyLifespan))
	assert.Nil(t, PolicyEntities(99))
}

// Apply takes exactly the policies over that the table of 2.2.3 calls changeable: every entity with every policy changed.
func TestApplyTakesWhatIsChangeable(t *testing.T) {
	for _, kind := range everyKind {
		from, to := kind.defaults(), kind.defaults()
		disturb(from)
		list := follow(to, kind.defaults(), from)
		changed := map[PolicyID]bool{}
		for _, c := range list {
			changed[c.Policy] = true
		}
		now, fresh := to.texts(), kind.defaults().texts()
		for i, p := range from.texts() {
			assert.True(t, changed[p.id], "%v: %v was changed", kind, p.id)
			want := fresh[i].text
			if p.id.Changeable() {
				want = p.text
			}
			assert.Equal(t, want, now[i].text, "%v: %v", kind, p.id)
		}
	}
	// The methods take their own receiver.
	participant, _ := DefaultDomainParticipant().Apply(DomainParticipant{UserData: UserData{[]byte{1}}})
	assert.Equal(t, []byte{1}, participant.UserData.Value)
	topic, _ := DefaultTopic().Apply(Topic{TopicData: TopicData{[]byte{2}}})
	assert.Equal(t, []byte{2}, topic.TopicData.Value)
	sub, _ := DefaultSubscriber().Apply(Subscriber{GroupData: GroupData{[]byte{3}}})
	assert.Equal(t, []byte{3}, sub.GroupData.Value)
	r, _ := DefaultDataReader().Apply(DataReader{TimeBasedFilter: TimeBasedFilter{time.Second}})
	assert.Equal(t, time.Second, r.TimeBasedFilter.MinimumSeparation)
}

// disturb makes every policy of a set differ from its default, in one field at least.
func disturb(s policySet) {
	for _, def := range leafDefs {
		if def.get == nil || !def.has(s) {
			continue
		}
		for _, text := range []string{"7", "true", "false", "77s"} {
			var rep report
			n := &node{Name: def.field, Text: []byte(text)}
			v, ok := readLeaf(def.name, valueReader{&rep, dialectYAML}, n)
			if ok && v.text != def.get(s).text {
				v.set(s)
				break
			}
		}
		for _, k := range []kindFamily{reliabilityKinds, durabilityKinds, presentationKinds, ownershipKinds, livelinessKinds, destinationOrderKinds, historyKinds, consistencyKinds, typeConsistencyKinds} {
			var rep report
			n := &node{Name: def.field, Text: []byte(k.names[len(k.names)-1])}
			if v, ok := readLeaf(def.name, valueReader{&rep, dialectYAML}, n); ok && v.text != def.get(s).text && def.field != "duration" {
				v.set(s)
				break
			}
		}
	}
	if s.partition != nil {
		s.partition.Name = []string{"A"}
	}
	if s.dataRepresentation != nil {
		s.dataRepresentation.Value = []DataRepresentationKind{DataRepresentationXCDR2}
	}
	if s.typeConsistency != nil {
		s.typeConsistency.Kind = TypeConsistencyDisallowTypeCoercion
	}
	if s.reliability != nil {
		s.reliability.MaxBlockingTime = time.Hour
	}
}

// readLeaf reads a field of the schema by its path.
func readLeaf(name string, r valueReader, n *node) (value, bool) {
	for _, p := range policyElements {
		for _, f := range p.fields {
			if leafNames[f.leaf] == name {
				return f.read(r, n, name)
			}
		}
	}
	return value{}, false
}
