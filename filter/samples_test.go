package filter

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

// writer encodes values by the rules of XTypes 1.3 §7.4, one by one and without any of the code under test. Values are
// bool, int64, uint64, float64 and string; []any has the members of a structure or the elements of a collection.
type writer struct {
	buf []byte
	big bool
	v2  bool
}

// encodings are what final or appendable types travel in.
var encodings = []struct {
	final, appendable cdr.Encapsulation
}{
	{cdr.CDRLE, cdr.CDRLE}, {cdr.CDRBE, cdr.CDRBE}, {cdr.CDR2LE, cdr.DCDR2LE}, {cdr.CDR2BE, cdr.DCDR2BE},
}

// encodeAll gives a sample in all its encodings.
func encodeAll(t *xtypes.Type, v any) [][]byte {
	var out [][]byte
	for _, e := range encodings {
		enc := e.final
		if t.Resolve().Extensibility() == cdr.Appendable {
			enc = e.appendable
		}
		out = append(out, encode(t, v, enc))
	}
	return out
}

func encode(t *xtypes.Type, v any, enc cdr.Encapsulation) []byte {
	w := &writer{big: enc.BigEndian(), v2: enc.XCDR2()}
	w.value(t, v)
	pad := -len(w.buf) & 3
	head := []byte{byte(enc >> 8), byte(enc), 0, byte(pad)}
	return append(append(head, w.buf...), make([]byte, pad)...)
}

func (w *writer) order() binary.AppendByteOrder {
	if w.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (w *writer) number(u uint64, size int) {
	align := size
	if w.v2 {
		align = min(align, 4)
	}
	for len(w.buf)%align != 0 {
		w.buf = append(w.buf, 0)
	}
	switch size {
	case 1:
		w.buf = append(w.buf, byte(u))
	case 2:
		w.buf = w.order().AppendUint16(w.buf, uint16(u))
	case 4:
		w.buf = w.order().AppendUint32(w.buf, uint32(u))
	default:
		w.buf = w.order().AppendUint64(w.buf, u)
	}
}

// delimited writes a DHEADER in front of what body writes, where the encoding has one.
func (w *writer) delimited(yes bool, body func()) {
	if !yes || !w.v2 {
		body()
		return
	}
	w.number(0, 4)
	at := len(w.buf)
	body()
	n := uint32(len(w.buf) - at)
	if w.big {
		binary.BigEndian.PutUint32(w.buf[at-4:], n)
	} else {
		binary.LittleEndian.PutUint32(w.buf[at-4:], n)
	}
}

func (w *writer) value(t *xtypes.Type, v any) {
	t = t.Resolve()
	switch k := t.Kind(); k {
	case xtypes.TKStructure:
		w.delimited(t.Extensibility() != cdr.Final, func() {
			for i, part := range v.([]any) {
				w.value(t.Member(i).Type, part)
			}
		})
	case xtypes.TKSequence, xtypes.TKArray:
		e := t.Elem()
		w.delimited(!e.Resolve().Kind().Primitive(), func() {
			if k == xtypes.TKSequence {
				w.number(uint64(len(v.([]any))), 4)
			}
			for _, part := range v.([]any) {
				w.value(e, part)
			}
		})
	case xtypes.TKString8:
		w.number(uint64(len(v.(string))+1), 4)
		w.buf = append(append(w.buf, v.(string)...), 0)
	case xtypes.TKString16:
		units := utf16.Encode([]rune(v.(string)))
		w.number(uint64(2*len(units)), 4)
		for _, u := range units {
			w.number(uint64(u), 2)
		}
	case xtypes.TKFloat32:
		w.number(uint64(math.Float32bits(float32(v.(float64)))), 4)
	default:
		w.number(bits(v), sizeOf(t))
	}
}

func bits(v any) uint64 {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case int64:
		return uint64(v)
	case uint64:
		return v
	case float64:
		return math.Float64bits(v)
	case string: // a character
		return uint64([]rune(v)[0])
	}
	panic(fmt.Sprintf("%T", v))
}

func sizeOf(t *xtypes.Type) int {
	if k := t.Kind(); k == xtypes.TKEnum || k == xtypes.TKBitmask {
		switch b := t.BitBound(); {
		case b <= 8:
			return 1
		case b <= 16:
			return 2
		case b <= 32:
			return 4
		}
		return 8
	}
	return t.Kind().Size()
}

// The type that the tests by example use.
var (
	colorType = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKEnum, Name: "paint::Color", BitBound: 8,
		Literals: []xtypes.Literal{{Name: "RED", Value: 0}, {Name: "GREEN", Value: 1}, {Name: "BLUE", Value: 5}},
	}))
	pointType = structure("geo::Point", cdr.Final,
		"x", xtypes.Primitive(xtypes.TKFloat64), "y", xtypes.Primitive(xtypes.TKFloat64))
	deepType = structure("geo::Deep", cdr.Appendable,
		"label", xtypes.NewString(0), "at", pointType, "z", xtypes.Primitive(xtypes.TKInt16))
	shapeType = structure("paint::Shape", cdr.Appendable,
		"color", xtypes.NewString(16),
		"x", xtypes.Primitive(xtypes.TKInt32),
		"flag", xtypes.Primitive(xtypes.TKBoolean),
		"big", xtypes.Primitive(xtypes.TKUint64),
		"small", xtypes.Primitive(xtypes.TKInt8),
		"f", xtypes.Primitive(xtypes.TKFloat32),
		"d", xtypes.Primitive(xtypes.TKFloat64),
		"c", xtypes.Primitive(xtypes.TKChar8),
		"o", xtypes.Primitive(xtypes.TKByte),
		"paint", colorType,
		"trim", colorType,
		"wide", xtypes.NewWString(8),
		"deep", deepType,
		"ids", xtypes.Must(xtypes.NewSequence(xtypes.Primitive(xtypes.TKInt32), 4)),
		"corners", xtypes.Must(xtypes.NewArray(pointType, 2)),
		"grid", xtypes.Must(xtypes.NewArray(xtypes.Primitive(xtypes.TKUint16), 2, 3)),
		"names", xtypes.Must(xtypes.NewSequence(xtypes.NewString(0), 0)),
		"route", xtypes.Must(xtypes.NewSequence(deepType, 0)),
		"order", xtypes.Primitive(xtypes.TKInt32),
	)
)

// structure makes a type of names and types in turn.
func structure(name string, x cdr.Extensibility, parts ...any) *xtypes.Type {
	d := xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: name, Extensibility: x}
	for i := 0; i < len(parts); i += 2 {
		d.Members = append(d.Members, xtypes.Member{Name: parts[i].(string), AutoID: true, Type: parts[i+1].(*xtypes.Type)})
	}
	return xtypes.Must(xtypes.Build(d))
}

func point(x, y float64) []any { return []any{x, y} }

// shape is a sample of shapeType.
func shape() []any {
	return []any{
		"GREEN", int64(-7), true, uint64(math.MaxUint64), int64(-128), 0.1, 2.5, "Q", uint64(200), int64(1), int64(5), "wörld",
		[]any{"here", point(1, -1), int64(300)},
		[]any{int64(10), int64(20), int64(30)},
		[]any{point(1, 2), point(3, 4)},
		[]any{uint64(0), uint64(1), uint64(2), uint64(10), uint64(11), uint64(12)},
		[]any{"alpha", "beta", ""},
		[]any{[]any{"a", point(0, 0), int64(1)}, []any{"bb", point(5, 6), int64(2)}},
		int64(42),
	}
}
