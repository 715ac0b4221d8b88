package lint

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// unsafeFiles may import unsafe. Whatever they do with it is behind accessors that check bounds and alignment.
var unsafeFiles = map[string]string{
	"bench/baseline/shared.go": "atomic words in mapped memory, and the futex system call takes their address",
	"bench/baseline/uring.go":  "words of an io_uring's rings in mapped memory, and its entries have the address of what is written",

	"bench/codec/pb/codec.pb.go": "written by protoc-gen-go; not linked into the product",
	"cdr/unsafe.go":              "strings and numbers of an encoded sample without a copy",
	"internal/bench/silent.go":   "a raw system call takes an address",
	"internal/vfs/aligned.go":    "where a slice of bytes begins",
	"rdma/alarm.go":              "raw system calls take addresses",
	"rdma/bell.go":               "the futex system call takes an address",
	"rdma/netyield.go":           "raw system calls take addresses",
	"rdma/region.go":             "atomic cells over mapped bytes",
	"rdma/sleep.go":              "a raw system call takes addresses, and functions of the runtime are linked to",
	"rdma/scatter_race.go":       "the race detector is told of addresses",
	"rdma/socket.go":             "raw system calls take addresses",
	"rdma/shm/memory.go":         "the doorbell's word in a mapped page",
}

// rawAtomicFiles may use the functions of sync/atomic in place of its types.
var rawAtomicFiles = map[string]string{}

// sleepFiles may call time.Sleep outside of tests.
var sleepFiles = map[string]string{}

// pure are packages (a directory) and files without clock, goroutine and randomness: what they do follows from their
// arguments alone, so tests and simulations can drive them. Time is an argument.
var pure = []string{
	"cdr", "xtypes", "xtypes/notation", "qos", "topic", "sst", "smc", "idlc",
	"derecho/machine.go", "derecho/view.go", "derecho/join.go", "derecho/meet.go", "derecho/leave.go",
	"derecho/control.go", "derecho/catalogue.go", "derecho/members.go", "derecho/subgroup.go", "derecho/epoch.go", "derecho/deliver.go", "derecho/wire.go",
	"dcps/cache.go", "dcps/cacheread.go", "dcps/cachetime.go", "dcps/cacheorder.go", "dcps/cachesource.go", "dcps/duequeue.go", "dcps/store.go", "dcps/info.go",
	"storage/format.go", "storage/scan.go", "storage/walk.go",
	"rdma/region.go", "rdma/peerinfo.go",
}

func isPure(f *goFile) bool {
	for _, p := range pure {
		if f.path == p || f.dir == p && !f.test {
			return true
		}
	}
	return false
}

// exception fails unless file is listed, and notes that the entry is needed.
func exception(t *testing.T, list map[string]string, needed map[string]bool, file, where, what string) {
	t.Helper()
	needed[file] = true
	if list[file] == "" {
		t.Errorf("%s: %s", where, what)
	}
}

func noStale(t *testing.T, list map[string]string, needed map[string]bool, name string) {
	t.Helper()
	for file := range list {
		if !needed[file] {
			t.Errorf("%s does not need its entry in %s (internal/lint/code_test.go) any more; take it out", file, name)
		}
	}
}

func TestUnsafeOnlyWhereListed(t *testing.T) {
	needed := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.name("unsafe") != "" && !f.test {
			exception(t, unsafeFiles, needed, f.path, f.path, "imports unsafe; use the accessors of rdma.Region or package cdr, or list the file in internal/lint/code_test.go with its reason")
		}
	}
	noStale(t, unsafeFiles, needed, "unsafeFiles")
}

var rawAtomic = regexp.MustCompile(`^(Load|Store|Add|Swap|CompareAndSwap|And|Or)[A-Z]`)

func TestTypedAtomicsOnly(t *testing.T) {
	needed := map[string]bool{}
	for _, f := range goFiles(t) {
		f.uses("sync/atomic", func(name string, n ast.Node) {
			if rawAtomic.MatchString(name) {
				exception(t, rawAtomicFiles, needed, f.path, f.position(n), "atomic."+name+" on a plain word; make the word an atomic type, so that no access to it can be plain")
			}
		})
	}
	noStale(t, rawAtomicFiles, needed, "rawAtomicFiles")
}

func TestNoSleep(t *testing.T) {
	needed := map[string]bool{}
	for _, f := range goFiles(t) {
		bubble := f.test && f.name("testing/synctest") != "" // sleeping is how time passes there
		f.uses("time", func(name string, n ast.Node) {
			switch {
			case name != "Sleep" || bubble:
			case f.test:
				t.Errorf("%s: a test sleeps; wait for the event itself, or run the test in a testing/synctest bubble", f.position(n))
			default:
				exception(t, sleepFiles, needed, f.path, f.position(n), "time.Sleep; wait for the event, a timer together with a context, or the doorbell")
			}
		})
	}
	noStale(t, sleepFiles, needed, "sleepFiles")
}

var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true,
}

func TestPureCodeHasNoClockGoroutineOrRandomness(t *testing.T) {
	checked := map[string]bool{}
	for _, f := range goFiles(t) {
		if !isPure(f) {
			continue
		}
		checked[f.path], checked[f.dir] = true, true
		f.uses("time", func(name string, n ast.Node) {
			if clocks[name] {
				t.Errorf("%s: time.%s in pure code; take the time as an argument (pure is listed in internal/lint/code_test.go)", f.position(n), name)
			}
		})
		for _, p := range f.imports {
			if p == "math/rand" || p == "math/rand/v2" || p == "crypto/rand" {
				t.Errorf("%s: imports %s in pure code; take a source of random numbers as an argument", f.path, p)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine in pure code; let the caller own it", f.position(g))
			}
			return true
		})
	}
	for _, p := range pure {
		if !checked[p] {
			t.Errorf("%s is listed as pure in internal/lint/code_test.go but is not there; correct the list", p)
		}
	}
}

// A stub that panics is worse than nothing: it compiles.
func TestNoStubs(t *testing.T) {
	for _, f := range goFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "panic" {
				return true
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && strings.Contains(strings.ToLower(lit.Value), "not implemented") {
				t.Errorf("%s: a stub; implement it, or return an error that says what is not supported", f.position(call))
			}
			return true
		})
	}
}
