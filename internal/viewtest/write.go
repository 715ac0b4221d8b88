package viewtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// Write gives m to a generated writer, of which w is a pointer. At each member that may be written in several ways, as
// a whole, in parts or into room of its own, rnd chooses.
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
			if !first(v.Elem()) || rnd.IntN(3) == 0 {
				discriminate(w, v)
			}
			writeMember(rnd, w, name, x)
			return
		}
	}
	discriminate(w, v)
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
		within(rnd, begin.Call(nil)[0], x)
		return
	}
	n := parts(x, w.MethodByName("Add"+name))
	if begin.Type().NumIn() == 1 {
		begin.Call([]reflect.Value{reflect.ValueOf(len(n.elements))})
	} else {
		begin.Call(nil)
	}
	n.write(rnd, w, name)
}

// collection is the elements of a collection, or the pairs of a map.
type collection struct{ keys, elements []reflect.Value }

// parts takes a collection apart as the method add takes its elements.
func parts(x, add reflect.Value) (c collection) {
	switch x.Kind() {
	case reflect.Map:
		c.keys = slices.SortedFunc(slices.Values(x.MapKeys()), compareKeys)
		for _, k := range c.keys {
			e := reflect.New(x.Type().Elem()).Elem()
			e.Set(x.MapIndex(k))
			c.elements = append(c.elements, e)
		}
	case reflect.Array:
		c.elements = rows(x, add.Type().In(0))
	default:
		for i := range x.Len() {
			c.elements = append(c.elements, x.Index(i))
		}
	}
	return c
}

// write gives the elements to the methods of a writer for a member; without a name, to those of the writer of a collection.
func (c collection) write(rnd *rand.Rand, w reflect.Value, name string) {
	next := w.MethodByName("Next" + name)
	for i, e := range c.elements {
		var args []reflect.Value
		if c.keys != nil {
			args = []reflect.Value{c.keys[i]}
		}
		switch {
		case !next.IsValid() || rnd.IntN(3) == 0:
			call(w.MethodByName("Add"+name), append(args, e)...)
		case e.Kind() == reflect.Slice || e.Kind() == reflect.Array || e.Kind() == reflect.Map:
			inner := reflect.New(next.Type().Out(0))
			of := parts(e, inner.MethodByName("Add"))
			if e.Kind() != reflect.Array {
				args = append(args, reflect.ValueOf(len(of.elements)))
			}
			inner.Elem().Set(next.Call(args)[0])
			of.write(rnd, inner, "")
			inner.MethodByName("End").Call(nil)
		default:
			within(rnd, next.Call(args)[0], e)
		}
	}
}

// discriminate gives the discriminator of the union that v points to.
func discriminate(w, v reflect.Value) {
	w.MethodByName("SetDiscriminator").Call(v.MethodByName("Discriminator").Call(nil))
}

// first tells whether the discriminator of a union is the one that setting its member gives.
func first(x reflect.Value) bool {
	u := x.Addr()
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
