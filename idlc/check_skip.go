package idlc

import "slices"

// skippedType stands for a type that describes no data. What has it as a part is skipped as well.
type skippedType struct{ what string }

func (skippedType) isType() {}

// notData reports a definition that describes no data.
func (c *checker) notData(pos Pos, hint, what string) {
	if c.strict {
		c.report.errorf(pos, "", "%s describes no data", what)
		return
	}
	c.report.warnf(pos, hint, "%s is skipped", what)
}

func (c *checker) skippedDef(d *skippedDef) {
	what := d.What
	if d.Name != nil {
		what += " " + d.Name.Text
		c.scope.enter(d.Name.Text, d.Name.Pos, d)
	}
	c.notData(d.Pos, "", what)
}

// interfaceDef keeps the types and constants of an interface. Its name is a scope, and a type that is skipped.
func (c *checker) interfaceDef(d *interfaceDef) {
	hint := ""
	if len(d.Defs) > 0 {
		hint = "the types it declares are kept"
	}
	c.notData(d.Pos, hint, d.What+" "+d.Name.Text)
	inner := newScope(d.Name.Text, c.scope)
	if old := c.scope.get(d.Name.Text); old != nil {
		if _, forward := old.what.(*skippedDef); !forward {
			c.declare(d.Name, inner)
			return
		}
		old.what = inner
	} else {
		c.declare(d.Name, inner)
	}
	inner.kind = d.What
	c.within(inner, d.Defs)
}

// dropSkipped takes out what cannot be encoded because a part of it is skipped, and what has that as a part.
func (c *checker) dropSkipped() {
	users := map[Decl][]Decl{}
	why := map[Decl]string{}
	var queue []Decl
	for _, d := range c.unit.Decls {
		eachPart(d, func(t Type, part string) {
			switch t := t.(type) {
			case skippedType:
				if _, known := why[d]; !known {
					why[d] = part + t.what
					queue = append(queue, d)
				}
			case Decl:
				users[t] = append(users[t], d)
			}
		})
	}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		for _, user := range users[d] {
			if _, known := why[user]; !known {
				why[user] = "it uses " + d.common().Name + ", which is skipped"
				queue = append(queue, user)
			}
		}
	}
	c.unit.Decls = slices.DeleteFunc(c.unit.Decls, func(d Decl) bool {
		reason, drop := why[d]
		if drop {
			c.report.warnf(d.common().Pos, "", "%s is skipped: %s", d.common().Name, reason)
		}
		return drop
	})
}

// eachPart visits the types that a declaration is made of, with words for the part.
func eachPart(d Decl, visit func(t Type, part string)) {
	var in func(t Type, part string)
	in = func(t Type, part string) {
		switch t := t.(type) {
		case *Sequence:
			in(t.Elem, part)
		case *Map:
			in(t.Key, part)
			in(t.Elem, part)
		case *Array:
			in(t.Elem, part)
		case nil:
		default:
			visit(t, part)
		}
	}
	switch d := d.(type) {
	case *Alias:
		in(d.Target, "it stands for ")
	case *Const:
		in(d.Type, "it is of type ")
	case *Struct:
		if d.Base != nil {
			visit(d.Base, "its base is ")
		}
		for _, m := range d.Members {
			in(m.Type, "member "+m.Name+" is of type ")
		}
	case *Union:
		in(d.Discriminator, "its discriminator is of type ")
		for _, k := range d.Cases {
			in(k.Type, "member "+k.Name+" is of type ")
		}
	}
}
