package qos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func reader(text string) io.Reader { return strings.NewReader(text) }

// One pass over one file reports an unknown element, a wrong literal, a forward base_name and inconsistent
// policies, each with its place.
func TestAllErrorsInOnePass(t *testing.T) {
	_, err := LoadFile("testdata/bad.xml")
	var errs XMLErrors
	require.True(t, errors.As(err, &errs))
	require.Len(t, errs, 4)
	assert.Equal(t, []XMLError{
		{
			"testdata/bad.xml", 6, 28, "Flight::Base/datawriter_qos/reliability/kind",
			`unknown value "RELIABEL_RELIABILITY_QOS" of <kind>`, "did you mean RELIABLE_RELIABILITY_QOS?", nil,
		},
		{
			"testdata/bad.xml", 8, 9, "Flight::Base/datawriter_qos/histroy",
			"unknown element <histroy>", "did you mean history?", nil,
		},
		{
			"testdata/bad.xml", 11, 31, "Flight::Early",
			`base_name "Late" is defined only later, at testdata/bad.xml:12:5`, "move Flight::Late above Flight::Early", nil,
		},
		{
			"testdata/bad.xml", 15, 11, "Flight::Late/datawriter_qos",
			"HISTORY depth 8 above RESOURCE_LIMITS max_samples_per_instance 4 (history/depth from testdata/bad.xml:7:18 in Flight::Base, " +
				"resource_limits/max_samples_per_instance from testdata/bad.xml:15:11 in Flight::Late)",
			"change one of them", ErrInconsistentPolicy,
		},
	}, []XMLError{*errs[0], *errs[1], *errs[2], *errs[3]})
	assert.ErrorIs(t, err, ErrInconsistentPolicy)
	assert.Equal(t, "testdata/bad.xml:8:9: Flight::Base/datawriter_qos/histroy: unknown element <histroy>; did you mean history?", errs[1].Error())
}

func TestBadDocuments(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":                   {"", "q:1:1: no XML element in the file; a QoS file starts with <dds>"},
		"only a comment":          {"<!-- -->", "q:1:1: no XML element in the file; a QoS file starts with <dds>"},
		"not closed":              {"<dds>\n<qos_library name='L'>", "q:2:23: not well-formed XML: unexpected EOF; nothing after this place was checked"},
		"wrong root":              {"<ddds/>", "q:1:1: ddds: unknown root element <ddds>; a QoS file starts with <dds>"},
		"two roots":               {"<dds/>\n <dds/>", "q:2:2: second root element <dds>; put all into one <dds>"},
		"other encoding":          {"<?xml version='1.0' encoding='KOI8-R'?><dds/>", `q:1:40: not well-formed XML: xml: opening charset "KOI8-R": encoding "KOI8-R" is not UTF-8; nothing after this place was checked`},
		"too deep":                {strings.Repeat("<dds>", 40), "q:1:161: elements nest deeper than 32"},
		"too large":               {strings.Repeat(" ", maxXMLBytes+1), "q:1:1: the file is larger than 1048576 bytes; split it; later files may refer to earlier ones"},
		"text":                    {"<dds>\n hello</dds>", `q:2:2: dds: unexpected text "hello" in <dds>`},
		"unknown entity":          {"<dds>&foo;</dds>", "q:1:11: not well-formed XML: invalid character entity &foo;; nothing after this place was checked"},
		"Cyclone's configuration": {"<CycloneDDS xmlns='https://cdds.io/config'/>", "q:1:1: CycloneDDS: this is a configuration of Cyclone DDS (CYCLONEDDS_URI), not QoS; it says how to reach peers and holds no policies; QoS profiles stand in a file that starts with <dds>"},
		"entities declared":       {"<!DOCTYPE dds [<!ENTITY a 'b'>]><dds/>", "q:1:1: a document type with declarations of its own; entities are not read; take the part in brackets out, ${NAME} inserts variables"},
		"misspelt library":        {"<dds><qos_libary name='L'/></dds>", "q:1:6: dds/qos_libary: unknown element <qos_libary>; did you mean qos_library?"},
		"library unnamed":         {"<dds><qos_library/></dds>", `q:1:6: dds/qos_library: <qos_library> has no name; write name="..."`},
		"bad library name":        {"<dds><qos_library name='a b'/></dds>", `q:1:19: dds/qos_library: name "a b" has a ' ' in it; names are made of letters, digits, _ and .`},
		"profile unnamed":         {inLibrary("<qos_profile/>"), `q:1:28: L/qos_profile: <qos_profile> has no name; write name="..."`},
		"empty name":              {inLibrary("<qos_profile name=''/>"), `q:1:41: L/qos_profile: name "" is empty; names are made of letters, digits, _ and .`},
		"unknown attribute":       {inLibrary("<qos_profile name='A' basename='B'/>"), `q:1:50: L::A: unknown attribute "basename" of <qos_profile>; did you mean base_name?`},
		"unknown in library": {inLibrary("<qos_profil name='A'/>"),
			"q:1:28: L/qos_profil: unknown element <qos_profil>; did you mean qos_profile?"},
		"unknown in profile": {inLibrary("<qos_profile name='A'><writer_qos/></qos_profile>"),
			"q:1:50: L::A/writer_qos: unknown element <writer_qos>; did you mean datawriter_qos?"},
		"twice": {inLibrary("\n<qos_profile name='A'/>\n<qos_profile name='A'/>"),
			"q:3:1: L::A: profile L::A is defined twice, first at q:2:1; rename one of them"},
		"own base": {inLibrary("<qos_profile name='A' base_name='A'/>"),
			`q:1:50: L::A: base_name "A" is the profile itself`},
		"unknown base": {inLibrary("<qos_profile name='Abc'/><qos_profile name='B' base_name='Acb'/>"),
			`q:1:75: L::B: base_name "Acb" names no profile; did you mean L::Abc?`},
		"base like itself": {inLibrary("<qos_profile name='A' base_name='Q'/>"),
			`q:1:50: L::A: base_name "Q" names no profile; load the file that defines it first`},
		"base in another library": {"<dds><qos_library name='L'><qos_profile name='A'/></qos_library><qos_library name='M'><qos_profile name='B' base_name='A'/></qos_library></dds>",
			`q:1:109: M::B: base_name "A" names no profile; did you mean L::A?`},
		"nothing like it": {inLibrary("<qos_profile name='B' base_name='Xyz'/>"),
			`q:1:50: L::B: base_name "Xyz" names no profile; load the file that defines it first`},
		"base is an entity": {inLibrary("<qos_profile name='A'/><qos_profile name='B' base_name='L::A::W'/>"),
			`q:1:73: L::B: base_name "L::A::W" names an entity; the base of a profile is a profile`},
		"base is no name": {inLibrary("<qos_profile name='B' base_name='a::::b'/>"),
			`q:1:50: L::B: base_name "a::::b" is no name; write Profile, or Library::Profile`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Load("q", reader(c.text))
			assert.Nil(t, p)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestBadEntities(t *testing.T) {
	// All stand at column 50 and after.
	const start = "q:1:"
	for name, c := range map[string]struct{ text, want string }{
		"policy of another entity": {"<datareader_qos><lifespan/></datareader_qos>",
			"66: L::A/datareader_qos/lifespan: <lifespan> does not belong to <datareader_qos>; it belongs to <topic_qos> or <datawriter_qos>"},
		"duplicate policy": {"<topic_qos><history/><history/></topic_qos>",
			"71: L::A/topic_qos/history: <history> appears twice, first at q:1:61; keep one of them"},
		"duplicate field": {"<topic_qos><history><depth>1</depth><depth>2</depth></history></topic_qos>",
			"86: L::A/topic_qos/history/depth: <depth> appears twice, first at q:1:70; keep one of them"},
		"two spellings of one field": {"<topic_qos><topic_data><value>1</value><valueB64/></topic_data></topic_qos>",
			"89: L::A/topic_qos/topic_data/valueB64: <valueB64> appears twice, first at q:1:73; keep one of them"},
		"duplicate entity": {"<topic_qos/><topic_qos/>",
			"62: L::A/topic_qos: <topic_qos> appears twice, first at q:1:50; merge the two, or give them different names or topic_filters"},
		"star is no filter": {"<topic_qos/><topic_qos topic_filter='*'/>",
			"62: L::A/topic_qos: <topic_qos> appears twice, first at q:1:50; merge the two, or give them different names or topic_filters"},
		"duplicate entity name": {"<topic_qos name='T'/><topic_qos name='T' topic_filter='a'/>",
			"71: L::A/topic_qos[T]: <topic_qos> appears twice, first at q:1:50; merge the two, or give them different names or topic_filters"},
		"filter of a publisher": {"<publisher_qos topic_filter='a'/>",
			"65: L::A/publisher_qos: topic_filter on <publisher_qos>; only <topic_qos>, <datawriter_qos> and <datareader_qos> have one"},
		"filter with a regular expression": {"<topic_qos topic_filter='a.+'/>",
			`61: L::A/topic_qos: topic_filter "a.+" has a '+' in it; a filter is made of letters, digits, _ . / : - blanks, and * ? [ ] for any text, any character, one of a set`},
		"filter with an open set": {"<topic_qos topic_filter='b[[:alpha:]]c[a-'/>",
			`61: L::A/topic_qos: topic_filter "b[[:alpha:]]c[a-" has a set that does not end: "[a-"; close it with ]; [[] is the bracket itself`},
		"filter with a set of nothing": {"<topic_qos topic_filter='a[]'/>",
			`61: L::A/topic_qos: topic_filter "a[]" has a set that does not end: "[]"; close it with ]; [[] is the bracket itself`},
		"empty filter": {"<topic_qos topic_filter=''/>",
			"61: L::A/topic_qos: topic_filter has 0 characters; write 1 to 255"},
		"unknown field": {"<topic_qos><history><dept>1</dept></history></topic_qos>",
			"70: L::A/topic_qos/history/dept: unknown element <dept>; did you mean depth?"},
		"element in a value": {"<topic_qos><history><depth><x/></depth></history></topic_qos>",
			"77: L::A/topic_qos/history/depth/x: unknown element <x>; <depth> holds a value, not elements"},
		"short literal": {"<topic_qos><reliability><kind>RELIABLE</kind></reliability></topic_qos>",
			`80: L::A/topic_qos/reliability/kind: unknown value "RELIABLE" of <kind>; did you mean RELIABLE_RELIABILITY_QOS?`},
		"misspelt short literal": {"<topic_qos><durability><kind>Transient_Locl</kind></durability></topic_qos>",
			`79: L::A/topic_qos/durability/kind: unknown value "Transient_Locl" of <kind>; did you mean TRANSIENT_LOCAL_DURABILITY_QOS?`},
		"literal of nothing": {"<topic_qos><ownership><kind>2</kind></ownership></topic_qos>",
			`78: L::A/topic_qos/ownership/kind: unknown value "2" of <kind>; expected SHARED_OWNERSHIP_QOS or EXCLUSIVE_OWNERSHIP_QOS`},
		"boolean in capitals": {"<publisher_qos><entity_factory><autoenable_created_entities>TRUE</autoenable_created_entities></entity_factory></publisher_qos>",
			`110: L::A/publisher_qos/entity_factory/autoenable_created_entities: "TRUE" is not a boolean; did you mean true?`},
		"depth zero": {"<topic_qos><history><depth>0</depth></history></topic_qos>",
			"77: L::A/topic_qos/history/depth: <depth> is 0; it must be at least 1"},
		"depth unlimited": {"<topic_qos><history><depth>LENGTH_UNLIMITED</depth></history></topic_qos>",
			"77: L::A/topic_qos/history/depth: <depth> cannot be LENGTH_UNLIMITED; KEEP_ALL_HISTORY_QOS keeps all samples"},
		"limit zero": {"<topic_qos><resource_limits><max_samples>0</max_samples></resource_limits></topic_qos>",
			"91: L::A/topic_qos/resource_limits/max_samples: <max_samples> is 0; it must be LENGTH_UNLIMITED or at least 1"},
		"limit misspelt": {"<topic_qos><resource_limits><max_samples>UNLIMITED</max_samples></resource_limits></topic_qos>",
			`91: L::A/topic_qos/resource_limits/max_samples: "UNLIMITED" is not a number; expected a decimal or 0x number or LENGTH_UNLIMITED`},
		"limit nearly right": {"<topic_qos><resource_limits><max_samples>LENGHT_UNLIMITED</max_samples></resource_limits></topic_qos>",
			`91: L::A/topic_qos/resource_limits/max_samples: "LENGHT_UNLIMITED" is not a number; did you mean LENGTH_UNLIMITED?`},
		"too large a number": {"<topic_qos><transport_priority><value>0x80000000</value></transport_priority></topic_qos>",
			`88: L::A/topic_qos/transport_priority/value: "0x80000000" does not fit 32 bits; expected a decimal or 0x number`},
		"far too large a number": {"<topic_qos><transport_priority><value>-99999999999999999999</value></transport_priority></topic_qos>",
			`88: L::A/topic_qos/transport_priority/value: "-99999999999999999999" does not fit 32 bits; expected a decimal or 0x number`},
		"duration as text": {"<topic_qos><deadline><period>1s</period></deadline></topic_qos>",
			`79: L::A/topic_qos/deadline/period: unexpected text "1s" in <period>; write <sec> and <nanosec>`},
		"empty duration": {"<topic_qos><deadline><period/></deadline></topic_qos>",
			"71: L::A/topic_qos/deadline/period: <period> is empty; write <sec> and <nanosec>"},
		"negative duration": {"<topic_qos><deadline><period><sec>-1</sec></period></deadline></topic_qos>",
			"84: L::A/topic_qos/deadline/period/sec: negative duration -1; durations are zero or more, or DURATION_INFINITY"},
		"half infinite": {"<topic_qos><deadline><period><sec>1</sec><nanosec>DURATION_INFINITY</nanosec></period></deadline></topic_qos>",
			"100: L::A/topic_qos/deadline/period/nanosec: infinite nanosec beside a finite sec 1; make both DURATION_INFINITY, or neither"},
		"infinite but for nanoseconds": {"<topic_qos><deadline><period><sec>DURATION_INFINITY</sec><nanosec>5</nanosec></period></deadline></topic_qos>",
			"116: L::A/topic_qos/deadline/period/nanosec: finite nanosec 5 beside an infinite sec; make both DURATION_INFINITY, or neither"},
		"a second of nanoseconds": {"<topic_qos><deadline><period><sec>1</sec><nanosec>1000000000</nanosec></period></deadline></topic_qos>",
			`100: L::A/topic_qos/deadline/period/nanosec: "1000000000" is above 999999999, the most that <nanosec> may be; write 0 to 999999999, or DURATION_INFINITE_NSEC`},
		"seconds above 32 bits": {"<topic_qos><deadline><period><sec>99999999999999999999</sec></period></deadline></topic_qos>",
			`84: L::A/topic_qos/deadline/period/sec: "99999999999999999999" is above 2147483647, the most that <sec> may be; write 0 to 2147483647, or DURATION_INFINITE_SEC`},
		"unknown part": {"<topic_qos><deadline><period><seconds>1</seconds></period></deadline></topic_qos>",
			"79: L::A/topic_qos/deadline/period/seconds: unknown element <seconds>; expected sec or nanosec"},
		"byte too large": {"<topic_qos><topic_data><value>1, 256</value></topic_data></topic_qos>",
			`80: L::A/topic_qos/topic_data/value: "256" is not a byte; bytes are 0 to 255, decimal or 0x, with commas between them`},
		"not base64": {"<topic_qos><topic_data><valueB64>abc</valueB64></topic_data></topic_qos>",
			`83: L::A/topic_qos/topic_data/valueB64: "abc" is not base64; pad it with = to a multiple of four`},
		"partition without element": {"<publisher_qos><partition><name>A</name></partition></publisher_qos>",
			`82: L::A/publisher_qos/partition/name: unexpected text "A" in <name>`},
		"list of something else": {"<publisher_qos><partition><name><elem>A</elem></name></partition></publisher_qos>",
			"82: L::A/publisher_qos/partition/name/elem: unknown element <elem>; expected element"},
		"entity base of another kind": {"<topic_qos name='T'/><datawriter_qos base_name='L::B::W'/>",
			`87: L::A/datawriter_qos: base_name "L::B::W": L::B has no <datawriter_qos> named "W"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load("q", reader(inLibrary("<qos_profile name='A'>"+c.text+"</qos_profile>")))
			if strings.Contains(c.text, "L::B") {
				_, err = Load("q", reader(`<qos_library name="L"><qos_profile name='B'/><!----><qos_profile name='A'>`+c.text+"</qos_profile></qos_library>"))
				assert.ErrorContains(t, err, c.want[strings.Index(c.want, ": ")+2:])
				return
			}
			assert.EqualError(t, err, start+c.want)
		})
	}
}

func TestTopicFilterOutsideProfile(t *testing.T) {
	_, err := Load("q", reader(inLibrary("<topic_qos name='T' topic_filter='a'/>")))
	assert.EqualError(t, err, "q:1:48: L::T/topic_qos: topic_filter outside a <qos_profile>; put the element into a profile")
}

// What follows from an error is not reported as another.
func TestNoConsequentialErrors(t *testing.T) {
	for name, text := range map[string]string{
		"a wrong value is not inconsistent as its default": `<qos_profile name="A"><datareader_qos>
			<deadline><period><sec>x</sec></period></deadline>
			<time_based_filter><minimum_separation><sec>DURATION_INFINITY</sec></minimum_separation></time_based_filter></datareader_qos></qos_profile>
			<qos_profile name="B" base_name="A"/>`,
		"a missing base might have set the other value": `<qos_profile name="A" base_name="X"><datareader_qos>
			<resource_limits><max_samples>10</max_samples></resource_limits><history><depth>4</depth></history></datareader_qos></qos_profile>`,
		"an inherited inconsistency is reported where it arises": `<qos_profile name="A"><datareader_qos>
			<resource_limits><max_samples>3</max_samples></resource_limits><history><depth>4</depth></history></datareader_qos></qos_profile>
			<qos_profile name="B" base_name="A"><datareader_qos><ownership><kind>SHARED_OWNERSHIP_QOS</kind></ownership></datareader_qos></qos_profile>`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load("q", reader(inLibrary(text)))
			var errs XMLErrors
			require.True(t, errors.As(err, &errs))
			assert.Len(t, errs, 1, "%v", err)
		})
	}
}

// Two bases that are consistent each can contradict each other together.
func TestInconsistencyOfTwoBases(t *testing.T) {
	_, err := Load("q", reader(inLibrary(`
<qos_profile name="A"><datareader_qos><deadline><period><sec>1</sec></period></deadline></datareader_qos></qos_profile>
<qos_profile name="B"><datareader_qos><time_based_filter><minimum_separation><sec>2</sec></minimum_separation></time_based_filter></datareader_qos></qos_profile>
<qos_profile name="C" base_name="A">
  <datareader_qos base_name="B"/>
</qos_profile>`)))
	assert.EqualError(t, err, "q:5:3: L::C/datareader_qos: DEADLINE period 1s below TIME_BASED_FILTER minimum_separation 2s "+
		"(deadline/period from q:2:49 in L::A, time_based_filter/minimum_separation from q:3:58 in L::B); change one of them")
}

func TestLimits(t *testing.T) {
	var chain, many, wide strings.Builder
	for i := range maxInheritance + 2 {
		fmt.Fprintf(&chain, "<qos_profile name='P%d'", i)
		if i > 0 {
			fmt.Fprintf(&chain, " base_name='P%d'", i-1)
		}
		chain.WriteString("/>")
	}
	_, err := Load("q", reader(inLibrary(chain.String())))
	assert.ErrorContains(t, err, "L::P65: inheritance is deeper than 64 profiles")

	many.WriteString(strings.Repeat("<x/>", maxXMLErrors+5))
	_, err = Load("q", reader(inLibrary(many.String())))
	var errs XMLErrors
	require.True(t, errors.As(err, &errs))
	assert.Len(t, errs, maxXMLErrors+1)
	assert.Equal(t, "5 more errors are not listed", errs[maxXMLErrors].What)

	wide.WriteString("<qos_profile name='P'>")
	for i := range maxEntities + 3 {
		fmt.Fprintf(&wide, "<topic_qos topic_filter='%d'/>", i)
	}
	wide.WriteString("</qos_profile>")
	_, err = Load("q", reader(inLibrary(wide.String())))
	assert.ErrorContains(t, err, "more than 1000 elements in a profile")
}

// Documents as large as they may be, of the shapes that cost most, cost in proportion to their size. What is counted is
// what is allocated: whatever is done for an element, an attribute, an error or a hint allocates, and the loops that do not are
// over what TestLimits bounds.
func TestHostileDocumentsAreCheap(t *testing.T) {
	fill := func(piece func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxXMLBytes-1000; i++ {
			b.WriteString(piece(i))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"text in pieces": "<dds>" + fill(func(int) string { return "a<!---->" }) + "</dds>",
		"attributes":     "<dds" + fill(func(i int) string { return fmt.Sprintf(" a%d=''", i) }) + "/>",
		"unknown bases":  inLibrary(fill(func(i int) string { return fmt.Sprintf("<qos_profile name='P%d' base_name='Q%d'/>", i, i) })),
		"one long line":  inLibrary("<qos_profile name='P'>" + fill(func(int) string { return "<topic_qos/>" }) + "</qos_profile>"),
		"long names":     inLibrary(fill(func(i int) string { return fmt.Sprintf("<qos_profile name='%s'/>", strings.Repeat("a", i)) })),
		"open brackets":  inLibrary("<qos_profile name='P'><topic_qos topic_filter='" + strings.Repeat("[", 255) + "'/></qos_profile>"),
		"profiles in chain": inLibrary(fill(func(i int) string {
			return fmt.Sprintf("<topic_qos name='P%d' base_name='P%d'><history><depth>1</depth></history></topic_qos>", i+1, i)
		})),
	} {
		t.Run(name, func(t *testing.T) {
			const bytesPerByte, objectsPerByte = 512, 4 // the most of these takes 293 and 2.3
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := Load("q", reader(text))
			if err == nil {
				_, err = p.Topic("L::P", strings.Repeat("[", 255))
				require.NoError(t, err)
			}
			runtime.ReadMemStats(&after)
			size := uint64(len(text))
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, bytesPerByte*size, "bytes for a document of %d", size)
			assert.Less(t, after.Mallocs-before.Mallocs, objectsPerByte*size, "objects for a document of %d bytes", size)
		})
	}
}

func TestFileErrors(t *testing.T) {
	_, err := LoadFile("testdata/nothing.xml")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = LoadFile("testdata")
	assert.ErrorContains(t, err, "testdata:1:1: ")
}

// rewritten: what loads can be written in the standard's dialect, and says the same there but for what is lost.
func rewritten(t *testing.T, p *Provider) {
	var out bytes.Buffer
	lost, err := p.WriteXML(&out, DialectStandard)
	if err != nil {
		t.Fatal(err)
	}
	written := out.String()
	q := NewProvider(Options{LookupEnv: noVariables})
	if err := q.Load("out", &out); err != nil {
		for _, l := range lost {
			if strings.Contains(l, " is called ") {
				return // two names may have become one
			}
		}
		t.Fatalf("what was written does not load: %v\n%s", err, written)
	}
	for i, name := range p.Profiles() {
		want, got := values(t, p, name), values(t, q, q.Profiles()[i])
		for path, v := range want {
			if got[path] != v && len(lost) == 0 {
				t.Fatalf("%s of %s was %s and is %s\n%s", path, name, v, got[path], written)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`<dds><qos_library name="L"><qos_profile name="A"><datawriter_qos topic_filter="[a-z]*" base_name="A"><history><depth>8</depth></history></datawriter_qos></qos_profile></qos_library></dds>`)
	f.Add(`<qos_library name="L"><topic_qos name="A"><topic_data><value>84, 0x71</value></topic_data><deadline><period><sec>1</sec></period></deadline></topic_qos></qos_library>`)
	f.Add(inLibrary(composed + `<qos_profile name="A" is_default_qos="1"><base_name><element>Depth2</element><element>Second</element></base_name><datawriter_qos topic_filter="${X:-a*}"><history><depth>$(Y)$$</depth></history></datawriter_qos></qos_profile>`))
	f.Add("<dds a='&lt;' b = \"'\"><![CDATA[ x ]]>&#10;<!-- - --></dds>")
	for _, file := range dialectFiles {
		text, err := os.ReadFile(filepath.Join("testdata", "dialects", file))
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := NewProvider(Options{LookupEnv: noVariables})
		if err := p.Load("q", reader(text)); err != nil {
			var errs XMLErrors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("not XMLErrors: %v", err)
			}
			for i, e := range errs {
				if e.Line < 1 || e.Col < 1 || e.What == "" || i > 0 && i < maxXMLErrors && e.Line < errs[i-1].Line {
					t.Fatalf("error %d has no proper place or text: %v", i, err)
				}
			}
			return
		}
		for _, name := range p.Profiles() {
			w, err := p.DataWriter(name, "topic")
			if err != nil || w.Validate() != nil {
				t.Fatalf("%s was loaded, but: %v %v", name, err, w.Validate())
			}
			r, err := p.DataReader(name, "topic")
			if err != nil || r.Validate() != nil {
				t.Fatalf("%s was loaded, but: %v %v", name, err, r.Validate())
			}
			if _, err := p.Explain(name); err != nil {
				t.Fatal(err)
			}
		}
		rewritten(t, p)
	})
}
