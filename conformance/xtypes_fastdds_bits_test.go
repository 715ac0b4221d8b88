package conformance

import (
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/xtypes"
)

// TestXTypes13_7_3_4_BitsOfFastDDS has DynamicTypeBuilderFactory build what fastddsgen writes no type objects for. Of a
// bitset, it has the complete one; of a bitmask, none: 2.9 looks for the type of each flag, which has none.
func TestXTypes13_7_3_4_BitsOfFastDDS(t *testing.T) {
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("Fast DDS: no command c++; install the Debian package g++")
	}
	probe := exec.Command(compiler, "-E", "-x", "c++", "-")
	probe.Stdin = strings.NewReader("#include <fastrtps/types/DynamicTypeBuilderFactory.h>\n")
	if probe.Run() != nil {
		t.Skip("Fast DDS: no header fastrtps/types/DynamicTypeBuilderFactory.h; install the Debian package libfastrtps-dev")
	}
	program := filepath.Join(t.TempDir(), "bits")
	out, err := exec.CommandContext(t.Context(), compiler, "-std=c++17", "-O0", "-o", program, "testdata/fastdds/bits.cpp", "-lfastrtps", "-lfastcdr").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, c := range []struct{ what, kind, idl, refuses string }{
		{"mask", "minimal", `@bit_bound(16) bitmask Mask { FIRST, SECOND, @position(9) LAST };`, "This member hasn't been selected"},
		{"mask", "complete", `@bit_bound(16) bitmask Mask { FIRST, SECOND, @position(9) LAST };`, "signal"},
		{"set", "minimal", `bitset Set { bitfield<3, octet> a; bitfield<1> b; bitfield<6>; bitfield<12, short> c; };`, "This member hasn't been selected"},
		{"set", "complete", `bitset Set { bitfield<3, octet> a; bitfield<1> b; bitfield<6>; bitfield<12, short> c; };`, ""},
	} {
		ours := topicType(t, c.idl)
		all, err := xtypes.Identify(ours, map[string]xtypes.EquivalenceKind{"minimal": xtypes.Minimal, "complete": xtypes.Complete}[c.kind])
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), program, c.what, c.kind)
		var report strings.Builder
		cmd.Stdin, cmd.Stderr = strings.NewReader(hex.EncodeToString(all[0].Object.MarshalPlain())), &report
		answer, err := cmd.Output()
		if c.refuses != "" {
			require.Error(t, err, "%s %s: it has a type object; compare it", c.kind, c.what)
			require.Contains(t, fmt.Sprint(err, report.String()), c.refuses)
			continue
		}
		require.NoError(t, err, "%s", report.String())
		words := strings.Fields(string(answer))
		require.Len(t, words, 3)
		bytes, err := hex.DecodeString(words[0])
		require.NoError(t, err)
		object, err := xtypes.UnmarshalPlainTypeObject(bytes)
		require.NoError(t, err)
		require.Equal(t, all[0].Object.Text(), object.Text())
		require.Equal(t, hex.EncodeToString(all[0].Object.MarshalPlain()), words[0], "a bitset has nothing that Fast DDS has otherwise")
		require.Equal(t, []string{"1", "1"}, words[1:], "assignable by the rules of Fast DDS, from ours and to ours")
	}
}
