package idlc

// bitmask prints an unsigned integer with constants for its bits.
func (w *printer) bitmask(b *Bitmask) {
	name := w.plan.goName(b)
	goType := "uint" + itoa(8*b.Width)
	w.comment(b.Doc, name+" is the IDL bitmask "+b.Scoped()+".")
	w.p("type ", name, " ", goType)
	w.p()
	w.p("// Flags of ", name, ".")
	w.p("const (")
	for _, f := range b.Flags {
		w.comment(f.Doc, "")
		w.p(w.plan.flagName(f), " ", name, " = 1 << ", f.Position)
	}
	w.p(")")
	w.p()
	table := lowerFirst(name) + "Flags"
	w.p("var ", table, " = []cdr.Flag{")
	for _, f := range b.Flags {
		w.p("{Name: ", quote(f.Name), ", Bit: ", f.Position, "},")
	}
	w.p("}")
	w.p()
	w.p("// Has tells whether all of flags are set.")
	w.p("func (v ", name, ") Has(flags ", name, ") bool { return v&flags == flags }")
	w.p()
	w.p("// Set sets flags.")
	w.p("func (v *", name, ") Set(flags ", name, ") { *v |= flags }")
	w.p()
	w.p("// Clear clears flags.")
	w.p("func (v *", name, ") Clear(flags ", name, ") { *v &^= flags }")
	w.p()
	w.p("// String gives the names in IDL: A|B. Bits without a name come as a number.")
	w.p("func (v ", name, ") String() string { return cdr.FormatFlags(uint64(v), ", table, ") }")
	w.p()
	w.p("// Parse", name, " is the inverse of String.")
	w.p("func Parse", name, "(s string) (", name, ", error) {")
	w.p("v, err := cdr.ParseFlags(s, ", table, ", ", 8*b.Width, ")")
	w.p("return ", name, "(v), err")
	w.p("}")
	w.p()
	w.p("// MarshalJSON gives a list of names; bits without a name come as a number.")
	w.p("func (v ", name, ") MarshalJSON() ([]byte, error) { return cdr.MarshalFlagsJSON(uint64(v), ", table, ") }")
	w.p()
	w.p("// UnmarshalJSON is the inverse of MarshalJSON. It takes a number, too.")
	w.p("func (v *", name, ") UnmarshalJSON(data []byte) error {")
	w.p("bits, err := cdr.UnmarshalFlagsJSON(data, ", table, ", ", 8*b.Width, ")")
	w.p("if err == nil {\n*v = ", name, "(bits)\n}")
	w.p("return err")
	w.p("}")
}

// bitset prints a struct of the fields, which are packed only on the wire.
func (w *printer) bitset(b *Bitset) {
	name := w.plan.goName(b)
	var fields []*Bitfield
	for _, f := range b.allFields() {
		if f.Name != "" {
			fields = append(fields, f)
		}
	}
	w.comment(b.Doc, name+" is the IDL bitset "+b.Scoped()+".")
	w.p("type ", name, " struct {")
	for _, f := range fields {
		doc := itoa(f.Bits) + " bits."
		if f.Bits == 1 {
			doc = "1 bit."
		}
		if f.Doc != "" {
			doc = f.Doc + "\n" + doc
		}
		w.comment(doc, "")
		w.p(w.plan.bitfieldName(f), " ", primitives[f.Type].goType, " `json:\"", f.Name, "\"`")
	}
	w.p("}")
	w.p()
	w.p("// Bits packs the fields, the first in the least significant bits. What does not fit its field is cut.")
	w.p("func (m *", name, ") Bits() uint64 {")
	w.p("var bits uint64")
	for _, f := range fields {
		x := "uint64(m." + w.plan.bitfieldName(f) + ")"
		if f.Type == Boolean {
			x = "cdr.BoolBit(m." + w.plan.bitfieldName(f) + ")"
		}
		w.p("bits |= cdr.PackBits(", x, ", ", f.Position, ", ", f.Bits, ")")
	}
	w.p("return bits")
	w.p("}")
	w.p()
	w.p("// SetBits is the inverse of Bits.")
	w.p("func (m *", name, ") SetBits(bits uint64) {")
	for _, f := range fields {
		x := "m." + w.plan.bitfieldName(f)
		switch p := primitives[f.Type]; {
		case f.Type == Boolean:
			w.p(x, " = cdr.UnpackBits(bits, ", f.Position, ", ", f.Bits, ") != 0")
		case p.signed:
			w.p(x, " = ", p.goType, "(cdr.UnpackSigned(bits, ", f.Position, ", ", f.Bits, "))")
		default:
			w.p(x, " = ", p.goType, "(cdr.UnpackBits(bits, ", f.Position, ", ", f.Bits, "))")
		}
	}
	w.p("}")
	w.p()
	w.p("// MarshalCDR writes the packed fields. A value that does not fit its field is an error.")
	w.p("func (m *", name, ") MarshalCDR(e *cdr.Encoder) {")
	w.p("bits := m.Bits()")
	for _, f := range fields {
		if f.Type == Boolean || f.Bits == 8*primitives[f.Type].size {
			continue
		}
		x, method := "uint64(m."+w.plan.bitfieldName(f)+")", "CheckBits"
		if primitives[f.Type].signed {
			x, method = "int64(m."+w.plan.bitfieldName(f)+")", "CheckSigned"
		}
		w.p("e.", method, "(", quote(f.Name), ", ", x, ", ", f.Bits, ")")
	}
	w.p("e.Uint", 8*b.Width, "(uint", 8*b.Width, "(bits))")
	w.p("}")
	w.p()
	w.p("// UnmarshalCDR reads the packed fields.")
	w.p("func (m *", name, ") UnmarshalCDR(d *cdr.Decoder) { m.SetBits(uint64(d.Uint", 8*b.Width, "(\"\"))) }")
}
