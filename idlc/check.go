package idlc

import (
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// checker turns the syntax tree into the model. Declarations are checked in their order, so a name is known from its
// declaration on, as IDL demands.
type checker struct {
	report *Report
	strict bool
	root   *scope
	scope  *scope
	extra  *scope // names that an annotation's argument may use without their scope
	// unsigned is the number of bits of the type that a value is wanted for, if that has no sign; 0 otherwise.
	unsigned int
	unit     *Unit
	later    map[string]Pos // where the names of the file are declared, for hints about those used too early

	extensibility cdr.Extensibility // of types that do not say
	ofModule
	keylists  map[string]*keylist
	keys      []keyMember
	annotated bool // there are annotations of the user's own
	skipped   bool // something uses a type that is skipped
}

// ofModule is what annotations of a module say of the types in it.
type ofModule struct {
	autoID          AutoID
	nested          bool // @default_nested
	representations cdr.Representations
}

// check gives the model of a translation unit.
func check(file string, defs []definition, opts *Options, report *Report) *Unit {
	root := newScope("", nil)
	c := &checker{report: report, strict: opts.Strict, root: root, scope: root, unit: &Unit{File: file}, later: map[string]Pos{},
		extensibility: cdr.Appendable, keylists: map[string]*keylist{}}
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		if opts.Extensibility == x.String() {
			c.extensibility = x
		}
	}
	c.collect(defs, nil)
	c.definitions(defs)
	c.completeness()
	c.keyMembers()
	c.unusedKeylists()
	if c.skipped {
		c.dropSkipped()
	}
	return c.unit
}

// collect remembers where names are declared, and what #pragma keylist says: it stands behind the struct that it is about.
func (c *checker) collect(defs []definition, path []string) {
	remember := func(n *ident) {
		if _, known := c.later[n.Text]; !known {
			c.later[n.Text] = n.Pos
		}
	}
	for _, d := range defs {
		switch d := d.(type) {
		case *moduleDef:
			c.collect(d.Defs, append(path[:len(path):len(path)], d.Name.Text))
		case *interfaceDef:
			c.collect(d.Defs, append(path[:len(path):len(path)], d.Name.Text))
		case *structDef:
			remember(d.Name)
		case *unionDef:
			remember(d.Name)
		case *enumDef:
			remember(d.Name)
		case *bitmaskDef:
			remember(d.Name)
		case *bitsetDef:
			remember(d.Name)
		case *constDef:
			remember(d.Name)
		case *typedefDef:
			for _, decl := range d.Declarators {
				remember(decl.Name)
			}
		case *keylistDef:
			c.collectKeylist(d, path)
		}
	}
}

func (c *checker) definitions(defs []definition) {
	for _, d := range defs {
		switch d := d.(type) {
		case *moduleDef:
			c.module(d)
		case *interfaceDef:
			c.interfaceDef(d)
		case *structDef:
			c.structDef(d)
		case *unionDef:
			c.unionDef(d)
		case *enumDef:
			c.enumDef(d)
		case *bitmaskDef:
			c.bitmaskDef(d)
		case *bitsetDef:
			c.bitsetDef(d)
		case *typedefDef:
			c.typedef(d)
		case *constDef:
			c.constDef(d)
		case *annotationDef:
			c.annotationDef(d)
		case *skippedDef:
			c.skippedDef(d)
		case *unknownDef:
			c.scope.enter(d.Name, d.Pos, d)
		}
	}
}

// within checks definitions in an inner scope.
func (c *checker) within(inner *scope, defs []definition) {
	outer, outerModule := c.scope, c.ofModule
	c.scope = inner
	c.definitions(defs)
	c.scope, c.ofModule = outer, outerModule
}

func (c *checker) module(d *moduleDef) {
	var inner *scope
	name := strings.TrimPrefix(d.Name.Text, "_")
	if e := c.scope.get(name); e != nil && e.name == name {
		inner, _ = e.what.(*scope) // opened again
	}
	if inner == nil {
		inner = newScope(c.cleanName(d.Name), c.scope)
		c.declare(d.Name, inner)
	}
	outer := c.ofModule
	for _, a := range c.annotations(d.Annotations, subject{on: onModule, name: d.Name.Text}) {
		switch a.Name() {
		case "autoid":
			c.autoID = AutoID(a.Args[0].Ordinal())
		case "default_nested":
			c.nested = *a.Args[0].Bool
		case "data_representation":
			c.representations = c.representationsOf(a)
		}
	}
	c.within(inner, d.Defs)
	c.ofModule = outer
}

// completeness reports types that were promised and never defined, and typedefs that became too large when a struct was.
func (c *checker) completeness() {
	var walk func(s *scope)
	walk = func(s *scope) {
		for _, e := range s.names {
			switch w := e.what.(type) {
			case *scope:
				walk(w)
			case *Struct:
				if !w.Complete {
					c.report.errorf(w.Pos, "", "struct %s is declared but never defined", w.Name)
				}
			case *Union:
				if !w.Complete {
					c.report.errorf(w.Pos, "", "union %s is declared but never defined", w.Name)
				}
			}
		}
	}
	walk(c.root)
	for _, d := range c.unit.Decls {
		if a, ok := d.(*Alias); ok {
			if n := memorySize(a); n > maxValue {
				c.report.errorf(a.Pos, "use a sequence", "array %s takes %.0f bytes, more than %d", a.Name, n, maxValue)
			}
			if depthOf(a) > maxDepth {
				c.report.errorf(a.Pos, "nest fewer arrays and sequences", "%s has values nested more than %d deep", a.Name, maxDepth)
			}
		}
	}
}
