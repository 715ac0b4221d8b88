package qos

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const userDocument = "../docs/qos.md"

// The tables of docs/qos.md are made from the code: go test ./qos -run Document -update writes them.
func TestDocumentTables(t *testing.T) {
	raw, err := os.ReadFile(userDocument)
	require.NoError(t, err)
	doc := string(raw)
	for _, id := range PolicyIDs() {
		begin, end := fmt.Sprintf("<!-- table of %v -->\n", id), "<!-- end -->"
		at := strings.Index(doc, begin)
		require.Positive(t, at, "docs/qos.md has no place for the table of %v", id)
		assert.Contains(t, doc[:at], fmt.Sprintf("\n## %v\n", id), "a section of its own")
		rest := doc[at+len(begin):]
		size := strings.Index(rest, end)
		require.GreaterOrEqual(t, size, 0)
		if *update {
			doc = doc[:at+len(begin)] + policyTable(t, id) + rest[size:]
			continue
		}
		assert.Equal(t, policyTable(t, id), rest[:size], "the table of %v; go test ./qos -run Document -update makes it", id)
	}
	if *update {
		require.NoError(t, os.WriteFile(userDocument, []byte(doc), 0o644))
	}
}

// goTypes are the structs that policies live in.
var goTypes = map[entityKind]reflect.Type{
	kindParticipant: reflect.TypeFor[DomainParticipant](), kindTopic: reflect.TypeFor[Topic](), kindPublisher: reflect.TypeFor[Publisher](),
	kindSubscriber: reflect.TypeFor[Subscriber](), kindWriter: reflect.TypeFor[DataWriter](), kindReader: reflect.TypeFor[DataReader](),
}

func policyTable(t *testing.T, id PolicyID) string {
	var b strings.Builder
	var owners []string
	for _, k := range PolicyEntities(id) {
		owners = append(owners, goTypes[entityKind(k-1)].Name())
	}
	yes := map[bool]string{true: "yes", false: "no"}
	fmt.Fprintf(&b, "\nof %s · offered and requested: %s · changeable at run time: %s\n\n",
		strings.Join(owners, ", "), yes[id.RxO()], yes[id.Changeable()])
	b.WriteString("| in XML and YAML | in Go | values | default |\n| --- | --- | --- | --- |\n")
	for _, def := range leafDefs {
		if def.policy == id && def.get != nil {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", def.name, goName(t, id, def), def.allowed, defaultsOf(def))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// goName is the field of Go, which must be there in every entity that has the policy.
func goName(t *testing.T, id PolicyID, def leafDef) string {
	policy, field := camel(id.String()), camel(def.field)
	for _, k := range PolicyEntities(id) {
		f, ok := goTypes[entityKind(k-1)].FieldByName(policy)
		require.True(t, ok, "%v has no %s", k, policy)
		_, ok = f.Type.FieldByName(field)
		require.True(t, ok, "%s has no %s", policy, field)
	}
	return policy + "." + field
}

func camel(s string) string {
	words := strings.Split(strings.ToLower(s), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// defaultsOf is the default, or the defaults where entities differ.
func defaultsOf(def leafDef) string {
	var values []string
	of := map[string][]string{}
	for _, k := range everyKind {
		set := k.defaults()
		if !def.has(set) {
			continue
		}
		v := def.get(set).text
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
		of[v] = append(of[v], goTypes[k].Name())
	}
	if len(values) == 1 {
		return values[0]
	}
	for i, v := range values {
		values[i] = v + " for " + strings.Join(of[v], ", ")
	}
	return strings.Join(values, "; ")
}

var codeBlocks = regexp.MustCompile("(?s)```(xml|yaml)\n(.*?)```")

// Every example in XML loads, and says something.
func TestDocumentExamples(t *testing.T) {
	raw, err := os.ReadFile(userDocument)
	require.NoError(t, err)
	seen := map[PolicyID]bool{}
	for _, m := range codeBlocks.FindAllStringSubmatch(string(raw), -1) {
		text := m[2]
		if m[1] == "yaml" {
			continue // qosyaml's
		}
		if !strings.Contains(text, "<dds") {
			text = inLibrary(`<qos_profile name="P">` + text + `</qos_profile>`)
		}
		p := NewProvider(Options{LookupEnv: noVariables})
		require.NoError(t, p.Load("docs/qos.md", reader(text)), text)
		assert.NotEmpty(t, p.Profiles(), text)
		for _, name := range p.Profiles() {
			found, _, err := p.contents().find(name)
			require.NoError(t, err)
			for _, e := range found.visible {
				for i, v := range e.own {
					if v != nil {
						seen[leafDefs[i].policy] = true
					}
				}
			}
		}
	}
	for _, id := range PolicyIDs() {
		assert.True(t, seen[id], "docs/qos.md has an example of %v in XML", id)
	}
}
