package idlc

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// plan decides what the Go code looks like before any of it is printed: packages, files, names.
type plan struct {
	report   *Report
	unit     *Unit
	opts     *Options
	packages []*goPackage            // in the order of their directories
	included map[string]includedFile // by name; made when it is asked for
}

// goPackage is the part of the output that goes into one Go package.
type goPackage struct {
	name   string
	dir    string // below the output directory
	path   string // import path; "" when unknown
	module []string
	decls  []Decl
}

// makePlan lays out the declarations of the file itself; those of included files are only referred to.
//
// One module becomes one package. The innermost module that holds everything of a file is the root: its package goes into
// the output directory, and the packages of modules within it into directories below, by name. A name given with -pkg
// puts everything into one package instead, and puts the names of inner modules in front of those of their types.
func makePlan(unit *Unit, opts *Options, report *Report) *plan {
	p := &plan{report: report, unit: unit, opts: opts}
	var own []Decl
	for _, d := range unit.Decls {
		if d.common().Pos.Filename == unit.File {
			own = append(own, d)
		}
	}
	if len(own) == 0 {
		report.warnf(Pos{Filename: unit.File}, "", "defines nothing: no Go file is written")
		return p
	}
	root := commonModule(own)
	byDir := map[string]*goPackage{}
	for _, d := range own {
		rel := d.common().Module[len(root):]
		if opts.Package != "" {
			rel = nil
		}
		dir := packageDir(rel)
		g := byDir[dir]
		if g == nil {
			g = &goPackage{dir: dir, module: append(root[:len(root):len(root)], rel...)}
			g.name = p.packageName(g.module)
			if opts.ImportPath != "" {
				g.path = path.Join(opts.ImportPath, dir)
			}
			byDir[dir] = g
			p.packages = append(p.packages, g)
		}
		g.decls = append(g.decls, d)
	}
	slices.SortFunc(p.packages, func(a, b *goPackage) int { return cmp.Compare(a.dir, b.dir) })
	p.checkNames()
	p.checkImports()
	return p
}

func (p *plan) packageName(module []string) string {
	switch {
	case p.opts.Package != "":
		return p.opts.Package
	case len(module) > 0:
		return packageName(module[len(module)-1])
	}
	return packageName(baseName(p.unit.File))
}

func baseName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// outputName is that of the Go file. A message and a service of ROS 2 may have one name.
func outputName(file string) string {
	if kind := ros2Kind(file); kind != "" && kind != "msg" {
		return baseName(file) + "_" + kind + "_idl.go"
	}
	return baseName(file) + "_idl.go"
}

func packageDir(rel []string) string {
	var parts []string
	for _, m := range rel {
		parts = append(parts, packageName(m))
	}
	return path.Join(parts...)
}

func commonModule(decls []Decl) []string {
	root := decls[0].common().Module
	for _, d := range decls[1:] {
		m := d.common().Module
		n := 0
		for n < len(root) && n < len(m) && root[n] == m[n] {
			n++
		}
		root = root[:n]
	}
	return root
}

// packageOf gives the package that a declaration belongs to: one of the output's, or one that -map names.
func (p *plan) packageOf(d Decl) (g *goPackage, known bool) {
	module := d.common().Module
	own := d.common().Pos.Filename == p.unit.File
	if len(p.packages) > 0 && p.opts.Package != "" && own {
		return p.packages[0], true
	}
	if own || p.mapped(module) == "" {
		for _, g := range p.packages {
			if slices.Equal(g.module, module) {
				return g, true
			}
		}
	}
	if ip := p.mapped(module); ip == ownPackage && len(p.packages) > 0 {
		return p.packages[0], true
	} else if ip != "" {
		for _, g := range p.packages { // a module over several files, mapped to where this one goes, too
			if g.path == ip {
				return g, true
			}
		}
		return &goPackage{name: packageName(path.Base(ip)), path: ip, module: module}, true
	}
	return nil, false
}

// ownPackage stands in Options.Map for the package that is generated.
const ownPackage = "."

// mapped gives the import path that -map names for a module or for one around it.
func (p *plan) mapped(module []string) string {
	for n := len(module); n > 0; n-- {
		if ip := p.opts.Map[strings.Join(module[:n], "::")]; ip != "" {
			return path.Join(ip, packageDir(module[n:]))
		}
	}
	return ""
}

// goName is the name of a declaration in its package.
func (p *plan) goName(d Decl) string {
	c := d.common()
	prefix := ""
	for _, m := range p.inFront(c) {
		prefix += exportedName(m)
	}
	if _, ok := d.(*Const); ok {
		return prefix + constGoName(c.Name)
	}
	return prefix + exportedName(c.Name)
}

// inFront are the modules whose names stand in front of those of a declaration: with -pkg the inner ones. That an
// included file was generated with it shows when -map puts several of its modules into one package.
func (p *plan) inFront(c *Common) []string {
	if c.Pos.Filename == p.unit.File {
		if p.opts.Package == "" {
			return nil
		}
		return c.Module[min(len(p.packages[0].module), len(c.Module)):]
	}
	to := p.mapped(c.Module)
	if to == "" {
		return nil
	}
	if p.included == nil {
		p.included = p.includedFiles()
	}
	if f := p.included[c.Pos.Filename]; len(f.modules[to]) > 1 {
		return c.Module[len(f.root):]
	}
	return nil
}

// includedFile is one that the file includes.
type includedFile struct {
	root    []string                   // the innermost module that holds everything
	modules map[string]map[string]bool // by the import path that -map gives them
}

func (p *plan) includedFiles() map[string]includedFile {
	decls := map[string][]Decl{}
	for _, d := range p.unit.Decls {
		decls[d.common().Pos.Filename] = append(decls[d.common().Pos.Filename], d)
	}
	files := map[string]includedFile{}
	for name, all := range decls {
		f := includedFile{commonModule(all), map[string]map[string]bool{}}
		for _, d := range all {
			module := d.common().Module
			to := p.mapped(module)
			if f.modules[to] == nil {
				f.modules[to] = map[string]bool{}
			}
			f.modules[to][strings.Join(module, "::")] = true
		}
		files[name] = f
	}
	return files
}

// enumeratorName is the name of an enumerator's constant.
func (p *plan) enumeratorName(v *Enumerator) string { return p.goName(v.Enum) + constGoName(v.Name) }

// flagName is the name of a flag's constant.
func (p *plan) flagName(f *Flag) string { return p.goName(f.Mask) + constGoName(f.Name) }

// bitfieldName is the name of a bit field's field.
func (p *plan) bitfieldName(f *Bitfield) string {
	switch name := exportedName(f.Name); name {
	case "Bits", "SetBits", "MarshalCDR", "UnmarshalCDR":
		return name + "_"
	default:
		return name
	}
}

// fieldName is the name of a member's field. It is decided where the member is declared, also for structs that inherit it.
func (p *plan) fieldName(m *Member) string {
	if m.Of == nil {
		return p.accessorName(m)
	}
	name := exportedName(m.Name)
	if methodNames[name] || slices.Contains(p.embedded(m.Of), name) {
		return name + "_"
	}
	return name
}

// embedded lists the fields that hold the bases of a struct.
func (p *plan) embedded(s *Struct) []string {
	var names []string
	for ; s.Base != nil; s = s.Base {
		names = append(names, p.goName(s.Base))
	}
	return names
}

// checkNames reports IDL names that become the same Go name.
func (p *plan) checkNames() {
	for _, g := range p.packages {
		names := map[string]string{}
		claim := func(pos Pos, idl string, goNames ...string) {
			other := ""
			for _, n := range goNames {
				if old, taken := names[n]; taken && old != idl && old != other { // once for each other
					p.report.errorf(pos, "rename one of them", "%s and %s both need the Go name %s", old, idl, n)
					other = old
				}
				names[n] = idl
			}
		}
		for _, d := range g.decls {
			name, idl, pos := p.goName(d), d.common().Scoped(), d.common().Pos
			switch d := d.(type) {
			case *Struct:
				claim(pos, idl, name, name+"Builder", name+"View", name+"ViewOf", name+"ViewFar", name+"Views", name+"ViewsOf",
					"New"+name+"Builder", "New"+name+"View",
					lowerFirst(name)+"Type", lowerFirst(name)+"Front", lowerFirst(name)+"Memory", name+"Writer", "New"+name+"Writer", shapeName(name))
				if !zeroable(d) {
					claim(pos, idl, "New"+name)
				}
				for _, m := range d.Members {
					claim(m.Pos, idl+"::"+m.Name, slices.Concat(collectionNames(name+p.fieldName(m), m.Type),
						elementWriterNames(name+p.fieldName(m), m.Type))...)
				}
				p.checkFields(d)
			case *Union:
				claim(pos, idl, name, name+"Builder", name+"View", name+"Views", name+"ViewsOf", "New"+name+"Builder", "New"+name+"View",
					lowerFirst(name)+"Type", name+"Writer", "New"+name+"Writer", shapeName(name))
				if !zeroable(d) {
					claim(pos, idl, "New"+name)
				}
				for _, m := range d.members() {
					claim(m.Pos, idl+"::"+m.Name, slices.Concat(collectionNames(name+p.accessorName(m), m.Type),
						elementWriterNames(name+p.accessorName(m), m.Type))...)
				}
				p.checkAccessors(d)
			case *Bitmask:
				claim(pos, idl, name, "Parse"+name, lowerFirst(name)+"Flags")
				for _, f := range d.Flags {
					claim(f.Pos, idl+"::"+f.Name, p.flagName(f))
				}
			case *Bitset:
				claim(pos, idl, name)
				p.checkBitfields(d)
			case *Enum:
				claim(pos, idl, name, "Parse"+name)
				for _, v := range d.Enumerators {
					claim(v.Pos, idl+"::"+v.Name, p.enumeratorName(v))
				}
			case *Alias:
				claim(pos, idl, name)
				claim(pos, idl, collectionNames(name, d.Target)...)
			default:
				claim(pos, idl, name)
			}
		}
	}
}

func (p *plan) checkFields(s *Struct) {
	names, locals := map[string]*Member{}, map[string]*Member{}
	embedded := p.embedded(s)
	for _, m := range s.allMembers() {
		name := p.fieldName(m)
		if slices.Contains(embedded, name) {
			p.report.errorf(s.Pos, "rename one of them", "in %s, the inherited member %s hides behind the embedded base %s", s.Name, m.Name, name)
		}
		if old := names[name]; old != nil {
			p.report.errorf(m.Pos, "rename one of them", "members %s and %s of %s both need the Go name %s", old.Name, m.Name, s.Name, name)
		} else if m.hasLocals() {
			local := lowerFirst(name)
			if old := locals[local]; old != nil {
				p.report.errorf(m.Pos, "rename one of them", "members %s and %s of %s both need the Go name %s", old.Name, m.Name, s.Name, local)
			}
			locals[local] = m
		}
		names[name] = m
	}
}

// hasLocals tells whether the code for a member has variables that are named after it.
func (m *Member) hasLocals() bool {
	switch resolve(m.Type).(type) {
	case *Sequence, *Map, *Array:
		return true
	}
	return m.pointer() || m.TryConstruct > TryConstructDiscard
}

// checkAccessors reports members of a union whose methods or fields would have one name.
func (p *plan) checkAccessors(u *Union) {
	names := map[string]*Member{}
	for _, m := range u.members() {
		name := p.accessorName(m)
		var other *Member
		for _, n := range []string{name, "Set" + name, unionFieldName(name)} {
			if old := names[n]; old != nil && old != other {
				p.report.errorf(m.Pos, "rename one of them", "members %s and %s of %s both need the Go name %s", old.Name, m.Name, u.Name, n)
				other = old
			}
			names[n] = m
		}
	}
}

func (p *plan) checkBitfields(b *Bitset) {
	names := map[string]*Bitfield{}
	for _, f := range b.allFields() {
		if f.Name == "" {
			continue
		}
		name := p.bitfieldName(f)
		if old := names[name]; old != nil {
			p.report.errorf(f.Pos, "rename one of them", "fields %s and %s of %s both need the Go name %s", old.Name, f.Name, b.Name, name)
		}
		names[name] = f
	}
}

// checkImports reports types whose package is not known, and packages that would import each other.
func (p *plan) checkImports() {
	needs := map[*goPackage]map[*goPackage]Pos{}
	for _, g := range p.packages {
		needs[g] = map[*goPackage]Pos{}
		reported := map[string]bool{}
		for _, d := range g.decls {
			p.references(d, func(ref Decl, pos Pos) {
				other, known := p.packageOf(ref)
				module := strings.Join(ref.common().Module, "::")
				switch {
				case !known && !reported[module]:
					reported[module] = true
					p.report.errorf(pos, "say where its Go package is: -map "+cmp.Or(module, "MODULE")+"=IMPORT/PATH",
						"%s comes from %s, whose Go package is not known", ref.common().Scoped(), ref.common().Pos.Filename)
				case known && other != g && other.path == "" && !reported[module]:
					reported[module] = true
					p.report.errorf(pos, "generate into a directory of a Go module, or use -pkg or -map",
						"the import path of module %s is not known", module)
				case known && other != g:
					if _, seen := needs[g][other]; !seen {
						needs[g][other] = pos
					}
				}
			})
		}
	}
	p.checkCycles(needs)
}

func (p *plan) checkCycles(needs map[*goPackage]map[*goPackage]Pos) {
	var reaches func(from, to *goPackage, seen map[*goPackage]bool) bool
	reaches = func(from, to *goPackage, seen map[*goPackage]bool) bool {
		if from == to {
			return true
		}
		seen[from] = true
		for next := range needs[from] {
			if !seen[next] && reaches(next, to, seen) {
				return true
			}
		}
		return false
	}
	for _, g := range p.packages {
		for other, pos := range needs[g] {
			if g.dir < other.dir && reaches(other, g, map[*goPackage]bool{}) {
				p.report.errorf(pos, "generate one package with -pkg", "modules %s and %s need each other: Go packages cannot",
					strings.Join(g.module, "::"), strings.Join(other.module, "::"))
			}
		}
	}
}

// references visits the declarations that d mentions.
func (p *plan) references(d Decl, visit func(ref Decl, pos Pos)) {
	var inType func(t Type, pos Pos)
	inType = func(t Type, pos Pos) {
		switch t := t.(type) {
		case *Sequence:
			inType(t.Elem, pos)
		case *Array:
			inType(t.Elem, pos)
		case *Map:
			inType(t.Key, pos)
			inType(t.Elem, pos)
		case Decl:
			visit(t, pos)
		}
	}
	switch d := d.(type) {
	case *Struct:
		if d.Base != nil {
			visit(d.Base, d.Pos)
		}
		for _, m := range d.allMembers() {
			inType(m.Type, m.Pos)
		}
	case *Union:
		inType(d.Discriminator, d.Pos)
		for _, c := range d.Cases {
			inType(c.Type, c.Pos)
		}
	case *Alias:
		inType(d.Target, d.Pos)
	case *Const:
		inType(d.Type, d.Pos)
	}
}
