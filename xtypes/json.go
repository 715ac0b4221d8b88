package xtypes

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MarshalJSON writes the value as an object with a member for each of the type's, in their order:
//
//	numbers           numbers with all of their digits; "NaN", "Infinity", "-Infinity" as strings; long double "0x" and 32 hex digits
//	char, wchar       a string of one character; half of a surrogate pair as a number
//	enum              the name of the enumerator
//	bitmask           a list of the names of its flags; bits without a name as numbers: ["A", 512]
//	bitset            an object of its fields
//	sequence<octet>   base64, as encoding/json writes []byte; also of uint8
//	array             lists in lists, one level for each dimension
//	map               an object, keys as text
//	union             {"_d": label, "member": value}
//	optional, absent  nothing
//
// It is an error if the defaults of members that were never set take more than 64 MB.
func (d *Data) MarshalJSON() ([]byte, error) {
	w := jsonWriter{defaults: maxDefaults}
	b := w.data(nil, d)
	if w.err != nil {
		return nil, w.err
	}
	return b, nil
}

// jsonWriter appends values to text. The first error sticks.
type jsonWriter struct {
	defaults int // bytes that they may take yet
	err      error
}

// member gives the value of a member as Data.Member does.
func (w *jsonWriter) member(d *Data, m *Member) any {
	if w.err != nil {
		return nil
	}
	v, err := d.value(m, &w.defaults)
	w.err = err
	return v
}

func (w *jsonWriter) data(b []byte, d *Data) []byte {
	b = append(b, '{')
	first := true
	put := func(name string, t *Type, v any) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, name), ':')
		b = w.value(b, t, reflect.ValueOf(v))
	}
	if d.typ.d.Kind == TKUnion {
		put(Discriminator, d.typ.disc.Type, d.Member(d.typ.disc))
		if m := d.Selected(); m != nil {
			if v := w.member(d, m); v != nil {
				put(m.Name, m.Type, v)
			}
		}
		return append(b, '}')
	}
	for _, m := range d.typ.all {
		if v := w.member(d, m); v != nil {
			put(m.Name, m.Type, v)
		}
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string cannot fail
	return append(b, text...)
}

func (w *jsonWriter) value(b []byte, t *Type, v reflect.Value) []byte {
	t = t.Resolve()
	switch t.d.Kind {
	case TKStructure, TKUnion:
		return w.data(b, v.Interface().(*Data))
	case TKSequence:
		if e := t.d.Elem.Resolve().d.Kind; e == TKByte || e == TKUint8 {
			return appendString(b, base64.StdEncoding.EncodeToString(v.Bytes()))
		}
		return w.list(b, t, v, []uint32{uint32(v.Len())})
	case TKArray:
		return w.list(b, t, v, t.d.Dims)
	case TKMap:
		b = append(b, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, keyText(t.d.MapKey, key)), ':')
			b = w.value(b, t.d.Elem, v.MapIndex(key))
		}
		return append(b, '}')
	case TKEnum:
		l, _ := t.LiteralByValue(int32(v.Int()))
		return appendString(b, l.Name)
	case TKBitmask:
		return appendFlags(b, t, v.Uint())
	case TKBitset:
		return appendFields(b, t, v.Uint())
	}
	return appendSingle(b, t, v)
}

// appendSingle writes a value without parts.
func appendSingle(b []byte, t *Type, v reflect.Value) []byte {
	switch t.d.Kind {
	case TKChar8, TKChar16:
		if r := rune(v.Uint()); !utf16.IsSurrogate(r) {
			return appendString(b, string(r))
		}
	case TKString8, TKString16:
		return appendString(b, v.String())
	case TKBoolean:
		return strconv.AppendBool(b, v.Bool())
	case TKFloat32:
		return appendFloat(b, v.Float(), 32)
	case TKFloat64:
		return appendFloat(b, v.Float(), 64)
	case TKFloat128:
		f := v.Interface().(Float128)
		slices.Reverse(f[:])
		return appendString(b, "0x"+hex.EncodeToString(f[:]))
	}
	if v.CanInt() {
		return strconv.AppendInt(b, v.Int(), 10)
	}
	return strconv.AppendUint(b, v.Uint(), 10)
}

func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

// appendList writes a list, or lists of lists down to the last dimension.
func (w *jsonWriter) list(b []byte, t *Type, v reflect.Value, dims []uint32) []byte {
	b = append(b, '[')
	n := int(dims[0])
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if len(dims) == 1 {
			b = w.value(b, t.d.Elem, v.Index(i))
			continue
		}
		part := v.Len() / n
		b = w.list(b, t, v.Slice(i*part, (i+1)*part), dims[1:])
	}
	return append(b, ']')
}

func keyText(t *Type, key reflect.Value) string {
	t = t.Resolve()
	switch t.d.Kind {
	case TKString8, TKString16:
		return key.String()
	case TKChar8, TKChar16:
		if r := rune(key.Uint()); !utf16.IsSurrogate(r) {
			return string(r)
		}
	case TKEnum:
		l, _ := t.LiteralByValue(int32(key.Int()))
		return l.Name
	}
	return fmt.Sprint(key)
}

func appendFlags(b []byte, t *Type, bits uint64) []byte {
	b = append(b, '[')
	comma := func() {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
	}
	for _, f := range t.d.Bitflags {
		if bits>>f.Position&1 == 1 {
			comma()
			b = appendString(b, f.Name)
			bits &^= 1 << f.Position
		}
	}
	if bits != 0 {
		comma()
		b = strconv.AppendUint(b, bits, 10)
	}
	return append(b, ']')
}

func appendFields(b []byte, t *Type, bits uint64) []byte {
	b = append(b, '{')
	for _, f := range t.allBitfields() {
		if f.Name == "" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendString(b, f.Name), ':')
		x := f.get(bits)
		switch {
		case f.Holder == TKBoolean:
			b = strconv.AppendBool(b, x != 0)
		case f.Holder.Signed():
			b = strconv.AppendInt(b, x, 10)
		default:
			b = strconv.AppendUint(b, uint64(x), 10)
		}
	}
	return append(b, '}')
}

// get gives the value of a field, with its sign.
func (f Bitfield) get(bits uint64) int64 {
	shift := 64 - uint(f.Bits)
	x := bits >> f.Position << shift
	if f.Holder.Signed() {
		return int64(x) >> shift
	}
	return int64(x >> shift)
}

// put gives bits with another value of a field; ok tells whether the value fits.
func (f Bitfield) put(bits uint64, x int64) (with uint64, ok bool) {
	mask := uint64(math.MaxUint64) >> (64 - uint(f.Bits)) << f.Position
	with = bits&^mask | uint64(x)<<f.Position&mask
	return with, f.get(with) == x
}

// JSONError says which member of a JSON document does not fit the type.
type JSONError struct {
	Type   string
	Path   string
	Detail string
}

// Error gives one sentence: "xtypes: JSON of avionics::Plan: route[3].lat: ...".
func (e *JSONError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("xtypes: JSON of %s: %s", e.Type, e.Detail)
	}
	return fmt.Sprintf("xtypes: JSON of %s: %s: %s", e.Type, e.Path, e.Detail)
}

// UnmarshalJSON reads what MarshalJSON writes. Members that are missing take their defaults, or are absent if optional;
// null does the same. Enumerators and flags may be numbers, integers strings of digits, octets lists of numbers; a
// union may do without "_d". An unknown member is an error. d is left as it was if there is one.
func (d *Data) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var doc any
	err := in.Decode(&doc)
	if err == nil {
		if _, more := in.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("something follows the document at byte %d", in.InputOffset())
		}
	}
	if err != nil {
		return &JSONError{Type: d.typ.String(), Detail: err.Error()}
	}
	r := jsonReader{}
	v, err := r.data(d.typ, doc)
	if err != nil {
		return &JSONError{Type: d.typ.String(), Path: strings.TrimPrefix(r.path, "."), Detail: err.Error()}
	}
	*d = *v
	return nil
}

// jsonReader turns documents into values. path is where it failed.
type jsonReader struct{ path string }

// at puts what contains the failed part in front of the path.
func (r *jsonReader) at(part string, err error) error {
	r.path = part + r.path
	return err
}

func unexpected(t *Type, doc any) error {
	what := map[reflect.Kind]string{reflect.Map: "an object", reflect.Slice: "a list", reflect.Bool: "a boolean",
		reflect.Invalid: "null"}[reflect.ValueOf(doc).Kind()]
	switch x := doc.(type) {
	case json.Number:
		what = "the number " + x.String()
	case string:
		what = strconv.Quote(x)
	}
	return fmt.Errorf("%s is no value of %s", what, t)
}

func (r *jsonReader) data(t *Type, doc any) (*Data, error) {
	o, ok := doc.(map[string]any)
	if !ok {
		return nil, unexpected(t, doc)
	}
	d := newData(t)
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names) // the first error is the same every time
	if label, has := o[Discriminator]; has && t.disc != nil {
		v, err := r.value(t.disc.Type, label)
		if err != nil {
			return nil, r.at("."+Discriminator, err)
		}
		d.setLabel(ordinal(v))
		names = slices.DeleteFunc(names, func(n string) bool { return n == Discriminator })
	}
	for _, name := range names {
		m := t.byName[name]
		if m == nil {
			return nil, fmt.Errorf("there is no member %q; there are %s", name, memberNames(t))
		}
		if o[name] == nil {
			continue
		}
		if _, has := o[Discriminator]; has && t.disc != nil && t.Case(d.label) != m {
			return nil, r.at("."+name, fmt.Errorf("discriminator %v does not select this member", d.Member(t.disc)))
		}
		v, err := r.value(m.Type, o[name])
		if err == nil {
			err = d.SetMember(m, v)
		}
		if err != nil {
			return nil, r.at("."+name, err)
		}
	}
	if t.disc != nil && len(names) > 1 {
		return nil, fmt.Errorf("a union has one member, not %d: %s", len(names), strings.Join(names, ", "))
	}
	return d, nil
}

func (r *jsonReader) value(t *Type, doc any) (any, error) {
	t = t.Resolve()
	switch t.d.Kind {
	case TKStructure, TKUnion:
		return r.data(t, doc)
	case TKSequence, TKArray:
		return r.list(t, doc)
	case TKMap:
		return r.mapping(t, doc)
	case TKBitmask:
		return r.flags(t, doc)
	case TKBitset:
		return r.fields(t, doc)
	case TKFloat32, TKFloat64, TKFloat128:
		return jsonFloat(t, doc)
	case TKBoolean, TKString8, TKString16:
		if _, number := doc.(json.Number); !number {
			return scalarJSON(t, doc)
		}
		return nil, unexpected(t, doc)
	}
	s, isText := doc.(string)
	n, isNumber := doc.(json.Number)
	switch k := t.d.Kind; {
	case isText && (k == TKEnum || (k == TKChar8 || k == TKChar16) && utf8.RuneCountInString(s) == 1):
		return scalarJSON(t, s)
	case isText:
		n = json.Number(s)
	case !isNumber:
		return nil, unexpected(t, doc)
	}
	return number(t, string(n))
}

func scalarJSON(t *Type, doc any) (any, error) {
	v, err := scalar(t, doc)
	if err != nil && reflect.ValueOf(doc).Kind() != reflect.String {
		return nil, unexpected(t, doc)
	}
	return v, err
}

// number reads an integer with all of its digits.
func number(t *Type, s string) (any, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return scalar(t, i)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return scalar(t, u)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return scalar(t, int64(f)) // 1e3, 5.0
	}
	return nil, fmt.Errorf("%s is no value of %s", s, t)
}

func jsonFloat(t *Type, doc any) (any, error) {
	var text string
	switch x := doc.(type) {
	case json.Number:
		text = string(x)
	case string:
		if hexText, ok := strings.CutPrefix(x, "0x"); ok && t.d.Kind == TKFloat128 {
			b, err := hex.DecodeString(hexText)
			if err != nil || len(b) != 16 {
				return nil, fmt.Errorf("%q are not the 16 bytes of a long double", x)
			}
			slices.Reverse(b)
			return Float128(b), nil
		}
		switch x {
		case "NaN", "Infinity", "-Infinity":
			text = x
		default:
			return nil, unexpected(t, doc)
		}
	default:
		return nil, unexpected(t, doc)
	}
	bits := 64
	if t.d.Kind == TKFloat32 {
		bits = 32
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return nil, fmt.Errorf("%s is not in the range of %s", text, t)
	}
	return scalar(t, f)
}

func (r *jsonReader) list(t *Type, doc any) (any, error) {
	if s, ok := doc.(string); ok && (t.d.Elem.Resolve().d.Kind == TKByte || t.d.Elem.Resolve().d.Kind == TKUint8) {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("not base64: %v", err)
		}
		return convert(t, b)
	}
	dims := t.d.Dims
	if t.d.Kind == TKSequence {
		dims = []uint32{0}
	}
	flat := reflect.MakeSlice(goType(t), 0, 0)
	flat, err := r.flatten(t, doc, dims, flat)
	if err != nil {
		return nil, err
	}
	return convert(t, flat.Interface())
}

// flatten appends the elements of lists in lists.
func (r *jsonReader) flatten(t *Type, doc any, dims []uint32, to reflect.Value) (reflect.Value, error) {
	l, ok := doc.([]any)
	if !ok {
		return to, unexpected(t, doc)
	}
	if t.d.Kind == TKArray && len(l) != int(dims[0]) {
		return to, fmt.Errorf("%d elements are not the %d of %s", len(l), dims[0], t)
	}
	for i, e := range l {
		var err error
		if len(dims) > 1 {
			to, err = r.flatten(t, e, dims[1:], to)
		} else {
			var v any
			if v, err = r.value(t.d.Elem, e); err == nil {
				to = reflect.Append(to, reflect.ValueOf(v))
			}
		}
		if err != nil {
			return to, r.at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return to, nil
}

func (r *jsonReader) mapping(t *Type, doc any) (any, error) {
	o, ok := doc.(map[string]any)
	if !ok {
		return nil, unexpected(t, doc)
	}
	m := reflect.MakeMap(goType(t))
	for _, name := range slices.Sorted(maps.Keys(o)) { // the first error is the same every time
		e := o[name]
		var key any = name
		switch name {
		case "true", "false":
			if t.d.MapKey.Resolve().d.Kind == TKBoolean {
				key = name == "true"
			}
		}
		if k := t.d.MapKey.Resolve().d.Kind; k == TKBitmask {
			key = json.Number(name)
		}
		k, err := r.value(t.d.MapKey, key)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", name, err)
		}
		v, err := r.value(t.d.Elem, e)
		if err != nil {
			return nil, r.at(fmt.Sprintf("[%q]", name), err)
		}
		m.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(v))
	}
	return convert(t, m.Interface())
}

func (r *jsonReader) flags(t *Type, doc any) (any, error) {
	if n, ok := doc.(json.Number); ok {
		return number(t, string(n))
	}
	l, ok := doc.([]any)
	if !ok {
		return nil, unexpected(t, doc)
	}
	var bits uint64
	for i, e := range l {
		switch x := e.(type) {
		case json.Number:
			v, err := number(t, string(x))
			if err != nil {
				return nil, r.at(fmt.Sprintf("[%d]", i), err)
			}
			bits |= v.(uint64)
		case string:
			f := slices.IndexFunc(t.d.Bitflags, func(f Bitflag) bool { return f.Name == x })
			if f < 0 {
				return nil, r.at(fmt.Sprintf("[%d]", i), fmt.Errorf("%q is no flag of %s", x, t))
			}
			bits |= 1 << t.d.Bitflags[f].Position
		default:
			return nil, r.at(fmt.Sprintf("[%d]", i), unexpected(t, e))
		}
	}
	return bits, nil
}

func (r *jsonReader) fields(t *Type, doc any) (any, error) {
	if n, ok := doc.(json.Number); ok {
		return number(t, string(n))
	}
	o, ok := doc.(map[string]any)
	if !ok {
		return nil, unexpected(t, doc)
	}
	var bits uint64
	seen := 0
	for _, f := range t.allBitfields() {
		e, has := o[f.Name]
		if !has || f.Name == "" {
			continue
		}
		seen++
		v, err := r.value(Primitive(f.Holder), e)
		if err != nil {
			return nil, r.at("."+f.Name, err)
		}
		if bits, ok = f.put(bits, ordinal(v)); !ok {
			return nil, r.at("."+f.Name, fmt.Errorf("%v does not fit into %d bits", v, f.Bits))
		}
	}
	if seen != len(o) {
		return nil, fmt.Errorf("%d of %d fields are not of %s", len(o)-seen, len(o), t)
	}
	return bits, nil
}
