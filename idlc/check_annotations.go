package idlc

import (
	"crypto/md5"
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// annotationRule says where an annotation may stand and what it does. A nil apply means that the annotation is known and
// changes nothing in the generated code.
type annotationRule struct {
	on    []string
	args  [2]int // least and most arguments
	apply func(c *checker, a *annotation, target any)
}

// anywhere is for annotations that only inform people.
var anywhere = []string{"module", "struct", "member", "enum", "enumerator", "typedef", "const"}

var annotationRules = map[string]annotationRule{
	"key":           {[]string{"member"}, [2]int{0, 1}, func(c *checker, a *annotation, t any) { t.(*Member).Key = c.flag(a) }},
	"id":            {[]string{"member"}, [2]int{1, 1}, applyID},
	"hashid":        {[]string{"member"}, [2]int{0, 1}, applyHashID},
	"optional":      {[]string{"member"}, [2]int{0, 1}, applyOptional},
	"unit":          {[]string{"member", "typedef", "const"}, [2]int{1, 1}, applyUnit},
	"final":         {[]string{"struct", "enum"}, [2]int{0, 0}, extensibility(cdr.Final)},
	"appendable":    {[]string{"struct", "enum"}, [2]int{0, 0}, extensibility(cdr.Appendable)},
	"mutable":       {[]string{"struct"}, [2]int{0, 0}, extensibility(cdr.Mutable)},
	"extensibility": {[]string{"struct", "enum"}, [2]int{1, 1}, applyExtensibility},
	"nested":        {[]string{"struct", "enum"}, [2]int{0, 1}, applyNested},
	"topic":         {[]string{"struct"}, [2]int{0, 8}, nil},
	"autoid":        {[]string{"struct", "module"}, [2]int{0, 1}, applyAutoID},
	"bit_bound":     {[]string{"enum"}, [2]int{1, 1}, applyBitBound},

	"value":           {[]string{"enumerator"}, [2]int{1, 1}, nil}, // applied with the enumerators' numbering
	"default_literal": {[]string{"enumerator"}, [2]int{0, 0}, nil},

	"default":              {[]string{"member"}, [2]int{1, 1}, ignored},
	"must_understand":      {[]string{"member"}, [2]int{0, 1}, nil},
	"external":             {[]string{"member"}, [2]int{0, 1}, nil},
	"min":                  {[]string{"member", "typedef"}, [2]int{1, 1}, nil},
	"max":                  {[]string{"member", "typedef"}, [2]int{1, 1}, nil},
	"range":                {[]string{"member", "typedef"}, [2]int{1, 2}, nil},
	"try_construct":        {[]string{"member"}, [2]int{0, 1}, ignored},
	"verbatim":             {anywhere, [2]int{0, 8}, nil},
	"default_nested":       {[]string{"module"}, [2]int{0, 1}, nil},
	"ignore_literal_names": {[]string{"enum"}, [2]int{0, 1}, nil},
	"data_representation":  {[]string{"struct"}, [2]int{0, 2}, nil},
}

// annotations applies what is written in front of a declaration, and gives those that were in order.
func (c *checker) annotations(list []*annotation, on string, target any) []*annotation {
	var good []*annotation
	for _, a := range list {
		name := a.Name.String()
		rule, known := annotationRules[name]
		switch {
		case !known:
			c.report.warnf(a.Pos, didYouMean(name, knownAnnotations), "unknown annotation @%s is ignored", name)
		case !slices.Contains(rule.on, on):
			c.report.errorf(a.Pos, "", "@%s does not apply to a %s", name, on)
		case len(a.Args) < rule.args[0] || len(a.Args) > rule.args[1]:
			c.report.errorf(a.Pos, "", "@%s takes %s, not %d", name, argumentCount(rule.args), len(a.Args))
		default:
			good = append(good, a)
			if rule.apply != nil && target != nil {
				rule.apply(c, a, target)
			}
		}
	}
	return good
}

func argumentCount(n [2]int) string {
	switch {
	case n[0] == n[1] && n[0] == 1:
		return "1 argument"
	case n[0] == n[1]:
		return itoa(n[0]) + " arguments"
	}
	return itoa(n[0]) + " to " + itoa(n[1]) + " arguments"
}

func knownAnnotations(yield func(string) bool) {
	for name := range annotationRules {
		if !yield("@" + name) {
			return
		}
	}
}

// flag is the value of an annotation that may say TRUE or FALSE.
func (c *checker) flag(a *annotation) bool {
	if len(a.Args) == 0 {
		return true
	}
	v := c.eval(a.Args[0].Value)
	if v.Valid() && v.Bool == nil {
		c.report.errorf(a.Args[0].Pos, "write TRUE or FALSE", "@%s takes a boolean, not %s", a.Name, v.kind())
	}
	return v.Bool == nil || *v.Bool
}

// word is the value of an annotation that takes an identifier of its own.
func word(a *annotation) string {
	e := a.Args[0].Value
	if len(e.Right) == 0 && e.Left.Left.Left.Left.Left.Left.Term.Name != nil {
		return e.Left.Left.Left.Left.Left.Left.Term.Name.String()
	}
	return ""
}

// maxMemberID is the largest id that a member may have (XTypes 1.3 §7.3.1.2.1).
const maxMemberID = 0x0fffffff

func applyID(c *checker, a *annotation, target any) {
	v := c.eval(a.Args[0].Value)
	switch {
	case !v.Valid():
	case v.Int == nil || v.Char:
		c.report.errorf(a.Args[0].Pos, "", "@id takes an integer, not %s", v.kind())
	case v.Int.Sign() < 0 || v.Int.Cmp(big.NewInt(maxMemberID)) > 0:
		c.report.errorf(a.Args[0].Pos, "", "member id %s is not within 0 to %d", v.Int, maxMemberID)
	default:
		target.(*Member).ID = uint32(v.Int.Int64())
	}
}

// applyHashID takes the id from the first bytes of the MD5 of the member's name (XTypes 1.3 §7.3.1.2.1.1).
func applyHashID(c *checker, a *annotation, target any) {
	m := target.(*Member)
	name := m.Name
	if len(a.Args) == 1 {
		if v := c.eval(a.Args[0].Value); v.Str != nil && *v.Str != "" {
			name = *v.Str
		}
	}
	sum := md5.Sum([]byte(name))
	m.ID = binary.LittleEndian.Uint32(sum[:]) & maxMemberID
}

func applyOptional(c *checker, a *annotation, t any) { t.(*Member).Optional = c.flag(a) }

func applyUnit(c *checker, a *annotation, target any) {
	m, ok := target.(*Member)
	v := c.eval(a.Args[0].Value)
	if v.Valid() && v.Str == nil {
		c.report.errorf(a.Args[0].Pos, "", "@unit takes a string, not %s", v.kind())
	}
	if ok && v.Str != nil {
		m.Unit = *v.Str
	}
}

func extensibility(x cdr.Extensibility) func(*checker, *annotation, any) {
	return func(c *checker, a *annotation, target any) {
		if s, ok := target.(*Struct); ok {
			s.Extensibility = x
		}
	}
}

func applyExtensibility(c *checker, a *annotation, target any) {
	kinds := map[string]cdr.Extensibility{"FINAL": cdr.Final, "APPENDABLE": cdr.Appendable, "MUTABLE": cdr.Mutable}
	x, ok := kinds[word(a)]
	if !ok {
		c.report.errorf(a.Args[0].Pos, "", "@extensibility takes FINAL, APPENDABLE or MUTABLE, not %q", word(a))
		return
	}
	extensibility(x)(c, a, target)
}

func applyNested(c *checker, a *annotation, target any) {
	if s, ok := target.(*Struct); ok {
		s.Nested = c.flag(a)
	}
}

func applyAutoID(c *checker, a *annotation, _ any) {
	if len(a.Args) == 0 || word(a) != "SEQUENTIAL" {
		c.report.errorf(a.Pos, "give the members their ids with @id or @hashid", "not supported yet by this version: @autoid(HASH)")
	}
}

func applyBitBound(c *checker, a *annotation, target any) {
	v := c.eval(a.Args[0].Value)
	if v.Int == nil || v.Char || v.Int.Sign() <= 0 || v.Int.Cmp(big.NewInt(32)) > 0 {
		if v.Valid() {
			c.report.errorf(a.Args[0].Pos, "", "@bit_bound of an enum is an integer within 1 to 32")
		}
		return
	}
	switch n := v.Int.Int64(); {
	case n <= 8:
		target.(*Enum).Width = 1
	case n <= 16:
		target.(*Enum).Width = 2
	}
}

func ignored(c *checker, a *annotation, _ any) {
	c.report.warnf(a.Pos, "", "@%s is not applied by this version", a.Name)
}
