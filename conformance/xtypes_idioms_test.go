package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

// cut takes out of a file what Cyclone DDS's idlc 0.10 refuses or skips; why names it.
type cut struct{ what, with, why string }

var (
	noWide       = cut{`.*\b(wstring|wchar)\b.*\n`, "", "wide characters and strings"}
	noNestedMark = cut{`@topic\(FALSE\)`, "@nested", "@topic(FALSE) of OpenDDS"}
	shift        = cut{`>>`, "> >", ">> that ends two sequences"}
)

// idioms has the files in the manner of other tools, each with what is cut out for idlc, and the least number of types
// that are left.
var idioms = []struct {
	tool  string
	cuts  []cut
	types int
}{
	{"cyclone", []cut{shift, {`#pragma keylist.*`, "", "#pragma keylist beside annotations"},
		{`.*union Wide .*\n`, "", "labels of 2^63 and more are not in our type objects"}}, 5},
	{"face", []cut{
		{`.*\b(native|exception) .*\n|.*Native_User.*\n`, "", "native types and exceptions"},
		{`(?s)  module Read_Callback <.*?\n  \};\n|  module TSS \{.*?\n  \};\n|    module Read_Callback<Row>.*?\n|module FACE \{ module TSS[^\n]*\n`, "", "template modules and interfaces"},
		{`fixed<8,3> price; `, "", "fixed"},
	}, 3},
	{"fastdds", []cut{
		{`@Key`, "@key", "@Key"},
		{`typedef map.*\n|.*Counts counts; Palette palette;.*\n`, "", "maps"},
		{`bitset .*\n|Header header; Longer longer; `, "", "bitsets"},
		{`Color color;`, "Color hue;", "a member of a base that has the name of a type, but for case"},
		{`.*@non_serialized.*\n`, "", "@non_serialized, of which it warns that it is skipped"},
		{`@key string<20> name`, "string<20> name", "keys in a struct that has a base"},
	}, 5},
	{"opendds", []cut{noNestedMark, {`union Kinds switch \(@key unsigned short\)`, "union Kinds switch (unsigned short)", "unions with a key"}, {`@try_construct\(TRIM\) `, "", "@try_construct of TRIM"}}, 4},
	{"ros2", []cut{noWide, {`.*@default \(value="\(.*\n`, "", "@default for an array"}}, 1},
	{"rti", []cut{
		noWide, shift,
		{`(?s)enum Mode \{.*?\};`, "enum Mode { @value(0) MODE_OFF, @value(1) MODE_ON, @value(3) MODE_TEST, @value(7) MODE_AUTO };", "enumerators with =, and out of order"},
		{`.*long double.*\n`, "", "long double"},
		{`@default\("none"\) `, "", "@default of an optional member"},
		{`@nested @final\s+union`, "@final union", "@nested of a union"},
		{`switch \(@key ModeAlias\)`, "switch (ModeAlias)", "unions with a key"},
		{`//@.*`, "", "annotations in comments, which it takes for comments"},
		{`@language_binding\(FLAT_DATA\) @transfer_mode\(SHMEM_REF\) `, "", "annotations of RTI Connext"},
		{`.*Tree.*\n`, "", "recursion"},
	}, 6},
	{"umaa", []cut{{`@nested struct Command : Base \{ @key `, "@nested struct Command : Base { ", "keys in a struct that has a base"}}, 3},
}

// Type objects that Cyclone DDS makes of files in the manner of other tools are of the types that ours are of, in both
// directions.
func TestXTypes13_7_3_4_TypeObjectsOfIdioms(t *testing.T) {
	front := filepath.Join("..", "idlc", "testdata", "front")
	for _, c := range idioms {
		t.Run(c.tool, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(front, "include"))))
			trim := func(name string) {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				for _, x := range c.cuts {
					text = regexp.MustCompile(x.what).ReplaceAll(text, []byte(x.with))
				}
				require.NoError(t, os.WriteFile(name, text, 0o644))
			}
			file := filepath.Join(dir, "idioms.idl")
			text, err := os.ReadFile(filepath.Join(front, "vendor_idioms_"+c.tool+".idl"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o644))
			trim(file)
			if c.tool == "umaa" {
				trim(filepath.Join(dir, "Common", "Command.idl"))
			}
			unit, report := idlc.Check(file, idlc.Options{Include: []string{dir}, Extensibility: "final"})
			require.False(t, report.Failed(), "%s", report)
			types, err := unit.Types(true)
			require.NoError(t, err)
			byName := map[string]*xtypes.Type{}
			for _, typ := range types {
				byName[strings.ReplaceAll(typ.Name(), "::", "_")] = typ
			}
			compared, equal := 0, 0
			for name, peer := range cycloneTypes(t, file, "-I", dir) {
				ours := byName[name]
				require.NotNil(t, ours, name)
				info, err := xtypes.UnmarshalTypeInformation(peer[0])
				require.NoError(t, err, name)
				mapping, err := xtypes.UnmarshalTypeMapping(peer[1])
				require.NoError(t, err, name)
				registry := xtypes.NewRegistry()
				require.NoError(t, registry.AddMapping(mapping), name)
				mine, err := xtypes.NewTypeInformation(ours)
				require.NoError(t, err)
				if mine.Complete.ID.Equal(&info.Complete.ID) {
					equal++
				}
				bytes := within(ours, func(x *xtypes.Type, _ bool) bool { return x.Kind() == xtypes.TKInt8 || x.Kind() == xtypes.TKUint8 })
				for _, id := range []xtypes.TypeIdentifier{info.Complete.ID, info.Minimal.ID} {
					theirs, err := registry.Type(id)
					require.NoError(t, err, name)
					require.Equal(t, ours.NumMembers(), theirs.NumMembers(), name)
					for _, err := range []error{xtypes.Assignable(ours, theirs, xtypes.DefaultConsistency()), xtypes.Assignable(theirs, ours, xtypes.DefaultConsistency())} {
						if bytes {
							require.Error(t, err, "%s: reason not to be assignable: %s", name, byteKinds)
						} else {
							require.NoError(t, err, name)
						}
					}
				}
				compared++
			}
			t.Logf("%d types, %d with the same hash", compared, equal)
			require.GreaterOrEqual(t, compared, c.types)
		})
	}
}
