package filter

import (
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/xtypes"
)

// field reads a member from encoded samples. It does not change.
type field struct {
	accessor *xtypes.Accessor
	kind     xtypes.Kind
	signed   bool // an integer that is
	topic    int  // whose sample it is, of those of a join
	// missing is what a sample counts as having whose writer knew an earlier version of the type, which lacks the member; nil
	// if the member may be absent in any version.
	missing *operand
}

// cursor is a sample that a program runs over, with room for what is computed on the way. One goroutine has it at a time.
type cursor struct {
	sample []byte
	others [][]byte // of a join: the samples of all topics but the first
	texts  []byte   // what wide strings and characters were converted to
}

var cursors = sync.Pool{New: func() any { return new(cursor) }}

func cursorOf(sample []byte) *cursor {
	c := cursors.Get().(*cursor)
	c.sample = sample
	return c
}

func (c *cursor) release() {
	c.sample, c.others, c.texts = nil, nil, c.texts[:0]
	cursors.Put(c)
}

func newField(path xtypes.Path) (*field, error) {
	a, err := xtypes.NewAccessor(path)
	if err != nil {
		return nil, err
	}
	k := a.Type().Kind()
	f := &field{accessor: a, kind: k, signed: k.Signed() || k == xtypes.TKEnum}
	f.missing, err = missing(path)
	return f, err
}

// missing is the default of a member that has one in all samples: with no optional member, union or sequence on its way.
func missing(path xtypes.Path) (*operand, error) {
	t := path.Root()
	var last *xtypes.Member
	for _, s := range path.Steps() {
		r := t.Resolve()
		switch {
		case s.Member == nil && r.Kind() == xtypes.TKArray:
			t, last = r.Elem(), nil
		case s.Member != nil && r.Kind() == xtypes.TKStructure && !s.Member.Optional:
			t, last = s.Member.Type, s.Member
		default:
			return nil, nil
		}
	}
	o := &operand{}
	if t := t.Resolve(); t.Kind() == xtypes.TKEnum {
		o.integer = signed(int64(t.DefaultLiteral().Value))
	}
	if last == nil || last.Default == nil {
		return o, nil
	}
	switch v := last.Default.(type) {
	case bool:
		if v {
			o.integer = unsigned(1)
		}
	case string:
		o.text = []byte(v)
	case float32:
		o.real = float64(v)
	case float64:
		o.real = v
	case xtypes.Float128:
		o.real = v.Float64()
	case int8:
		o.integer = signed(int64(v))
	case int16:
		o.integer = signed(int64(v))
	case int32:
		o.integer = signed(int64(v))
	case int64:
		o.integer = signed(v)
	case uint8:
		o.integer = unsigned(uint64(v))
	case uint16:
		o.integer = unsigned(uint64(v))
	case uint32:
		o.integer = unsigned(uint64(v))
	case uint64:
		o.integer = unsigned(v)
	default:
		return nil, fmt.Errorf("the default of %s is a %T", path, v)
	}
	return o, nil
}

// of is the sample that the field is read from.
func (f *field) of(c *cursor) []byte {
	if f.topic > 0 {
		return c.others[f.topic-1]
	}
	return c.sample
}

// get gives the value, or what it counts as; neither if both are zero.
func (f *field) get(c *cursor) (v xtypes.Value, present bool, otherwise *operand) {
	v, present, err := f.accessor.Get(f.of(c))
	if err != nil {
		return v, false, nil
	}
	return v, present, f.missing
}

func (f *field) present(c *cursor) bool {
	_, present, otherwise := f.get(c)
	return present || otherwise != nil
}

func (f *field) integer(c *cursor) (integer, bool) {
	if bits, ok := f.accessor.Number(f.of(c)); ok {
		if f.signed {
			return signed(int64(bits)), true
		}
		return unsigned(bits), true
	}
	v, present, otherwise := f.get(c)
	switch {
	case !present && otherwise == nil:
		return integer{}, false
	case !present:
		return otherwise.integer, true
	case f.signed:
		return signed(v.Int()), true
	}
	return unsigned(v.Uint()), true
}

// signBit, flipped, has signed integers sort as unsigned ones.
const signBit = 1 << 63

// sortable gives an integer as a number that sorts like it, if that is quick.
func (f *field) sortable(c *cursor) (uint64, bool) {
	bits, ok := f.accessor.Number(f.of(c))
	if f.signed {
		bits ^= signBit
	}
	return bits, ok
}

// limit gives a constant as sortable gives the field's values; false if it is none that the field can hold.
func (f *field) limit(i integer) (uint64, bool) {
	if !f.signed {
		return i.low, i.high == 0
	}
	return i.low ^ signBit, i.high == int64(i.low)>>63
}

func (f *field) real(c *cursor) (float64, bool) {
	if bits, ok := f.accessor.Number(f.of(c)); ok {
		if f.kind == xtypes.TKFloat32 {
			return float64(math.Float32frombits(uint32(bits))), true
		}
		return math.Float64frombits(bits), true
	}
	v, present, otherwise := f.get(c)
	switch {
	case !present && otherwise == nil:
		return 0, false
	case !present:
		return otherwise.real, true
	}
	return v.Float(), true
}

// converts tells whether text computes it; f may be nil.
func (f *field) converts() bool {
	if f == nil {
		return false
	}
	c, _ := classOf(f.accessor.Type())
	return c == classText && f.kind != xtypes.TKString8
}

func (f *field) text(c *cursor) ([]byte, bool) {
	v, present, otherwise := f.get(c)
	switch {
	case !present && otherwise == nil:
		return nil, false
	case f.kind == xtypes.TKString8 && present:
		return v.Bytes(), true
	case f.kind == xtypes.TKString8 || f.kind == xtypes.TKString16 && !present:
		return otherwise.text, true
	}
	from := len(c.texts)
	switch {
	case f.kind == xtypes.TKString16:
		c.texts = v.AppendText(c.texts)
	case present:
		c.texts = utf8.AppendRune(c.texts, rune(v.Uint()))
	default:
		c.texts = utf8.AppendRune(c.texts, rune(otherwise.integer.low))
	}
	return c.texts[from:], true
}
