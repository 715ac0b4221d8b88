package qosyaml

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

func empty(string) (string, bool) { return "", false }

// The dialects of XML say the same as YAML, with the same names for all that they set.
func TestRoundTrip(t *testing.T) {
	files, err := filepath.Glob("../testdata/dialects/*.xml")
	require.NoError(t, err)
	tried := 0
	for _, file := range append(files, "testdata/airport.yaml") {
		p := qos.NewProvider(qos.Options{LookupEnv: empty})
		if err := p.LoadFile(file); err != nil {
			assert.Contains(t, file, "cyclone-config")
			continue
		}
		tried++
		var out bytes.Buffer
		lost, err := Write(&out, p)
		require.NoError(t, err)
		if strings.Contains(file, "fastdds") {
			assert.Equal(t, []string{"tower is the default for [domain_participant_qos]", "rt/track is called rt_track"}, lost)
		} else {
			assert.Empty(t, lost)
		}
		written := out.String()
		q := qos.NewProvider(qos.Options{LookupEnv: empty})
		require.NoError(t, q.Load("out.yaml", &out), "%s\n%s", file, written)
		require.Len(t, q.Profiles(), len(p.Profiles()))
		for i, name := range p.Profiles() {
			assert.Equal(t, everything(t, p, name), everything(t, q, q.Profiles()[i]), "%s: %s\n%s", file, name, written)
		}
		for _, kind := range qos.EntityKinds() {
			assert.Equal(t, p.DefaultProfile(kind) != "" && !strings.Contains(file, "fastdds"), q.DefaultProfile(kind) != "", "%s %v", file, kind)
		}
	}
	assert.Equal(t, 6, tried)
}

// everything that a profile has, by element.
func everything(t *testing.T, p *qos.Provider, name string) map[qos.Element]map[string]string {
	t.Helper()
	elements, err := p.Elements(name)
	require.NoError(t, err)
	out := map[qos.Element]map[string]string{}
	for _, e := range elements {
		lookup, topic := name, e.TopicFilter
		if e.Name != "" {
			lookup += "::" + e.Name
		}
		settings, err := p.Settings(e.Kind, lookup, topic)
		require.NoError(t, err)
		out[e] = map[string]string{}
		for _, s := range settings {
			out[e][s.Path] = s.Value
		}
	}
	return out
}

func TestLoad(t *testing.T) {
	p := qos.NewProvider(qos.Options{LookupEnv: empty, Strict: true})
	require.NoError(t, p.LoadFile("testdata/airport.yaml"))
	var out strings.Builder
	for _, name := range p.Profiles() {
		text, err := p.Explain(name)
		require.NoError(t, err)
		out.WriteString(text)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile("testdata/airport.golden", []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/airport.golden")
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "q.yaml:1:1: no YAML in the file; a QoS file starts with qos_library:"},
		"a list":          {"- a", "q.yaml:1:1: the document is no mapping; write its parts as key: value"},
		"not YAML":        {"a: [1\nb: 2", "q.yaml:1:1: not well-formed YAML: did not find expected ',' or ']'; nothing after this place was checked"},
		"two documents":   {"qos_library: {}\n---\nqos_library: {}", "q.yaml:2:1: a second document in the file; put all into the first"},
		"another key":     {"dds: {}", "q.yaml:1:1: unknown key dds; a QoS file starts with qos_library:"},
		"a library twice": {"qos_library:\n  L: {}\n  L: {}", "q.yaml:3:3: L appears twice in qos_library, first at q.yaml:2:3; keep one of them"},
		"an alias":        {"qos_library:\n  L:\n    A: &a {}\n    B: *a", "q.yaml:3:8: anchors and aliases are not read; inherit with base_name, which shows where a value comes from\nq.yaml:4:8: anchors and aliases are not read; inherit with base_name, which shows where a value comes from"},
		"a merge key":     {"qos_library:\n  L:\n    A: {<<: {}}", "q.yaml:3:9: a key of profile A is no name; to take over the parts of another profile, write base_name"},
		"a misspelling": {"qos_library:\n  L:\n    A:\n      datawriter_qos:\n        histroy: {depth: 1}\n        history: {kind: KEEP_FIRST, depth: 0}",
			"q.yaml:5:9: L::A/datawriter_qos/histroy: unknown element <histroy>; did you mean history?\n" +
				`q.yaml:6:25: L::A/datawriter_qos/history/kind: unknown value "KEEP_FIRST" of <kind>; did you mean KEEP_LAST?` + "\n" +
				"q.yaml:6:44: L::A/datawriter_qos/history/depth: <depth> is 0; it must be at least 1"},
		"a duration": {"qos_library: {L: {A: {datawriter_qos: {deadline: {period: 5}, lifespan: {duration: -1s}}}}}",
			`q.yaml:1:59: L::A/datawriter_qos/deadline/period: "5" is not a duration; write a number with its unit, such as 1.5s or 100ms, or INFINITE` + "\n" +
				"q.yaml:1:84: L::A/datawriter_qos/lifespan/duration: negative duration -1s; durations are zero or more, or INFINITE"},
		"inconsistent": {"qos_library: {L: {A: {datareader_qos: {history: {depth: 5}, resource_limits: {max_samples: 4}}}}}",
			"q.yaml:1:79: L::A/datareader_qos: HISTORY depth 5 above RESOURCE_LIMITS max_samples 4 (history/depth from q.yaml:1:50 in L::A, resource_limits/max_samples from q.yaml:1:79 in L::A); change one of them"},
		"deep": {"qos_library: {L: {A: {datareader_qos: " + strings.Repeat("{a: ", 40) + strings.Repeat("}", 40) + "}}}", "q.yaml:1:140: nested deeper than 24"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := qos.Load("q.yaml", strings.NewReader(c.text))
			assert.EqualError(t, err, c.want)
		})
	}
}

func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile("testdata/airport.yaml")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add("qos_library: {L: {A: {datawriter_qos: [{topic_filter: a*, history: {depth: 1}}]}}}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		p := qos.NewProvider(qos.Options{LookupEnv: empty})
		if err := p.Load("q.yaml", strings.NewReader(text)); err != nil {
			var errs qos.XMLErrors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("not XMLErrors: %v", err)
			}
			return
		}
		var out bytes.Buffer
		if _, err := Write(&out, p); err != nil {
			t.Fatal(err)
		}
		written := out.String()
		q := qos.NewProvider(qos.Options{LookupEnv: empty})
		if err := q.Load("out.yaml", &out); err != nil {
			t.Fatalf("what was written does not load: %v\n%s", err, written)
		}
		for i, name := range p.Profiles() {
			assert.Equal(t, everything(t, p, name), everything(t, q, q.Profiles()[i]), written)
		}
	})
}

// The example of docs/qos.md, and that of the package comment, load without a warning.
func TestDocumentExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/qos.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, comment, found := strings.Cut(string(doc), "//\tqos_library:")
	require.True(t, found)
	comment, _, _ = strings.Cut(comment, "\n//\n")
	for _, text := range []string{example, "qos_library:" + strings.ReplaceAll(comment, "\n//\t", "\n")} {
		p := qos.NewProvider(qos.Options{Strict: true})
		require.NoError(t, p.Load("example.yaml", strings.NewReader(text)), text)
		assert.Equal(t, []string{"Airport::Base", "Airport::Tracks"}, p.Profiles())
	}
}
