package conformance

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

// cycloneTypes compiles a file with the idlc of Eclipse Cyclone DDS and gives the TypeInformation and the TypeMapping
// of each topic type.
func cycloneTypes(t *testing.T, file string, flags ...string) map[string][2][]byte {
	t.Helper()
	compiler, err := exec.LookPath("idlc")
	if err != nil {
		t.Skip("idlc of Eclipse Cyclone DDS (Debian: cyclonedds-tools) is not installed")
	}
	out := t.TempDir()
	text, err := exec.CommandContext(t.Context(), compiler, append(flags, "-o", out, file)...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	code, err := os.ReadFile(filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".idl")+".c"))
	require.NoError(t, err)
	types := map[string][2][]byte{}
	for _, m := range regexp.MustCompile(`(?s)#define TYPE_(INFO|MAP)_CDR_(\w+) \(unsigned char \[\]\)\{(.*?)\}`).FindAllStringSubmatch(string(code), -1) {
		var b []byte
		for _, h := range regexp.MustCompile(`0x(..)`).FindAllStringSubmatch(m[3], -1) {
			x, err := hex.DecodeString(h[1])
			require.NoError(t, err)
			b = append(b, x...)
		}
		two := types[m[2]]
		two[map[string]int{"INFO": 0, "MAP": 1}[m[1]]] = b
		types[m[2]] = two
	}
	return types
}

// What Cyclone DDS 0.10 has otherwise in its type objects than XTypes 1.3 Annex B.
const (
	enumFlags    = "IS_FINAL is set on enumerations and bitmasks, of whose flags Annex B says that none apply"
	memberOrder  = "minimal members are in the order of declaration; Annex B has them ordered by member id"
	minimalFlags = "IS_AUTOID_HASH is kept in the minimal object; TypeFlagMinimalMask takes it out, and members are not ordered by id"
	nestedFlag   = "IS_NESTED is kept in the minimal object; TypeFlagMinimalMask takes it out"
	byteKinds    = "int8 is TK_CHAR8 and uint8 is TK_BYTE; XTypes 1.3 has TK_INT8 and TK_UINT8"
	unionIDs     = "ids of cases begin at 0, which is the discriminator's (7.2.2.4.4.3), and the discriminator has IS_MUST_UNDERSTAND, which Annex B does not list for it"
	defaults     = "@default_literal is not in the type object, and " + enumFlags
)

// cycloneDiffers gives the reason for each type whose hashes are others than ours: of the minimal and of the complete
// type object.
var cycloneDiffers = map[string][2]string{
	"corpus::Annotated": {defaults, defaults},
	"corpus::Small":     {byteKinds, byteKinds},
	"corpus::Sparse":    {memberOrder, ""},
	"corpus::Hashed":    {minimalFlags, ""},
	"corpus::Enums":     {enumFlags, enumFlags},
	"corpus::Masks":     {enumFlags, enumFlags},
	"corpus::Choice":    {unionIDs, unionIDs},
	"corpus::Hue":       {unionIDs, unionIDs},
	"corpus::Unions":    {unionIDs, unionIDs},
	"kinds::Names":      {enumFlags, enumFlags},
	"kinds::Maybe":      {enumFlags, enumFlags},
	"kinds::Bits":       {enumFlags, enumFlags},
	"kinds::Whole":      {nestedFlag, ""},
	"kinds::OfBoolean":  {unionIDs, unionIDs},
	"kinds::OfChar":     {unionIDs, unionIDs},
	"kinds::OfOctet":    {unionIDs, unionIDs},
	"kinds::OfShort":    {unionIDs, unionIDs},
	"kinds::OfUlong":    {unionIDs, unionIDs},
	"kinds::OfLongLong": {unionIDs, unionIDs},
	"kinds::OfCode":     {unionIDs, unionIDs},
	"kinds::OfColor":    {unionIDs, unionIDs},
	"kinds::All":        {unionIDs, unionIDs},
}

// Type objects that Cyclone DDS has serialized are read, and the types in them are what the IDL says. Their equivalence
// hashes are ours unless a reason is named.
func TestXTypes13_7_3_4_TypeObjectsOfCycloneDDS(t *testing.T) {
	files, err := filepath.Glob("testdata/xtypes/*.idl")
	require.NoError(t, err)
	seen := map[string]bool{}
	var questions []question
	var asked []*xtypes.Type
	for _, file := range files {
		unit, report := idlc.Check(file, idlc.Options{})
		require.False(t, report.Failed(), "%s", report)
		types, err := unit.Types(true)
		require.NoError(t, err)
		peer := cycloneTypes(t, file)
		for _, ours := range types {
			theirs, ok := peer[strings.ReplaceAll(ours.Name(), "::", "_")]
			if !ok {
				continue // Cyclone DDS writes the type objects of topic types only
			}
			seen[ours.Name()] = true
			compareWithPeer(t, ours, theirs[0], theirs[1], cycloneDiffers[ours.Name()])
			x, y := describe(t, ours), described{theirs[0], theirs[1]}
			questions = append(questions, question{x, y, xtypes.DefaultConsistency()}, question{y, x, xtypes.DefaultConsistency()})
			asked = append(asked, ours)
		}
	}
	// By its own rules, theirs are assignable from ours and ours from theirs.
	for i, answer := range askCyclone(t, questions) {
		typ := asked[i/2]
		switch why := cycloneLacks(typ); {
		case why != "":
			require.Contains(t, []string{typeRefused, ended}, answer, "%s: reason to be refused: %s", typ, why)
		case cycloneDiffers[typ.Name()][0] == unionIDs:
			require.Equal(t, notMatched, answer, "%s: members of one name have other ids: %s", typ, unionIDs)
		case cycloneDiffers[typ.Name()][0] == nestedFlag:
			require.Equal(t, notMatched, answer, "%s: elements that are final have to be equivalent, and are not: %s", typ, nestedFlag)
		default:
			require.Equal(t, matched, answer, "%s", typ)
		}
	}
	for name := range cycloneDiffers {
		require.True(t, seen[name], "%s has a reason to differ, and is not compared", name)
	}
	require.Greater(t, len(seen), 37)
}

func compareWithPeer(t *testing.T, ours *xtypes.Type, information, mapping []byte, reasons [2]string) {
	t.Helper()
	info, err := xtypes.UnmarshalTypeInformation(information)
	require.NoError(t, err)
	require.Equal(t, information, info.Marshal(), "%s: TypeInformation, read and written again", ours)
	m, err := xtypes.UnmarshalTypeMapping(mapping)
	require.NoError(t, err)
	require.Equal(t, mapping, m.Marshal(), "%s: TypeMapping, read and written again", ours)
	registry := xtypes.NewRegistry()
	require.NoError(t, registry.AddMapping(m), "each identifier is the hash of its object")

	mine, err := xtypes.NewTypeInformation(ours)
	require.NoError(t, err)
	for i, pair := range [][2]xtypes.Dependencies{{mine.Minimal, info.Minimal}, {mine.Complete, info.Complete}} {
		same := pair[0].ID.Equal(&pair[1].ID)
		require.Equal(t, reasons[i] == "", same, "%s: ours %s, theirs %s, reason to differ: %q", ours, &pair[0].ID, &pair[1].ID, reasons[i])
		if !same {
			continue
		}
		require.Equal(t, pair[0].Size, pair[1].Size)
		require.Equal(t, pair[0].Count, pair[1].Count)
	}

	theirs, err := registry.Type(info.Complete.ID)
	require.NoError(t, err)
	require.Equal(t, ours.Name(), theirs.Name())
	require.Equal(t, ours.NumMembers(), theirs.NumMembers())
	for m := range ours.Members() {
		require.NotNil(t, theirs.MemberByName(m.Name), "%s.%s", ours, m.Name)
	}
	// By either kind of type object, ours is assignable from theirs and theirs from ours. Members of Cyclone's int8 and
	// uint8 are not of these kinds (byteKinds).
	minimal, err := registry.Type(info.Minimal.ID)
	require.NoError(t, err)
	if reasons[0] == byteKinds {
		return
	}
	for _, other := range []*xtypes.Type{theirs, minimal} {
		require.NoError(t, xtypes.Assignable(ours, other, xtypes.DefaultConsistency()))
		require.NoError(t, xtypes.Assignable(other, ours, xtypes.DefaultConsistency()))
	}
}
