package xtypes

import (
	"fmt"
	"math"
	"strings"
)

// The names of flags in Annex B, from the lowest bit. The first two of members are one number: see TryConstruct.
var (
	typeFlagNames   = []string{"IS_FINAL", "IS_APPENDABLE", "IS_MUTABLE", "IS_NESTED", "IS_AUTOID_HASH"}
	memberFlagNames = []string{"", "", "IS_EXTERNAL", "IS_OPTIONAL", "IS_MUST_UNDERSTAND", "IS_KEY", "IS_DEFAULT"}
)

func flagNames(flags uint16, names []string) string {
	s := ""
	for i, name := range names {
		if name != "" && flags&(1<<i) != 0 {
			s += " " + name
		}
	}
	return s
}

// Text writes the object for people: its parts, with the words of Annex B, a line each.
func (o *TypeObject) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("%s%s", strings.TrimRight(fmt.Sprint(o.equivalence, " ", o.kind, " ", o.name), " "), flagNames(o.flags, typeFlagNames))
	if v := o.verbatim; v != nil {
		line("  verbatim language=%q placement=%s text=%q", v.Language, v.Placement, v.Text)
	}
	part := func(what string, m *objectMember) {
		if !m.typ.None() {
			line("  %s %s%s%s", what, &m.typ, memberFlags(m.flags), &m.detail.builtin)
		}
	}
	part("base", &objectMember{typ: o.base})
	part("discriminator", &o.disc)
	part("alias of", &objectMember{typ: o.related, detail: memberDetail{builtin: o.builtin}})
	if o.bitBound > 0 {
		line("  bit_bound=%d", o.bitBound)
	}
	if o.bound > 0 {
		line("  bound=%d", o.bound)
	}
	if len(o.bounds) > 0 {
		line("  bounds=%v", o.bounds)
	}
	part("key", &o.key)
	part("element", &o.elem)
	for i := range o.members {
		m := &o.members[i]
		labels := ""
		if len(m.labels) > 0 {
			labels = fmt.Sprintf(" case=%v", m.labels)
		}
		line("  member %s id=%d %s%s%s%s", m.detail.text(), m.id, &m.typ, labels, memberFlags(m.flags), &m.detail.builtin)
	}
	for i := range o.literals {
		l := &o.literals[i]
		switch o.kind {
		case TKEnum:
			line("  literal %s value=%d%s", l.detail.text(), l.value, flagNames(l.flags, memberFlagNames))
		case TKBitmask:
			line("  flag %s position=%d", l.detail.text(), l.position)
		default:
			line("  field %s position=%d bitcount=%d holder=%s%s", l.detail.text(), l.position, l.bits, l.holder, &l.detail.builtin)
		}
	}
	return b.String()
}

func memberFlags(flags uint16) string {
	s := ""
	if t := TryConstruct(flags & flagTryConstruct); t != TryConstructUnset {
		s = " TRY_CONSTRUCT_" + t.String()
	}
	return s + flagNames(flags, memberFlagNames)
}

// String gives what is there of AppliedBuiltinMemberAnnotations.
func (b *memberBuiltin) String() string {
	s := ""
	if b.unit != nil {
		s += fmt.Sprintf(" unit=%q", *b.unit)
	}
	if b.min != nil {
		s += " min=" + b.min.String()
	}
	if b.max != nil {
		s += " max=" + b.max.String()
	}
	if b.hashID != nil {
		s += fmt.Sprintf(" hash_id=%q", *b.hashID)
	}
	return s
}

func (p *paramValue) String() string {
	switch p.kind {
	case TKString8:
		return fmt.Sprintf("%q", p.text)
	case TKFloat32:
		return fmt.Sprint(math.Float32frombits(uint32(p.bits)))
	case TKFloat64:
		return fmt.Sprint(math.Float64frombits(p.bits))
	case TKFloat128:
		return fmt.Sprintf("%x", p.wide[:])
	}
	return fmt.Sprint(sized(p.kind, p.bits))
}
