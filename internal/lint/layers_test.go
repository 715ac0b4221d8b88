package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// layer is what one package may import besides the standard library.
type layer struct {
	level   int      // imports go to lower levels only
	imports []string // packages of this module, and of others by their full path
	tests   []string // what its tests import besides
}

const (
	unix       = "golang.org/x/sys/unix"
	term       = "golang.org/x/term"
	hdr        = "github.com/HdrHistogram/hdrhistogram-go"
	participle = "github.com/alecthomas/participle/v2"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	plot       = "gonum.org/v1/plot"
	yaml       = "go.yaml.in/yaml/v3"
	datadriven = "github.com/cockroachdb/datadriven"
)

// order is what bench/order compares.
var order = []string{
	"github.com/hashicorp/raft", "github.com/nats-io/nats-server/v2/server", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream",
	"go.etcd.io/raft/v3", "go.etcd.io/raft/v3/raftpb", "google.golang.org/protobuf/proto",
}

// protobuf is what bench/codec compares ours with.
var protobuf = []string{"google.golang.org/protobuf/proto", "google.golang.org/protobuf/reflect/protoreflect", "google.golang.org/protobuf/runtime/protoimpl"}

// layers is the map of the repository, lowest first; docs/ARCHITECTURE.md draws it.
var layers = map[string]layer{
	"internal/invariant": {level: 0},
	"internal/mutant":    {level: 0},
	"internal/sequence":  {level: 0},
	"internal/vfs":       {level: 0, imports: []string{unix}},
	"internal/lint":      {level: 0},
	"internal/suggest":   {level: 0},
	"internal/ticks":     {level: 0},
	"internal/release":   {level: 0},
	// For tests: it reads scripts, and may use a library (ADR 0014).
	"internal/datadriven": {level: 0, imports: []string{datadriven}},

	"cdr":               {level: 0},
	"internal/viewtest": {level: 1, imports: []string{"cdr"}},
	"qos/internal/tree": {level: 0},
	"qos":               {level: 1, imports: []string{"qos/internal/tree", "internal/suggest"}},
	"qos/qosyaml":       {level: 2, imports: []string{"qos", "qos/internal/tree", yaml}},

	"rdma":        {level: 1, imports: []string{unix}},
	"rdma/mem":    {level: 2, imports: []string{"rdma"}},
	"rdma/sim":    {level: 2, imports: []string{"rdma", "internal/mutant"}},
	"rdma/shm":    {level: 2, imports: []string{"rdma", unix}},
	"rdma/tcp":    {level: 2, imports: []string{"rdma"}},
	"rdma/fabric": {level: 3, imports: []string{"rdma", "rdma/shm", "rdma/tcp", unix}},

	"xtypes":          {level: 1, imports: []string{"cdr"}},
	"xtypes/notation": {level: 2, imports: []string{"cdr", "xtypes", "internal/suggest"}, tests: []string{"idlc"}},
	"filter":          {level: 2, imports: []string{"xtypes", "internal/suggest", participle, participle + "/lexer"}, tests: []string{"cdr"}},
	"storage":         {level: 1, imports: []string{"internal/vfs", "internal/invariant"}},
	"topic":           {level: 2, imports: []string{"cdr", "qos"}},
	"sst":             {level: 2, imports: []string{"rdma", "internal/mutant"}},
	"smc":             {level: 3, imports: []string{"sst", "rdma", "internal/mutant"}},
	"derecho":         {level: 4, imports: []string{"smc", "sst", "rdma", "rdma/fabric", "rdma/shm", "internal/mutant", "internal/sequence", unix}, tests: []string{"rdma/mem", "rdma/sim"}},

	"derecho/cluster": {level: 5, imports: []string{"derecho", "rdma", "rdma/sim"}, tests: []string{"internal/datadriven", "internal/mutant"}},
	"dcps":            {level: 5, imports: []string{"topic", "qos", "cdr", "derecho", "storage", "filter", "xtypes", "internal/release", "internal/sequence", "internal/suggest", "internal/ticks"}, tests: []string{"dcps/internal/...", "internal/datadriven"}},

	"idlc":        {level: 2, imports: []string{"cdr", "xtypes", "internal/suggest", participle, participle + "/lexer"}, tests: []string{"idlc/internal/...", "internal/viewtest", "xtypes/notation"}},
	"cmd/idlgen":  {level: 6, imports: []string{"idlc", "xtypes", "xtypes/notation", "internal/suggest"}},
	"cmd/ddssim":  {level: 6, imports: []string{"derecho", "derecho/cluster", "internal/suggest"}, tests: []string{"internal/mutant"}},
	"conformance": {level: 6, tests: []string{"cdr", "filter", "idlc", "qos", "xtypes"}},
	// The bytes of every construct, beside other implementations.
	"conformance/idl":                 {level: 6, tests: []string{"cdr", "conformance/idl/corpus", "conformance/idl/corpus/evolving", "conformance/idl/corpus/extended", "idlc", "internal/viewtest", "xtypes"}},
	"conformance/idl/corpus":          {level: 5, imports: []string{"cdr"}},
	"conformance/idl/corpus/evolving": {level: 5, imports: []string{"cdr"}},
	"conformance/idl/corpus/extended": {level: 5, imports: []string{"cdr"}},

	// Tools may use libraries (ADR 0014).
	"internal/bench":            {level: 6, imports: []string{"dcps", "qos", "cdr", "topic", hdr, unix}, tests: []string{"storage"}},
	"bench/internal/result":     {level: 6, imports: []string{hdr}},
	"bench/internal/quiet":      {level: 6, imports: []string{"derecho"}},
	"bench/internal/isolate":    {level: 6, imports: []string{unix}},
	"bench/internal/talk":       {level: 6},
	"bench/peers":               {level: 7, tests: []string{"bench/internal/isolate", "bench/internal/result"}},
	"bench/baseline":            {level: 7, imports: []string{"derecho", "bench/internal/quiet", "bench/internal/result", hdr, unix}},
	"bench/compiler":            {level: 8, tests: []string{"idlc"}},
	"bench/cmd/compare":         {level: 8, imports: []string{"bench/internal/isolate", "bench/internal/result", "bench/peers", "internal/bench", "storage", unix}}, // storage: a log tells how much it synced at once
	"bench/cmd/layer":           {level: 8, imports: []string{"cdr", "dcps", "derecho", "qos", "bench/internal/quiet", "internal/bench", unix}},
	"bench/cmd/link":            {level: 8, imports: []string{"rdma", "rdma/tcp", "bench/internal/isolate", "bench/internal/result", "bench/internal/talk", unix}},
	"bench/cmd/spindle":         {level: 8, imports: []string{"derecho", "bench/internal/isolate", "bench/internal/quiet", "bench/internal/result", "bench/internal/talk", hdr, unix}},
	"internal/bench/experiment": {level: 7, imports: []string{"internal/bench"}},
	"internal/bench/report":     {level: 8, imports: []string{"internal/bench", "internal/bench/experiment", unix, plot, plot + "/plotter", plot + "/plotutil", plot + "/vg", plot + "/vg/vgsvg"}},
	"cmd/dds":                   {level: 9, imports: []string{"internal/bench", "internal/bench/experiment", "internal/bench/report", "internal/suggest", "qos", "qos/qosyaml", cobra, pflag}},
}

// families are subtrees whose packages share one entry, and may import each other as far as Go allows. They are not in
// layers, whose entries must all be needed.
var families = map[string]layer{
	// A user of this module like any other: what it needs must be public. The log is read to verify it, not through it.
	"examples/avionics/...": {level: 7, imports: []string{"dcps", "qos", "cdr", "storage", "internal/suggest", hdr, term}},
	// A module of its own, so that the product inherits none of what it needs.
	"bench/order/...":      {level: 7, imports: append([]string{"bench/internal/result", "cdr", "dcps", "qos"}, order...)},
	"bench/codec/...":      {level: 7, imports: append([]string{"cdr", unix}, protobuf...)},
	"idlc/internal/...":    {level: 2, imports: []string{"cdr"}},
	"dcps/internal/...":    {level: 2, imports: []string{"cdr"}},
	"internal/nettest/...": {level: 6, imports: []string{"cdr"}, tests: []string{"dcps", "qos", "rdma", "rdma/fabric", "rdma/shm"}},
	"internal/chaos/...":   {level: 6, imports: []string{"cdr"}, tests: []string{"dcps", "qos", "storage", unix}},
}

// layerOf is the entry of a package. A member of a family may import the family.
func layerOf(dir string) (layer, bool) {
	if l, ok := layers[dir]; ok {
		return l, true
	}
	for pattern, l := range families {
		if matches(pattern, dir) {
			l.imports = append([]string{pattern}, l.imports...)
			return l, true
		}
	}
	return layer{}, false
}

func matches(pattern, dir string) bool {
	top, family := strings.CutSuffix(pattern, "/...")
	return dir == pattern || family && (dir == top || strings.HasPrefix(dir, top+"/"))
}

// testModules may be imported by every test.
var testModules = []string{
	"github.com/stretchr/testify/assert",
	"github.com/stretchr/testify/require",
	"pgregory.net/rapid",
}

// imported is what the packages of the tree really import, by package.
type imported struct{ code, test map[string]map[string]string }

func (m imported) note(f *goFile) {
	of := m.code
	if f.test {
		of = m.test
	}
	if of[f.dir] == nil {
		of[f.dir] = map[string]string{}
	}
	for _, p := range f.imports {
		of[f.dir][p] = f.path
	}
}

func inModule(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".") && importPath != "C"
}

func survey(t *testing.T) imported {
	t.Helper()
	is := imported{map[string]map[string]string{}, map[string]map[string]string{}}
	for _, f := range goFiles(t) {
		is.note(f)
	}
	return is
}

func TestImportsAreInTheTable(t *testing.T) {
	is := survey(t)
	for dir, imports := range is.code {
		l, known := layerOf(dir)
		if !known {
			t.Errorf("package %s is not in the table of layers; add it to internal/lint/layers_test.go and to the map in docs/ARCHITECTURE.md", dir)
			continue
		}
		for _, p := range slices.Sorted(maps.Keys(imports)) {
			checkImport(t, dir, p, imports[p], l.imports)
		}
	}
	for dir, imports := range is.test {
		l, _ := layerOf(dir)
		for _, p := range slices.Sorted(maps.Keys(imports)) {
			// An external test package imports what it tests.
			checkImport(t, dir, p, imports[p], slices.Concat(l.imports, l.tests, testModules, []string{dir}))
		}
	}
}

func checkImport(t *testing.T, dir, importPath, file string, allowed []string) {
	t.Helper()
	p, ours := inModule(importPath)
	switch {
	case !ours && standard(importPath):
	case !ours && !slices.Contains(allowed, importPath):
		t.Errorf("%s: %s must not import %s; use the standard library, or add the module to the table in internal/lint/layers_test.go and say why in an ADR", file, dir, importPath)
	case ours && !slices.ContainsFunc(allowed, func(a string) bool { return matches(a, p) }):
		t.Errorf("%s: %s must not import %s; move the code to the layer that may, take what is needed as an interface, or change the table in internal/lint/layers_test.go and say why in an ADR", file, dir, p)
	}
}

func TestLayersPointDown(t *testing.T) {
	for _, table := range []map[string]layer{layers, families} {
		for dir, l := range table {
			for _, p := range l.imports {
				if strings.Contains(p, ".") {
					continue // another module
				}
				below, known := layerOf(p)
				switch {
				case !known:
					t.Errorf("%s imports %s, which is not in the table; add it", dir, p)
				case below.level >= l.level:
					t.Errorf("%s (level %d) imports %s (level %d); imports point down only", dir, l.level, p, below.level)
				}
			}
		}
	}
}

func TestTableHasNoStaleEntries(t *testing.T) {
	is := survey(t)
	for dir, l := range layers {
		if is.code[dir] == nil {
			t.Errorf("there is no package %s; take it out of internal/lint/layers_test.go", dir)
			continue
		}
		for _, p := range l.imports {
			full := p
			if !strings.Contains(p, ".") {
				full = module + "/" + p
			}
			if is.code[dir][full] == "" {
				t.Errorf("%s does not import %s any more; take it out of internal/lint/layers_test.go", dir, p)
			}
		}
	}
}

// Generated code is the user's: it may need nothing of this module but the codec runtime, and other generated code.
func TestGeneratedCodeImportsCDROnly(t *testing.T) {
	generated := map[string]bool{}
	for _, f := range goFiles(t) {
		if strings.HasPrefix(read(t, f.path), generatedHeader) {
			generated[f.dir] = true
		}
	}
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(read(t, f.path), generatedHeader) {
			continue
		}
		for _, p := range f.imports {
			if q, ours := inModule(p); ours && q != "cdr" && !generated[q] || !ours && !standard(p) {
				t.Errorf("%s imports %s; generated code imports the standard library, package cdr and generated packages only: change idlc", f.path, p)
			}
		}
	}
}
