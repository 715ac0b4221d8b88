package idlc

import (
	"fmt"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// len is the number of members in the front; 0 if there is none.
func (f *front) len() int {
	if f == nil {
		return 0
	}
	return len(f.members)
}

// frontOf prints the description of a front.
func (w *printer) frontOf(f *front) {
	w.p("Front: cdr.FrontOf(")
	for _, p := range f.parts {
		var b strings.Builder
		fmt.Fprintf(&b, "cdr.Part{Name: %q, Width: %d, Count: %d", p.name, p.width, p.count)
		if p.def != 0 {
			fmt.Fprintf(&b, ", Default: %#x", p.def)
		}
		if p.inner {
			b.WriteString(", Inner: true")
		}
		w.p(b.String(), "},")
	}
	w.p("),")
}

// frontAccessor prints the method that reads a member of a front: a comparison with nil, and a load.
func (w *printer) frontAccessor(reader string, f field, at int) {
	result, missing, value := w.readFront(f, at)
	w.p("// ", f.goName, " reads ", f.Member.Name, ".")
	w.p("func (v ", reader, ") ", f.goName, "() ", result, " {")
	w.p("if v.b == nil {\nreturn ", missing, "\n}")
	for _, line := range value[:len(value)-1] {
		w.p(line)
	}
	w.p("return ", value[len(value)-1])
	w.p("}")
	w.p()
}

// readFront gives the Go type of what a view reads of a member at an offset in its front, what that is if the front is missing, and the
// code otherwise: its last line is an expression.
func (w *printer) readFront(f field, at int) (result, missing string, value []string) {
	result = w.goType(f.Type)
	from := "v.b[" + strings.TrimPrefix(itoa(at), "0") + ":]"
	switch t := resolve(f.Type).(type) {
	case Primitive:
		missing = "0"
		switch {
		case t == Boolean:
			missing, value = "false", []string{"v.b[" + itoa(at) + "] != 0"}
		case t == Int8:
			value = []string{"int8(v.b[" + itoa(at) + "])"}
		case primitives[t].size == 1:
			value = []string{"v.b[" + itoa(at) + "]"}
		case t == Float128:
			missing = ""
		default:
			value = []string{"cdr.Get" + primitives[t].method + "(" + from + ")"}
		}
	case *Enum:
		missing = w.refName(t, w.plan.enumeratorName(t.Default))
		load := map[int]string{1: "int8(v.b[" + itoa(at) + "])", 2: "cdr.GetInt16(" + from + ")", 4: "cdr.GetInt32(" + from + ")"}[t.Width]
		value = []string{w.ref(t) + "(" + load + ")"}
	case *Bitmask:
		missing = "0"
		load := "v.b[" + itoa(at) + "]"
		if t.Width > 1 {
			load = "cdr.GetUint" + itoa(8*t.Width) + "(" + from + ")"
		}
		value = []string{w.ref(t) + "(" + load + ")" + bitsOf(t)}
	case *Struct:
		result = w.refName(t, w.plan.goName(t)+"View")
		value = []string{w.refName(t, w.plan.goName(t)+"ViewOf") + "((*[" + itoa(t.front().size) + "]byte)(" + from + "))"}
	case *Array:
		if p, ok := resolve(t.Elem).(Primitive); ok && (primitives[p].goType == "byte" || p == Uint8) {
			end := itoa(at + t.count())
			return "[]byte", "nil", []string{"v.b[" + itoa(at) + ":" + end + ":" + end + "]"}
		}
	}
	if value == nil { // what is read as from any other sample
		f.from = "cdr.FrontSample(v.b[:])"
		result, value = w.read(f, itoa(at))
	}
	if def := w.defaultOf(f.Member); def != "" {
		missing = def
	}
	if missing == "" {
		missing = result + "{}"
	}
	return result, missing, value
}

// stride is how far the elements of a struct whose views are fronts lie apart.
func (s *Struct) stride() int {
	a, n, _ := fixedLayout(s, true)
	return alignUp(n, a)
}

// viewsAreFronts tells whether the view of a sequence of a struct is one of its bytes: all elements are fronts.
func (w *printer) viewsAreFronts(s *Struct) bool {
	f := s.front()
	return f != nil && f.whole && s.Extensibility == cdr.Final && w.layoutOf(s) != "nil"
}

// frontViews prints the reader of a sequence of structs that are fronts.
func (w *printer) frontViews(s *Struct, name string) {
	size, stride := s.front().size, s.stride()
	w.p("// ", name, "Views reads the elements of an encoded sequence or array of ", name, ".")
	w.p("type ", name, "Views struct {")
	w.p("b []byte // the elements, each ", stride, " bytes behind the one before")
	w.p("}")
	w.p()
	w.p("// ", name, "ViewsOf is for generated code.")
	w.p("func ", name, "ViewsOf(b []byte) ", name, "Views { return ", name, "Views{b} }")
	w.p()
	w.p("// Len is the number of elements.")
	if gap := stride - size; gap > 0 {
		w.p("func (vs ", name, "Views) Len() int { return (len(vs.b) + ", gap, ") / ", stride, " }")
	} else {
		w.p("func (vs ", name, "Views) Len() int { return len(vs.b) / ", stride, " }")
	}
	w.p()
	w.p("// At reads element i. An element that is not there reads as defaults.")
	w.p("func (vs ", name, "Views) At(i int) ", name, "View {")
	w.p("if i < 0 || i >= vs.Len() {\nreturn ", name, "View{}\n}")
	w.p("return ", name, "View{(*[", size, "]byte)(vs.b[", stride, "*i:])}")
	w.p("}")
	w.p()
	w.p("// All iterates over the elements.")
	w.p("func (vs ", name, "Views) All() ", w.use("iter"), ".Seq2[int, ", name, "View] {")
	w.p("return func(yield func(int, ", name, "View) bool) {")
	w.p("for i := range vs.Len() {")
	w.p("if !yield(i, vs.At(i)) {\nreturn\n}")
	w.p("}")
	w.p("}")
	w.p("}")
}
