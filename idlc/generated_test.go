package idlc

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/empties"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/inner"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/shared"
	"github.com/omg-dds-go/dds/internal/viewtest"
)

// generated is what idlgen made of one struct.
type generated struct {
	name    string
	message func() cdr.Message
	view    func(sample []byte) (any, error)
	build   func(buf []byte) any                                       // a pointer to the builder
	write   func(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) any // a pointer to the writer
}

func of[T, V, B, W any, PT cdr.Type[T]](view func([]byte) (V, error), build func([]byte) B, write func(*cdr.Stream, []byte, cdr.Encapsulation) W) generated {
	return generated{
		name:    reflect.TypeFor[T]().Name(),
		message: func() cdr.Message { return PT(new(T)) },
		view:    func(sample []byte) (any, error) { return view(sample) },
		build:   func(buf []byte) any { b := build(buf); return &b },
		write:   func(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) any { w := write(s, buf, enc); return &w },
	}
}

var allGenerated = []generated{
	of[tt.Primitives](tt.NewPrimitivesView, tt.NewPrimitivesBuilder, tt.NewPrimitivesWriter),
	of[tt.Point](tt.NewPointView, tt.NewPointBuilder, tt.NewPointWriter),
	of[tt.Ragged](tt.NewRaggedView, tt.NewRaggedBuilder, tt.NewRaggedWriter),
	of[tt.Base](tt.NewBaseView, tt.NewBaseBuilder, tt.NewBaseWriter),
	of[tt.Derived](tt.NewDerivedView, tt.NewDerivedBuilder, tt.NewDerivedWriter),
	of[tt.Collections](tt.NewCollectionsView, tt.NewCollectionsBuilder, tt.NewCollectionsWriter),
	of[tt.Keys](tt.NewKeysView, tt.NewKeysBuilder, tt.NewKeysWriter),
	of[tt.Node](tt.NewNodeView, tt.NewNodeBuilder, tt.NewNodeWriter),
	of[tt.Clash](tt.NewClashView, tt.NewClashBuilder, tt.NewClashWriter),
	of[tt.Text](tt.NewTextView, tt.NewTextBuilder, tt.NewTextWriter),
	of[tt.Version1](tt.NewVersion1View, tt.NewVersion1Builder, tt.NewVersion1Writer),
	of[tt.Version2](tt.NewVersion2View, tt.NewVersion2Builder, tt.NewVersion2Writer),
	of[tt.Behind](tt.NewBehindView, tt.NewBehindBuilder, tt.NewBehindWriter),
	of[tt.Extended](tt.NewExtendedView, tt.NewExtendedBuilder, tt.NewExtendedWriter),
	of[tt.Hashed](tt.NewHashedView, tt.NewHashedBuilder, tt.NewHashedWriter),
	of[tt.Bulk](tt.NewBulkView, tt.NewBulkBuilder, tt.NewBulkWriter),
	of[tt.AppendedBulk](tt.NewAppendedBulkView, tt.NewAppendedBulkBuilder, tt.NewAppendedBulkWriter),
	of[inner.Holder](inner.NewHolderView, inner.NewHolderBuilder, inner.NewHolderWriter),
	of[shared.Stamp](shared.NewStampView, shared.NewStampBuilder, shared.NewStampWriter),
	of[shared.Tagged](shared.NewTaggedView, shared.NewTaggedBuilder, shared.NewTaggedWriter),
	of[ct.MaybeFinal](ct.NewMaybeFinalView, ct.NewMaybeFinalBuilder, ct.NewMaybeFinalWriter),
	of[ct.MaybeAppendable](ct.NewMaybeAppendableView, ct.NewMaybeAppendableBuilder, ct.NewMaybeAppendableWriter),
	of[ct.Loose](ct.NewLooseView, ct.NewLooseBuilder, ct.NewLooseWriter),
	of[ct.Around](ct.NewAroundView, ct.NewAroundBuilder, ct.NewAroundWriter),
	of[ct.Nothing](ct.NewNothingView, ct.NewNothingBuilder, ct.NewNothingWriter),
	of[ct.Item](ct.NewItemView, ct.NewItemBuilder, ct.NewItemWriter),
	of[ct.Choice](ct.NewChoiceView, ct.NewChoiceBuilder, ct.NewChoiceWriter),
	of[ct.Loosely](ct.NewLooselyView, ct.NewLooselyBuilder, ct.NewLooselyWriter),
	of[ct.Both](ct.NewBothView, ct.NewBothBuilder, ct.NewBothWriter),
	of[ct.Wide](ct.NewWideView, ct.NewWideBuilder, ct.NewWideWriter),
	of[ct.Holder](ct.NewHolderView, ct.NewHolderBuilder, ct.NewHolderWriter),
	of[ct.Bitty](ct.NewBittyView, ct.NewBittyBuilder, ct.NewBittyWriter),
	of[ct.Maps](ct.NewMapsView, ct.NewMapsBuilder, ct.NewMapsWriter),
	of[ct.Switches](ct.NewSwitchesView, ct.NewSwitchesBuilder, ct.NewSwitchesWriter),
	of[ct.LooseMaps](ct.NewLooseMapsView, ct.NewLooseMapsBuilder, ct.NewLooseMapsWriter),
	of[ct.Numbers](ct.NewNumbersView, ct.NewNumbersBuilder, ct.NewNumbersWriter),
	of[ct.Tree](ct.NewTreeView, ct.NewTreeBuilder, ct.NewTreeWriter),
	of[ct.Branch](ct.NewBranchView, ct.NewBranchBuilder, ct.NewBranchWriter),
	of[ct.Chain](ct.NewChainView, ct.NewChainBuilder, ct.NewChainWriter),
	of[ct.Defaulted](ct.NewDefaultedView, ct.NewDefaultedBuilder, ct.NewDefaultedWriter),
	of[ct.NewerLoose](ct.NewNewerLooseView, ct.NewNewerLooseBuilder, ct.NewNewerLooseWriter),
	of[ct.Nest](ct.NewNestView, ct.NewNestBuilder, ct.NewNestWriter),
	of[ct.Nesting](ct.NewNestingView, ct.NewNestingBuilder, ct.NewNestingWriter),
	of[ct.LooseNest](ct.NewLooseNestView, ct.NewLooseNestBuilder, ct.NewLooseNestWriter),
	of[ct.Forest](ct.NewForestView, ct.NewForestBuilder, ct.NewForestWriter),
	of[ct.SequenceKeys](ct.NewSequenceKeysView, ct.NewSequenceKeysBuilder, ct.NewSequenceKeysWriter),
	of[ct.BulkyPart](ct.NewBulkyPartView, ct.NewBulkyPartBuilder, ct.NewBulkyPartWriter),
	of[ct.BulkyKeys](ct.NewBulkyKeysView, ct.NewBulkyKeysBuilder, ct.NewBulkyKeysWriter),
	of[ct.LooseSequenceKeys](ct.NewLooseSequenceKeysView, ct.NewLooseSequenceKeysBuilder, ct.NewLooseSequenceKeysWriter),
	of[empties.Nought](empties.NewNoughtView, empties.NewNoughtBuilder, empties.NewNoughtWriter),
	of[empties.Open](empties.NewOpenView, empties.NewOpenBuilder, empties.NewOpenWriter),
	of[empties.Loose](empties.NewLooseView, empties.NewLooseBuilder, empties.NewLooseWriter),
	of[empties.Derived](empties.NewDerivedView, empties.NewDerivedBuilder, empties.NewDerivedWriter),
	of[empties.Renamed](empties.NewRenamedView, empties.NewRenamedBuilder, empties.NewRenamedWriter),
	of[empties.Holder](empties.NewHolderView, empties.NewHolderBuilder, empties.NewHolderWriter),
	of[empties.LooseHolder](empties.NewLooseHolderView, empties.NewLooseHolderBuilder, empties.NewLooseHolderWriter),
	of[empties.Either](empties.NewEitherView, empties.NewEitherBuilder, empties.NewEitherWriter),
}

func encapsulations(t *cdr.TypeInfo) []cdr.Encapsulation {
	switch t.Extensibility {
	case cdr.Final:
		return []cdr.Encapsulation{cdr.CDRBE, cdr.CDRLE, cdr.CDR2BE, cdr.CDR2LE}
	case cdr.Mutable:
		return []cdr.Encapsulation{cdr.PLCDRBE, cdr.PLCDRLE, cdr.PLCDR2BE, cdr.PLCDR2LE}
	}
	return []cdr.Encapsulation{cdr.CDRBE, cdr.CDRLE, cdr.DCDR2BE, cdr.DCDR2LE}
}

// fill sets v to a random value that is valid for every bound in testtypes.idl.
func fill(rnd *rand.Rand, v reflect.Value, depth int) {
	if valid, ok := v.Addr().Interface().(interface{ Valid() bool }); ok {
		for ok = false; !ok; ok = valid.Valid() {
			v.SetInt(rnd.Int64N(10) - 3)
		}
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *ct.Access:
		*x = ct.Access(rnd.Uint32() & 0xfff)
		return
	case *ct.Small:
		*x = ct.Small(rnd.Uint32() & 7)
		return
	case *ct.Large:
		*x = ct.Large(rnd.Uint64() & 0x1_ffff_ffff)
		return
	case interface{ SetBits(uint64) }:
		x.SetBits(rnd.Uint64())
		return
	case *cdr.Fixed:
		*x = cdr.Fixed{} // what fits depends on the member: see below
		return
	case *cdr.LongDouble:
		*x = cdr.LongDoubleOf(float64(rnd.IntN(1000)) / 8)
		return
	case *ct.Defaulted:
		*x = ct.Defaulted{Five: rnd.Int32(), Text: "t", Ranged: float64(rnd.IntN(20)) - 10, Low: byte(1 + rnd.IntN(9)), High: int16(-rnd.IntN(9)), Color: ct.ColorGreen}
		return
	}
	if setters := unionSetters(v.Addr()); setters != nil {
		i := rnd.IntN(len(setters))
		if depth > 5 {
			i = 0
			for setters[i].Type().In(0).Kind() == reflect.Struct {
				i++
			}
		}
		arg := reflect.New(setters[i].Type().In(0)).Elem()
		fill(rnd, arg, depth+1)
		setters[i].Call([]reflect.Value{arg})
		return
	}
	switch v.Kind() {
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rnd.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(rnd, key, depth+1)
			fill(rnd, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		v.SetZero()
		if rnd.IntN(2) == 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rnd, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rnd, v.Field(i), depth+1)
		}
		if n, ok := v.Addr().Interface().(*ct.Numbers); ok {
			n.Price, n.Tiny, n.Digit = cdr.MustFixed("-123.45"), cdr.MustFixed("0.0000000000000000000000000000007"), cdr.MustFixed("7")
			n.Prices, n.Key = []cdr.Fixed{cdr.MustFixed("1.5"), cdr.MustFixed("-99")}, cdr.MustFixed("12.34")
		}
	case reflect.Slice:
		n := rnd.IntN(4)
		if depth > 6 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(rnd, v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString(strings.Repeat([]string{"a", "xyz", "ü", "~"}[rnd.IntN(4)], rnd.IntN(2))[:])
	case reflect.Bool:
		v.SetBool(rnd.IntN(2) == 1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(rnd.IntN(1000)) / 8)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rnd.Uint64()) >> (64 - v.Type().Bits()))
	default:
		v.SetUint(rnd.Uint64() >> (64 - v.Type().Bits()))
	}
}

// unionSetters gives the methods that make a union hold one of its members; nil for what is no union.
func unionSetters(v reflect.Value) (setters []reflect.Value) {
	if !v.MethodByName("SetDiscriminator").IsValid() {
		return nil
	}
	for i := range v.NumMethod() {
		if name := v.Type().Method(i).Name; strings.HasPrefix(name, "Set") && name != "SetDiscriminator" && name != "SetDefaults" {
			setters = append(setters, v.Method(i))
		}
	}
	return setters
}

// TestGenerated takes random values of all generated types through all that is generated for them.
func TestGenerated(t *testing.T) {
	for _, g := range allGenerated {
		t.Run(g.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 30 {
				m := g.message()
				fill(rnd, reflect.ValueOf(m).Elem(), 0)
				key, err := cdr.MarshalKey(nil, m)
				if err != nil {
					t.Fatal(err)
				}
				for _, enc := range encapsulations(m.CDRType()) {
					roundTrip(t, g, m, enc, key)
				}
				sameAsBuilt(t, g, m)
				sameAfterText(t, g, m)
				sameAsClone(t, g, m, rnd)
				if t.Failed() {
					t.Fatalf("value %+v", m)
				}
			}
		})
	}
}

func roundTrip(t *testing.T, g generated, m cdr.Message, enc cdr.Encapsulation, key []byte) {
	t.Helper()
	info := m.CDRType()
	n, err := cdr.Size(m, enc)
	if err != nil {
		t.Fatal(err)
	}
	buf := bytes.Repeat([]byte{0xee}, n)
	if got, err := cdr.MarshalTo(buf, m, enc); err != nil || got != n {
		t.Fatalf("%s: MarshalTo gives %d, %v; Size gave %d", enc, got, err, n)
	}
	if again, err := cdr.Marshal(m, enc); err != nil || !bytes.Equal(buf, again) {
		t.Errorf("%s: the encoding depends on what the buffer held\n%x\n%x", enc, buf, again)
	}
	if info.MaxSize >= 0 && enc.XCDR2() && n > cdr.HeaderSize+info.MaxSize+3 {
		t.Errorf("%s: %d bytes, MaxSize is %d", enc, n, info.MaxSize)
	}
	back := g.message()
	fill(rand.New(rand.NewPCG(3, 4)), reflect.ValueOf(back).Elem(), 0) // leftovers must go
	if err := cdr.Unmarshal(buf, back); err != nil {
		t.Fatalf("%s: %v\n%x", enc, err, buf)
	}
	if again, _ := cdr.Marshal(back, enc); !bytes.Equal(buf, again) {
		t.Errorf("%s: decoded %+v", enc, back)
	}
	if got, err := cdr.KeyFromSample(nil, g.message(), buf); err != nil || !bytes.Equal(got, key) {
		t.Errorf("%s: KeyFromSample gives %x, %v; MarshalKey gave %x", enc, got, err, key)
	}
	view, err := g.view(buf)
	if err != nil {
		t.Fatalf("%s: view: %v\n%x", enc, err, buf)
	}
	viewtest.Same(t, enc.String(), reflect.ValueOf(view), reflect.ValueOf(m).Elem())

	payload := make([]byte, 64<<10)
	n, err = cdr.MarshalKeyTo(payload, m)
	if err != nil {
		t.Fatal(err)
	}
	holder := g.message()
	if err := cdr.UnmarshalKey(payload[:n], holder); err != nil {
		t.Fatal(err)
	}
	if info.Keyed {
		if got, err := cdr.MarshalKey(nil, holder); err != nil || !bytes.Equal(got, key) {
			t.Errorf("key after UnmarshalKey is %x, %v, want %x", got, err, key)
		}
	}
}

// sameAfterText takes a value through JSON.
func sameAfterText(t *testing.T, g generated, m cdr.Message) {
	t.Helper()
	text, err := json.Marshal(m)
	if _, not := m.(*ct.Switches); not && err != nil {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	back := g.message()
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !equalValues(m, back) {
		t.Errorf("after JSON %+v\n%s", back, text)
	}
}

func equalValues(a, b cdr.Message) bool {
	return reflect.ValueOf(a).MethodByName("Equal").Call([]reflect.Value{reflect.ValueOf(b)})[0].Bool()
}

// sameAsClone changes a value at random: what was cloned before stays as it was, and differs.
func sameAsClone(t *testing.T, g generated, m cdr.Message, rnd *rand.Rand) {
	t.Helper()
	enc := cdr.DefaultEncapsulation(m.CDRType())
	before, err := cdr.Marshal(m, enc)
	if err != nil {
		t.Fatal(err)
	}
	original := g.message()
	reflect.ValueOf(original).Elem().Set(reflect.ValueOf(m).MethodByName("Clone").Call(nil)[0])
	if !equalValues(original, m) {
		t.Errorf("clone %+v", original)
	}
	scramble(reflect.ValueOf(m).Elem())
	again, err := cdr.Marshal(original, enc)
	if err != nil || !bytes.Equal(before, again) {
		t.Errorf("the clone changed with the original: %v", err)
	}
	for range 100 {
		fill(rnd, reflect.ValueOf(m).Elem(), 0)
		now, err := cdr.Marshal(m, enc)
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(before, now); same != equalValues(m, original) {
			t.Fatalf("Equal says %v of %+v and %+v", !same, m, original)
		} else if !same {
			return
		}
	}
}

// scramble overwrites all that can be reached by slices, maps and pointers.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i))
		}
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			v.Index(0).SetZero()
		}
	case reflect.Map:
		v.Clear()
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
			v.Elem().SetZero()
		}
	}
}

func sameAsBuilt(t *testing.T, g generated, m cdr.Message) {
	t.Helper()
	want, err := cdr.Marshal(m, cdr.DefaultEncapsulation(m.CDRType()))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []func(any, cdr.Message){viewtest.Set, viewtest.Add} {
		buf := bytes.Repeat([]byte{0xee}, len(want))
		b := g.build(buf)
		set(b, m)
		finish := b.(interface{ Finish() (int, error) })
		for range 2 { // Finish may be called again
			n, err := finish.Finish()
			if err != nil || !bytes.Equal(buf[:n], want) {
				t.Errorf("built %x, %v\n want %x", buf[:n], err, want)
			}
		}
	}
}

// eachSample visits a random value of every generated type in each of its encodings; i is the index in allGenerated.
func eachSample(t testing.TB, rnd *rand.Rand, visit func(i int, m cdr.Message, enc cdr.Encapsulation, sample []byte)) {
	t.Helper()
	for i, g := range allGenerated {
		m := g.message()
		fill(rnd, reflect.ValueOf(m).Elem(), 0)
		for _, enc := range encapsulations(m.CDRType()) {
			sample, err := cdr.Marshal(m, enc)
			if err != nil {
				t.Fatal(err)
			}
			visit(i, m, enc, sample)
		}
	}
}

// TestShort cuts samples and buffers at every byte.
func TestShort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	eachSample(t, rnd, func(i int, m cdr.Message, enc cdr.Encapsulation, whole []byte) {
		g := allGenerated[i]
		body := len(whole) - int(whole[3])
		for n := range whole {
			if _, err := cdr.MarshalTo(make([]byte, n), m, enc); err == nil {
				t.Errorf("%s %s: marshal into %d of %d bytes", g.name, enc, n, len(whole))
			}
			cut := bytes.Clone(whole[:n])
			if n > 3 {
				cut[3] = 0
			}
			errDecode := cdr.Unmarshal(cut, g.message())
			_, errView := g.view(cut)
			// Without a DHEADER, a sample cut between members is one of an older version.
			if n < body && (errDecode == nil || errView == nil) && (enc.XCDR2() || m.CDRType().Extensibility != cdr.Appendable) {
				t.Errorf("%s %s cut at %d of %d: decode %v, view %v", g.name, enc, n, len(whole), errDecode, errView)
			}
			if enc == cdr.DefaultEncapsulation(m.CDRType()) {
				b := g.build(make([]byte, n))
				viewtest.Set(b, m)
				if _, err := b.(interface{ Finish() (int, error) }).Finish(); err == nil {
					t.Errorf("%s: built in %d of %d bytes", g.name, n, len(whole))
				}
			}
		}
	})
}
