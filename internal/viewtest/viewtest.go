// Package viewtest compares views, builders and writers of generated code with the values that they are of, for tests.
package viewtest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
)

// sameUnion compares what the accessors of a view give with those of the union.
func sameUnion(t testing.TB, path string, view, want reflect.Value) {
	t.Helper()
	union := reflect.New(want.Type())
	union.Elem().Set(want)
	if got, d := view.MethodByName("Discriminator").Call(nil)[0], union.MethodByName("Discriminator").Call(nil)[0]; !got.Equal(d) {
		t.Errorf("%s: view has discriminator %v, want %v", path, got, d)
	}
	for i := range view.NumMethod() {
		name := view.Type().Method(i).Name
		if view.Method(i).Type().NumIn() != 0 || view.Method(i).Type().NumOut() != 2 {
			continue
		}
		got, exp := view.Method(i).Call(nil), union.MethodByName(name).Call(nil)
		if got[1].Bool() != exp[1].Bool() {
			t.Errorf("%s.%s: view says %v", path, name, got[1])
		} else if exp[1].Bool() {
			Same(t, path+"."+name, got[0], exp[0])
		}
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
		if e := v.Index(i); v.Kind() == reflect.Array && e.Kind() == reflect.Array && e.Type() != reflect.TypeFor[cdr.LongDouble]() {
			out = append(out, flatten(e)...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// Same compares what a view reads with the value that was encoded.
func Same(t testing.TB, path string, view, want reflect.Value) {
	t.Helper()
	if want.Kind() == reflect.Pointer {
		if want.IsNil() { // an external member that was never set
			want = reflect.New(want.Type().Elem())
		}
		want = want.Elem()
	}
	if view.Type() == want.Type() {
		if fmt.Sprint(view) != fmt.Sprint(want) { // NaN is NaN, and an empty slice nil
			t.Errorf("%s: view reads %v, want %v", path, view, want)
		}
		return
	}
	switch want.Kind() {
	case reflect.Struct:
		if reflect.PointerTo(want.Type()).Implements(reflect.TypeFor[interface{ UnmarshalJSON([]byte) error }]()) {
			sameUnion(t, path, view, want)
			return
		}
		names, values := fieldsOf(want)
		for i, name := range names {
			if !view.MethodByName(name).IsValid() {
				continue // is not serialized
			}
			got := view.MethodByName(name).Call(nil)
			if len(got) == 2 && got[1].Bool() == values[i].IsNil() {
				t.Errorf("%s.%s: view says %v, want %v", path, name, got[1], !values[i].IsNil())
			}
			if len(got) == 2 && values[i].IsNil() {
				continue
			}
			Same(t, path+"."+name, got[0], values[i])
		}
	case reflect.Slice, reflect.Array:
		elems := flatten(want)
		if n := view.MethodByName("Len"); n.IsValid() && int(n.Call(nil)[0].Int()) == want.Len() {
			elems = elementsOf(want) // arrays of a typedef of an array
		}
		if view.Kind() == reflect.Slice { // bytes of an array
			if view.Len() != len(elems) {
				t.Fatalf("%s: view has %d bytes, want %d", path, view.Len(), len(elems))
			}
			for i, e := range elems {
				Same(t, fmt.Sprintf("%s[%d]", path, i), view.Index(i), e)
			}
			return
		}
		if n := view.MethodByName("Len").Call(nil)[0].Int(); int(n) != len(elems) {
			t.Fatalf("%s: view has %d elements, want %d", path, n, len(elems))
		}
		for i, e := range elems {
			got := view.MethodByName("At").Call([]reflect.Value{reflect.ValueOf(i)})[0]
			Same(t, fmt.Sprintf("%s[%d]", path, i), got, e)
		}
		count := 0
		for i, got := range view.MethodByName("All").Call(nil)[0].Seq2() {
			Same(t, fmt.Sprintf("%s.All[%d]", path, i.Int()), got, elems[i.Int()])
			count++
		}
		if count != len(elems) {
			t.Errorf("%s: All gives %d elements, want %d", path, count, len(elems))
		}
	case reflect.Map:
		sameMap(t, path, view, want)
	case reflect.String: // wide
		wide := view.Interface().(cdr.WideString)
		if text := want.String(); wide.String() != text || !wide.Is(text) || wide.Is(text+"x") || wide.Is("x"+text) {
			t.Errorf("%s: view reads %q, want %q", path, wide, text)
		}
	default:
		t.Errorf("%s: view reads a %v, want a %v", path, view.Type(), want.Type())
	}
}

func elementsOf(v reflect.Value) (out []reflect.Value) {
	for i := range v.Len() {
		out = append(out, v.Index(i))
	}
	return out
}

// sameMap compares all pairs that the view of a map gives, one by one and by key.
func sameMap(t testing.TB, path string, view, want reflect.Value) {
	t.Helper()
	if n := view.MethodByName("Len").Call(nil)[0].Int(); int(n) != want.Len() {
		t.Fatalf("%s: view has %d pairs, want %d", path, n, want.Len())
	}
	count := 0
	for k, v := range view.MethodByName("All").Call(nil)[0].Seq2() {
		key := k
		if wide, ok := k.Interface().(cdr.WideString); ok {
			key = reflect.ValueOf(wide.String())
		}
		exp := want.MapIndex(key)
		if !exp.IsValid() {
			t.Fatalf("%s: view has key %v", path, key)
		}
		Same(t, fmt.Sprintf("%s[%v]", path, key), v, exp)
		got := view.MethodByName("Get").Call([]reflect.Value{key})
		if !got[1].Bool() {
			t.Errorf("%s: Get does not find %v", path, key)
		}
		Same(t, fmt.Sprintf("%s.Get(%v)", path, key), got[0], exp)
		count++
	}
	if count != want.Len() {
		t.Errorf("%s: All gives %d pairs, want %d", path, count, want.Len())
	}
	none := reflect.Zero(want.Type().Key())
	if got := view.MethodByName("Get").Call([]reflect.Value{none}); got[1].Bool() != want.MapIndex(none).IsValid() {
		t.Errorf("%s: Get(%v) says %v", path, none, got[1])
	}
}

// setUnion calls the builder's setter for the member that a union holds.
func setUnion(b, union reflect.Value) {
	for i := range b.NumMethod() {
		name := strings.TrimPrefix(b.Type().Method(i).Name, "Set")
		read := union.MethodByName(name)
		if !read.IsValid() || read.Type().NumOut() != 2 {
			continue
		}
		got := read.Call(nil)
		if !got[1].Bool() {
			continue
		}
		v := got[0]
		if want := b.Method(i).Type().In(0); want != v.Type() && want.Kind() == reflect.Pointer {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p
		}
		b.Method(i).Call([]reflect.Value{v})
	}
}

// optional tells whether a field may be absent.
func optional(t reflect.Type, name string) bool {
	f, _ := t.FieldByName(name)
	return strings.HasSuffix(f.Tag.Get("json"), ",omitempty")
}

// Set calls the builder's setters in the order of the members.
func Set(builder any, m cdr.Message) { set(builder, m, false) }

// Add is Set, but for sequences that the builder takes element by element.
func Add(builder any, m cdr.Message) { set(builder, m, true) }

// addElements calls the methods for a sequence that is given element by element, if there are such.
func addElements(b reflect.Value, name string, v reflect.Value) bool {
	begin := b.MethodByName("Begin" + name)
	if !begin.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	if v = reflect.Indirect(v); v.Kind() != reflect.Slice {
		return false
	}
	begin.Call([]reflect.Value{reflect.ValueOf(v.Len())})
	add := b.MethodByName("Add" + name)
	for i := range v.Len() {
		e := v.Index(i)
		if add.Type().In(0).Kind() == reflect.Pointer {
			e = e.Addr()
		}
		add.Call([]reflect.Value{e})
	}
	return true
}

func set(builder any, m cdr.Message, add bool) {
	b := reflect.ValueOf(builder)
	if reflect.ValueOf(m).MethodByName("SetDiscriminator").IsValid() {
		setUnion(b, reflect.ValueOf(m))
		return
	}
	names, values := fieldsOf(reflect.ValueOf(m).Elem())
	for i, name := range names {
		v := values[i]
		setter := b.MethodByName("Set" + name)
		if !setter.IsValid() {
			continue // is not serialized
		}
		if add && addElements(b, name, v) {
			continue
		}
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
