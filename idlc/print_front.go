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

// frontReader is what reads the members of a front.
type frontReader struct {
	*front
	name string          // of the type
	info string          // the variable with the TypeInfo of the struct
	far  map[string]bool // the types of the numbers that are read where they lie otherwise
}

// number is the expression for part i as a number of a Go type, where it lies otherwise.
func (r *frontReader) number(goType string, i int) string {
	r.far[goType] = true
	return "v." + farName(goType) + "(" + itoa(r.part[i]) + ")"
}

func farName(goType string) string { return "far" + strings.ToUpper(goType[:1]) + goType[1:] }

// frontAccessor prints the method that reads member i of a front: a comparison with nil, and a load. The compiler
// inlines it only as long as reading what lies otherwise is one short call, of what it does not inline.
func (w *printer) frontAccessor(r *frontReader, f field, i int) {
	result, near, far := w.readFront(r, f, i)
	if far == "" {
		far = "v.far" + f.goName + "()"
		f.from = "v.f.Sample()"
		var expr []string
		if s, ok := resolve(f.Type).(*Struct); ok {
			expr = []string{w.refName(s, w.plan.goName(s)+"ViewFar") + "(v.f.Inner(" + r.info + ", " + itoa(r.part[i]) + "))"}
		} else {
			_, expr = w.read(f, "v.f.At("+r.info+", "+itoa(r.part[i])+")")
		}
		w.p(noInline)
		w.p("func (v ", r.name, ") far", f.goName, "() ", result, " {")
		w.results(expr)
		w.p("}")
		w.p()
	}
	w.p("// ", f.goName, " reads ", f.Member.Name, ".")
	w.p("func (v ", r.name, ") ", f.goName, "() ", result, " {")
	w.p("if v.b == nil {\nreturn ", far, "\n}")
	w.results(near)
	w.p("}")
	w.p()
}

// results prints code whose last line is an expression.
func (w *printer) results(code []string) {
	for _, line := range code[:len(code)-1] {
		w.p(line)
	}
	w.p("return ", code[len(code)-1])
}

// farReaders prints the methods that read numbers that lie otherwise.
func (w *printer) farReaders(r *frontReader) {
	for _, goType := range []string{"uint64", "float32", "float64"} {
		if r.far[goType] {
			w.p(noInline)
			w.p("func (v ", r.name, ") ", farName(goType), "(i int) ", goType, " { return v.f.",
				strings.ToUpper(goType[:1])+goType[1:], "(", r.info, ", i) }")
			w.p()
		}
	}
}

// readFront gives the Go type of what a view reads of member i in its front, the code, whose last line is an
// expression, and the expression for a number that lies otherwise; "" for other members.
func (w *printer) readFront(r *frontReader, f field, i int) (result string, near []string, far string) {
	result = w.goType(f.Type)
	at := r.at[i]
	from := "v.b[" + strings.TrimPrefix(itoa(at), "0") + ":]"
	// load gives the bits of a number, as an unsigned one.
	load := func(width int) string {
		if width == 1 {
			return "v.b[" + itoa(at) + "]"
		}
		return w.use("encoding/binary") + ".LittleEndian.Uint" + itoa(8*width) + "(" + from + ")"
	}
	bits := func() string { return r.number("uint64", i) }
	switch t := resolve(f.Type).(type) {
	case Primitive:
		size, goType := primitives[t].size, primitives[t].goType
		unsigned := "uint" + itoa(8*size)
		switch {
		case t == Boolean:
			return result, []string{load(1) + " != 0"}, bits() + " != 0"
		case t == Float32 || t == Float64:
			return result, []string{w.use("math") + "." + primitives[t].method + "frombits(" + load(size) + ")"}, r.number(goType, i)
		case t == Float128:
		case goType == "uint64":
			return result, []string{load(size)}, bits()
		case goType == unsigned || goType == "byte":
			return result, []string{load(size)}, goType + "(" + bits() + ")"
		default:
			return result, []string{goType + "(" + load(size) + ")"}, goType + "(" + bits() + ")"
		}
	case *Enum:
		number := func(bits string) string {
			if t.Width < 4 {
				bits = "int" + itoa(8*t.Width) + "(" + bits + ")"
			}
			return w.ref(t) + "(" + bits + ")"
		}
		return result, []string{number(load(t.Width))}, number(bits())
	case *Bitmask:
		return result, []string{w.ref(t) + "(" + load(t.Width) + ")" + bitsOf(t)}, w.ref(t) + "(" + bits() + ")" + bitsOf(t)
	case *Struct:
		return w.refName(t, w.plan.goName(t)+"View"), []string{w.refName(t, w.plan.goName(t)+"ViewOf") + "((*[" +
			itoa(t.front().size) + "]byte)(" + from + "))"}, ""
	case *Array:
		if p, ok := resolve(t.Elem).(Primitive); ok && (primitives[p].goType == "byte" || p == Uint8) {
			end := itoa(at + t.count())
			return "[]byte", []string{"v.b[" + itoa(at) + ":" + end + ":" + end + "]"}, ""
		}
	}
	f.from = "cdr.FrontSample(v.b[:])" // it is read as from any other sample
	result, near = w.read(f, itoa(at))
	return result, near, ""
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
	info := lowerFirst(name) + "Type"
	w.p("// ", name, "Views reads the elements of an encoded sequence or array of ", name, ".")
	w.p("type ", name, "Views struct {")
	w.p("b []byte // the elements")
	w.p("n uint32 // how many there are, each ", stride, " bytes behind the one before")
	w.p("how cdr.Placement // how they lie otherwise; n is 0 then")
	w.p("}")
	w.p()
	w.p("// ", name, "ViewsOf is for generated code.")
	w.p("func ", name, "ViewsOf(b []byte, n uint32, how cdr.Placement) ", name, "Views { return ", name, "Views{b, n, how} }")
	w.p()
	w.p("// Len is the number of elements.")
	w.p("func (vs ", name, "Views) Len() int {")
	w.p("if vs.how != 0 {\nreturn cdr.FarLen(vs.b, vs.how, ", info, ")\n}")
	w.p("return int(vs.n)")
	w.p("}")
	w.p()
	w.p("// At reads element i. An element that is not there reads as defaults.")
	w.p("func (vs ", name, "Views) At(i int) ", name, "View {")
	w.p("if uint(i) >= uint(vs.n) {\nreturn vs.far(i)\n}")
	w.p("return ", name, "View{b: (*[", size, "]byte)(vs.b[", stride, "*i:])}")
	w.p("}")
	w.p()
	w.p(noInline)
	w.p("func (vs ", name, "Views) far(i int) ", name, "View { return ", name, "View{f: cdr.FarElement(vs.b, vs.how, ", info, ", i)} }")
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
