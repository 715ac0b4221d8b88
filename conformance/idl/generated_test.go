package idl

import (
	"bytes"
	"encoding/hex"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/conformance/idl/corpus"
	"github.com/omg-dds-go/dds/conformance/idl/corpus/evolving"
	"github.com/omg-dds-go/dds/conformance/idl/corpus/extended"
	"github.com/omg-dds-go/dds/xtypes"
)

// generated has a new value of every type of the corpus that stands for a topic.
var generated = map[string]func() cdr.Message{
	"corpus::Primitives":  func() cdr.Message { return new(corpus.Primitives) },
	"corpus::Alignment":   func() cdr.Message { return new(corpus.Alignment) },
	"corpus::Strings":     func() cdr.Message { return new(corpus.Strings) },
	"corpus::Collections": func() cdr.Message { return new(corpus.Collections) },
	"corpus::Inner":       func() cdr.Message { return new(corpus.Inner) },
	"corpus::Nesting":     func() cdr.Message { return new(corpus.Nesting) },
	"corpus::KeyPart":     func() cdr.Message { return new(corpus.KeyPart) },
	"corpus::Keys":        func() cdr.Message { return new(corpus.Keys) },
	"evolving::Unions":    func() cdr.Message { return new(evolving.Unions) },
	"evolving::Masks":     func() cdr.Message { return new(evolving.Masks) },
	"evolving::Part":      func() cdr.Message { return new(evolving.Part) },
	"evolving::Track":     func() cdr.Message { return new(evolving.Track) },
	"evolving::Record":    func() cdr.Message { return new(evolving.Record) },
	"evolving::Optionals": func() cdr.Message { return new(evolving.Optionals) },
	"evolving::Pointers":  func() cdr.Message { return new(evolving.Pointers) },
	"evolving::Base":      func() cdr.Message { return new(evolving.Base) },
	"evolving::Derived":   func() cdr.Message { return new(evolving.Derived) },
	"evolving::Hashed":    func() cdr.Message { return new(evolving.Hashed) },
	"extended::Unions":    func() cdr.Message { return new(extended.Unions) },
	"extended::Maps":      func() cdr.Message { return new(extended.Maps) },
	"extended::Words":     func() cdr.Message { return new(extended.Words) },
	"extended::Base":      func() cdr.Message { return new(extended.Base) },
	"extended::Derived":   func() cdr.Message { return new(extended.Derived) },
}

// What generated code reads and writes is what package xtypes does with the type object of the same IDL.
func TestGeneratedCodeAndDynamicDataWriteTheSame(t *testing.T) {
	for _, typ := range typesOf(t, []string{"common", "xtypes", "extended"}) {
		t.Run(typ.Name(), func(t *testing.T) {
			require.Contains(t, generated, typ.Name())
			rng := rand.New(rand.NewSource(2))
			for i := range *flagValues {
				value := xtypes.Random(rng.Uint64, typ)
				text, err := value.MarshalJSON()
				require.NoError(t, err)
				enc := typ.Encapsulation(i&1 == 0, i&2 == 0)
				sample, err := value.Encode(enc)
				require.NoError(t, err)
				m := generated[typ.Name()]()
				require.NoError(t, cdr.Unmarshal(sample, m), "value %d: %s\n%s", i, text, hex.Dump(sample))
				again, err := cdr.Marshal(m, enc)
				require.NoError(t, err)
				require.True(t, bytes.Equal(sample, again), "value %d in %v: %s\nxtypes\n%sgenerated\n%s", i, enc, text, hex.Dump(sample), hex.Dump(again))
			}
		})
	}
}
