package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"

	"github.com/omg-dds-go/dds/xtypes"
)

// JSONSchema writes the JSON Schema (draft 2020-12) of the documents that xtypes.Data writes for a structure or a
// union. What Data reads besides, such as numbers of enumerators, is not in it.
func JSONSchema(t *xtypes.Type) ([]byte, error) {
	r := t.Resolve()
	if k := r.Kind(); k != xtypes.TKStructure && k != xtypes.TKUnion {
		return nil, fmt.Errorf("notation: %s is a %s; only structs and unions are documents", t, k)
	}
	defs := schema{}
	for _, p := range r.References() {
		if k := p.Kind(); k == xtypes.TKStructure || k == xtypes.TKUnion || k == xtypes.TKEnum {
			defs[p.Name()] = definition(p)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": reference(r), "$defs": defs})
	return b.Bytes(), err
}

// schema is an object of JSON Schema. encoding/json writes its members sorted.
type schema map[string]any

func reference(t *xtypes.Type) string { return "#/$defs/" + t.Name() }

func described(s schema, doc string) schema {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

// definition gives the schema of a type with a name.
func definition(t *xtypes.Type) schema {
	switch t.Kind() {
	case xtypes.TKEnum:
		var names []string
		for _, l := range t.Literals() {
			names = append(names, l.Name)
		}
		return described(schema{"enum": names}, t.Doc())
	case xtypes.TKUnion:
		cases := []any{}
		for m := range t.Members() {
			d := schema{"not": schema{"enum": labels(t, nil)}}
			if !m.DefaultCase {
				d = schema{"enum": labels(t, m)}
			}
			cases = append(cases, schema{"type": "object", "properties": schema{xtypes.Discriminator: d, m.Name: member(m)},
				"required": []string{xtypes.Discriminator, m.Name}, "additionalProperties": false})
		}
		// A discriminator that selects nothing stands alone.
		cases = append(cases, schema{"type": "object", "properties": schema{xtypes.Discriminator: value(t.Discriminator().Type)},
			"required": []string{xtypes.Discriminator}, "additionalProperties": false})
		return described(schema{"anyOf": cases}, t.Doc())
	}
	properties, required := schema{}, []string{}
	for m := range t.Members() {
		properties[m.Name] = member(m)
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	return described(schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, t.Doc())
}

// labels gives those of one member, or of all, as JSON has them.
func labels(t *xtypes.Type, of *xtypes.Member) []any {
	list := []any{}
	d := t.Discriminator().Type.Resolve()
	for m := range t.Members() {
		if of != nil && m != of {
			continue
		}
		for _, l := range m.Labels {
			switch d.Kind() {
			case xtypes.TKEnum:
				e, _ := d.LiteralByValue(int32(l))
				list = append(list, e.Name)
			case xtypes.TKBoolean:
				list = append(list, l != 0)
			case xtypes.TKChar8, xtypes.TKChar16:
				list = append(list, string(rune(l)))
			default:
				list = append(list, l)
			}
		}
	}
	return list
}

func member(m *xtypes.Member) schema {
	s := described(value(m.Type), m.Doc)
	if m.Unit != "" {
		s["$comment"] = "unit: " + m.Unit
	}
	if m.Default != nil {
		if d := standard(m.Type.Resolve(), m.Default); d != nil {
			s["default"] = d
		}
	}
	if k := m.Type.Resolve().Kind(); k.Integer() || k == xtypes.TKByte {
		for keyword, bound := range map[string]any{"minimum": m.Min, "maximum": m.Max} {
			if bound != nil {
				s[keyword] = bound
			}
		}
	}
	return s
}

// standard gives a default in the form that documents have; nil for what they have in other forms than Go.
func standard(t *xtypes.Type, v any) any {
	switch k := t.Kind(); k {
	case xtypes.TKEnum:
		l, _ := t.LiteralByValue(v.(int32))
		return l.Name
	case xtypes.TKChar8:
		return string(rune(v.(uint8)))
	case xtypes.TKChar16, xtypes.TKFloat128, xtypes.TKBitmask:
		return nil
	case xtypes.TKFloat32, xtypes.TKFloat64:
		if f := reflect.ValueOf(v).Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return nil
		}
	}
	return v
}

// value gives the schema of a value of t.
func value(t *xtypes.Type) schema {
	t = t.Resolve()
	switch k := t.Kind(); {
	case k == xtypes.TKStructure || k == xtypes.TKUnion || k == xtypes.TKEnum:
		return schema{"$ref": reference(t)}
	case k == xtypes.TKBoolean:
		return schema{"type": "boolean"}
	case k == xtypes.TKFloat32 || k == xtypes.TKFloat64:
		return schema{"anyOf": []any{schema{"type": "number"}, schema{"enum": []string{"NaN", "Infinity", "-Infinity"}}}}
	case k == xtypes.TKFloat128:
		return schema{"type": "string", "pattern": "^0x[0-9a-f]{32}$"}
	case k == xtypes.TKChar8:
		return schema{"type": "string", "minLength": 1, "maxLength": 1}
	case k == xtypes.TKChar16:
		return schema{"anyOf": []any{schema{"type": "string", "minLength": 1, "maxLength": 1},
			schema{"type": "integer", "minimum": 0xd800, "maximum": 0xdfff}}}
	case k == xtypes.TKString8 || k == xtypes.TKString16:
		s := schema{"type": "string"}
		if t.Bound() > 0 {
			s["maxLength"] = t.Bound() // a character takes a byte or a code unit at least
		}
		return s
	case k == xtypes.TKBitmask:
		return bitmask(t)
	case k == xtypes.TKBitset:
		return bitset(t)
	case k == xtypes.TKArray:
		return array(t, t.Dims())
	case k == xtypes.TKSequence:
		return sequence(t)
	case k == xtypes.TKMap:
		s := schema{"type": "object", "additionalProperties": value(t.Elem())}
		if t.Bound() > 0 {
			s["maxProperties"] = t.Bound()
		}
		return s
	}
	return integer(t.Kind())
}

func integer(k xtypes.Kind) schema {
	bits := uint(8 * k.Size())
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits)
	if k.Signed() {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	return schema{"type": "integer", "minimum": low, "maximum": high.Sub(high, big.NewInt(1))}
}

func bitmask(t *xtypes.Type) schema {
	names := []any{}
	for _, f := range t.Bitflags() {
		names = append(names, f.Name)
	}
	others := schema{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64) >> (64 - t.BitBound())}
	return schema{"type": "array", "uniqueItems": true, "items": schema{"anyOf": []any{schema{"enum": names}, others}}}
}

func bitset(t *xtypes.Type) schema {
	properties, required := schema{}, []string{}
	for b := t; b != nil; b = b.Base() {
		for _, f := range b.Bitfields() {
			switch {
			case f.Name == "":
				continue
			case f.Holder == xtypes.TKBoolean:
				properties[f.Name] = schema{"type": "boolean"}
			case f.Holder.Signed():
				properties[f.Name] = schema{"type": "integer", "minimum": int64(-1) << (f.Bits - 1), "maximum": int64(1)<<(f.Bits-1) - 1}
			default:
				properties[f.Name] = schema{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64) >> (64 - uint(f.Bits))}
			}
			required = append(required, f.Name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func array(t *xtypes.Type, dims []uint32) schema {
	items := value(t.Elem())
	if len(dims) > 1 {
		items = array(t, dims[1:])
	}
	return schema{"type": "array", "items": items, "minItems": dims[0], "maxItems": dims[0]}
}

func sequence(t *xtypes.Type) schema {
	if k := t.Elem().Resolve().Kind(); k == xtypes.TKByte || k == xtypes.TKUint8 {
		return schema{"type": "string", "contentEncoding": "base64"}
	}
	s := schema{"type": "array", "items": value(t.Elem())}
	if t.Bound() > 0 {
		s["maxItems"] = t.Bound()
	}
	return s
}
