package idlc

// sortedKeys is the function of the runtime that sorts the keys of a map.
func sortedKeys(m *Map) string {
	if resolve(m.Key) == Boolean {
		return "SortedBools"
	}
	return "SortedKeys"
}

// mapValue prints the code for the value of a map's key. Methods need a value that has an address.
func (w *printer) mapValue(m *Map, x, key string, depth int, print func(x string)) {
	switch resolve(m.Elem).(type) {
	case *Struct, *Union, *Bitset, *Array:
		v := "v" + itoa(depth)
		w.p(v, " := ", x, "[", key, "]")
		print(v)
	default:
		print(x + "[" + key + "]")
	}
}

func (w *printer) decodeMap(m *Map, x, name string, depth int, key bool) {
	scope, v := markVar(name, depth), loopVar(depth)
	size := minSize(m.Key) + minSize(m.Elem)
	n := "n"
	if depth > 0 {
		n += itoa(depth)
	}
	w.p(n, ", ", scope, " := d.BeginMap(", quote(name), ", ", m.Bound, ", ", size, ", ", isPrimitive(m.Key) && isPrimitive(m.Elem), ")")
	w.p(x, " = cdr.MakeMap(d, ", quote(name), ", ", x, ", ", n, ")")
	w.pairs(m, decoding, name, n, depth)
	value := "v" + itoa(depth)
	w.p("var ", v, " ", w.goType(m.Key))
	w.p("var ", value, " ", w.goType(m.Elem))
	w.decodeElement(m.OfKeys, m.Key, v, depth+1, key)
	w.decodeElement(m.Of, m.Elem, value, depth+2, key)
	w.p("cdr.LeaveKeyOf(d, ", quote(name), ", ", v, ")")
	w.p(x, "[", v, "] = ", value)
	w.p("}")
	w.p("d.End(", scope, ")")
}

// pairs prints the head of a loop over n pairs. Those that are cut off are passed over.
func (w *printer) pairs(m *Map, g guard, name, n string, depth int) {
	if m.kept == 0 {
		w.p("for range ", n, " {")
		w.p("if !", g, " {\nbreak\n}")
		return
	}
	pair := "pair" + itoa(depth)
	w.p("for ", pair, " := range ", n, " {")
	w.p("if !", g, " {\nbreak\n}")
	w.p("if ", pair, " >= ", m.kept, " {")
	w.skipValue(m.Key, "", depth+1)
	w.skipValue(m.Elem, "", depth+2)
	w.p(g.coder(), ".Leave(", quote(name), ")")
	w.p("continue")
	w.p("}")
}

// skipMap prints how a map is passed over, pair by pair where it has no DHEADER.
func (w *printer) skipMap(m *Map, name string, depth int, skip func(t Type, name string, depth int)) {
	primitive := isPrimitive(m.Key) && isPrimitive(m.Elem)
	if !primitive {
		w.p("if !d.SkipDelimited(", quote(name), ") {")
	} else {
		w.p("{")
	}
	w.p("n, s := d.BeginMap(", quote(name), ", 0, ", minSize(m.Key)+minSize(m.Elem), ", ", primitive, ")")
	w.p("for range n {")
	w.p("if !", passing, " {\nbreak\n}")
	skip(m.Key, "", depth+1)
	skip(m.Elem, "", depth+1)
	w.p("d.Leave(", quote(name), ")")
	w.p("}")
	w.p("d.End(s)")
	w.p("}")
}
