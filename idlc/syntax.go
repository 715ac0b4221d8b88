package idlc

// The syntax tree. Participle fills the parts that are one declaration long (struct tags hold the grammar); what
// surrounds them is put together by the parser, which resynchronises between declarations.

// ident is a name where it is used or declared.
type ident struct {
	Pos  Pos
	Text string `parser:"@Ident"`
}

// scopedName is a::b or ::a::b.
type scopedName struct {
	Pos    Pos
	Global bool     `parser:"@Scope?"`
	Parts  []*ident `parser:"@@ ( Scope @@ )*"`
}

func (n *scopedName) String() string {
	s := ""
	if n.Global {
		s = "::"
	}
	for i, p := range n.Parts {
		if i > 0 {
			s += "::"
		}
		s += p.Text
	}
	return s
}

// annotation is @name, @name(value) or @name(a=value, b=value).
type annotation struct {
	Pos  Pos
	Name *scopedName      `parser:"'@' @@"`
	Args []*annotationArg `parser:"( '(' ( @@ ( ',' @@ )* )? ')' )?"`
}

type annotationArg struct {
	Pos   Pos
	Name  *ident `parser:"( @@ '=' )?"`
	Value *expr  `parser:"@@"`
}

// expr is a constant expression; each level binds tighter than the one above.
type expr struct {
	Pos   Pos
	Left  *exprXor   `parser:"@@"`
	Right []*exprXor `parser:"( '|' @@ )*"`
}

type exprXor struct {
	Pos   Pos
	Left  *exprAnd   `parser:"@@"`
	Right []*exprAnd `parser:"( '^' @@ )*"`
}

type exprAnd struct {
	Pos   Pos
	Left  *exprShift   `parser:"@@"`
	Right []*exprShift `parser:"( '&' @@ )*"`
}

type exprShift struct {
	Pos   Pos
	Left  *exprSum     `parser:"@@"`
	Right []*shiftTerm `parser:"@@*"`
}

type shiftTerm struct {
	Op   []string `parser:"( @'<' @'<' | @'>' @'>' )"`
	Term *exprSum `parser:"@@"`
}

type exprSum struct {
	Pos   Pos
	Left  *exprProduct `parser:"@@"`
	Right []*sumTerm   `parser:"@@*"`
}

type sumTerm struct {
	Pos  Pos
	Op   string       `parser:"@( '+' | '-' )"`
	Term *exprProduct `parser:"@@"`
}

type exprProduct struct {
	Pos   Pos
	Left  *exprUnary     `parser:"@@"`
	Right []*productTerm `parser:"@@*"`
}

type productTerm struct {
	Pos  Pos
	Op   string     `parser:"@( '*' | '/' | '%' )"`
	Term *exprUnary `parser:"@@"`
}

type exprUnary struct {
	Pos  Pos
	Op   string       `parser:"@( '+' | '-' | '~' )?"`
	Term *exprPrimary `parser:"@@"`
}

type exprPrimary struct {
	Pos    Pos
	Float  *string     `parser:"  @Float"`
	Int    *string     `parser:"| @Int"`
	String []string    `parser:"| @String+"`
	Char   *string     `parser:"| @Char"`
	Name   *scopedName `parser:"| @@"`
	Paren  *expr       `parser:"| '(' @@ ')'"`
}

// typeSpec is a type where it is used. Bounds are sums: a comparison sign ends them, so a shift needs parentheses.
type typeSpec struct {
	Pos         Pos
	Sequence    *sequenceSpec `parser:"  'sequence' '<' @@ '>'"`
	String      *stringSpec   `parser:"| @@"`
	Unsupported string        `parser:"| @( 'any' | 'long' 'double' )"`
	Primitive   []string      `parser:"| ( @'unsigned' @'long' @'long' | @'unsigned' @'long' | @'unsigned' @'short' | @'long' @'long' | @( 'long' | 'short' | 'float' | 'double' | 'boolean' | 'octet' | 'char' | 'wchar' | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64' ) )"`
	Name        *scopedName   `parser:"| (?! 'unsigned' ) @@"`
}

type sequenceSpec struct {
	Element *typeSpec `parser:"@@"`
	Bound   *exprSum  `parser:"( ',' @@ )?"`
}

type stringSpec struct {
	Kind  string   `parser:"@( 'string' | 'wstring' )"`
	Bound *exprSum `parser:"( '<' @@ '>' )?"`
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
	enumeratorSyntax struct {
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
	enumHeader struct {
		Pos         Pos
		Annotations []*annotation `parser:"@@*"`
		Name        *ident        `parser:"'enum' @@"`
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
	typedefDef struct {
		typedefSyntax
		Doc string
	}
	constDef struct {
		constSyntax
		Doc string
	}
	// unknownDef stands for a definition that this version does not support or could not parse: its name is known,
	// so that uses of it are not reported as well.
	unknownDef struct {
		Pos  Pos
		Name string
	}
)

func (d *moduleDef) pos() Pos  { return d.Name.Pos }
func (d *structDef) pos() Pos  { return d.Name.Pos }
func (d *enumDef) pos() Pos    { return d.Name.Pos }
func (d *typedefDef) pos() Pos { return d.Pos }
func (d *constDef) pos() Pos   { return d.Name.Pos }
func (d *unknownDef) pos() Pos { return d.Pos }
