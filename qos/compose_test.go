package qos

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func depthAndDeadline(t *testing.T, p *Provider, name, topic string) string {
	t.Helper()
	w, err := p.DataWriter(name, topic)
	require.NoError(t, err)
	return fmt.Sprintf("%d %s", w.History.Depth, w.Deadline)
}

const composed = `
	<qos_profile name="Depth2"><datawriter_qos><history><depth>2</depth></history></datawriter_qos></qos_profile>
	<qos_profile name="Depth3"><datawriter_qos><history><depth>3</depth></history></datawriter_qos></qos_profile>
	<qos_profile name="Second"><datawriter_qos><deadline><period><sec>1</sec></period></deadline></datawriter_qos></qos_profile>`

// Several bases are put over each other in the order in which they stand; the attribute is the first.
func TestSeveralBases(t *testing.T) {
	p := mustLoad(t, inLibrary(composed+`
		<qos_profile name="A"><base_name><element>Depth2</element><element>L::Second</element><element>Depth3</element></base_name></qos_profile>
		<qos_profile name="B"><base_name><element>Depth3</element><element>Depth2</element></base_name></qos_profile>
		<qos_profile name="C" base_name="Depth3"><base_name><element>Second</element></base_name><datawriter_qos><history><depth>9</depth></history></datawriter_qos></qos_profile>
		<qos_profile name="D" base_name="A"/>
		<qos_profile name="E" base_name="Depth3"><qos_snippets><snippet snippet_ref="L::Second"/><snippet snippet_ref="Depth2"/></qos_snippets></qos_profile>`))
	for name, want := range map[string]string{"A": "3 1s", "B": "2 INFINITE", "C": "9 1s", "D": "3 1s", "E": "2 1s"} {
		assert.Equal(t, want, depthAndDeadline(t, p, "L::"+name, "T"), name)
	}
	text, err := p.Explain("L::D")
	require.NoError(t, err)
	assert.Contains(t, text, "inherited from L::Depth3")
	assert.Contains(t, text, "inherited from L::Second")
}

// The bases of an element go over those of its profile.
func TestSeveralBasesOfAnElement(t *testing.T) {
	p := mustLoad(t, inLibrary(composed+`
		<qos_profile name="A" base_name="Depth2">
			<datawriter_qos name="W" base_name="Depth3"><base_name><element>Second</element></base_name></datawriter_qos>
		</qos_profile>`))
	assert.Equal(t, "3 1s", depthAndDeadline(t, p, "L::A::W", ""))
	assert.Equal(t, "3 1s", depthAndDeadline(t, p, "L::A", ""), "the only writer there is")
}

// Filters of all bases count, those of the last first; what a base says for all topics feeds the filtered ones too.
func TestSeveralBasesWithFilters(t *testing.T) {
	p := mustLoad(t, inLibrary(composed+`
		<qos_profile name="Air"><datawriter_qos topic_filter="Air*"><history><depth>5</depth></history></datawriter_qos></qos_profile>
		<qos_profile name="Data"><datawriter_qos topic_filter="*Data"><history><depth>6</depth></history></datawriter_qos></qos_profile>
		<qos_profile name="A"><base_name><element>Second</element><element>Air</element><element>Data</element></base_name></qos_profile>
		<qos_profile name="B" base_name="A"><datawriter_qos topic_filter="Air*"><deadline><period><sec>2</sec></period></deadline></datawriter_qos></qos_profile>`))
	for topic, want := range map[string]string{"AirSpeed": "5 1s", "BaroData": "6 1s", "AirData": "6 1s", "Other": "1 1s"} {
		assert.Equal(t, want, depthAndDeadline(t, p, "L::A", topic), topic)
	}
	assert.Equal(t, "5 2s", depthAndDeadline(t, p, "L::B", "AirData"), "an own filter comes before inherited ones")
}

// Whoever is reached on several ways is put over the others as often, each time with all that it inherits: what a base
// inherits counts like what it says itself. Where the elements stand does not matter.
func TestSeveralWaysToABase(t *testing.T) {
	p := mustLoad(t, inLibrary(composed+`
		<qos_profile name="Deeper" base_name="Depth2"><datawriter_qos><history><depth>8</depth></history></datawriter_qos></qos_profile>
		<qos_profile name="Same" base_name="Depth2"/>
		<qos_profile name="A"><base_name><element>Deeper</element><element>Same</element></base_name></qos_profile>
		<qos_profile name="B"><base_name><element>Same</element><element>Deeper</element></base_name></qos_profile>
		<qos_profile name="C" base_name="Same"><base_name><element>Deeper</element><element>Depth2</element></base_name></qos_profile>
		<qos_profile name="D" base_name="Depth2"><base_name><element>Depth2</element><element>Depth3</element><element>Depth2</element></base_name></qos_profile>
		<qos_profile name="E"><base_name><element>Depth2</element></base_name><base_name><element>Depth3</element></base_name></qos_profile>
		<qos_profile name="F"><qos_snippets><snippet snippet_ref="Second"/><snippet snippet_ref="Depth2"/></qos_snippets><base_name><element>Depth3</element></base_name></qos_profile>
		<qos_profile name="G"><datawriter_qos><history><depth>7</depth></history></datawriter_qos><qos_snippets><snippet snippet_ref="F"/></qos_snippets></qos_profile>`))
	for name, want := range map[string]string{
		"A": "2 INFINITE", "B": "8 INFINITE", "C": "2 INFINITE", "D": "2 INFINITE", "E": "3 INFINITE", "F": "2 1s", "G": "7 1s",
	} {
		assert.Equal(t, want, depthAndDeadline(t, p, "L::"+name, "T"), name)
	}
}

// Inheritance in a circle is refused, in whatever way it comes about, also when a file that others inherit from is read again.
func TestInheritanceInACircle(t *testing.T) {
	for text, want := range map[string]string{
		`<qos_profile name="A" base_name="B"/><qos_profile name="B" base_name="A"/>`:                                                                                `base_name "B" is defined only later`,
		`<qos_profile name="A"><base_name><element>A</element></base_name></qos_profile>`:                                                                           `base_name "A" is the profile itself`,
		`<qos_profile name="A"><qos_snippets><snippet snippet_ref="L::A"/></qos_snippets></qos_profile>`:                                                            `base_name "L::A" is the profile itself`,
		`<qos_profile name="A"><datawriter_qos base_name="A"/></qos_profile>`:                                                                                       `base_name "A" is the profile itself`,
		`<qos_profile name="A"><datawriter_qos name="V" base_name="A::V"/></qos_profile>`:                                                                           `base_name "A::V" is the profile itself`,
		`<qos_profile name="A"><datawriter_qos name="V" base_name="W"/><datawriter_qos name="W" base_name="V"/></qos_profile>`:                                      `L::A/datawriter_qos[V]: base_name "W" names no profile`,
		`<qos_profile name="A"><base_name><element>C</element></base_name></qos_profile><qos_profile name="B" base_name="A"/><qos_profile name="C" base_name="B"/>`: `base_name "C" is defined only later`,
	} {
		_, err := Load("q", reader(inLibrary(text)))
		assert.ErrorContains(t, err, want, text)
	}
	file := filepath.Join(t.TempDir(), "q.xml")
	rewrite(t, file, "2", "")
	p, err := LoadFile(file)
	require.NoError(t, err)
	require.NoError(t, p.Load("derived", reader(inLibrary(`<qos_profile name="B" base_name="A"/>`))))
	require.NoError(t, os.WriteFile(file, []byte(inLibrary(`<qos_profile name="A"><base_name><element>B</element></base_name></qos_profile>`)), 0o600))
	assert.ErrorContains(t, p.Reload().Err, `base_name "B"`)
	assert.Equal(t, "2 INFINITE", depthAndDeadline(t, p, "L::B", ""), "as it was")
	assert.ErrorContains(t, p.Load("again", reader(inLibrary(`<qos_profile name="A" base_name="B"/>`))), "profile L::A is defined twice")
	assert.Equal(t, "2 INFINITE", depthAndDeadline(t, p, "L::A", ""))
}

// Parts that are consistent each can contradict each other together, in a profile that says nothing itself.
func TestInconsistentComposition(t *testing.T) {
	_, err := Load("q", reader(inLibrary(`
<qos_profile name="Deep"><datareader_qos><history><depth>8</depth></history></datareader_qos></qos_profile>
<qos_profile name="Small"><datareader_qos><resource_limits><max_samples>4</max_samples></resource_limits></datareader_qos></qos_profile>
<qos_profile name="Both"><base_name><element>Deep</element><element>Small</element></base_name></qos_profile>
<qos_profile name="Again" base_name="Both"/>`)))
	assert.EqualError(t, err, "q:4:1: L::Both/datareader_qos: HISTORY depth 8 above RESOURCE_LIMITS max_samples 4 "+
		"(history/depth from q:2:51 in L::Deep, resource_limits/max_samples from q:3:60 in L::Small); change one of them")
}

func TestBadReferences(t *testing.T) {
	for text, want := range map[string]string{
		"<base_name>A</base_name>":                                                   `q:1:61: L::P/base_name: unexpected text "A" in <base_name>`,
		"<base_name><elem>A</elem></base_name>":                                      "q:1:61: L::P/base_name/elem: unknown element <elem>; expected element",
		"<base_name><element>None</element></base_name>":                             `q:1:70: L::P: base_name "None" names no profile; load the file that defines it first`,
		"<base_name><element>Generic.BestEffrt</element></base_name>":                `q:1:70: L::P: base_name "Generic.BestEffrt" names no profile; load the file that defines it first`,
		"<base_name><element>BuiltinQosLib::Generic.BestEffrt</element></base_name>": `q:1:70: L::P: base_name "BuiltinQosLib::Generic.BestEffrt" names no profile; did you mean BuiltinQosLib::Generic.BestEffort?`,
		"<qos_snippets><snippet/></qos_snippets>":                                    `q:1:64: L::P/qos_snippets/snippet: <snippet> has no snippet_ref; write snippet_ref="Library::Snippet"`,
		"<qos_snippets><snipet/></qos_snippets>":                                     "q:1:64: L::P/qos_snippets/snipet: unknown element <snipet>; did you mean snippet?",
	} {
		_, err := Load("q", reader(inLibrary(`<qos_profile name="P">`+text+`</qos_profile>`)))
		assert.EqualError(t, err, want)
	}
}

func TestTwoDefaults(t *testing.T) {
	p := mustLoad(t, inLibrary(composed+`<qos_profile name="A" base_name="Depth2" is_default_qos="true"/><qos_profile name="B" base_name="Depth3" is_default_qos="1"/><qos_profile name="C" is_default_qos="false"/>`))
	assert.Equal(t, "3 INFINITE", depthAndDeadline(t, p, "", ""), "the last")
	require.Len(t, p.Warnings(), 6, "one for each kind of entity")
	assert.Contains(t, p.Warnings()[0].Error(), "L::B is the default for <domain_participant_qos> in place of L::A")
	_, err := Load("q", reader(inLibrary(`<qos_profile name="A" is_default_qos="maybe"/>`)))
	assert.EqualError(t, err, `q:1:50: L::A: "maybe" is not a boolean; expected true or false`)
}

// Inheritance from several bases costs in proportion to the document, or is refused.
func TestHostileCompositionIsCheap(t *testing.T) {
	var wide strings.Builder
	for i := range 900 {
		fmt.Fprintf(&wide, "<topic_qos topic_filter='%d'><history><depth>2</depth></history></topic_qos>", i)
	}
	base := func(name string) string {
		return "<qos_profile name='" + name + "'>" + wide.String() + "</qos_profile>"
	}
	var many, ladder strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "<qos_profile name='P%d'><base_name><element>A</element><element>B</element></base_name></qos_profile>", i)
	}
	ladder.WriteString("<qos_profile name='P0'><topic_qos/></qos_profile>")
	for i := range 60 {
		fmt.Fprintf(&ladder, "<qos_profile name='P%d'><base_name><element>P%d</element><element>P%d</element></base_name></qos_profile>", i+1, i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"wide bases":   {base("A") + base("B") + many.String(), "the profiles of this file inherit too much from several bases each"},
		"a ladder":     {ladder.String(), "inheritance is deeper than 64 profiles"},
		"a wide chain": {base("A") + strings.ReplaceAll(many.String(), "<element>B</element>", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := inLibrary(c.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load("q", reader(text))
			runtime.ReadMemStats(&after)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512*len(text)+(4<<20)))
		})
	}
}

// A profile that was read anew counts for those who look it up while it is.
func TestReloadIsConcurrent(t *testing.T) {
	p := mustLoad(t, inLibrary(composed))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			assert.NoError(t, p.Reload().Err)
		}
	}()
	for range 200 {
		w, err := p.DataWriter("L::Second", "T")
		require.NoError(t, err)
		require.Equal(t, time.Second, w.Deadline.Period)
	}
	<-done
}
