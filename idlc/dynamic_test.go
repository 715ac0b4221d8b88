package idlc

import (
	"encoding/hex"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/xtypes"
)

// Samples that are written by a type's description alone are those that generated code writes, byte by byte, in each
// encoding; and the description is the one that generated code carries.
func TestDynamicDataHasTheBytesOfGeneratedCode(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, m := range []cdr.Message{
		&tt.Primitives{}, &tt.Ragged{}, &tt.Derived{}, &tt.Collections{}, &tt.Keys{}, &tt.Node{}, &tt.Text{}, &tt.Extended{}, &tt.Hashed{},
		&ct.MaybeFinal{}, &ct.MaybeAppendable{}, &ct.Loose{}, &ct.Around{}, &ct.Choice{}, &ct.Loosely{}, &ct.Both{}, &ct.Bitty{}, &ct.Maps{},
		&ct.Switches{}, &ct.LooseMaps{}, &ct.Branch{}, &ct.Tree{}, &ct.Chain{}, &ct.Newer{}, &ct.NewerLoose{},
	} {
		info := m.CDRType()
		require.NotEmpty(t, info.TypeObject, info.Name)
		typ, _, _, err := xtypes.ParseDescription([]byte(info.TypeObject))
		require.NoError(t, err, info.Name)
		for range 10 {
			d := xtypes.Random(rng.Uint64, typ)
			for _, xcdr2 := range []bool{false, true} {
				for _, big := range []bool{false, true} {
					enc := typ.Encapsulation(xcdr2, big)
					want, err := d.Encode(enc)
					require.NoError(t, err, "%s %s", info.Name, enc)
					require.NoError(t, cdr.Unmarshal(want, m), "%s %s\n%s", info.Name, enc, hex.Dump(want))
					got, err := cdr.Marshal(m, enc)
					require.NoError(t, err, "%s %s", info.Name, enc)
					require.Equal(t, hex.Dump(want), hex.Dump(got), "%s %s", info.Name, enc)
					back, err := xtypes.Decode(typ, got)
					require.NoError(t, err)
					require.True(t, d.Equal(back), "%s %s", info.Name, enc)
				}
			}
		}
	}
}
