package idl

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math/rand"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

var flagValues = flag.Int("values", 1000, "random values of each type")

// typesOf gives the structs of files of the corpus.
func typesOf(t *testing.T, files []string) (list []*xtypes.Type) {
	t.Helper()
	for _, f := range files {
		unit, report := idlc.Check(filepath.Join("corpus", f+".idl"), idlc.Options{})
		require.False(t, report.Failed(), "%s", report)
		types, err := unit.Types(false)
		require.NoError(t, err)
		for _, typ := range types {
			if typ.Kind() == xtypes.TKStructure && !typ.Nested() {
				list = append(list, typ)
			}
		}
	}
	return list
}

// representation is XCDR1 (0) or XCDR2 (2), as DATA_REPRESENTATION numbers them.
type representation int

const (
	xcdr1 representation = 0
	xcdr2 representation = 2
)

func (r representation) String() string {
	return map[representation]string{xcdr1: "XCDR1", xcdr2: "XCDR2"}[r]
}

// exchange sends values of every type to the peer, and expects the same bytes back.
func exchange(t *testing.T, p peer, lacks func(*xtypes.Type, representation) string, reps ...representation) {
	types := typesOf(t, p.files)
	e := p.start(t, types)
	for _, typ := range types {
		for _, rep := range reps {
			t.Run(typ.Name()+"/"+rep.String(), func(t *testing.T) {
				if why := lacks(typ, rep); why != "" {
					t.Skip(why)
				}
				rng := rand.New(rand.NewSource(1))
				for i := range *flagValues {
					value := xtypes.Random(rng.Uint64, typ)
					sample, err := value.Encode(typ.Encapsulation(rep == xcdr2, false))
					require.NoError(t, err)
					text, err := value.MarshalJSON()
					require.NoError(t, err)
					answer := e.send(t, typ, int(rep), sample)
					require.NotNil(t, answer, "value %d was refused: %s\n%s", i, text, hex.Dump(sample))
					require.True(t, bytes.Equal(sample, answer) || bytes.Equal(unpadded(sample), answer),
						"value %d: %s\nsent\n%sreceived\n%s", i, text, hex.Dump(sample), hex.Dump(answer))
				}
			})
		}
	}
}

// unpadded leaves out the padding of a sample and its count, which XTypes 1.3 §7.6.3.1.2 asks for and older
// implementations do not write: RTPS pads the submessage around it.
func unpadded(sample []byte) []byte {
	short := slices.Clone(sample[:len(sample)-int(sample[3]&3)])
	short[3] &^= 3
	return short
}

// contains tells whether a type, or one that it is made of, is so.
func contains(t *xtypes.Type, so func(*xtypes.Type) bool) bool {
	seen := map[*xtypes.Type]bool{}
	var walk func(t *xtypes.Type) bool
	walk = func(t *xtypes.Type) bool {
		t = t.Resolve()
		if seen[t] {
			return false
		}
		seen[t] = true
		if so(t) {
			return true
		}
		switch t.Kind() {
		case xtypes.TKStructure, xtypes.TKUnion:
			for m := range t.Members() {
				if walk(m.Type) {
					return true
				}
			}
		case xtypes.TKSequence, xtypes.TKArray, xtypes.TKMap:
			return walk(t.Elem())
		}
		return false
	}
	return walk(t)
}

// evolves tells whether a type has another form in each representation than that of plain CDR.
func evolves(t *xtypes.Type) bool {
	if k := t.Kind(); k != xtypes.TKStructure && k != xtypes.TKUnion {
		return false
	}
	for m := range t.Members() {
		if m.Optional {
			return true
		}
	}
	return t.Extensibility() != cdr.Final
}

func TestBytesAreThoseOfCycloneDDS(t *testing.T) {
	exchange(t, cyclone, func(typ *xtypes.Type, rep representation) string {
		if rep == xcdr1 && contains(typ, evolves) {
			return "Cyclone DDS 0.10 has no XCDR1 of appendable and mutable types and of optional members"
		}
		return ""
	}, xcdr1, xcdr2)
}

func TestBytesAreThoseOfFastDDS(t *testing.T) {
	exchange(t, fastDDS, func(*xtypes.Type, representation) string { return "" }, xcdr1)
}
