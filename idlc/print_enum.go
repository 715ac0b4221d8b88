package idlc

// enum prints a named int32 with its constants and its text forms, which are the IDL names.
func (w *printer) enum(e *Enum) {
	name := w.plan.goName(e)
	fmtName, strconvName := w.use("fmt"), w.use("strconv")
	w.comment(e.Doc, name+" is the IDL enum "+e.Scoped()+".")
	w.p("type ", name, " int32")
	w.p()
	w.p("// Values of ", name, ".")
	w.p("const (")
	for _, v := range e.Enumerators {
		w.comment(v.Doc, "")
		w.p(w.plan.enumeratorName(v), " ", name, " = ", v.Value)
	}
	w.p(")")
	w.p()
	w.p("// Valid tells whether v is one of the values above.")
	w.p("func (v ", name, ") Valid() bool {")
	if lo, hi, ok := e.contiguous(); ok {
		w.p("return v >= ", lo, " && v <= ", hi)
	} else {
		w.p("switch v {")
		list := ""
		for i, v := range e.Enumerators {
			if i > 0 {
				list += ", "
			}
			list += w.plan.enumeratorName(v)
		}
		w.p("case ", list, ":\nreturn true\n}\nreturn false")
	}
	w.p("}")
	w.p()
	w.p("// String gives the name in IDL.")
	w.p("func (v ", name, ") String() string {")
	w.p("switch v {")
	for _, v := range e.Enumerators {
		w.p("case ", w.plan.enumeratorName(v), ":\nreturn \"", v.Name, "\"")
	}
	w.p("}")
	w.p("return \"", name, "(\" + ", strconvName, ".Itoa(int(v)) + \")\"")
	w.p("}")
	w.p()
	w.p("// Parse", name, " is the inverse of String.")
	w.p("func Parse", name, "(s string) (", name, ", error) {")
	w.p("switch s {")
	for _, v := range e.Enumerators {
		w.p("case \"", v.Name, "\":\nreturn ", w.plan.enumeratorName(v), ", nil")
	}
	w.p("}")
	w.p("return 0, ", fmtName, ".Errorf(\"%q is no ", name, "\", s)")
	w.p("}")
	w.p()
	w.p("// MarshalText gives the name in IDL, for JSON and the like.")
	w.p("func (v ", name, ") MarshalText() ([]byte, error) {")
	w.p("if !v.Valid() {\nreturn nil, ", fmtName, ".Errorf(\"%d is no ", name, "\", int32(v))\n}")
	w.p("return []byte(v.String()), nil")
	w.p("}")
	w.p()
	w.p("// UnmarshalText is the inverse of MarshalText.")
	w.p("func (v *", name, ") UnmarshalText(text []byte) error {")
	w.p("parsed, err := Parse", name, "(string(text))")
	w.p("if err != nil {\nreturn err\n}")
	w.p("*v = parsed")
	w.p("return nil")
	w.p("}")
}

// contiguous tells whether the values leave no gap.
func (e *Enum) contiguous() (lo, hi int32, ok bool) {
	for i, v := range e.Enumerators {
		if i == 0 {
			lo, hi = v.Value, v.Value
		}
		lo, hi = min(lo, v.Value), max(hi, v.Value)
	}
	return lo, hi, int64(hi)-int64(lo)+1 == int64(len(e.Enumerators))
}
