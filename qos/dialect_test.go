package qos

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test -update writes it")
	assert.Equal(t, string(want), got)
}

// A file of every dialect: its warnings, its profiles, and where every value that they set comes from.
func TestDialects(t *testing.T) {
	for file, want := range map[string]dialect{
		"standard.xml": dialectStandard, "rti.xml": dialectRTI, "fastdds.xml": dialectFastDDS, "opendds.xml": dialectOpenDDS, "cyclone.xml": dialectCyclone,
	} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join("testdata", "dialects", file)
			text, err := readFile(path)
			require.NoError(t, err)
			l, err := load(input{name: path, r: reader(text), options: Options{LookupEnv: noVariables}}, nil, builtin())
			require.NoError(t, err)
			assert.Equal(t, want, l.dialect)

			p := NewProvider(Options{LookupEnv: noVariables})
			require.NoError(t, p.LoadFile(path))
			var out strings.Builder
			for _, w := range p.Warnings() {
				out.WriteString("warning: " + w.Error() + "\n")
			}
			for _, name := range p.Profiles() {
				text, err := p.Explain(name)
				require.NoError(t, err)
				out.WriteString("\n" + text)
			}
			golden(t, strings.TrimSuffix(path, ".xml")+".golden", strings.ReplaceAll(out.String(), filepath.Dir(path)+string(filepath.Separator), ""))

			strict := NewProvider(Options{Strict: true, LookupEnv: noVariables})
			assert.ErrorContains(t, strict.LoadFile(path), "no effect here")
			assert.Empty(t, strict.Profiles())
		})
	}
}

func noVariables(string) (string, bool) { return "", false }

func TestDefaultProfile(t *testing.T) {
	p, err := LoadFile("testdata/dialects/rti.xml")
	require.NoError(t, err)
	w, err := p.DataWriter("", "Track")
	require.NoError(t, err)
	assert.Equal(t, int32(8), w.History.Depth, "is_default_qos")
	assert.Equal(t, "Airport::Tracks", p.DefaultProfile(EntityDataWriter))

	p, err = LoadFile("testdata/dialects/fastdds.xml")
	require.NoError(t, err)
	participant, err := p.DomainParticipant("")
	require.NoError(t, err)
	assert.Equal(t, []byte{3, 10, 255}, participant.UserData.Value, "is_default_profile")
	w, err = p.DataWriter("", "")
	require.NoError(t, err)
	assert.Equal(t, DefaultDataWriter(), w, "the default for participants only")
	w, err = p.DataWriter("rt/track", "")
	require.NoError(t, err)
	assert.Equal(t, int32(5), w.History.Depth)
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]dialect{
		`<dds xmlns="http://www.omg.org/spec/DDS-XML"><qos_library name="L"/></dds>`:          dialectStandard,
		`<dds xmlns="http://www.omg.org/spec/DDS-XML/20260101"><qos_library name="L"/></dds>`: dialectStandard,
		`<qos_library name="L"/>`: dialectStandard,
		`<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="../rti_dds_qos_profiles.xsd"/>`:     dialectRTI,
		`<dds><qos_library name="L"><qos_profile name="P" is_default_qos="true"/></qos_library></dds>`:                                 dialectRTI,
		`<dds><qos_library name="L"><qos_profile name="P" base_name="BuiltinQosLib::Baseline"/></qos_library></dds>`:                   dialectRTI,
		`<dds><qos_library name="L"><qos_profile name="P"><datawriter_qos><batch/></datawriter_qos></qos_profile></qos_library></dds>`: dialectRTI,
		`<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"><profiles/></dds>`:                                          dialectFastDDS,
		`<dds><profiles/></dds>`:                                                     dialectFastDDS,
		`<profiles xmlns="http://www.eprosima.com"/>`:                                dialectFastDDS,
		`<data_writer profile_name="x"/>`:                                            dialectFastDDS,
		`<dds xmlns="http://www.omg.org/dds/"/>`:                                     dialectOpenDDS,
		`<dds><qos_profile name="P"/></dds>`:                                         dialectOpenDDS,
		`<dds><QOS_Library name="L"/></dds>`:                                         dialectCyclone,
		`<dds xmlns="http://www.omg.org/spec/DDS-XML"><QOS_Library name="L"/></dds>`: dialectCyclone,
		`<dds><qos_library name="L"><datawriter_qos name="W"><writer_batching/></datawriter_qos></qos_library></dds>`: dialectCyclone,
	} {
		l, err := load(input{name: "q", r: reader(text)}, nil, builtin())
		require.NoError(t, err, text)
		assert.Equal(t, want.String(), l.dialect.String(), text)
	}
}

// What resembles one of our elements is a misspelling in every dialect; what does not is a vendor's.
func TestForeignElements(t *testing.T) {
	const start = `<dds version="7"><qos_library name="L"><qos_profile name="A"><datawriter_qos>`
	const end = `</datawriter_qos></qos_profile></qos_library></dds>`
	_, err := Load("q", reader(start+`<histroy/>`+end))
	assert.EqualError(t, err, "q:1:78: L::A/datawriter_qos/histroy: unknown element <histroy>; did you mean history?")
	p, err := Load("q", reader(start+`<zigzag/><zigzag/><zigzag/><batch/>`+end))
	require.NoError(t, err)
	require.Len(t, p.Warnings(), 2)
	assert.EqualError(t, p.Warnings()[0], "q:1:78: L::A/datawriter_qos/zigzag: <zigzag> has no effect here (3 places); nothing of ours is like it; it may be of RTI Connext")
	assert.EqualError(t, p.Warnings()[1], "q:1:105: L::A/datawriter_qos/batch: <batch> has no effect here; it is RTI's")
	_, err = Load("q", reader(strings.Replace(start, ` version="7"`, ` xmlns="`+standardNamespace+`"`, 1)+`<zigzag/>`+end))
	assert.ErrorContains(t, err, "unknown element <zigzag>", "the standard has no room for more")
	_, err = LoadFile("testdata/dialects/cyclone-config.xml")
	assert.ErrorContains(t, err, "this is a configuration of Cyclone DDS (CYCLONEDDS_URI), not QoS")
}

// A namespace that tells no dialect is warned of.
func TestUnknownNamespace(t *testing.T) {
	const rest = `<qos_library name="L"><qos_profile name="P"/></qos_library></dds>`
	p, err := Load("q", reader(`<dds xmlns="http://example.com/foo">`+rest))
	require.NoError(t, err)
	require.Len(t, p.Warnings(), 1)
	assert.EqualError(t, p.Warnings()[0], `q:1:1: dds: the namespace "http://example.com/foo" is not known, and the file is read as one of DDS-XML; `+
		`leave it out, or write that of the format, which is "http://www.omg.org/spec/DDS-XML" for DDS-XML`)
	for _, known := range []string{"", ` xmlns="http://www.omg.org/spec/DDS-XML"`, ` xmlns="http://www.omg.org/dds/"`, ` xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"`} {
		p, err := Load("q", reader("<dds"+known+">"+rest))
		if err == nil { // that of Fast DDS has no libraries
			assert.Empty(t, p.Warnings(), known)
		} else {
			assert.NotContains(t, err.Error(), "namespace", known)
		}
	}
}

// A program that does not import qosyaml says so, rather than to read YAML as XML.
func TestYAMLNeedsItsPackage(t *testing.T) {
	_, err := Load("q.yaml", reader("qos_library: {}"))
	assert.EqualError(t, err, "q.yaml:1:1: this program does not read YAML; import github.com/omg-dds-go/dds/qos/qosyaml into it")
}
