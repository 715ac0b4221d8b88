package viewtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// Write gives m to a generated writer, of which w is a pointer. At each member that may be written in several ways, as a whole, in parts or into room
// of its own, rnd chooses.
func Write(rnd *rand.Rand, w any, m cdr.Message) {
	writeValue(rnd, reflect.ValueOf(w), reflect.ValueOf(m))
}

// writeValue calls the methods of the writer w for the members of the struct or union that v points to.
func writeValue(rnd *rand.Rand, w, v reflect.Value) {
	if !v.MethodByName("SetDiscriminator").IsValid() {
		names, values := fieldsOf(v.Elem())
		for i, name := range names {
			x := values[i]
			if x.Kind() == reflect.Pointer {
				if x.IsNil() && optional(v.Type().Elem(), name) {
					continue
				} else if x.IsNil() { // external
					x = reflect.New(x.Type().Elem())
				}
				x = x.Elem()
			}
			if w.MethodByName("Set" + name).IsValid() { // it is serialized
				writeMember(rnd, w, name, x)
			}
		}
		return
	}
	for i := range w.NumMethod() {
		name, isSetter := strings.CutPrefix(w.Type().Method(i).Name, "Set")
		read := v.MethodByName(name)
		if !isSetter || !read.IsValid() || read.Type().NumOut() != 2 {
			continue
		}
		if got := read.Call(nil); got[1].Bool() {
			x := reflect.New(got[0].Type()).Elem()
			x.Set(got[0])
			if x.Kind() == reflect.Pointer {
				x = x.Elem()
			}
			writeMember(rnd, w, name, x)
			return
		}
	}
	w.MethodByName("SetDiscriminator").Call([]reflect.Value{v.MethodByName("Discriminator").Call(nil)[0]})
}

// writeMember writes x, which has an address.
func writeMember(rnd *rand.Rand, w reflect.Value, name string, x reflect.Value) {
	if room := w.MethodByName("RoomFor" + name); room.IsValid() && rnd.IntN(2) == 0 {
		b := room.Call([]reflect.Value{reflect.ValueOf(x.Len())})[0]
		reflect.Copy(b, x)
		return
	}
	begin := w.MethodByName("Begin" + name)
	if !begin.IsValid() || rnd.IntN(3) == 0 {
		call(w.MethodByName("Set"+name), x)
		return
	}
	if begin.Type().NumOut() == 1 {
		if !selected(x) {
			call(w.MethodByName("Set"+name), x)
			return
		}
		within(rnd, begin.Call(nil)[0], x)
		return
	}
	var keys, elements []reflect.Value
	switch x.Kind() {
	case reflect.Map:
		keys = slices.SortedFunc(slices.Values(x.MapKeys()), compareKeys)
		for _, k := range keys {
			e := reflect.New(x.Type().Elem()).Elem()
			e.Set(x.MapIndex(k))
			elements = append(elements, e)
		}
	case reflect.Array:
		elements = rows(x, w.MethodByName("Add"+name).Type().In(0))
	default:
		for i := range x.Len() {
			elements = append(elements, x.Index(i))
		}
	}
	if begin.Type().NumIn() == 1 {
		begin.Call([]reflect.Value{reflect.ValueOf(len(elements))})
	} else {
		begin.Call(nil)
	}
	next := w.MethodByName("Next" + name)
	for i, e := range elements {
		var key []reflect.Value
		if keys != nil {
			key = []reflect.Value{keys[i]}
		}
		if next.IsValid() && selected(e) && rnd.IntN(3) > 0 {
			within(rnd, next.Call(key)[0], e)
		} else {
			call(w.MethodByName("Add"+name), append(key, e)...)
		}
	}
}

// selected tells whether x is a value that a writer can give: no union with another discriminator than the one that setting its member gives.
func selected(x reflect.Value) bool {
	u := x.Addr()
	if !u.MethodByName("SetDiscriminator").IsValid() {
		return true
	}
	for i := range u.NumMethod() {
		name, isSetter := strings.CutPrefix(u.Type().Method(i).Name, "Set")
		read := u.MethodByName(name)
		if !isSetter || !read.IsValid() || read.Type().NumOut() != 2 {
			continue
		}
		if got := read.Call(nil); got[1].Bool() {
			same, v := reflect.New(x.Type()), got[0]
			set := same.MethodByName("Set" + name)
			if v.Type() != set.Type().In(0) {
				v = v.Elem()
			}
			set.Call([]reflect.Value{v})
			return same.MethodByName("Discriminator").Call(nil)[0].Equal(u.MethodByName("Discriminator").Call(nil)[0])
		}
	}
	return true
}

// rows gives the elements of arrays of arrays that have the type add, or to which it points.
func rows(x reflect.Value, add reflect.Type) (elements []reflect.Value) {
	for i := range x.Len() {
		if e := x.Index(i); e.Kind() == reflect.Array && e.Type() != add && reflect.PointerTo(e.Type()) != add {
			elements = append(elements, rows(e, add)...)
		} else {
			elements = append(elements, e)
		}
	}
	return elements
}

// within writes a value with a writer of its own.
func within(rnd *rand.Rand, writer, x reflect.Value) {
	w := reflect.New(writer.Type())
	w.Elem().Set(writer)
	writeValue(rnd, w, x.Addr())
	w.MethodByName("End").Call(nil)
}

// call gives the last argument by its address if the method takes it so.
func call(method reflect.Value, args ...reflect.Value) {
	if n := len(args) - 1; method.Type().In(n).Kind() == reflect.Pointer {
		args[n] = args[n].Addr()
	}
	method.Call(args)
}

func compareKeys(a, b reflect.Value) int {
	less := func(a, b reflect.Value) bool {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.Kind() == reflect.Bool:
			return !a.Bool() && b.Bool()
		}
		return a.String() < b.String()
	}
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}
