package conformance

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

// fastObject is a type object that Fast DDS has serialized.
type fastObject struct {
	id    xtypes.TypeIdentifier
	bytes []byte
}

// fastTypes compiles a file with fastddsgen and gives the minimal and the complete type object of each type, and by the
// name of a type and the kind of its type object whether, by the rules of Fast DDS, its type is assignable from ours
// and ours from its.
func fastTypes(t *testing.T, ours []*xtypes.Type) (map[string][2]fastObject, map[string][2]bool) {
	t.Helper()
	for _, command := range []string{"fastddsgen", "c++"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("Fast DDS: no command %s; install the Debian packages libfastrtps-dev fastddsgen", command)
		}
	}
	probe := exec.Command("c++", "-E", "-x", "c++", "-")
	probe.Stdin = strings.NewReader("#include <fastrtps/types/TypeObjectFactory.h>\n")
	if probe.Run() != nil {
		t.Skip("Fast DDS: no header fastrtps/types/TypeObjectFactory.h; install the Debian packages libfastrtps-dev fastddsgen")
	}
	dir := t.TempDir()
	var in bytes.Buffer
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Stdin = &in
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
		return string(out)
	}
	for _, f := range []string{"corpus.idl", "types.cpp"} {
		text, err := os.ReadFile(filepath.Join("testdata", "fastdds", f))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), text, 0o644))
	}
	var list strings.Builder
	for _, typ := range ours {
		fmt.Fprintf(&list, "TYPE(%q)\n", typ.Name())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "types.inc"), []byte(list.String()), 0o644))
	run("fastddsgen", "-replace", "-typeobject", "-cs", "corpus.idl")
	run("c++", "-std=c++17", "-O0", "-o", "types", "types.cpp", "corpus.cxx", "corpusTypeObject.cxx", "-lfastrtps", "-lfastcdr")
	for _, typ := range ours {
		mapping, err := xtypes.NewTypeMapping(typ)
		require.NoError(t, err)
		for _, kind := range []struct {
			name    string
			objects []xtypes.Pair
		}{{"minimal", mapping.Minimal}, {"complete", mapping.Complete}} {
			for i, o := range slices.Backward(kind.objects) {
				name := fmt.Sprint(typ.Name(), i)
				if i == 0 {
					name = typ.Name()
				}
				fmt.Fprintf(&in, "%s %s %x %x\n", name, kind.name, o.ID.Hash, o.Object.MarshalPlain())
			}
		}
	}
	found, assignable := map[string][2]fastObject{}, map[string][2]bool{}
	for line := range strings.Lines(run("./types")) {
		f := strings.Fields(line)
		if f[0] == "?" {
			require.Len(t, f, 5, line)
			assignable[f[1]+" "+f[2]] = [2]bool{f[3] == "1", f[4] == "1"}
			continue
		}
		require.Len(t, f, 4, line)
		hash, err := hex.DecodeString(f[2])
		require.NoError(t, err)
		o := fastObject{id: xtypes.TypeIdentifier{Kind: uint8(xtypes.Minimal), Hash: xtypes.EquivalenceHash(hash)}}
		i := 0
		if f[1] == "complete" {
			i, o.id.Kind = 1, uint8(xtypes.Complete)
		}
		o.bytes, err = hex.DecodeString(f[3])
		require.NoError(t, err)
		two := found[f[0]]
		two[i] = o
		found[f[0]] = two
	}
	return found, assignable
}

// What Fast DDS 2.9 has otherwise in its type objects than XTypes 1.3 Annex B. The first two are true of all.
const (
	fastPlain   = "the object is hashed in plain CDR: without DHEADERs, and with empty values in place of absent ones; 7.3.4.5 has XCDR2"
	fastNoTry   = "TRY_CONSTRUCT1 and TRY_CONSTRUCT2 are clear, which Annex B calls invalid; DISCARD is T1"
	fastNoMust  = "a key has no IS_MUST_UNDERSTAND"
	fastBytes   = "int8 and uint8 are TK_BYTE; XTypes 1.3 has TK_INT8 and TK_UINT8"
	fastNumbers = "@id is an annotation of the user's own; members are numbered from 0"
	fastBases   = "the ids of members begin at 0 behind those of the base, too"
	fastStrings = "a string without a bound has 255, a map 100; XTypes has 0 for none"
	fastUnions  = "ids of cases begin at 0, which is the discriminator's (7.2.2.4.4.3), and IS_DEFAULT is not set"
	fastUnsaid  = "without an annotation, no flag of extensibility is set; appendable is the default (7.2.2.4)"
	fastKinds   = "the header of a plain collection has the kind of its elements in place of EK_BOTH, and EK_MINIMAL in complete objects too; 7.3.4.2 has EK_BOTH and EK_COMPLETE"
	fastAliases = "an alias is looked up by the type object of what it stands for, and a type without type object has none"
	fastCustom  = "annotations of the standard are custom ones in complete objects"
)

// fastDiffers has for each type why its hashes are others than ours, besides fastPlain and fastNoTry.
var fastDiffers = map[string][]string{
	"corpus::Primitives": nil, "corpus::Point": nil, "corpus::Optionals": {fastCustom}, "corpus::Sparse": nil, "corpus::Points": nil, "corpus::Meters": nil,
	"corpus::Altitude": nil, "corpus::Row": nil, "corpus::Aliases": nil, "corpus::Color": nil, "corpus::Enums": nil,
	"corpus::Small": {fastBytes}, "corpus::Keyed": {fastNoMust, fastStrings, fastCustom}, "corpus::Collections": {fastStrings}, "corpus::Numbered": {fastNumbers, fastCustom},
	"corpus::Base": {fastNoMust, fastCustom}, "corpus::Derived": {fastNoMust, fastBases, fastCustom}, "corpus::Choice": {fastUnions, fastStrings}, "corpus::Hue": {fastUnions},
	"corpus::Unions": {fastUnions, fastStrings}, "corpus::Nested_": {fastNoMust, fastStrings, fastCustom}, "corpus::Unsaid": {fastUnsaid},
	"corpus::Paint": nil, "corpus::Part": nil, "corpus::Whole": nil, "corpus::Maps": {fastStrings}, "corpus::Bounds": {fastStrings}, "corpus::One": nil, "corpus::Two": {fastBases}, "corpus::Three": {fastBases},
	"corpus::OfBoolean": {fastUnions}, "corpus::OfChar": {fastUnions}, "corpus::OfOctet": {fastUnions}, "corpus::OfShort": {fastUnions}, "corpus::OfUlong": {fastUnions}, "corpus::OfLongLong": {fastUnions}, "corpus::OfCode": {fastUnions},
}

// fastRefuses has for each type, or for a type and a kind of type object, why it is not assignable by the rules of Fast
// DDS 2.9 from ours, nor ours from it.
var fastRefuses = map[string]string{
	"corpus::Small": fastBytes, "corpus::Numbered": fastNumbers, "corpus::Derived": fastBases, "corpus::Collections": fastKinds, "corpus::Enums complete": fastKinds,
	"corpus::Points": fastAliases, "corpus::Meters": fastAliases, "corpus::Altitude": fastAliases, "corpus::Row": fastAliases, "corpus::Aliases": fastAliases,
	"corpus::Choice": fastUnions, "corpus::Hue": fastUnions, "corpus::Unions": fastUnions, "corpus::OfBoolean": fastUnions, "corpus::OfChar": fastUnions, "corpus::OfOctet": fastUnions,
	"corpus::OfShort": fastUnions, "corpus::OfUlong": fastUnions, "corpus::OfLongLong": fastUnions, "corpus::OfCode": fastUnions,
	"corpus::Two": fastBases, "corpus::Three": fastBases, "corpus::Part complete": fastKinds, "corpus::Whole": fastAliases, "corpus::Maps": fastKinds, "corpus::Bounds": fastKinds,
}

// Type objects that Fast DDS has serialized are read, their identifiers are the MD5 of what it has hashed, and the
// types in them are what the IDL says: assignable in both directions. No hash is ours; the reasons are named. Fast DDS
// is given ours, and compares them by its own rules.
func TestXTypes13_7_3_4_TypeObjectsOfFastDDS(t *testing.T) {
	unit, report := idlc.Check("testdata/fastdds/corpus.idl", idlc.Options{})
	require.False(t, report.Failed(), "%s", report)
	types, err := unit.Types(false)
	require.NoError(t, err)
	peer, assignable := fastTypes(t, types)
	registry := xtypes.NewRegistry()
	for name, both := range peer {
		for i, o := range both {
			sum := md5.Sum(o.bytes)
			if name != "corpus::Altitude" || i != 0 { // an alias of an alias has the minimal object of the first
				require.Equal(t, o.id.Hash[:], sum[:14], "%s: what is hashed", name)
			}
			object, err := xtypes.UnmarshalPlainTypeObject(o.bytes)
			require.NoError(t, err, "%s\n%s", name, hex.Dump(o.bytes))
			require.NoError(t, registry.Add(o.id, object), name)
			_, err = xtypes.UnmarshalPlainTypeObject(o.bytes[:len(o.bytes)-1])
			require.Error(t, err, "%s: cut", name)
			again, err := xtypes.UnmarshalTypeObject(o.bytes)
			require.True(t, err != nil || !bytes.Equal(again.Marshal(), o.bytes), "%s: it is no type object in XCDR2", name)
		}
	}
	for _, ours := range types {
		reasons, listed := fastDiffers[ours.Name()]
		require.True(t, listed, ours.Name())
		both, ok := peer[ours.Name()]
		require.True(t, ok, "%s has no type object", ours.Name())
		for i, ek := range []xtypes.EquivalenceKind{xtypes.Minimal, xtypes.Complete} {
			mine, err := ours.Identifier(ek)
			require.NoError(t, err)
			require.False(t, mine.Equal(&both[i].id), "%s: if %q holds no longer, correct the reasons", ours, fastPlain)
			theirs, err := registry.Type(both[i].id)
			require.NoError(t, err, ours.Name())
			compareWithFast(t, ours, theirs, reasons)
			kind := ours.Name() + " " + []string{"minimal", "complete"}[i]
			why := cmp.Or(fastRefuses[ours.Name()], fastRefuses[kind])
			require.Contains(t, assignable, kind)
			require.Equal(t, [2]bool{why == "", why == ""}, assignable[kind], "%s, by the rules of Fast DDS: reason not to be assignable: %q", kind, why)
		}
	}
}

// compareWithFast holds the reasons to what is there, and wants types that are assignable in both directions but for two of them.
func compareWithFast(t *testing.T, ours, theirs *xtypes.Type, reasons []string) {
	t.Helper()
	require.Equal(t, ours.NumMembers(), theirs.NumMembers(), "%s", ours)
	differ := map[string]bool{}
	for i := range ours.NumMembers() {
		x, y := ours.Member(i), theirs.Member(i)
		require.Equal(t, xtypes.TryConstructUnset, y.TryConstruct, "%s.%s: %s", ours, x.Name, fastNoTry)
		differ[fastNoMust] = differ[fastNoMust] || y.Key && !y.MustUnderstand
		differ[fastBytes] = differ[fastBytes] || y.Type.Kind() == xtypes.TKByte && x.Type.Kind() != xtypes.TKByte
		differ[fastNumbers] = differ[fastNumbers] || x.ID != y.ID && ours.Kind() == xtypes.TKStructure
		differ[fastUnions] = differ[fastUnions] || x.ID != y.ID && ours.Kind() == xtypes.TKUnion
		differ[fastStrings] = differ[fastStrings] || x.Type.Bound() != y.Type.Bound()
	}
	own := func(reason string) bool { // those that show in the type itself, and not in one of its parts
		for _, r := range reasons {
			if r == reason {
				return true
			}
		}
		return false
	}
	for reason, is := range differ {
		require.True(t, !is || own(reason), "%s: %s", ours, reason)
	}
	consistency := xtypes.DefaultConsistency()
	for _, pair := range [][2]*xtypes.Type{{ours, theirs}, {theirs, ours}} {
		err := xtypes.Assignable(pair[0], pair[1], consistency)
		ids := own(fastUnions) && ours.Kind() == xtypes.TKUnion && ours.Extensibility() == cdr.Mutable // they are in samples
		if own(fastBytes) || own(fastNumbers) || ids {
			require.Error(t, err, "%s: the types are others, by %v", ours, reasons)
			continue
		}
		require.NoError(t, err, "%s", ours)
	}
}
