package idl

import (
	"bytes"
	"encoding/hex"
	"math/rand"
	randv2 "math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/conformance/idl/corpus"
	"github.com/omg-dds-go/dds/conformance/idl/corpus/evolving"
	"github.com/omg-dds-go/dds/conformance/idl/corpus/extended"
	"github.com/omg-dds-go/dds/internal/viewtest"
	"github.com/omg-dds-go/dds/xtypes"
)

// code is what idlgen made of one type.
type code struct {
	message func() cdr.Message
	view    func(sample []byte) (any, error)
	build   func(buf []byte) any                                       // a pointer to the builder
	write   func(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) any // a pointer to the writer
}

func of[T, V, B, W any, PT cdr.Type[T]](view func([]byte) (V, error), build func([]byte) B, write func(*cdr.Stream, []byte, cdr.Encapsulation) W) code {
	return code{
		message: func() cdr.Message { return PT(new(T)) },
		view:    func(sample []byte) (any, error) { return view(sample) },
		build:   func(buf []byte) any { b := build(buf); return &b },
		write:   func(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) any { w := write(s, buf, enc); return &w },
	}
}

// generated has every type of the corpus that stands for a topic.
var generated = map[string]code{
	"corpus::Primitives":  of[corpus.Primitives](corpus.NewPrimitivesView, corpus.NewPrimitivesBuilder, corpus.NewPrimitivesWriter),
	"corpus::Alignment":   of[corpus.Alignment](corpus.NewAlignmentView, corpus.NewAlignmentBuilder, corpus.NewAlignmentWriter),
	"corpus::Strings":     of[corpus.Strings](corpus.NewStringsView, corpus.NewStringsBuilder, corpus.NewStringsWriter),
	"corpus::Collections": of[corpus.Collections](corpus.NewCollectionsView, corpus.NewCollectionsBuilder, corpus.NewCollectionsWriter),
	"corpus::Inner":       of[corpus.Inner](corpus.NewInnerView, corpus.NewInnerBuilder, corpus.NewInnerWriter),
	"corpus::Nesting":     of[corpus.Nesting](corpus.NewNestingView, corpus.NewNestingBuilder, corpus.NewNestingWriter),
	"corpus::KeyPart":     of[corpus.KeyPart](corpus.NewKeyPartView, corpus.NewKeyPartBuilder, corpus.NewKeyPartWriter),
	"corpus::Keys":        of[corpus.Keys](corpus.NewKeysView, corpus.NewKeysBuilder, corpus.NewKeysWriter),
	"evolving::Unions":    of[evolving.Unions](evolving.NewUnionsView, evolving.NewUnionsBuilder, evolving.NewUnionsWriter),
	"evolving::Masks":     of[evolving.Masks](evolving.NewMasksView, evolving.NewMasksBuilder, evolving.NewMasksWriter),
	"evolving::Part":      of[evolving.Part](evolving.NewPartView, evolving.NewPartBuilder, evolving.NewPartWriter),
	"evolving::Track":     of[evolving.Track](evolving.NewTrackView, evolving.NewTrackBuilder, evolving.NewTrackWriter),
	"evolving::Record":    of[evolving.Record](evolving.NewRecordView, evolving.NewRecordBuilder, evolving.NewRecordWriter),
	"evolving::Optionals": of[evolving.Optionals](evolving.NewOptionalsView, evolving.NewOptionalsBuilder, evolving.NewOptionalsWriter),
	"evolving::Pointers":  of[evolving.Pointers](evolving.NewPointersView, evolving.NewPointersBuilder, evolving.NewPointersWriter),
	"evolving::Base":      of[evolving.Base](evolving.NewBaseView, evolving.NewBaseBuilder, evolving.NewBaseWriter),
	"evolving::Derived":   of[evolving.Derived](evolving.NewDerivedView, evolving.NewDerivedBuilder, evolving.NewDerivedWriter),
	"evolving::Hashed":    of[evolving.Hashed](evolving.NewHashedView, evolving.NewHashedBuilder, evolving.NewHashedWriter),
	"extended::Unions":    of[extended.Unions](extended.NewUnionsView, extended.NewUnionsBuilder, extended.NewUnionsWriter),
	"extended::Maps":      of[extended.Maps](extended.NewMapsView, extended.NewMapsBuilder, extended.NewMapsWriter),
	"extended::Words":     of[extended.Words](extended.NewWordsView, extended.NewWordsBuilder, extended.NewWordsWriter),
	"extended::Base":      of[extended.Base](extended.NewBaseView, extended.NewBaseBuilder, extended.NewBaseWriter),
	"extended::Derived":   of[extended.Derived](extended.NewDerivedView, extended.NewDerivedBuilder, extended.NewDerivedWriter),
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
				g := generated[typ.Name()]
				m := g.message()
				require.NoError(t, cdr.Unmarshal(sample, m), "value %d: %s\n%s", i, text, hex.Dump(sample))
				again, err := cdr.Marshal(m, enc)
				require.NoError(t, err)
				require.True(t, bytes.Equal(sample, again), "value %d in %v: %s\nxtypes\n%sgenerated\n%s", i, enc, text, hex.Dump(sample), hex.Dump(again))
				view, err := g.view(sample)
				require.NoError(t, err)
				viewtest.Same(t, enc.String(), reflect.ValueOf(view), reflect.ValueOf(m).Elem())
				sameAsBuilt(t, g, m)
				sameAsWritten(t, g, m, enc, again)
				if t.Failed() {
					t.Fatalf("value %d: %s", i, text)
				}
			}
		})
	}
}

// choices decides in which of the ways that there are a writer is given a member.
var choices = randv2.New(randv2.NewPCG(3, 4))

// sameAsWritten: what a writer that descends writes in place is what encoding the whole gives, in each encoding.
func sameAsWritten(t *testing.T, g code, m cdr.Message, enc cdr.Encapsulation, want []byte) {
	t.Helper()
	var s cdr.Stream
	buf := bytes.Repeat([]byte{0xee}, len(want))
	w := g.write(&s, buf, enc)
	viewtest.Write(choices, w, m)
	n, err := w.(finisher).Finish()
	require.NoError(t, err)
	require.Equal(t, want, buf[:n])
}

type finisher interface{ Finish() (int, error) }

// sameAsBuilt: what is written member by member in place is what encoding the whole gives.
func sameAsBuilt(t *testing.T, g code, m cdr.Message) {
	t.Helper()
	want, err := cdr.Marshal(m, cdr.DefaultEncapsulation(m.CDRType()))
	require.NoError(t, err)
	for _, set := range []func(any, cdr.Message){viewtest.Set, viewtest.Add} {
		buf := bytes.Repeat([]byte{0xee}, len(want))
		b := g.build(buf)
		set(b, m)
		n, err := b.(finisher).Finish()
		require.NoError(t, err)
		require.Equal(t, want, buf[:n])
	}
}
