package qos

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustLoad(t *testing.T, text string) *Provider {
	t.Helper()
	p, err := Load("qos.xml", strings.NewReader(text))
	require.NoError(t, err)
	return p
}

// inLibrary wraps profiles into <dds><qos_library name="L">, on one line.
func inLibrary(profiles string) string {
	return `<dds><qos_library name="L">` + profiles + `</qos_library></dds>`
}

func TestLoadFile(t *testing.T) {
	p, err := LoadFile("testdata/good.xml")
	require.NoError(t, err)
	assert.Equal(t, []string{"Flight::Base", "Flight::Deep", "Flight::Topics", "Flight::Single", "Other::Base"}, p.Profiles())
	assert.Empty(t, p.Warnings())

	w, err := p.DataWriter("Flight::Base", "")
	require.NoError(t, err)
	want := DefaultDataWriter()
	want.Reliability.MaxBlockingTime = 1500 * time.Millisecond
	want.History.Depth = 3
	assert.Equal(t, want, w)

	participant, err := p.DomainParticipant("Flight::Base")
	require.NoError(t, err)
	assert.Equal(t, []byte{84, 0x71}, participant.UserData.Value)
	participant, err = p.DomainParticipant("Other::Base")
	require.NoError(t, err)
	assert.False(t, participant.EntityFactory.AutoenableCreatedEntities)

	pub, err := p.Publisher("Flight::Base")
	require.NoError(t, err)
	assert.Equal(t, []string{"air", "ground/*"}, pub.Partition.Name)

	sub, err := p.Subscriber("Flight::Base")
	require.NoError(t, err)
	assert.Equal(t, DefaultSubscriber(), sub, "not in the profile: the default of the standard")
	topic, err := p.Topic("Flight::Base", "Any")
	require.NoError(t, err)
	assert.Equal(t, DefaultTopic(), topic)
}

func TestMergeIsPerLeaf(t *testing.T) {
	p, err := LoadFile("testdata/good.xml")
	require.NoError(t, err)

	w, err := p.DataWriter("Flight::Deep", "")
	require.NoError(t, err)
	assert.Equal(t, History{HistoryKeepLast, 16}, w.History, "the kind is inherited, the depth its own")
	assert.Equal(t, 1500*time.Millisecond, w.Reliability.MaxBlockingTime)

	pub, err := p.Publisher("Flight::Deep")
	require.NoError(t, err)
	assert.Empty(t, pub.Partition.Name, "a sequence replaces the inherited one as a whole")

	r, err := p.DataReader("Flight::Deep", "")
	require.NoError(t, err)
	assert.Equal(t, ReliabilityReliable, r.Reliability.Kind, "an element that only the base has")

	r, err = p.DataReader("Flight::Single", "")
	require.NoError(t, err)
	assert.Equal(t, ReliabilityReliable, r.Reliability.Kind)
	assert.Equal(t, OwnershipExclusive, r.Ownership.Kind)
}

func TestDurationIsOneLeaf(t *testing.T) {
	p := mustLoad(t, inLibrary(`
		<qos_profile name="A"><datawriter_qos><deadline><period><sec>1</sec><nanosec>5</nanosec></period></deadline></datawriter_qos></qos_profile>
		<qos_profile name="B" base_name="A"><datawriter_qos><deadline><period><sec>2</sec></period></deadline></datawriter_qos></qos_profile>`))
	w, err := p.DataWriter("L::B", "")
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, w.Deadline.Period)
}

func TestTopicFilter(t *testing.T) {
	p, err := LoadFile("testdata/good.xml")
	require.NoError(t, err)
	for topic, period := range map[string]time.Duration{
		"AirSpeed": 2 * time.Second,
		"AirData":  2 * time.Second, // both match; the first in document order is taken
		"BaroData": 3 * time.Second,
		"Position": 4 * time.Second,
		"":         4 * time.Second,
	} {
		w, err := p.DataWriter("Flight::Topics", topic)
		require.NoError(t, err)
		assert.Equal(t, period, w.Deadline.Period, topic)
		assert.Equal(t, int32(3), w.History.Depth, "an unfiltered base feeds all")
	}
	w, err := p.DataWriter("Flight::Topics::Log", "AirData")
	require.NoError(t, err)
	assert.Equal(t, DurabilityPersistent, w.Durability.Kind, "a named entity is selected by its name")
	assert.Equal(t, Infinite, w.Deadline.Period)
}

func TestTopicFilterIsInherited(t *testing.T) {
	p := mustLoad(t, inLibrary(`
		<qos_profile name="A">
			<datareader_qos topic_filter="F*"><history><depth>5</depth></history></datareader_qos>
			<datareader_qos><time_based_filter><minimum_separation><sec>1</sec></minimum_separation></time_based_filter></datareader_qos>
		</qos_profile>
		<qos_profile name="B" base_name="A">
			<datareader_qos topic_filter="F*"><ownership><kind>EXCLUSIVE_OWNERSHIP_QOS</kind></ownership></datareader_qos>
			<datareader_qos topic_filter="G*"/>
		</qos_profile>
		<qos_profile name="C" base_name="B"/>`))
	for _, profile := range []string{"L::B", "L::C"} {
		r, err := p.DataReader(profile, "Fuel")
		require.NoError(t, err)
		assert.Equal(t, OwnershipExclusive, r.Ownership.Kind)
		assert.Equal(t, int32(5), r.History.Depth, "from the same filter of the base")
		assert.Equal(t, time.Second, r.TimeBasedFilter.MinimumSeparation, "from the unfiltered one of the base")
		r, err = p.DataReader(profile, "Gear")
		require.NoError(t, err)
		assert.Equal(t, int32(1), r.History.Depth, "another filter is not inherited")
		assert.Equal(t, time.Second, r.TimeBasedFilter.MinimumSeparation)
	}
}

func TestEntityBaseName(t *testing.T) {
	p := mustLoad(t, inLibrary(`
		<qos_profile name="A">
			<datawriter_qos name="W"><history><depth>2</depth></history><transport_priority><value>2</value></transport_priority></datawriter_qos>
		</qos_profile>
		<qos_profile name="B"><datawriter_qos><history><depth>3</depth></history><ownership_strength><value>-3</value></ownership_strength></datawriter_qos></qos_profile>
		<qos_profile name="C" base_name="B">
			<datawriter_qos name="ByProfile" base_name="A"/>
			<datawriter_qos name="ByEntity" base_name="A::W"/>
			<datawriter_qos name="ByFullName" base_name="::L::A::W"/>
			<datawriter_qos name="BySibling" base_name="ByEntity"><transport_priority><value>7</value></transport_priority></datawriter_qos>
		</qos_profile>`))
	for _, name := range []string{"ByProfile", "ByEntity", "ByFullName", "BySibling"} {
		w, err := p.DataWriter("L::C::"+name, "")
		require.NoError(t, err)
		assert.Equal(t, int32(2), w.History.Depth, "the entity's base is put over the profile's")
		assert.Equal(t, int32(-3), w.OwnershipStrength.Value, "the profile's base stays below it")
	}
	w, err := p.DataWriter("L::C::BySibling", "")
	require.NoError(t, err)
	assert.Equal(t, int32(7), w.TransportPriority.Value)
}

func TestUnnamedEntityBeforeNamed(t *testing.T) {
	p := mustLoad(t, inLibrary(`
		<qos_profile name="A">
			<datawriter_qos name="W"><history><depth>2</depth></history></datawriter_qos>
			<datawriter_qos><history><depth>3</depth></history></datawriter_qos>
		</qos_profile>
		<qos_profile name="B"><datawriter_qos name="W"><history><depth>2</depth></history></datawriter_qos></qos_profile>`))
	for profile, depth := range map[string]int32{"L::A": 3, "L::A::W": 2, "L::B": 2} {
		w, err := p.DataWriter(profile, "T")
		require.NoError(t, err)
		assert.Equal(t, depth, w.History.Depth, profile)
	}
}

func TestLaterFileRefersToEarlier(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A"><topic_qos><history><depth>2</depth></history></topic_qos></qos_profile>`))
	require.NoError(t, p.Load("b.xml", strings.NewReader(
		`<qos_library name="L"><qos_profile name="B" base_name="A"/></qos_library>`)))
	topic, err := p.Topic("L::B", "")
	require.NoError(t, err)
	assert.Equal(t, int32(2), topic.History.Depth)
	assert.Equal(t, []string{"L::A", "L::B"}, p.Profiles())
}

func TestLoadIsAllOrNothing(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A"/>`))
	err := p.Load("b.xml", strings.NewReader(inLibrary(`<qos_profile name="B"/><qos_profile name="A"/>`)))
	assert.EqualError(t, err, "b.xml:1:51: L::A: profile L::A is defined twice, first at qos.xml:1:28; rename one of them")
	assert.Equal(t, []string{"L::A"}, p.Profiles())
	_, err = p.Topic("L::B", "")
	assert.ErrorIs(t, err, ErrUnknownProfile)
}

func TestUnknownNames(t *testing.T) {
	p, err := LoadFile("testdata/good.xml")
	require.NoError(t, err)
	const present = "; testdata/good.xml has Flight::Base, Flight::Deep, Flight::Topics, Flight::Single, Other::Base"
	for name, want := range map[string]string{
		"Flight::Bsae":        `qos: unknown profile "Flight::Bsae"; did you mean Flight::Base?`,
		"Fligth::Deep":        `qos: unknown profile "Fligth::Deep"; did you mean Flight::Deep?`,
		"Deep":                `qos: unknown profile "Deep": it names no library; did you mean Flight::Deep?`,
		"Nothing":             `qos: unknown profile "Nothing": it names no library; write Library::Profile` + present,
		"Some::Thing":         `qos: unknown profile "Some::Thing"` + present,
		"Flight::Topics::Lgo": `qos: unknown profile "Flight::Topics::Lgo": Flight::Topics has no <datawriter_qos> named "Lgo"; did you mean Log?`,
	} {
		q, err := p.DataWriter(name, "")
		assert.ErrorIs(t, err, ErrUnknownProfile)
		assert.EqualError(t, err, want)
		assert.Equal(t, DataWriter{}, q)
	}
}

func TestZeroProviderIsEmpty(t *testing.T) {
	var p Provider
	assert.Empty(t, p.Profiles())
	_, err := p.DataReader("L::A", "")
	assert.ErrorIs(t, err, ErrUnknownProfile)
	assert.EqualError(t, err, `qos: unknown profile "L::A"; no file of profiles is loaded`)
}

func TestExplain(t *testing.T) {
	p, err := LoadFile("testdata/good.xml")
	require.NoError(t, err)
	text, err := p.Explain("Flight::Deep")
	require.NoError(t, err)
	assert.Equal(t, `Flight::Deep
  domain_participant_qos
    user_data/value  0x5471  testdata/good.xml:19:41, inherited from Flight::Base
  publisher_qos
    partition/name  []  testdata/good.xml:23:33
  datawriter_qos
    reliability/kind               RELIABLE   testdata/good.xml:10:11, inherited from Flight::Base
    reliability/max_blocking_time  1.5s       testdata/good.xml:11:11, inherited from Flight::Base
    history/kind                   KEEP_LAST  testdata/good.xml:13:18, inherited from Flight::Base
    history/depth                  16         testdata/good.xml:22:32
  datareader_qos
    reliability/kind  RELIABLE  testdata/good.xml:16:22, inherited from Flight::Base
`, text)

	text, err = p.Explain("Flight::Topics::Log")
	require.NoError(t, err)
	assert.Contains(t, text, "datawriter_qos name Log")
	assert.NotContains(t, text, "topic_filter")
	_, err = p.Explain("Flight::Topics::Nothing")
	assert.ErrorIs(t, err, ErrUnknownProfile)
	_, err = p.Explain("Flight::Nothing")
	assert.ErrorIs(t, err, ErrUnknownProfile)

	p = mustLoad(t, inLibrary(`<qos_profile name="A"/>`))
	text, err = p.Explain("L::A")
	require.NoError(t, err)
	assert.Equal(t, "L::A\n  every policy has the default of the standard\n", text)
}

func TestProviderIsConcurrent(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A"/>`))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				_, err := p.DataWriter("L::A", "T")
				assert.NoError(t, err)
			}
		})
	}
	for _, name := range []string{"B", "C", "D"} {
		assert.NoError(t, p.Load(name, strings.NewReader(inLibrary(`<qos_profile name="`+name+`" base_name="A"/>`))))
	}
	wg.Wait()
	assert.Len(t, p.Profiles(), 4)
}

// What is left of a Load whose error nobody looked at.
func TestNilProvider(t *testing.T) {
	var p *Provider
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"LoadFile": p.LoadFile("f"), "Load": p.Load("f", strings.NewReader("")),
		"DomainParticipant": second(p.DomainParticipant("a::b")), "Publisher": second(p.Publisher("a::b")),
		"Subscriber": second(p.Subscriber("a::b")), "Topic": second(p.Topic("a::b", "")),
		"DataWriter": second(p.DataWriter("a::b", "")), "DataReader": second(p.DataReader("a::b", "")),
	} {
		require.ErrorContains(t, err, "the Provider is nil", name)
	}
	require.Empty(t, p.Profiles())
	require.Empty(t, p.Warnings())
}
