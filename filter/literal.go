package filter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/xtypes"
)

// form is how a value was written.
type form uint8

const (
	formInteger form = iota
	formFloat
	formString  // in quotes
	formBoolean // TRUE or FALSE
	formNull
	formName // an enumerator without quotes, or a name that is not known
	formBare // the text of a parameter that is none of these: a string without quotes
)

// value is a literal, or the value of a parameter, which has no type until it meets a member.
type value struct {
	form  form
	text  string // without quotes
	raw   string // of a parameter: as it was given
	param string // "%1", or empty
	err   error  // of formName: that it is no member
}

// describe names the value in an error.
func (v *value) describe() string {
	s := v.text
	switch v.form {
	case formString, formBare:
		s = "'" + s + "'"
	case formNull:
		s = "NULL"
	}
	if v.param != "" {
		return s + ", the value of " + v.param
	}
	return s
}

func literalOf(l *literalSyntax) value {
	switch {
	case l.String != "":
		return value{form: formString, text: unquote(l.String)}
	case l.Boolean != "":
		return value{form: formBoolean, text: strings.ToUpper(l.Boolean)}
	case l.Null:
		return value{form: formNull}
	}
	hex := strings.Contains(l.Number, "x") || strings.Contains(l.Number, "X")
	if !hex && strings.ContainsAny(l.Number, ".eE") {
		return value{form: formFloat, text: l.Number}
	}
	return value{form: formInteger, text: l.Number}
}

// parameterValue reads what the application gave for a parameter: a literal, or a string or an enumerator without quotes.
func parameterValue(raw string) value {
	v := value{form: formBare, text: raw}
	if l, err := literalLanguage.parse(raw); err == nil {
		v = literalOf(l)
	}
	v.raw = raw
	return v
}

// integerOf reads an INTEGERVALUE: decimal or hexadecimal, with an optional sign.
func (v *value) integerOf() (integer, bool) {
	text, negative := strings.CutPrefix(v.text, "-")
	text = strings.TrimPrefix(text, "+")
	base := 10
	if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
		text, base = text[2:], 16
	}
	u, err := strconv.ParseUint(text, base, 64)
	if err != nil || negative && u > 1<<63 {
		return integer{}, false
	}
	if negative {
		return signed(int64(-u)), true
	}
	return unsigned(u), true
}

func (i integer) float() float64 {
	if i.high < 0 {
		return float64(int64(i.low))
	}
	return float64(i.low)
}

// constant turns a value into an operand to be compared with m; hint says what would do if it can not. The rules are
// those of DDS 1.4 Annex B: which literals go with which types.
func constant(v *value, m *member) (o operand, ok bool, hint string) {
	switch k := m.typ.Kind(); {
	case k == xtypes.TKBoolean:
		if t := strings.ToUpper(v.text); v.form != formInteger && (t == "TRUE" || t == "FALSE") {
			o.class = classInteger
			if t == "TRUE" {
				o.integer = unsigned(1)
			}
			return o, true, ""
		}
		return operand{}, false, "write TRUE or FALSE"
	case k == xtypes.TKEnum:
		return enumerator(v, m)
	case textKind(k):
		return textConstant(v)
	case realKind(k):
		return realConstant(v, k)
	}
	switch v.form {
	case formInteger:
		i, ok := v.integerOf()
		if !ok {
			return operand{}, false, "it does not fit into 64 bits"
		}
		return operand{class: classInteger, integer: i}, true, ""
	case formFloat:
		f, err := strconv.ParseFloat(v.text, 64)
		if err != nil {
			return operand{}, false, "it does not fit into a double"
		}
		return operand{class: classReal, real: f}, true, ""
	}
	return operand{}, false, "write a number"
}

// realConstant rounds to the type of the member, so that a float member that was set to 0.1 equals 0.1.
func realConstant(v *value, k xtypes.Kind) (o operand, ok bool, hint string) {
	if v.form != formInteger && v.form != formFloat {
		return operand{}, false, "write a number"
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if i, ok := v.integerOf(); ok && v.form == formInteger {
		f, err = i.float(), nil
	}
	if err != nil {
		return operand{}, false, "it does not fit into a double"
	}
	if k == xtypes.TKFloat32 {
		f = float64(float32(f))
	}
	if math.IsInf(f, 0) {
		return operand{}, false, "it does not fit into a float"
	}
	return operand{class: classReal, real: f}, true, ""
}

// textConstant takes a string, or the text of a parameter as it is: quotes around it are not part of it.
func textConstant(v *value) (o operand, ok bool, hint string) {
	switch {
	case v.form == formString:
		return operand{class: classText, text: []byte(v.text)}, true, ""
	case v.param != "" && v.form != formNull:
		return operand{class: classText, text: []byte(v.raw)}, true, ""
	}
	return operand{}, false, "write a string in single quotes"
}

// enumerator takes the name of an enumerator, with or without quotes and scope, or its number.
func enumerator(v *value, m *member) (o operand, ok bool, hint string) {
	if v.form == formInteger {
		i, ok := v.integerOf()
		if !ok {
			return operand{}, false, "it does not fit into 64 bits"
		}
		return operand{class: classInteger, integer: i}, true, ""
	}
	if v.form != formString && v.form != formName && v.form != formBare {
		return operand{}, false, "write the name of an enumerator"
	}
	name := v.text
	if i := strings.LastIndex(name, "::"); i >= 0 {
		if !scopeOf(m.typ.Name(), name[:i]) {
			return operand{}, false, fmt.Sprintf("it is not in the scope of %s", m.typ.Name())
		}
		name = name[i+2:]
	}
	if l, ok := m.typ.LiteralByName(name); ok {
		return operand{class: classInteger, integer: signed(int64(l.Value))}, true, ""
	}
	var names []string
	for _, l := range m.typ.Literals() {
		names = append(names, l.Name)
	}
	return operand{}, false, memberHint(name, names)
}

// scopeOf tells whether an enumerator of the enumeration may be written with that scope: the enumeration's name, or the module
// around it, which is where IDL declares it; or the end of either.
func scopeOf(enumeration, scope string) bool {
	module := ""
	if i := strings.LastIndex(enumeration, "::"); i >= 0 {
		module = enumeration[:i]
	}
	return slices.ContainsFunc([]string{enumeration, module}, func(s string) bool {
		return s == scope || strings.HasSuffix(s, "::"+scope)
	})
}

func textKind(k xtypes.Kind) bool {
	switch k {
	case xtypes.TKString8, xtypes.TKString16, xtypes.TKChar8, xtypes.TKChar16:
		return true
	}
	return false
}

func realKind(k xtypes.Kind) bool {
	return k == xtypes.TKFloat32 || k == xtypes.TKFloat64 || k == xtypes.TKFloat128
}
