package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// What a user of DDS meets has words that say what it is in the standard, and an example that runs.

// api are the packages whose exported names all have a comment of their own.
var api = []string{"dcps", "qos", "qos/qosyaml", "filter"}

// TestExportedNamesAreDocumented wants a comment at each exported function, method and type. Constants, variables and
// fields may share that of their group or type.
func TestExportedNamesAreDocumented(t *testing.T) {
	seen := 0
	for _, f := range goFiles(t) {
		if f.test || !slices.Contains(api, f.dir) {
			continue
		}
		want := func(n ast.Node, name string, docs ...*ast.CommentGroup) {
			seen++
			if !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" }) {
				t.Errorf("%s: %s is exported and has no comment; say what it is, with the name that it has in the standard", f.position(n), name)
			}
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) && !ofInterface[d.Name.Name] {
					want(d, d.Name.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							want(s, s.Name.Name, s.Doc, d.Doc)
						}
					case *ast.ValueSpec:
						if s.Names[0].IsExported() && !ofType(d) {
							want(s, s.Names[0].Name, s.Doc, s.Comment, d.Doc)
						}
					}
				}
			}
		}
	}
	if seen < 500 {
		t.Fatalf("only %d exported names found: the rule looks at nothing", seen)
	}
}

// ofType tells whether a group of constants are the values of an exported type, whose comment is theirs.
func ofType(d *ast.GenDecl) bool {
	return d.Tok == token.CONST && slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
		id, ok := s.(*ast.ValueSpec).Type.(*ast.Ident)
		return ok && id.IsExported()
	})
}

// ofInterface are methods whose meaning is that of a well-known interface.
var ofInterface = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true,
	"CDRType": true, "MarshalCDR": true, "UnmarshalCDR": true, "MarshalKeyCDR": true, "UnmarshalKeyCDR": true, "TranscodeKeyCDR": true,
}

// TestEntitiesHaveExamples wants an example that runs for each entity, condition, listener and loan of package dcps,
// and for the QoS Provider: of the type, of one of its methods, or of its constructor.
func TestEntitiesHaveExamples(t *testing.T) {
	types := map[string]string{"qos.Provider": "qos/provider.go"}
	var examples []string
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				recv := ""
				if d.Recv != nil {
					recv = receiver(d.Recv.List[0].Type)
				}
				switch name := d.Name.Name; {
				case f.test && d.Recv == nil && strings.HasPrefix(name, "Example") && runs(f, d):
					examples = append(examples, f.dir+"."+strings.TrimPrefix(name, "Example"))
				case !f.test && f.dir == "dcps" && (name == "Close" || name == "Discard") && ast.IsExported(recv):
					types["dcps."+recv] = f.path
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && f.dir == "dcps" && s.Name.IsExported() && !strings.HasPrefix(s.Name.Name, "Any") {
						for _, kind := range []string{"Condition", "Listener", "WaitSet"} {
							if _, is := s.Type.(*ast.StructType); is && strings.HasSuffix(s.Name.Name, kind) {
								types["dcps."+s.Name.Name] = f.path
							}
						}
					}
				}
			}
		}
	}
	if len(types) < 24 {
		t.Fatalf("only %d entities found: %v", len(types), types)
	}
	for name, where := range types {
		pkg, typ, _ := strings.Cut(name, ".")
		if !slices.ContainsFunc(examples, func(e string) bool {
			return e == name || strings.HasPrefix(e, name+"_") || e == pkg+".New"+typ
		}) {
			t.Errorf("%s: %s has no example that runs; write func Example%s with an Output comment", where, name, typ)
		}
	}
}

// runs tells whether go test runs an example: it has output to compare.
func runs(f *goFile, d *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.ast.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() > d.Body.Pos() && c.End() < d.Body.End() && strings.HasPrefix(c.Text(), "Output:")
	})
}
