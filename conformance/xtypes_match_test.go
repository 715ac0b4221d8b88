package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/xtypes"
)

// described is a type as discovery tells it: its serialized TypeInformation and TypeMapping.
type described struct{ info, mapping []byte }

func describe(t *testing.T, typ *xtypes.Type) described {
	t.Helper()
	info, err := xtypes.NewTypeInformation(typ)
	require.NoError(t, err)
	mapping, err := xtypes.NewTypeMapping(typ)
	require.NoError(t, err)
	return described{info.Marshal(), mapping.Marshal()}
}

// question asks whether a reader's type is assignable from a writer's.
type question struct {
	reader, writer described
	consistency    xtypes.Consistency
}

// Answers of Cyclone DDS.
const (
	matched     = "1"
	notMatched  = "0"
	typeRefused = "-" // it takes no such type object
	ended       = "x" // the process ended with a signal
)

// askCyclone has Cyclone DDS answer, by whether endpoints of these types match.
func askCyclone(t *testing.T, questions []question) []string {
	t.Helper()
	for _, command := range []string{"idlc", "cc"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("Cyclone DDS: no command %s; install the Debian packages cyclonedds-dev cyclonedds-tools", command)
		}
	}
	probe := exec.Command("cc", "-E", "-")
	probe.Stdin = strings.NewReader("#include <dds/dds.h>\n")
	if probe.Run() != nil {
		t.Skip("Cyclone DDS: no header dds/dds.h; install the Debian packages cyclonedds-dev cyclonedds-tools")
	}
	dir := t.TempDir()
	for _, f := range []string{"blank.idl", "match.c"} {
		text, err := os.ReadFile(filepath.Join("testdata", "cyclone", f))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), text, 0o644))
	}
	for _, args := range [][]string{{"idlc", "blank.idl"}, {"cc", "-std=gnu11", "-O1", "-o", "match", "match.c", "blank.c", "-lddsc"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
	}
	bit := map[bool]int{true: 1}
	var answers []string
	for len(answers) < len(questions) {
		var in bytes.Buffer
		for _, q := range questions[len(answers):] {
			c := q.consistency
			fmt.Fprintf(&in, "%d %d %d %d %d %x %x %x %x\n", bit[!c.DisallowTypeCoercion], bit[c.IgnoreSequenceBounds], bit[c.IgnoreStringBounds], bit[c.IgnoreMemberNames],
				bit[c.PreventTypeWidening], q.reader.info, q.reader.mapping, q.writer.info, q.writer.mapping)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "match"))
		cmd.Stdin = &in
		cmd.Env = append(os.Environ(), "CYCLONEDDS_URI=<General><Interfaces><NetworkInterface name='lo'/></Interfaces><AllowMulticast>false</AllowMulticast></General>")
		out, err := cmd.Output()
		answers = append(answers, strings.Fields(string(out))...)
		if err != nil {
			answers = append(answers, ended)
		}
	}
	require.Len(t, answers, len(questions))
	return answers
}

// within tells whether a type, or one that it is made of, is so. recursive tells whether it has itself as a part.
func within(typ *xtypes.Type, so func(t *xtypes.Type, recursive bool) bool) bool {
	var path []*xtypes.Type
	var walk func(t *xtypes.Type) bool
	walk = func(t *xtypes.Type) bool {
		t = t.Resolve()
		recursive := slices.Contains(path, t)
		if so(t, recursive) {
			return true
		}
		if recursive {
			return false
		}
		path = append(path, t)
		defer func() { path = path[:len(path)-1] }()
		for m := range t.Members() {
			if walk(m.Type) {
				return true
			}
		}
		if t.Kind() == xtypes.TKUnion && walk(t.Discriminator().Type) {
			return true
		}
		switch t.Kind() {
		case xtypes.TKMap:
			return walk(t.MapKey()) || walk(t.Elem())
		case xtypes.TKSequence, xtypes.TKArray:
			return walk(t.Elem())
		}
		return false
	}
	return walk(typ)
}

// cycloneLacks says what of a type Cyclone DDS 0.10 takes no type object with, "" if nothing.
func cycloneLacks(typ *xtypes.Type) (why string) {
	within(typ, func(t *xtypes.Type, recursive bool) bool {
		switch k := t.Kind(); {
		case recursive:
			why = "identifiers of strongly connected components are not implemented"
		case k == xtypes.TKEnum || k == xtypes.TKBitmask:
			why = "an enumeration or a bitmask without IS_FINAL or IS_APPENDABLE is invalid there; Annex B says that no flags apply"
		case k == xtypes.TKBitset:
			why = "bitsets are not implemented"
		case k == xtypes.TKString16:
			why = "wide strings are not implemented"
		case k == xtypes.TKInt8 || k == xtypes.TKUint8:
			why = "TK_INT8 and TK_UINT8 are not known"
		}
		return why != ""
	})
	return why
}

// cycloneRules has the rules by which Cyclone DDS 0.10 answers otherwise, for one of the pairs at least, with what it does.
var cycloneRules = map[string]string{
	"maps: bounds that count":                                      "does not compare bounds of maps",
	"maps: bounds are ignored by default":                          "does not compare bounds of maps",
	"collections: elements must be delimited":                      "takes appendable types as delimited in XCDR1 too",
	"structs: members of a final one must be delimited":            "takes appendable types as delimited in XCDR1 too",
	"structs: members of a mutable one have their length":          "takes appendable types as delimited in XCDR1 too",
	"structs: appendable ones have a common start":                 "takes the order in the type object for that of the declaration; Annex B has it by id",
	"structs: mutable ones in any order":                           "takes the order in the type object for that of the declaration; Annex B has it by id",
	"structs: names and ids belong together":                       "compares names where ids are equal, but not ids where names are",
	"structs: keys of members that are none are erased":            "erases keys for the first of two comparisons, but not for the second, of final and appendable types",
	"structs: a key without keys is all key":                       "has no match where the key is a struct, and only the writer's marks its members as keys",
	"structs: the members of a union that is a key are assignable": "ends with a signal for a union that is a key",
	"unions: final ones have defaults alike":                       "does not count default among the labels",
	"unions: mutable ones by their ids":                            "compares names where ids are equal, but not ids where names are",
	"policy: widening is prevented":                                "wants the same members in both types then, where the text prevents a wider type from being assigned",
	"policy: widening of unions is prevented":                      "wants the same members in both types then, where the text prevents a wider type from being assigned",
}

// By the rules of Cyclone DDS, the same types are assignable as by ours, or the reason is named. It gets our type objects.
func TestXTypes13_7_2_4_AssignabilityInCycloneDDS(t *testing.T) {
	var questions []question
	var lacks []string
	for _, c := range assignments {
		reader, writer := topicType(t, c.reader), topicType(t, c.writer)
		consistency := xtypes.DefaultConsistency()
		if c.set != nil {
			c.set(&consistency)
		}
		questions = append(questions, question{describe(t, reader), describe(t, writer), consistency})
		lacks = append(lacks, cmp.Or(cycloneLacks(reader), cycloneLacks(writer)))
	}
	differ, same := map[string]bool{}, 0
	for i, answer := range askCyclone(t, questions) {
		c := assignments[i]
		switch {
		case lacks[i] != "":
			require.Contains(t, []string{typeRefused, ended}, answer, "%s\nreader %s\nwriter %s\nreason to be refused: %s", c.rule, c.reader, c.writer, lacks[i])
		case (answer == matched) != (c.want == ""):
			require.Contains(t, cycloneRules, c.rule, "answer %s\nreader %s\nwriter %s\nours: %s", answer, c.reader, c.writer, c.want)
			differ[c.rule] = true
		default:
			same++
		}
	}
	for rule, what := range cycloneRules {
		require.True(t, differ[rule], "%s: Cyclone DDS does the same; it is said that it %s", rule, what)
	}
	t.Logf("%d of %d answers are the same", same, len(questions))
	require.Greater(t, same, 60)
}
