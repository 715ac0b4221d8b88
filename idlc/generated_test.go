package idlc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/inner"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/shared"
)

// generated is what idlgen made of one struct.
type generated struct {
	name    string
	message func() cdr.Message
	view    func(sample []byte) (any, error)
	build   func(buf []byte) any // a pointer to the builder
}

func of[T, V, B any, PT cdr.Type[T]](view func([]byte) (V, error), build func([]byte) B) generated {
	return generated{
		name:    reflect.TypeFor[T]().Name(),
		message: func() cdr.Message { return PT(new(T)) },
		view:    func(sample []byte) (any, error) { return view(sample) },
		build:   func(buf []byte) any { b := build(buf); return &b },
	}
}

var allGenerated = []generated{
	of[tt.Primitives](tt.NewPrimitivesView, tt.NewPrimitivesBuilder),
	of[tt.Point](tt.NewPointView, tt.NewPointBuilder),
	of[tt.Ragged](tt.NewRaggedView, tt.NewRaggedBuilder),
	of[tt.Base](tt.NewBaseView, tt.NewBaseBuilder),
	of[tt.Derived](tt.NewDerivedView, tt.NewDerivedBuilder),
	of[tt.Collections](tt.NewCollectionsView, tt.NewCollectionsBuilder),
	of[tt.Keys](tt.NewKeysView, tt.NewKeysBuilder),
	of[tt.Node](tt.NewNodeView, tt.NewNodeBuilder),
	of[tt.Clash](tt.NewClashView, tt.NewClashBuilder),
	of[tt.Text](tt.NewTextView, tt.NewTextBuilder),
	of[tt.Version1](tt.NewVersion1View, tt.NewVersion1Builder),
	of[tt.Version2](tt.NewVersion2View, tt.NewVersion2Builder),
	of[tt.Behind](tt.NewBehindView, tt.NewBehindBuilder),
	of[tt.Extended](tt.NewExtendedView, tt.NewExtendedBuilder),
	of[tt.Hashed](tt.NewHashedView, tt.NewHashedBuilder),
	of[inner.Holder](inner.NewHolderView, inner.NewHolderBuilder),
	of[shared.Stamp](shared.NewStampView, shared.NewStampBuilder),
	of[shared.Tagged](shared.NewTaggedView, shared.NewTaggedBuilder),
	of[ct.MaybeFinal](ct.NewMaybeFinalView, ct.NewMaybeFinalBuilder),
	of[ct.MaybeAppendable](ct.NewMaybeAppendableView, ct.NewMaybeAppendableBuilder),
	of[ct.Loose](ct.NewLooseView, ct.NewLooseBuilder),
	of[ct.Around](ct.NewAroundView, ct.NewAroundBuilder),
	of[ct.Nothing](ct.NewNothingView, ct.NewNothingBuilder),
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
	switch v.Kind() {
	case reflect.Pointer:
		v.SetZero()
		if rnd.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rnd, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rnd, v.Field(i), depth+1)
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

// fields lists the members as the encoding has them, those of an embedded base first.
func fieldsOf(v reflect.Value) (names []string, values []reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			n, f := fieldsOf(v.Field(i))
			names, values = append(names, n...), append(values, f...)
			continue
		}
		names, values = append(names, v.Type().Field(i).Name), append(values, v.Field(i))
	}
	return names, values
}

// flatten gives the elements of arrays of arrays row by row, as views do.
func flatten(v reflect.Value) []reflect.Value {
	var out []reflect.Value
	for i := range v.Len() {
		if e := v.Index(i); v.Kind() == reflect.Array && e.Kind() == reflect.Array {
			out = append(out, flatten(e)...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// sameAsView compares what a view reads with the value that was encoded.
func sameAsView(t *testing.T, path string, view, want reflect.Value) {
	t.Helper()
	if want.Kind() == reflect.Pointer {
		if want.IsNil() { // an external member that was never set
			want = reflect.New(want.Type().Elem())
		}
		want = want.Elem()
	}
	if view.Type() == want.Type() {
		if fmt.Sprint(view) != fmt.Sprint(want) { // an empty slice equals nil
			t.Errorf("%s: view reads %v, want %v", path, view, want)
		}
		return
	}
	switch want.Kind() {
	case reflect.Struct:
		names, values := fieldsOf(want)
		for i, name := range names {
			got := view.MethodByName(name).Call(nil)
			if len(got) == 2 && got[1].Bool() == values[i].IsNil() {
				t.Errorf("%s.%s: view says %v, want %v", path, name, got[1], !values[i].IsNil())
			}
			if len(got) == 2 && values[i].IsNil() {
				continue
			}
			sameAsView(t, path+"."+name, got[0], values[i])
		}
	case reflect.Slice, reflect.Array:
		elems := flatten(want)
		if view.Kind() == reflect.Slice { // bytes of an array
			if view.Len() != len(elems) {
				t.Fatalf("%s: view has %d bytes, want %d", path, view.Len(), len(elems))
			}
			for i, e := range elems {
				sameAsView(t, fmt.Sprintf("%s[%d]", path, i), view.Index(i), e)
			}
			return
		}
		if n := view.MethodByName("Len").Call(nil)[0].Int(); int(n) != len(elems) {
			t.Fatalf("%s: view has %d elements, want %d", path, n, len(elems))
		}
		for i, e := range elems {
			got := view.MethodByName("At").Call([]reflect.Value{reflect.ValueOf(i)})[0]
			sameAsView(t, fmt.Sprintf("%s[%d]", path, i), got, e)
		}
		count := 0
		for i, got := range view.MethodByName("All").Call(nil)[0].Seq2() {
			sameAsView(t, fmt.Sprintf("%s.All[%d]", path, i.Int()), got, elems[i.Int()])
			count++
		}
		if count != len(elems) {
			t.Errorf("%s: All gives %d elements, want %d", path, count, len(elems))
		}
	default:
		t.Errorf("%s: view reads a %v, want a %v", path, view.Type(), want.Type())
	}
}

// optional tells whether a field may be absent.
func optional(t reflect.Type, name string) bool {
	f, _ := t.FieldByName(name)
	return strings.HasSuffix(f.Tag.Get("json"), ",omitempty")
}

// set calls the builder's setters in the order of the members.
func set(builder any, m cdr.Message) {
	b := reflect.ValueOf(builder)
	names, values := fieldsOf(reflect.ValueOf(m).Elem())
	for i, name := range names {
		v := values[i]
		setter := b.MethodByName("Set" + name)
		if v.Kind() == reflect.Pointer && v.IsNil() && !optional(reflect.TypeOf(m).Elem(), name) { // external
			v = reflect.New(v.Type().Elem())
		}
		switch wanted := setter.Type().In(0); {
		case wanted.Kind() == reflect.Pointer && v.Kind() != reflect.Pointer:
			v = v.Addr()
		case wanted.Kind() != reflect.Pointer && v.Kind() == reflect.Pointer:
			v = v.Elem()
		}
		setter.Call([]reflect.Value{v})
	}
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
	sameAsView(t, enc.String(), reflect.ValueOf(view), reflect.ValueOf(m).Elem())

	payload := make([]byte, 512)
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

func sameAsBuilt(t *testing.T, g generated, m cdr.Message) {
	t.Helper()
	want, err := cdr.Marshal(m, cdr.DefaultEncapsulation(m.CDRType()))
	if err != nil {
		t.Fatal(err)
	}
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
				set(b, m)
				if _, err := b.(interface{ Finish() (int, error) }).Finish(); err == nil {
					t.Errorf("%s: built in %d of %d bytes", g.name, n, len(whole))
				}
			}
		}
	})
}
