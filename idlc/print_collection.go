package idlc

// A view of a collection reads its elements where they are. Collections of primitives, enumerators and strings have types of the
// runtime for it, those of structs and unions the type next to these. All others get a type of their own here: of a typedef, it
// is named after the typedef; otherwise after the member, and the collection within it after that.

// ownView tells whether a collection needs a type of its own.
func ownView(t Type) bool {
	var elem Type
	switch t := resolve(t).(type) {
	case *Map:
		return true
	case *Sequence:
		if _, ok := bulk(t.Elem); !ok && t.Of.TryConstruct > TryConstructDiscard {
			return true // elements may be read as something else than what was sent
		}
		elem = t.Elem
	case *Array:
		elem = t.Elem
	default:
		return false
	}
	switch e := resolve(elem).(type) {
	case Primitive, *Enum, *Struct, *Union:
		return false
	case *String:
		return e.Wide
	}
	return true
}

// collectionAlias gives the typedef that names a collection; nil if it has no name.
func collectionAlias(t Type) (named *Alias) {
	for {
		a, ok := t.(*Alias)
		if !ok {
			return named
		}
		named, t = a, a.Target
	}
}

// viewSuffix is what the name of the view of a collection ends in.
func viewSuffix(t Type) string {
	if _, ok := resolve(t).(*Map); ok {
		return "View"
	}
	return "Views"
}

// collectionNames lists the Go names that the view of a collection takes, and those within it.
func collectionNames(path string, t Type) (names []string) {
	if _, named := t.(*Alias); named || !ownView(t) {
		return nil
	}
	name := path + viewSuffix(t)
	names = []string{name, name + "Of"}
	switch t := t.(type) {
	case *Map:
		return append(names, collectionNames(path+"Value", t.Elem)...)
	case *Sequence:
		return append(names, collectionNames(path+"Element", t.Elem)...)
	case *Array:
		return append(names, collectionNames(path+"Element", t.Elem)...)
	}
	return names
}

// readOwnView is read for a collection that has a view of its own, which it sees to that it is printed.
func (w *printer) readOwnView(f field, at string) (result string, body []string) {
	name := f.path + viewSuffix(f.Type)
	if a := collectionAlias(f.Type); a != nil {
		name = w.refName(a, w.plan.goName(a)+viewSuffix(a))
	} else if !f.inherited {
		w.collections = append(w.collections, f)
	}
	call := ""
	switch t := resolve(f.Type).(type) {
	case *Sequence:
		call = "Elements(" + at + ", " + w.layoutOf(t.Elem) + ")"
	case *Array:
		call = "ArrayElements(" + at + ", " + itoa(t.count()) + ", " + w.layoutOf(t.Elem) + ")"
	case *Map:
		call = "Pairs(" + at + ", " + boolText(isPrimitive(t.Key) && isPrimitive(t.Elem)) + ")"
	}
	return name, []string{name + "Of(" + f.sample() + "." + call + f.first() + ")"}
}

func boolText(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// collectionViews prints the views of collections that have been asked for, and those that these ask for.
func (w *printer) collectionViews() {
	for len(w.collections) > 0 {
		f := w.collections[0]
		w.collections = w.collections[1:]
		w.p()
		w.collectionView(f.path, f.Type)
	}
}

// aliasView prints the view of a collection that a typedef names.
func (w *printer) aliasView(a *Alias) {
	if _, again := a.Target.(*Alias); again || !ownView(a.Target) {
		return
	}
	w.p()
	w.collectionView(w.plan.goName(a), a.Target)
	w.collectionViews()
}

func (w *printer) collectionView(path string, t Type) {
	name := path + viewSuffix(t)
	if m, ok := t.(*Map); ok {
		w.p("// ", name, " reads an encoded ", typeName(t), " where it is.")
		w.collectionType(name, "pairs, as they were sent: of those with one key, the last counts")
		key := w.elementReader(name, "key", path+"Key", m.Key, m.OfKeys)
		value := w.elementReader(name, "value", path+"Value", m.Elem, m.Of)
		w.mapView(name, m, key, value)
		return
	}
	var elem Type
	var of Element
	switch t := t.(type) {
	case *Sequence:
		elem, of = t.Elem, t.Of
	case *Array:
		elem = t.Elem
	}
	w.p("// ", name, " reads the elements of an encoded ", typeName(t), " where they are.")
	w.collectionType(name, "elements")
	w.elementsView(name, w.elementReader(name, "element", path+"Element", elem, of), w.layoutOf(elem) == "nil")
}

func (w *printer) collectionType(name, what string) {
	w.p("type ", name, " struct{ c cdr.Elements }")
	w.p()
	w.p("// ", name, "Of is for generated code.")
	w.p("func ", name, "Of(c cdr.Elements) ", name, " { return ", name, "{c} }")
	w.p()
	w.p("// Len is the number of ", what, ".")
	w.p("func (vs ", name, ") Len() int { return vs.c.Len() }")
	w.p()
}

// elementReader prints the method that reads what a walk has found at an offset, and returns the printer of that walk.
func (w *printer) elementReader(name, what, path string, t Type, of Element) (e elementReader) {
	f := field{Member: &Member{Name: what, Type: t, TryConstruct: of.TryConstruct}, path: path, from: "s"}
	e.result, e.find = "", func(at string) { w.tryScan(f, at) }
	var body []string
	e.result, body = w.read(f, "at")
	w.p("func (", name, ") ", what, "(s cdr.Sample, at int32) ", e.result, " {")
	for _, line := range body[:len(body)-1] {
		w.p(line)
	}
	w.p("return ", body[len(body)-1])
	w.p("}")
	w.p()
	return e
}

// elementReader is how the elements of a collection are read: as values of a type, after find has put their offset into
// a variable.
type elementReader struct {
	result string
	find   func(at string)
}

func (w *printer) elementsView(name string, e elementReader, walks bool) {
	w.p("// At reads element i", map[bool]string{true: "; it walks over those before", false: ""}[walks],
		". An element that is not there reads as the default of its type.")
	w.p("func (vs ", name, ") At(i int) ", e.result, " {")
	w.p("d := &cdr.Decoder{}")
	w.p("at := cdr.Missing")
	w.p("for n := vs.c.Seek(d, i); n >= 0; n-- {")
	e.find("at")
	w.p("}")
	w.p("return vs.element(vs.c.Sample(), at)")
	w.p("}")
	w.p()
	w.p("// All iterates over the elements.")
	w.p("func (vs ", name, ") All() ", w.use("iter"), ".Seq2[int, ", e.result, "] {")
	w.p("return func(yield func(int, ", e.result, ") bool) {")
	w.p("d := &cdr.Decoder{}")
	w.p("if vs.c.Seek(d, 0) < 0 {\nreturn\n}")
	w.p("for i := range vs.c.Len() {")
	w.p("var at int32")
	e.find("at")
	w.p("if !yield(i, vs.element(vs.c.Sample(), at)) {\nreturn\n}")
	w.p("}")
	w.p("}")
	w.p("}")
}

func (w *printer) mapView(name string, m *Map, key, value elementReader) {
	w.p("// Get reads the value of a key, and tells whether there is one. It walks over all pairs.")
	w.p("func (vs ", name, ") Get(key ", w.goType(m.Key), ") (value ", value.result, ", ok bool) {")
	w.p("for k, v := range vs.All() {")
	if s, isString := resolve(m.Key).(*String); isString && s.Wide {
		w.p("if k.Is(key) {")
	} else {
		w.p("if k == key {")
	}
	w.p("value, ok = v, true")
	w.p("}")
	w.p("}")
	w.p("return value, ok")
	w.p("}")
	w.p()
	w.p("// All iterates over the pairs in the order in which they were sent.")
	w.p("func (vs ", name, ") All() ", w.use("iter"), ".Seq2[", key.result, ", ", value.result, "] {")
	w.p("return func(yield func(", key.result, ", ", value.result, ") bool) {")
	w.p("d := &cdr.Decoder{}")
	w.p("if vs.c.Seek(d, 0) < 0 {\nreturn\n}")
	w.p("for range vs.c.Len() {")
	w.p("var keyAt, at int32")
	key.find("keyAt")
	value.find("at")
	w.p("s := vs.c.Sample()")
	w.p("if !yield(vs.key(s, keyAt), vs.value(s, at)) {\nreturn\n}")
	w.p("}")
	w.p("}")
	w.p("}")
}
