package idlc

// gate reports what the model can say and the Go back end cannot write yet, each with its name. It is the only place that
// knows the difference: the front end accepts everything, and who teaches the printer a construct takes it out of here.
func gate(unit *Unit, report *Report) {
	g := gatekeeper{report}
	for _, d := range unit.Decls {
		if d.common().Pos.Filename == unit.File {
			g.decl(d)
		}
	}
}

type gatekeeper struct{ report *Report }

func (g gatekeeper) refuse(pos Pos, hint, what string) {
	g.report.errorf(pos, hint, "not supported yet by this version: %s", what)
}

func (g gatekeeper) decl(d Decl) {
	switch d := d.(type) {
	case *Union:
		g.refuse(d.Pos, "", "union "+d.Name)
	case *Bitmask:
		g.refuse(d.Pos, "", "bitmask "+d.Name)
	case *Bitset:
		g.refuse(d.Pos, "", "bitset "+d.Name)
	case *Alias:
		g.typ(d.Pos, d.Target)
	case *Const:
		g.typ(d.Pos, d.Type)
	case *Struct:
		for _, m := range d.Members {
			g.member(m)
		}
	}
}

func (g gatekeeper) member(m *Member) {
	if m.TryConstruct > TryConstructDiscard {
		g.report.warnf(m.Pos, "", "@try_construct is not applied by this version")
	}
	g.typ(m.Pos, m.Type)
}

// typ looks at what a type is made of; what it names is looked at where it is declared, unless that is another file.
func (g gatekeeper) typ(pos Pos, t Type) {
	switch t := t.(type) {
	case Primitive:
		if t == Float128 {
			g.refuse(pos, "", "type long double")
		}
	case *Fixed:
		g.refuse(pos, "", "type fixed")
	case *Map:
		g.refuse(pos, "", "type map")
	case *Sequence:
		g.typ(pos, t.Elem)
	case *Array:
		g.typ(pos, t.Elem)
	case *Alias:
		g.typ(pos, t.Target)
	case *Union:
		g.refuse(pos, "", "union "+t.Name)
	case *Bitmask:
		g.refuse(pos, "", "bitmask "+t.Name)
	case *Bitset:
		g.refuse(pos, "", "bitset "+t.Name)
	}
}
