package qos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withVariables(vars map[string]string) Options {
	return Options{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
}

// partitionOf is the only name of the publisher's PARTITION in the profile that has this text in it.
func partitionOf(t *testing.T, o Options, text string) string {
	t.Helper()
	p := NewProvider(o)
	require.NoError(t, p.Load("q", reader(inLibrary(`<qos_profile name="A"><publisher_qos><partition><name><element>`+text+`</element></name></partition></publisher_qos></qos_profile>`))))
	pub, err := p.Publisher("L::A")
	require.NoError(t, err)
	require.Len(t, pub.Partition.Name, 1)
	return pub.Partition.Name[0]
}

func TestExpand(t *testing.T) {
	o := withVariables(map[string]string{"A": "apron", "EMPTY": "", "B_2": "${A}", "PRICE": "5$"})
	for text, want := range map[string]string{
		"${A}":                  "apron",
		"$(A)":                  "apron",
		"x${A}y$(A)z":           "xaprony" + "apronz",
		"${A:-tower}":           "apron",
		"${NONE:-tower}":        "tower",
		"$(NONE:-tower)":        "tower",
		"${EMPTY:-tower}":       "tower", // as in a shell
		"${EMPTY}":              "",
		"${NONE:-}":             "",
		"${NONE:-a:-b}":         "a:-b",
		"${B_2}":                "${A}", // a value is not expanded again
		"${PRICE}":              "5$",
		"$${A}":                 "${A}",
		"$$$${A}":               "$${A}",
		"5$ and $x $":           "5$ and $x $",
		" ${A} ":                "apron",
		"<![CDATA[${A} & $$]]>": "apron & $",
	} {
		assert.Equal(t, want, partitionOf(t, o, text), text)
	}
}

func TestExpandInAttributesAndNumbers(t *testing.T) {
	p := NewProvider(withVariables(map[string]string{"BASE": "A", "DEPTH": "7", "TOPIC": "Track*"}))
	require.NoError(t, p.Load("q", reader(inLibrary(`
		<qos_profile name="A"><datawriter_qos><history><depth>${DEPTH}</depth></history></datawriter_qos></qos_profile>
		<qos_profile name="B" base_name="${BASE}"><datawriter_qos topic_filter="$(TOPIC)"/></qos_profile>
		<qos_profile name="C"><base_name><element>L::$(BASE)</element></base_name></qos_profile>`))))
	for _, name := range []string{"L::B", "L::C"} {
		w, err := p.DataWriter(name, "Track1")
		require.NoError(t, err)
		assert.Equal(t, int32(7), w.History.Depth, name)
	}
}

func TestConfigurationVariables(t *testing.T) {
	const file = `<dds><configuration_variables><value>
		<element><name>DEPTH</name><value>8</value></element><element><name>OTHER</name><value>9</value></element>
		</value></configuration_variables>
		<qos_library name="L"><qos_profile name="A"><datawriter_qos><history><depth>$(DEPTH)</depth></history></datawriter_qos></qos_profile></qos_library></dds>`
	for depth, vars := range map[int32]map[string]string{8: nil, 3: {"DEPTH": "3"}} {
		p := NewProvider(withVariables(vars))
		require.NoError(t, p.Load("q", reader(file)))
		w, err := p.DataWriter("L::A", "")
		require.NoError(t, err)
		assert.Equal(t, depth, w.History.Depth, "the environment comes first")
	}
}

func TestExpandErrors(t *testing.T) {
	const at = "q:1:77: dds/qos_library/qos_profile/topic_qos/history/depth: "
	for text, want := range map[string]string{
		"${NONE}":  at + "variable NONE is not set; set it, or write ${NONE:-default}",
		"$(NONE)":  at + "variable NONE is not set; set it, or write ${NONE:-default}",
		"${A":      at + `a variable in "${A" does not end; close it with } or ), or write $$ for a dollar sign`,
		"$(A}":     at + `a variable in "$(A}" does not end; close it with } or ), or write $$ for a dollar sign`,
		"${}":      at + `"" is no name of a variable; names are made of letters, digits and _; write $$ for a dollar sign`,
		"${1A}":    at + `"1A" is no name of a variable; names are made of letters, digits and _; write $$ for a dollar sign`,
		"${A-b}":   at + `"A-b" is no name of a variable; names are made of letters, digits and _; write $$ for a dollar sign`,
		"${DEPHT}": at + "variable DEPHT is not set; did you mean DEPTH?",
	} {
		p := NewProvider(withVariables(map[string]string{"A": "1"}))
		err := p.Load("q", reader(inLibrary(`<qos_profile name="A"><topic_qos><history><depth>`+text+`</depth></history></topic_qos></qos_profile>`)))
		if text == "${DEPHT}" {
			err = p.Load("q", reader(`<dds><configuration_variables><element><name>DEPTH</name></element></configuration_variables><qos_library name="${DEPHT}"/></dds>`))
			require.ErrorContains(t, err, want[len(at):])
			continue
		}
		var errs XMLErrors
		require.ErrorAs(t, err, &errs)
		require.Len(t, errs, 1, "that is all that is wrong: %v", err)
		assert.Equal(t, want, errs[0].Error())
	}
}

// A variable without a value is one error, of whatever kind the value were to be.
func TestUnsetVariableIsOneError(t *testing.T) {
	for _, policy := range []string{
		"<history><depth>${NONE}</depth></history>", "<history><kind>${NONE}</kind></history>", "<reliability><max_blocking_time><sec>${NONE}</sec></max_blocking_time></reliability>",
		"<deadline><period><nanosec>1${NONE}</nanosec></period></deadline>", "<topic_data><value>${NONE}</value></topic_data>",
	} {
		err := NewProvider(withVariables(nil)).Load("q", reader(inLibrary(`<qos_profile name="A"><topic_qos>`+policy+`</topic_qos></qos_profile>`)))
		var errs XMLErrors
		require.ErrorAs(t, err, &errs)
		assert.Len(t, errs, 1, "%s: %v", policy, err)
	}
}

// A small document can not become a large one.
func TestExpandIsBounded(t *testing.T) {
	o := withVariables(map[string]string{"BIG": strings.Repeat("x", 10_000)})
	err := NewProvider(o).Load("q", reader(inLibrary(`<qos_profile name="A"/><!-- -->`+strings.Repeat("<x>${BIG}</x>", 200))))
	assert.ErrorContains(t, err, "variables make the document larger than 1048576 bytes")
}
