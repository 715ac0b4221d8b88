package idlc

import (
	"math/big"
	"strings"
)

func (c *checker) unionDef(d *unionDef) {
	name := strings.TrimPrefix(d.Name.Text, "_")
	var u *Union
	if e := c.scope.get(name); e != nil && e.name == name {
		if declared, ok := e.what.(*Union); ok && (!declared.Complete || d.Forward) {
			u = declared
		}
	}
	if u == nil {
		u = &Union{Common: c.common(d.Name, d.Doc)}
		c.declare(d.Name, u)
	}
	if d.Forward {
		return
	}
	u.Doc, u.Pos = d.Doc, d.Name.Pos
	u.Applied = c.annotations(d.Annotations, subject{on: onUnion, name: u.Name})
	c.aggregate(&u.Aggregate, &u.Common)
	c.discriminator(u, d)
	c.cases(u, d)
	if len(d.Cases) == 0 && !d.Broken {
		c.report.errorf(d.Name.Pos, "give it a case", "union %s is empty", u.Name)
	}
	u.measure()
	c.limits("union", &u.Common, &u.measures)
	c.unit.Decls = append(c.unit.Decls, u)
}

// discriminator checks the type of the switch.
func (c *checker) discriminator(u *Union, d *unionDef) {
	if d.Switch == nil {
		return
	}
	for _, a := range c.annotations(d.Switch.Annotations, subject{on: onDiscriminator, name: "discriminator"}) {
		switch a.standard() {
		case "key":
			u.DiscriminatorKey = *a.Args[0].Bool
		case "try_construct":
			u.DiscriminatorTryConstruct = tryConstruct(a)
		}
	}
	t := c.typeOf(d.Switch.Type, false)
	switch r := resolve(t).(type) {
	case nil:
		return
	case Primitive:
		if r < Float32 {
			u.Discriminator = t
			return
		}
	case *Enum:
		u.Discriminator = t
		return
	}
	c.report.errorf(d.Switch.Type.Pos, "use an integer, boolean, octet, char, wchar or an enum", "a union cannot switch on %s", typeName(t))
}

// cases checks members and labels. Ids begin at 1: that of the discriminator is 0 (XTypes 1.3 §7.2.2.4.4.3).
func (c *checker) cases(u *Union, d *unionDef) {
	set := c.newMemberSet(u.Name, u.AutoID)
	set.next = 1
	labels := map[int64]*Case{}
	for _, syn := range d.Cases {
		t := c.typeOf(syn.Type, mayBeIncomplete(syn.Annotations))
		k := &Case{Union: u, Member: Member{Name: c.cleanName(syn.Declarator.Name), Doc: syn.Doc, Pos: syn.Declarator.Name.Pos}}
		k.Type = c.declared(t, syn.Declarator)
		explicit := c.annotateMember(&k.Member, syn.Annotations, onCase, 1)
		c.labels(u, k, syn, labels)
		if k.Name == "discriminator" && c.strict {
			c.report.errorf(k.Pos, "", "the name discriminator is reserved in a union (XTypes 1.3 §7.2.2.4.4.3)")
		}
		if !set.add(&k.Member, explicit) || k.Type == nil {
			continue
		}
		u.Cases = append(u.Cases, k)
	}
	if u.Discriminator == nil {
		return
	}
	u.Other, u.Exhaustive = otherValue(u.Discriminator, labels)
	u.Exhaustive = !u.Exhaustive
	if u.Exhaustive && u.Default != nil && len(u.Default.Labels) == 0 {
		c.report.errorf(u.Default.Pos, "leave it out", "default of union %s is never selected: the labels cover all values of %s",
			u.Name, typeName(u.Discriminator))
	}
}

// labels checks those of one case.
func (c *checker) labels(u *Union, k *Case, syn *caseDef, labels map[int64]*Case) {
	for _, l := range syn.Labels.List {
		if l.Default {
			if u.Default != nil {
				c.report.errorf(l.Pos, "", "union %s has two defaults, the first at %s", u.Name, c.near(l.Pos, u.Default.Pos))
				continue
			}
			k.IsDefault, u.Default = true, k
			continue
		}
		if u.Discriminator == nil {
			continue
		}
		v := c.evalFor(l.Value, u.Discriminator)
		if v.Valid() {
			v = c.convert(l.Value.Pos, v, u.Discriminator)
		}
		if !v.Valid() {
			continue
		}
		if old := labels[v.Ordinal()]; old != nil {
			c.report.errorf(l.Value.Pos, "", "label %s of union %s is used twice, first for %s at %s", v.text(), u.Name, old.Name,
				c.near(l.Value.Pos, old.Pos))
			continue
		}
		labels[v.Ordinal()] = k
		k.Labels = append(k.Labels, v)
	}
}

// otherValue gives the least value of a discriminator that is no label, counted from 0 and then from the least; false if all are.
func otherValue(t Type, labels map[int64]*Case) (Value, bool) {
	switch r := resolve(t).(type) {
	case *Enum:
		for _, v := range r.Enumerators {
			if labels[int64(v.Value)] == nil {
				return Value{Enum: v}, true
			}
		}
	case Primitive:
		if r == Boolean {
			for n, b := range []bool{false, true} {
				if labels[int64(n)] == nil {
					return Value{Bool: &b}, true
				}
			}
			return Value{}, false
		}
		info := primitives[r]
		lo, hi := integerRange(info)
		char := r == Char || r == WChar
		for n := int64(0); n <= int64(len(labels)); n++ { // one of these is free, if any of them is a value
			if big.NewInt(n).Cmp(hi) <= 0 && labels[n] == nil {
				return Value{Int: big.NewInt(n), Char: char, Wide: r == WChar}, true
			}
		}
		for n := lo.Int64(); n < 0; n++ {
			if labels[n] == nil {
				return Value{Int: big.NewInt(n)}, true
			}
		}
	}
	return Value{}, false
}
