package idlc

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/cdr"
)

// FuzzDecode gives any bytes to all decoders and views of the test types: nothing may panic, what decodes must encode to
// something that decodes to the same, and a view must agree that the structure is sound.
func FuzzDecode(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	eachSample(f, rnd, func(i int, _ cdr.Message, _ cdr.Encapsulation, sample []byte) { f.Add(uint8(i), sample) })
	f.Fuzz(func(t *testing.T, which uint8, sample []byte) {
		g := allGenerated[int(which)%len(allGenerated)]
		m := g.message()
		decodeErr := cdr.Unmarshal(sample, m)
		key, keyErr := cdr.KeyFromSample(nil, g.message(), sample)
		view, viewErr := g.view(sample)
		readAll(reflect.ValueOf(view), 0)
		if decodeErr != nil {
			return
		}
		if keyErr != nil || viewErr != nil {
			t.Fatalf("decodes, but key %v, view %v", keyErr, viewErr)
		}
		if want, err := cdr.MarshalKey(nil, m); err == nil && !bytes.Equal(key, want) {
			t.Fatalf("key of the sample %x, of the value %x", key, want)
		}
		enc := cdr.DefaultEncapsulation(m.CDRType())
		again, err := cdr.Marshal(m, enc)
		if errors.Is(err, cdr.ErrInvalidValue) && strings.Contains(err.Error(), "outside of its range") {
			return // @range, @min and @max are checked on write only
		}
		if err != nil {
			t.Fatalf("decodes, but %v", err)
		}
		back := g.message()
		if err := cdr.Unmarshal(again, back); err != nil {
			t.Fatalf("encodes, but %v", err)
		}
		if third, err := cdr.Marshal(back, enc); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("encodes differently the second time: %v\n%x\n%x", err, again, third)
		}
	})
}

// readAll calls every accessor of a view and of what it gives. The bytes behind a view that New refused are gone, so
// that all accessors are called on views that are valid and on zero views.
func readAll(v reflect.Value, depth int) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || depth > 5 {
		return
	}
	if v.Kind() == reflect.String {
		_ = strings.Clone(v.String())
		return
	}
	if v.Kind() != reflect.Struct {
		return
	}
	if at := v.MethodByName("At"); at.IsValid() && at.Type().NumIn() == 1 {
		n := int(v.MethodByName("Len").Call(nil)[0].Int())
		for _, i := range []int{-1, 0, n / 2, n - 1, n} {
			readAll(at.Call([]reflect.Value{reflect.ValueOf(i)})[0], depth+1)
		}
		count := 0
		for _, e := range v.MethodByName("All").Call(nil)[0].Seq2() {
			readAll(e, depth+1)
			if count++; count == 8 {
				break
			}
		}
		return
	}
	if all := v.MethodByName("All"); all.IsValid() && v.MethodByName("Get").IsValid() { // of a map
		count := 0
		for k, e := range all.Call(nil)[0].Seq2() {
			readAll(k, depth+1)
			readAll(e, depth+1)
			if count++; count == 8 {
				break
			}
		}
		return
	}
	for i := range v.NumMethod() {
		if m := v.Method(i); m.Type().NumIn() == 0 && m.Type().NumOut() > 0 {
			readAll(m.Call(nil)[0], depth+1)
		}
	}
}

// FuzzCompile gives any text to the compiler: it may not panic or hang, every error has a position, and what it accepts is
// formatted Go.
func FuzzCompile(f *testing.F) {
	for _, file := range frontFiles(f) {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := func(name string) ([]byte, error) {
			if name == "fuzz.idl" || name == "again.idl" {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		}
		start := time.Now()
		files, report := Compile("fuzz.idl", Options{ReadFile: read, Package: "fuzz"})
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("took %s", took)
		}
		for _, d := range report.Diagnostics() {
			if d.What == "" || d.Pos.Filename == "" || strings.Contains(d.What, "internal error") {
				t.Fatalf("bad diagnostic %q", d)
			}
		}
		if !report.Failed() && len(files) != 1 && !strings.Contains(report.String(), "defines nothing") {
			t.Fatalf("%d files and no error", len(files))
		}
		for _, f := range files {
			wantFormatted(t, "fuzz.idl", f)
		}
		if report.Failed() && len(files) != 0 && utf8.ValidString(text) {
			t.Fatalf("files in spite of %s", report)
		}
	})
}

// frontFiles lists every file of the corpora.
func frontFiles(t testing.TB) []string {
	files := corpusFiles(t)
	more, err := filepath.Glob("testdata/front/*.idl")
	if err != nil || len(more) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	return append(files, more...)
}

// FuzzCheck gives any text to the front end, strictly or not: it may not panic or hang, what it says can be shown, and
// a model without errors is whole.
func FuzzCheck(f *testing.F) {
	for _, file := range frontFiles(f) {
		f.Add(readFile(f, file), false)
		f.Add(readFile(f, file), true)
	}
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		read := func(name string) ([]byte, error) {
			if name == "fuzz.idl" || name == "again.idl" {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		}
		start := time.Now()
		unit, report := Check("fuzz.idl", Options{ReadFile: read, Strict: strict, Define: []string{"FUZZ", "TWO=2"}})
		shown := report.Explain()
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("took %s", took)
		}
		for _, d := range report.Diagnostics() {
			if d.What == "" || d.Pos.Filename == "" || !strings.Contains(shown, d.What) {
				t.Fatalf("bad diagnostic %q", d)
			}
		}
		if report.Failed() {
			return
		}
		for _, d := range unit.Decls {
			eachPart(d, func(typ Type, part string) {
				if _, skipped := typ.(skippedType); skipped || typeName(typ) == "?" {
					t.Fatalf("%s: %s%v", d.common().Name, part, typ)
				}
			})
		}
		_ = describeUnit(unit)
	})
}
