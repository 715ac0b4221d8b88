package idlc

import "fmt"

// This file prints the code for one value in each of its uses: encode, decode, transcode (copy from a decoder to an
// encoder), and skip. Elements of collections are values again; depth numbers their loops.

func loopVar(depth int) string {
	if depth < 4 {
		return string(rune('i' + depth))
	}
	return "i" + itoa(depth)
}

// markVar names the variable that remembers where a collection began.
func markVar(name string, depth int) string {
	if depth == 0 {
		return lowerFirst(exportedName(name)) + "Begin"
	}
	return "begin" + itoa(depth)
}

// bulk tells whether elements of a type are copied together, and which primitive they are.
func bulk(t Type) (Primitive, bool) {
	p, ok := resolve(t).(Primitive)
	return p, ok && p != Float128
}

func isBitset(t Type) bool {
	_, ok := t.(*Bitset)
	return ok
}

// keysVar names the variable for the sorted keys of a map.
func keysVar(name string, depth int) string {
	if depth == 0 {
		return lowerFirst(exportedName(name)) + "Keys"
	}
	return "keys" + itoa(depth)
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// guard is what coders call before a nested value: Enter, or EnterPresent where the value is passed over.
type guard string

const (
	encoding guard = "e.Enter()"
	decoding guard = "d.Enter()"
	passing  guard = "d.EnterPresent()"
)

func (g guard) coder() string { return string(g[:1]) }

// nested prints a call with the guard against depth around it.
func (w *printer) nested(g guard, name, call string) {
	w.p("if ", g, " {")
	w.p(call)
	w.p(g.coder(), ".Leave(", quote(name), ")")
	w.p("}")
}

// element prints the code for element v of a collection within a loop.
func (w *printer) element(g guard, name, v string, print func()) {
	w.p("if !", g, " {\nbreak\n}")
	print()
	w.p(g.coder(), ".LeaveElement(", quote(name), ", ", v, ")")
}

func (w *printer) encode(t Type, x, name string, depth int, key bool) {
	switch r := resolve(t).(type) {
	case Primitive:
		w.p("e.", primitives[r].method, "(", x, ")")
	case *String:
		method := "String"
		if r.Wide {
			method = "WString"
		}
		w.p("e.", method, "(", quote(name), ", ", x, ", ", r.Bound, ")")
	case *Fixed:
		w.p("e.Fixed(", quote(name), ", ", x, ", ", r.Digits, ", ", r.Scale, ")")
	case *Enum:
		w.p("e.Enum(", quote(name), ", int32(", x, "), ", r.Width, ", ", x, ".Valid())")
	case *Bitmask:
		w.checkMask(r, x, name)
		w.p("e.Uint", 8*r.Width, "(uint", 8*r.Width, "(", x, "))")
	case *Struct, *Union, *Bitset:
		method := ".MarshalCDR(e)"
		if key && !isBitset(r) {
			method = ".MarshalKeyCDR(e)"
		}
		if depth > 0 {
			w.p(x, method)
			return
		}
		w.nested(encoding, name, x+method)
	case *Map:
		mark := markVar(name, depth)
		keys := keysVar(name, depth)
		w.p(mark, " := e.BeginMap(", quote(name), ", len(", x, "), ", r.Bound, ", ", isPrimitive(r.Key) && isPrimitive(r.Elem), ")")
		w.p(keys, " := cdr.", sortedKeys(r), "(e, ", x, ")")
		v := loopVar(depth)
		w.p("for _, ", v, " := range *", keys, " {")
		w.p("if !", encoding, " {\nbreak\n}")
		w.encode(r.Key, v, "", depth+1, key)
		w.mapValue(r, x, v, depth, func(x string) { w.encode(r.Elem, x, "", depth+1, key) })
		w.p("cdr.LeaveKey(e, ", quote(name), ", ", v, ")")
		w.p("}")
		w.p("cdr.ReleaseKeys(e, ", keys, ")")
		w.p("e.End(", mark, ")")
	case *Sequence:
		if p, ok := bulk(r.Elem); ok {
			f := "cdr.EncodeSequence"
			if p == Boolean {
				f = "cdr.EncodeBoolSequence"
			}
			w.p(f, "(e, ", quote(name), ", ", x, ", ", r.Bound, ")")
			return
		}
		mark := markVar(name, depth)
		w.p(mark, " := e.BeginSequence(", quote(name), ", len(", x, "), ", r.bound(), ", ", isPrimitive(r.Elem), ")")
		image := !key && isImage(r.Elem)
		if image {
			w.p("if !cdr.EncodeImages(e, ", w.layoutOf(resolve(r.Elem)), ", ", x, ") {")
		}
		v := loopVar(depth)
		w.p("for ", v, " := range ", x, " {")
		w.element(encoding, name, v, func() { w.encode(r.Elem, x+"["+v+"]", "", depth+1, key) })
		w.p("}")
		if image {
			w.p("}")
		}
		w.p("e.End(", mark, ")")
	case *Array:
		if isPrimitive(r.Elem) { // without a DHEADER
			w.encodeArray(r, x, name, r.Dims, depth, key)
			return
		}
		mark := markVar(name, depth)
		w.p(mark, " := e.BeginArray()")
		w.encodeArray(r, x, name, r.Dims, depth, key)
		w.p("e.End(", mark, ")")
	}
}

func (w *printer) encodeArray(a *Array, x, name string, dims []int, depth int, key bool) {
	if p, ok := bulk(a.Elem); ok && len(dims) == 1 {
		f := "cdr.EncodeArray"
		if p == Boolean {
			f = "cdr.EncodeBools"
		}
		w.p(f, "(e, ", x, "[:])")
		return
	}
	v := loopVar(depth)
	w.p("for ", v, " := range ", x, " {")
	inner := x + "[" + v + "]"
	w.element(encoding, name, v, func() {
		if len(dims) > 1 {
			w.encodeArray(a, inner, "", dims[1:], depth+1, key)
		} else {
			w.encode(a.Elem, inner, "", depth+1, key)
		}
	})
	w.p("}")
}

// decode prints the reading of a value into x.
func (w *printer) decode(t Type, x, name string, depth int, key bool) {
	switch r := resolve(t).(type) {
	case Primitive:
		w.p(x, " = d.", primitives[r].method, "(", quote(name), ")")
	case *String:
		method := "String"
		if r.Wide {
			method = "WString"
		}
		w.p(x, " = d.", method, "(", quote(name), ", ", r.Bound, ")")
	case *Enum:
		w.p(x, " = ", w.ref(r), "(d.Enum(", quote(name), ", ", r.Width, ", int32(", w.refName(r, w.plan.enumeratorName(r.Default)), ")))")
		w.p("if !", x, ".Valid() {\nd.NotEnumerator(", quote(name), ", int32(", x, "))\n}")
	case *Fixed:
		w.p(x, " = d.Fixed(", quote(name), ", ", r.Digits, ", ", r.Scale, ")")
	case *Bitmask:
		w.p(x, " = ", w.ref(r), "(d.Uint", 8*r.Width, "(", quote(name), "))", bitsOf(r))
	case *Struct, *Union, *Bitset:
		method := ".UnmarshalCDR(d)"
		if key && !isBitset(r) {
			method = ".UnmarshalKeyCDR(d)"
		}
		if depth > 0 {
			w.p(x, method)
			return
		}
		w.nested(decoding, name, x+method)
	case *Map:
		w.decodeMap(r, x, name, depth, key)
	case *Sequence:
		if p, ok := bulk(r.Elem); ok { // what is copied together is always constructible
			f := "cdr.DecodeSequence"
			if p == Boolean {
				f = "cdr.DecodeBoolSequence"
			}
			w.p(x, " = ", f, "(d, ", quote(name), ", ", x, ", ", r.Bound, ")")
			return
		}
		scope := markVar(name, depth)
		w.p("n, ", scope, " := d.BeginSequence(", quote(name), ", ", r.bound(), ", ", minSize(r.Elem), ", ", isPrimitive(r.Elem), ")")
		w.p(x, " = cdr.GrowSequence(d, ", quote(name), ", ", x, ", ", kept("n", r.kept), ")")
		image := !key && isImage(r.Elem)
		if image {
			w.p("if !cdr.DecodeImages(d, ", w.layoutOf(resolve(r.Elem)), ", ", x, ") {")
		}
		v := loopVar(depth)
		w.p("for ", v, " := range ", x, " {")
		w.element(decoding, name, v, func() { w.decodeElement(r.Of, r.Elem, x+"["+v+"]", depth+1, key) })
		w.p("}")
		if image {
			w.p("}")
		}
		w.skipRest(r, name, depth)
		w.p("d.End(", scope, ")")
	case *Array:
		if _, ok := bulk(r.Elem); ok && len(r.Dims) == 1 {
			w.decodeArray(r, x, name, r.Dims, depth, key)
			return
		}
		scope := markVar(name, depth)
		if isPrimitive(r.Elem) { // rows are not absent one by one
			w.p(scope, " := d.Begin(cdr.Final)")
		} else {
			w.p(scope, " := d.BeginArray(", quote(name), ")")
		}
		w.decodeArray(r, x, name, r.Dims, depth, key)
		w.p("d.End(", scope, ")")
	}
}

// kept is the expression for how many of n elements are kept, where more than so many are cut off; 0 stands for none.
func kept(n string, most int) string {
	if most == 0 {
		return n
	}
	return "min(" + n + ", " + itoa(most) + ")"
}

// skipRest prints how those of n elements are passed over that are cut off: whether they are values of their type does
// not matter.
func (w *printer) skipRest(s *Sequence, name string, depth int) {
	if s.kept > 0 {
		w.skipElements(s.Elem, name, "n - "+kept("n", s.kept), depth)
	}
}

// decodeElement prints the reading of an element of a sequence or a map.
func (w *printer) decodeElement(of Element, t Type, x string, depth int, key bool) {
	w.try(of.TryConstruct, t, x, "", depth, key, func() { w.reset(t, x, depth) })
}

func (w *printer) decodeArray(a *Array, x, name string, dims []int, depth int, key bool) {
	if p, ok := bulk(a.Elem); ok && len(dims) == 1 {
		f := "cdr.DecodeArray"
		if p == Boolean {
			f = "cdr.DecodeBools"
		}
		w.p(f, "(d, ", quote(name), ", ", x, "[:])")
		return
	}
	v := loopVar(depth)
	w.p("for ", v, " := range ", x, " {")
	inner := x + "[" + v + "]"
	w.element(decoding, name, v, func() {
		if len(dims) > 1 {
			w.decodeArray(a, inner, "", dims[1:], depth+1, key)
		} else {
			w.decode(a.Elem, inner, "", depth+1, key)
		}
	})
	w.p("}")
}

// checkMask prints the check that a bitmask has no bits that its type does not have.
func (w *printer) checkMask(b *Bitmask, x, name string) {
	if b.BitBound < 8*b.Width {
		w.p("e.CheckBits(", quote(name), ", uint64(", x, "), ", b.BitBound, ")")
	}
}

// bitsOf prints what takes those bits from a number that was read: others have no meaning.
func bitsOf(b *Bitmask) string {
	if b.BitBound < 8*b.Width {
		return fmt.Sprintf(" & %#x", uint64(1)<<b.BitBound-1)
	}
	return ""
}

// transcode prints the copying of a key value. Maps are no keys.
func (w *printer) transcode(t Type, name string, depth int) {
	switch r := resolve(t).(type) {
	case Primitive:
		m := primitives[r].method
		w.p("e.", m, "(d.", m, "(", quote(name), "))")
	case *String:
		f := "cdr.CopyString"
		if r.Wide {
			f = "cdr.CopyWString"
		}
		w.p(f, "(d, e, ", quote(name), ", ", r.Bound, ")")
	case *Enum:
		w.p("e.Enum(", quote(name), ", d.Enum(", quote(name), ", ", r.Width, ", int32(",
			w.refName(r, w.plan.enumeratorName(r.Default)), ")), ", r.Width, ", true)")
	case *Bitmask:
		w.p("e.Uint", 8*r.Width, "(d.Uint", 8*r.Width, "(", quote(name), ")", bitsOf(r), ")")
	case *Bitset: // bits that are no field's are no part of the value
		w.p("{\nvar bits ", w.ref(r), "\nbits.UnmarshalCDR(d)\nbits.MarshalCDR(e)\n}")
	case *Fixed:
		w.p("e.Fixed(", quote(name), ", d.Fixed(", quote(name), ", ", r.Digits, ", ", r.Scale, "), ", r.Digits, ", ", r.Scale, ")")
	case *Struct, *Union:
		call := fmt.Sprintf("(*%s)(nil).TranscodeKeyCDR(d, e)", w.ref(r.(Decl)))
		if depth > 0 {
			w.p(call)
			return
		}
		w.nested(decoding, name, call)
	case *Sequence:
		if p, ok := bulk(r.Elem); ok && p != Boolean {
			w.p("cdr.CopySequence[", primitives[p].goType, "](d, e, ", quote(name), ", ", r.Bound, ")")
			return
		}
		scope := markVar(name, depth)
		w.p("n, ", scope, " := d.BeginSequence(", quote(name), ", ", r.bound(), ", ", minSize(r.Elem), ", ", isPrimitive(r.Elem), ")")
		w.p("n = cdr.AllotSequence[", w.goType(r.Elem), "](d, ", quote(name), ", n)")
		w.p(scope, "Out := e.BeginSequence(", quote(name), ", n, ", r.bound(), ", ", isPrimitive(r.Elem), ")")
		v := loopVar(depth)
		w.p("for ", v, " := range n {")
		w.element(decoding, name, v, func() { w.transcode(r.Elem, "", depth+1) })
		w.p("}")
		w.p("d.End(", scope, ")")
		w.p("e.End(", scope, "Out)")
	case *Array:
		if p, ok := bulk(r.Elem); ok && p != Boolean {
			goType := primitives[p].goType
			w.p("cdr.CopyArray[", goType, "](d, e, ", quote(name), ", ", r.count(), ")")
			return
		}
		scope := markVar(name, depth)
		if !isPrimitive(r.Elem) {
			w.p(scope, ", ", scope, "Out := d.BeginArray(", quote(name), "), e.BeginArray()")
		}
		v := loopVar(depth)
		w.p("for ", v, " := range ", r.count(), " {")
		w.element(decoding, name, v, func() { w.transcode(r.Elem, "", depth+1) })
		w.p("}")
		if !isPrimitive(r.Elem) {
			w.p("d.End(", scope, ")")
			w.p("e.End(", scope, "Out)")
		}
	}
}

func (w *printer) skipValue(t Type, name string, depth int) {
	switch r := resolve(t).(type) {
	case Primitive:
		n := primitives[r].size
		w.p("d.Skip(", quote(name), ", ", n, ", ", n, ")")
	case *Enum, *Bitmask, *Bitset:
		n, _ := scalarSize(r)
		w.p("d.Skip(", quote(name), ", ", n, ", ", n, ")")
	case *Fixed:
		w.p("d.Skip(", quote(name), ", 1, ", r.size(), ")")
	case *String:
		if r.Wide {
			w.p("d.SkipWString(", quote(name), ")")
		} else {
			w.p("d.SkipString(", quote(name), ")")
		}
	case *Struct, *Union:
		call := fmt.Sprintf("(*%s)(nil).SkipCDR(d)", w.ref(r.(Decl)))
		if depth > 0 {
			w.p(call)
			return
		}
		w.nested(passing, name, call)
	case *Map:
		w.skipMap(r, name, depth, w.skipValue)
	case *Sequence:
		if isPrimitive(r.Elem) {
			w.p("d.SkipSequence(", quote(name), ", ", primitives[resolve(r.Elem).(Primitive)].size, ")")
			return
		}
		w.p("if !d.SkipDelimited(", quote(name), ") {")
		w.p("n, s := d.BeginSequence(", quote(name), ", 0, ", minSize(r.Elem), ", false)")
		w.skipElements(r.Elem, name, "n", depth)
		w.p("d.End(s)")
		w.p("}")
	case *Array:
		if isPrimitive(r.Elem) {
			n := primitives[resolve(r.Elem).(Primitive)].size
			w.p("d.Skip(", quote(name), ", ", n, ", ", n*r.count(), ")")
			return
		}
		w.p("if !d.SkipDelimited(", quote(name), ") {")
		w.p("s := d.BeginArray(", quote(name), ")")
		w.skipElements(r.Elem, name, itoa(r.count()), depth)
		w.p("d.End(s)")
		w.p("}")
	}
}

func (w *printer) skipElements(elem Type, name, n string, depth int) {
	v := loopVar(depth)
	w.p("for ", v, " := range ", n, " {")
	w.element(passing, name, v, func() { w.skipValue(elem, "", depth+1) })
	w.p("}")
}
