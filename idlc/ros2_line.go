package idlc

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/internal/suggest"
)

// This file reads one line of a ROS 2 interface: TYPE name [default], or TYPE NAME = value.

// ros2Types are the types that have no file, in IDL.
var ros2Types = map[string]string{
	"bool": "boolean", "byte": "octet", "char": "uint8", "int8": "int8", "uint8": "uint8", "int16": "int16", "uint16": "uint16",
	"int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64", "float32": "float", "float64": "double",
	"string": "string", "wstring": "wstring",
}

// Names as rosidl accepts them.
var (
	rosLower    = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString
	rosUpper    = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`).MatchString
	rosCamel    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString
	rosType     = regexp.MustCompile(`^([a-zA-Z][\w/]*)(?:<=(\d+))?(?:\[(<=)?(\d*)\])?$`).FindStringSubmatch
	rosIntegers = map[string]int{"byte": -8, "char": -8, "int8": 8, "uint8": -8, "int16": 16, "uint16": -16, "int32": 32,
		"uint32": -32, "int64": 64, "uint64": -64}
)

// rosLine is a line cut up.
type rosLine struct {
	annotations []rosWord
	typ, name   rosWord
	value       rosWord // of a constant, or the default
	constant    bool
	comment     string
}

type rosWord struct {
	text string
	pos  Pos
}

// line reads a line that is neither empty nor a comment.
func (f *ros2File) line(text string, pos Pos, doc []string) {
	l := cutRosLine(text, pos)
	if l.comment != "" {
		doc = append(doc, l.comment)
	}
	switch {
	case l.name.text == "":
		if l.typ.text == "" { // annotations alone belong to the next line
			f.pending = append(f.pending, l.annotations...)
			return
		}
		f.report.errorf(l.typ.pos, "write TYPE name, or TYPE NAME=value", "%s needs a name", l.typ.text)
	case l.constant:
		f.constant(l, doc)
	default:
		l.annotations = append(f.pending, l.annotations...)
		f.field(l, doc)
	}
	f.pending = nil
}

// cutRosLine cuts a line into words. A number sign within quotes is no comment.
func cutRosLine(text string, pos Pos) rosLine {
	var l rosLine
	at, counted := 0, 0
	place := func(start int) Pos { // starts ascend: each character is counted once
		pos.Column += utf8.RuneCountInString(text[counted:start])
		counted = start
		return pos
	}
	skip := func() {
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
	}
	word := func(stop string) rosWord {
		skip()
		start := at
		for at < len(text) && strings.IndexByte(stop, text[at]) < 0 {
			at++
		}
		return rosWord{text[start:at], place(start)}
	}
	for skip(); at < len(text) && text[at] == '@'; skip() {
		l.annotations = append(l.annotations, word(" \t#"))
	}
	l.typ = word(" \t#")
	l.name = word(" \t#=")
	skip()
	if l.name.text != "" && at < len(text) && text[at] == '=' {
		l.constant = true
		at++
	}
	skip()
	start, quote := at, byte(0)
	opens := func(at int) bool { // a quote begins a string at the front of the value, or of an element of a list
		before := strings.TrimRight(text[start:at], " \t")
		return (text[at] == '"' || text[at] == '\'') && (before == "" || text[start] == '[' && strings.IndexByte("[,", before[len(before)-1]) >= 0)
	}
	for ; at < len(text) && (quote != 0 || text[at] != '#'); at++ {
		switch {
		case quote != 0 && text[at] == '\\' && at+1 < len(text):
			at++
		case quote != 0 && text[at] == quote:
			quote = 0
		case quote == 0 && opens(at):
			quote = text[at]
		}
	}
	l.value = rosWord{strings.TrimRight(text[start:at], " \t"), place(start)}
	if at < len(text) {
		l.comment = strings.TrimSpace(strings.TrimLeft(text[at:], "#"))
	}
	return l
}

// claim tells whether a name is as it must be, and free.
func (f *ros2File) claim(w rosWord, names map[string]Pos, valid func(string) bool, hint string) bool {
	if !valid(w.text) {
		f.report.errorf(w.pos, hint, "%q is no name for it", w.text)
		return false
	}
	if old, taken := names[w.text]; taken {
		f.report.errorf(w.pos, "", "%s is declared twice, first in line %d", w.text, old.Line)
		return false
	}
	return true
}

// field appends a member.
func (f *ros2File) field(l rosLine, doc []string) {
	idl, dims, base, ok := f.typeOf(l.typ)
	valid := f.claim(l.name, f.names, rosLower, "a field has small letters, digits, and underscores between them")
	f.names[l.name.text] = l.name.pos // also if it is wrong: the struct is not empty
	if !ok || !valid {
		return
	}
	start := len(f.members)
	for _, a := range l.annotations {
		f.members = append(f.members, lexDirective(a.text, a.pos, f.report)...)
	}
	unit, comment := unitOf(doc)
	if unit != "" && !slices.ContainsFunc(l.annotations, func(a rosWord) bool { return strings.HasPrefix(a.text, "@unit") }) {
		f.members = f.idl(f.members, l.name.pos, "@unit("+quoteIDL(unit, false)+")")
	}
	if v := l.value; v.text != "" {
		switch literal, ok := "", false; {
		case dims != "" || strings.HasPrefix(idl, "sequence"):
			f.arrayDefault(v, base)
		case ros2Types[base] == "":
			f.report.errorf(v.pos, "", "a field of type %s cannot have a default", l.typ.text)
		default:
			if literal, ok = f.literal(v, base); ok {
				f.members = f.idl(f.members, v.pos, "@default("+literal+")")
			}
		}
	}
	f.members = f.idl(f.members, l.typ.pos, idl)
	f.members = f.idl(f.members, l.name.pos, "_"+l.name.text+dims+";")
	f.members[start].remarks = &remarks{doc: comment}
}

// constant appends a constant in the module of the type.
func (f *ros2File) constant(l rosLine, doc []string) {
	idl, known := ros2Types[l.typ.text]
	if !known {
		f.report.errorf(l.typ.pos, "constants are numbers, booleans and strings", "a constant cannot have type %s", l.typ.text)
		return
	}
	if !f.claim(l.name, f.values, rosUpper, "a constant has capitals, digits, and underscores between them") {
		return
	}
	literal, ok := f.literal(l.value, l.typ.text)
	if !ok {
		return
	}
	f.values[l.name.text] = l.name.pos
	start := len(f.toks)
	f.toks = f.idl(f.toks, l.name.pos, "module _"+f.pkg+" { module "+f.kind+" { module dds_ { const "+idl+" "+
		f.typ+ros2Sections[f.kind][f.section]+"__"+l.name.text+" =")
	f.toks = f.idl(f.toks, l.value.pos, literal)
	f.toks = f.idl(f.toks, l.name.pos, "; }; }; };")
	if len(doc) > 0 {
		for i := range f.toks[start:] {
			if f.toks[start+i].word("const") {
				f.toks[start+i].remarks = &remarks{doc: strings.Join(doc, "\n")}
			}
		}
	}
}

// typeOf gives a type in IDL, with the dimensions that stand behind the name, and the name of what it consists of.
func (f *ros2File) typeOf(w rosWord) (idl, dims, base string, ok bool) {
	m := rosType(w.text)
	if m == nil {
		f.report.errorf(w.pos, "write it as int32, string<=10, int32[3], int32[], int32[<=5] or package/Type", "%q is no type", w.text)
		return "", "", "", false
	}
	base, bound, array := m[1], m[2], strings.HasSuffix(w.text, "]")
	idl, known := ros2Types[base]
	switch {
	case bound != "" && idl != "string" && idl != "wstring":
		f.report.errorf(w.pos, "only strings have a bound before the brackets", "%s cannot have a bound", base)
		return "", "", "", false
	case !known:
		if idl, ok = f.message(w, base); !ok {
			return "", "", "", false
		}
	case bound != "":
		idl += "<" + bound + ">"
	}
	switch {
	case array && m[3] == "" && m[4] != "":
		dims = "[" + m[4] + "]"
	case array && m[3] != "" && m[4] == "":
		f.report.errorf(w.pos, "write it as in int32[<=5]", "the bound is missing")
		return "", "", "", false
	case array && m[4] != "":
		idl = "sequence<" + idl + ", " + m[4] + ">"
	case array:
		idl = "sequence<" + idl + ">"
	}
	return idl, dims, base, true
}

// message gives the name in IDL of a type that another file declares.
func (f *ros2File) message(w rosWord, name string) (string, bool) {
	if name == "time" || name == "duration" { // as in ROS 1
		return f.reference("builtin_interfaces", strings.ToUpper(name[:1])+name[1:], w.pos), true
	}
	pkg, typ, scoped := strings.Cut(name, "/")
	if !scoped {
		pkg, typ = f.pkg, name
	}
	typ = strings.TrimPrefix(typ, "msg/")
	if scoped && !rosLower(pkg) {
		f.report.errorf(w.pos, "write package/Type", "%q is not the name of a package", pkg)
		return "", false
	}
	if !rosCamel(typ) {
		f.report.errorf(w.pos, suggest.DidYouMean(typ, maps.Keys(ros2Types)), "unknown type %s", name)
		return "", false
	}
	return f.reference(pkg, typ, w.pos), true
}

// literal gives a value of a type without a file in IDL.
func (f *ros2File) literal(w rosWord, typ string) (string, bool) {
	wrong := func(what string) (string, bool) {
		f.report.errorf(w.pos, "", "%q is %s", w.text, what)
		return "", false
	}
	bits := rosIntegers[typ]
	switch {
	case typ == "bool":
		switch strings.ToLower(w.text) {
		case "true", "1":
			return "TRUE", true
		case "false", "0":
			return "FALSE", true
		}
		return wrong("neither true nor false")
	case bits != 0:
		base := 10 // zeros in front mean nothing, as in rosidl
		if strings.ContainsAny(w.text, "xXoObB") {
			base = 0
		}
		n, ok := new(big.Int).SetString(w.text, base)
		if !ok || strings.Contains(w.text, "_") {
			return wrong("no integer")
		}
		low, high := new(big.Int), new(big.Int)
		if bits > 0 {
			high.Lsh(big.NewInt(1), uint(bits-1))
			low.Neg(high)
		} else {
			high.Lsh(big.NewInt(1), uint(-bits))
		}
		if n.Cmp(low) < 0 || n.Cmp(high) >= 0 {
			return wrong("out of the range of " + typ)
		}
		return n.String(), true
	case typ == "float32" || typ == "float64":
		size := map[string]int{"float32": 32, "float64": 64}[typ]
		x, err := strconv.ParseFloat(w.text, size)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return wrong("no number of type " + typ)
		}
		text := strconv.FormatFloat(x, 'g', -1, size)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text, true
	}
	text, ok := unquoteRos(w.text)
	if !ok {
		return wrong("no string: its quotes do not match")
	}
	return quoteIDL(text, typ == "wstring"), true
}

// unquoteRos takes the quotes of a string away, if it has any, and reads its escapes. rosidl passes a string on to IDL,
// where these are read: \n, \t and so on, \x41, \101, \u00e4. A backslash before anything else is one.
func unquoteRos(s string) (string, bool) {
	quote := byte(0)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		quote, s = s[0], s[1:]
	}
	var b strings.Builder
	for s != "" {
		if quote != 0 && s[0] == quote {
			return b.String(), len(s) == 1
		}
		if s[0] == '\\' {
			if r, n := rosEscape(s[1:]); n > 0 {
				b.WriteRune(r)
				s = s[1+n:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String(), quote == 0
}

// rosEscape reads what stands behind a backslash: a character, and how many bytes stand for it; 0 for none.
func rosEscape(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`abtnvfr\'"?`, s[0]); i >= 0 {
		return rune("\a\b\t\n\v\f\r\\'\"?"[i]), 1
	}
	base, most, from := 8, 3, 0
	switch s[0] {
	case 'x':
		base, most, from = 16, 2, 1
	case 'u':
		base, most, from = 16, 4, 1
	}
	n := from
	for n < len(s) && n-from < most && (hexDigit(s[n]) && base == 16 || s[n] >= '0' && s[n] <= '7') {
		n++
	}
	v, err := strconv.ParseUint(s[from:n], base, 32)
	if err != nil || v == 0 || s[0] == 'u' && (n-from < 4 || utf16.IsSurrogate(rune(v))) {
		return 0, 0
	}
	return rune(v), n
}

// rosUnit is a unit in the comment of a field, as in "# speed over ground [m/s]". With a comma it is a range.
var rosUnit = regexp.MustCompile(`\s*\[([^,\[\]]+)\]`)

// unitOf takes the unit out of a comment, if there is one and no more.
func unitOf(doc []string) (unit, rest string) {
	rest = strings.Join(doc, "\n")
	found := rosUnit.FindAllStringSubmatchIndex(rest, -1)
	if len(found) != 1 {
		return "", rest
	}
	m := found[0]
	return strings.TrimSpace(rest[m[2]:m[3]]), strings.TrimSpace(rest[:m[0]] + rest[m[1]:])
}

// quoteIDL writes a string as IDL has it.
func quoteIDL(s string, wide bool) string {
	var b strings.Builder
	if wide {
		b.WriteByte('L')
	}
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// arrayDefault checks the default of an array, for which IDL has no notation.
func (f *ros2File) arrayDefault(w rosWord, base string) {
	list, ok := strings.CutPrefix(w.text, "[")
	list, closed := strings.CutSuffix(list, "]")
	if !ok || !closed || ros2Types[base] == "" {
		f.report.errorf(w.pos, "write it as in [1, 2, 3]", "%q is no default for an array", w.text)
		return
	}
	for item := range rosItems(list) {
		if _, ok := f.literal(rosWord{item, w.pos}, base); !ok {
			return
		}
	}
	f.report.warnf(w.pos, "set it in the program", "the default of an array is left out: IDL has none")
}

// rosItems cuts a list at its commas, but not at those within quotes.
func rosItems(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, quote := 0, byte(0)
		for at := 0; at < len(list); at++ {
			switch c := list[at]; {
			case c == '\\' && quote != 0:
				at++
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && (c == '"' || c == '\'') && strings.TrimSpace(list[start:at]) == "":
				quote = c
			case quote == 0 && c == ',':
				if !yield(strings.TrimSpace(list[start:at])) {
					return
				}
				start = at + 1
			}
		}
		if last := strings.TrimSpace(list[start:]); last != "" {
			yield(last)
		}
	}
}
