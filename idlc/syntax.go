package idlc

// The syntax tree. Participle fills the parts that are one declaration long (struct tags hold the grammar); what
// surrounds them is put together by the parser, which resynchronises between declarations. Types, annotations and expressions,
// of which most declarations have some, parse themselves: syntax_type.go, syntax_expr.go.

// ident is a name where it is used or declared.
type ident struct {
	Pos  Pos
	Text string `parser:"@Ident"`
}

// declarator is a name with array dimensions.
type declarator struct {
	Pos  Pos
	Name *ident  `parser:"@@"`
	Dims []*expr `parser:"( '[' @@ ']' )*"`
}

// The declarations that participle parses in one piece.
type (
	memberSyntax struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Type        *typeSpec     `parser:"@@"`
		Declarators []*declarator `parser:"@@ ( ',' @@ )*"`
	}
	caseSyntax struct {
		Pos         Pos
		Before      []*annotation `parser:"@@*"` // belongs behind the labels, and is found here
		Labels      *labelsSyntax `parser:"@@"`
		Annotations []*annotation `parser:"@@*"`
		Type        *typeSpec     `parser:"@@"`
		Declarator  *declarator   `parser:"@@"`
	}
	labelsSyntax struct{ List []*labelSyntax } // parses itself
	labelSyntax  struct {
		Pos     Pos
		Default bool
		Value   *expr
	}
	bitfieldSyntax struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Bits        *boundExpr    `parser:"'bitfield' '<' @@"`
		Type        *typeSpec     `parser:"( ',' @@ )? '>'"`
		Names       []*ident      `parser:"( @@ ( ','? @@ )* )?"`
	}
	parameterSyntax struct { // of an annotation
		Pos     Pos
		Any     bool        `parser:"( @'any'"`
		Type    *typeSpec   `parser:"| @@ )"`
		Name    *declarator `parser:"@@"`
		Default *expr       `parser:"( 'default' @@ )?"`
	}
	typedefSyntax struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Type        *typeSpec     `parser:"'typedef' @@"`
		Declarators []*declarator `parser:"@@ ( ',' @@ )*"`
	}
	constSyntax struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Type        *typeSpec     `parser:"'const' @@"`
		Name        *ident        `parser:"@@"`
		Value       *expr         `parser:"'=' @@"`
	}
	enumeratorSyntax struct { // also a flag of a bitmask
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"@@"`
		Value       *expr         `parser:"( '=' @@ )?"`
	}
	moduleHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'module' @@"`
	}
	structHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'struct' @@"`
		Base        *scopedName   `parser:"( ':' @@ )?"`
	}
	unionHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'union' @@"`
		Switch      *elementSpec  `parser:"( 'switch' '(' @@ ')' )?"` // not in a forward declaration
	}
	enumHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'enum' @@"`
	}
	bitmaskHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'bitmask' @@"`
	}
	bitsetHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'bitset' @@"`
		Base        *scopedName   `parser:"( ':' @@ )?"`
	}
	annotationHeader struct {
		Pos  Pos
		Name *ident `parser:"'@' 'annotation' @@"`
	}
)

// The definitions of a file, in their order.
type (
	definition interface{ pos() Pos }

	moduleDef struct {
		moduleHeader
		Doc  string
		Defs []definition
	}
	structDef struct {
		structHeader
		Doc     string
		Forward bool // without members: struct X;
		Members []*memberDef
		Broken  bool // members were lost to syntax errors
	}
	memberDef struct {
		memberSyntax
		Doc string
	}
	unionDef struct {
		unionHeader
		Doc     string
		Forward bool
		Cases   []*caseDef
		Broken  bool
	}
	caseDef struct {
		caseSyntax
		Doc string
	}
	enumDef struct {
		enumHeader
		Doc         string
		Enumerators []*enumeratorDef
		Broken      bool
	}
	enumeratorDef struct {
		enumeratorSyntax
		Doc string
	}
	bitmaskDef struct {
		bitmaskHeader
		Doc    string
		Flags  []*enumeratorDef
		Broken bool
	}
	bitsetDef struct {
		bitsetHeader
		Doc    string
		Fields []*bitfieldDef
		Broken bool
	}
	bitfieldDef struct {
		bitfieldSyntax
		Doc string
	}
	typedefDef struct {
		typedefSyntax
		Doc string
	}
	constDef struct {
		constSyntax
		Doc string
	}
	annotationDef struct {
		annotationHeader
		Doc    string
		Params []*parameterSyntax
		Defs   []definition // types and constants
	}
	// keylistDef is #pragma keylist Type member.member...
	keylistDef struct {
		Pos     Pos
		Type    *scopedName
		Members []*ident // with dots in them
	}
	// interfaceDef is an interface or what resembles one: its operations are left out, its types are a scope.
	interfaceDef struct {
		Pos  Pos
		What string
		Name *ident
		Defs []definition
	}
	// skippedDef is a definition that describes no data.
	skippedDef struct {
		Pos  Pos
		What string
		Name *ident // nil: it has none
	}
	// unknownDef stands for a definition that could not be parsed: its name is known, so that uses of it are not reported as
	// well.
	unknownDef struct {
		Pos  Pos
		Name string
	}
)

func (d *moduleDef) pos() Pos     { return d.Name.Pos }
func (d *structDef) pos() Pos     { return d.Name.Pos }
func (d *unionDef) pos() Pos      { return d.Name.Pos }
func (d *enumDef) pos() Pos       { return d.Name.Pos }
func (d *bitmaskDef) pos() Pos    { return d.Name.Pos }
func (d *bitsetDef) pos() Pos     { return d.Name.Pos }
func (d *typedefDef) pos() Pos    { return d.Pos }
func (d *constDef) pos() Pos      { return d.Name.Pos }
func (d *annotationDef) pos() Pos { return d.Name.Pos }
func (d *keylistDef) pos() Pos    { return d.Pos }
func (d *interfaceDef) pos() Pos  { return d.Pos }
func (d *skippedDef) pos() Pos    { return d.Pos }
func (d *unknownDef) pos() Pos    { return d.Pos }
