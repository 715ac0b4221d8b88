package qos

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What users of other implementations write into their files, odd as it is, is read as it is meant there.
func TestVendorSpellings(t *testing.T) {
	const rti = `<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://community.rti.com/schema/6.0.0/rti_dds_profiles.xsd">`
	load := func(t *testing.T, text string) *Provider {
		p := NewProvider(Options{LookupEnv: noVariables})
		require.NoError(t, p.Load("q", strings.NewReader(text)))
		return p
	}
	t.Run("an element of another vendor does not change whose file it is", func(t *testing.T) {
		p := load(t, rti+`<qos_library name="L"><qos_profile name="P"><datawriter_qos>
			<entity_name><name>w</name></entity_name><ownership><kind>EXCLUSIVE</kind></ownership>
		</datawriter_qos></qos_profile></qos_library></dds>`)
		q, err := p.DataWriter("L::P", "")
		require.NoError(t, err)
		assert.Equal(t, OwnershipExclusive, q.Ownership.Kind)
	})
	t.Run("names of RTI's constants", func(t *testing.T) {
		p := load(t, rti+`<qos_library name="L"><qos_profile name="P"><datawriter_qos>
			<reliability><kind>DDS_RELIABLE_RELIABILITY_QOS</kind>
				<max_blocking_time><sec>DDS_DURATION_INFINITE_SEC</sec><nanosec>DDS_DURATION_INFINITE_NSEC</nanosec></max_blocking_time></reliability>
			<deadline><period><sec>DDS_DURATION_ZERO_SEC</sec><nanosec>7</nanosec></period></deadline>
			<lifespan><duration>DDS_DURATION_INFINITE</duration></lifespan>
			<history><depth>2</depth></history>
			<resource_limits><max_samples>DDS_LENGTH_UNLIMITED</max_samples><initial_samples>DDS_LENGTH_UNLIMITED</initial_samples>
				<max_instances>DDS_LENGTH_AUTO</max_instances></resource_limits>
		</datawriter_qos></qos_profile></qos_library></dds>`)
		q, err := p.DataWriter("L::P", "")
		require.NoError(t, err)
		assert.Equal(t, Reliability{ReliabilityReliable, Infinite}, q.Reliability)
		assert.Equal(t, 7*time.Nanosecond, q.Deadline.Period)
		assert.Equal(t, Infinite, q.Lifespan.Duration)
		assert.Equal(t, int32(LengthUnlimited), q.ResourceLimits.MaxSamples)
	})
	t.Run("libraries with a hyphen or a blank", func(t *testing.T) {
		p := load(t, rti+`<qos_library name="My-Lib"><qos_profile name="A b"><datawriter_qos><history><depth>3</depth></history></datawriter_qos></qos_profile>
			<qos_profile name="C" base_name="My-Lib::A b"/></qos_library></dds>`)
		q, err := p.DataWriter("My-Lib::C", "")
		require.NoError(t, err)
		assert.Equal(t, int32(3), q.History.Depth)
	})
	t.Run("a scope that takes what is offered", func(t *testing.T) {
		const presentation = `<presentation><access_scope>HIGHEST_OFFERED_PRESENTATION_QOS</access_scope><ordered_access>true</ordered_access></presentation>`
		p := load(t, rti+`<qos_library name="L"><qos_profile name="P"><subscriber_qos>`+presentation+`</subscriber_qos></qos_profile></qos_library></dds>`)
		q, err := p.Subscriber("L::P")
		require.NoError(t, err)
		assert.Equal(t, Presentation{AccessScope: PresentationInstance, OrderedAccess: true}, q.Presentation)
		require.Len(t, p.Warnings(), 1)
		err = p.Load("r", strings.NewReader(rti+`<qos_library name="M"><qos_profile name="P"><publisher_qos>`+presentation+`</publisher_qos></qos_profile></qos_library></dds>`))
		assert.ErrorContains(t, err, `unknown value "HIGHEST_OFFERED_PRESENTATION_QOS"`, "nobody can offer it")
	})
	t.Run("infinite nanoseconds as a number", func(t *testing.T) {
		p := load(t, `<dds xmlns="http://www.eprosima.com"><profiles><data_writer profile_name="w"><qos>
			<deadline><period><sec>2147483647</sec><nanosec>4294967295</nanosec></period></deadline>
			<lifespan><duration><nanosec>0xffffffff</nanosec></duration></lifespan></qos></data_writer></profiles></dds>`)
		q, err := p.DataWriter("w", "")
		require.NoError(t, err)
		assert.Equal(t, Infinite, q.Deadline.Period)
		assert.Equal(t, Infinite, q.Lifespan.Duration)
	})
	t.Run("any case at Cyclone, where the standard has capitals", func(t *testing.T) {
		const library = `<qos_library name="L"><Qos_Profile Name="P"><DataWriter_Qos><USER_DATA><ValueB64>aGVsbG8=</ValueB64></USER_DATA>
			</DataWriter_Qos></Qos_Profile></qos_library></dds>`
		for _, root := range []string{`<dds>`, `<dds xmlns="http://www.omg.org/dds">`} {
			q, err := load(t, root+library).DataWriter("L::P", "")
			require.NoError(t, err)
			assert.Equal(t, []byte("hello"), q.UserData.Value, root)
		}
	})
}

// Documents need not be in UTF-8.
func TestEncodings(t *testing.T) {
	const body = `<dds><!-- für --><qos_library name="L"><qos_profile name="P"><publisher_qos><partition><name><element>Süd</element></name></partition></publisher_qos></qos_profile></qos_library></dds>`
	latin := `<?xml version="1.0" encoding="ISO-8859-1"?>`
	for _, r := range body {
		latin += string([]byte{byte(r)})
	}
	wide := func(order binary.AppendByteOrder) (out string) {
		b := order.AppendUint16(nil, 0xfeff)
		for _, u := range utf16.Encode([]rune(`<?xml version="1.0" encoding="UTF-16"?>` + body)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"UTF-8": `<?xml version="1.0" encoding="utf8"?>` + body, "ISO-8859-1": latin,
		"UTF-16, low bytes first": wide(binary.LittleEndian), "UTF-16, high bytes first": wide(binary.BigEndian),
	} {
		p := NewProvider(Options{LookupEnv: noVariables})
		require.NoError(t, p.Load("q", strings.NewReader(text)), name)
		q, err := p.Publisher("L::P")
		require.NoError(t, err)
		assert.Equal(t, []string{"Süd"}, q.Partition.Name, name)
	}
}
