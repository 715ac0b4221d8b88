package idlc

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
)

// hexBytes reads groups of hexadecimal digits; a number sign begins a remark.
func hexBytes(t testing.TB, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var primitivesValue = tt.Primitives{B: true, O: 0x11, C: 'A', Wc: 0x96f2, I8: -1, U8: 2, I16: -2, U16: 3, I32: -3, U32: 4,
	I64: -4, U64: 5, F32: 1.5, F64: -2.5}

var textValue = tt.Text{S: "ab", W: "é", Mark: 9, Value: 1.5, Raw: []byte{1, 2, 3}, Check: 0x1234}

// TestVectors compares with encodings worked out by hand from XTypes 1.3 §7.4.3.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		name  string
		value cdr.Message
		enc   cdr.Encapsulation
		want  string
	}{
		{"all primitives", &primitivesValue, cdr.CDR2LE, `
			0007 0000
			01 11 41 00           # boolean, octet, char, padding
			f296 ff 02            # wchar, int8, uint8
			feff 0300             # short, unsigned short
			fdffffff 04000000
			fcffffffffffffff      # long long, aligned to 4
			0500000000000000
			0000c03f
			00000000000004c0`},
		{"all primitives", &primitivesValue, cdr.CDRBE, `
			0000 0000
			01 11 41 00
			96f2 ff 02
			fffe 0003
			fffffffd 00000004
			00000000              # padding: long long aligned to 8
			fffffffffffffffc
			0000000000000005
			3fc00000
			00000000
			c004000000000000`},
		{"strings and sequences", &textValue, cdr.DCDR2LE, `
			0009 0002
			22000000              # 34 bytes follow
			03000000 616200
			00
			02000000 e900         # wstring: 2 bytes, no terminator
			09 00
			000000000000f83f
			03000000 010203
			00
			3412
			0000`},
		{"strings and sequences", &textValue, cdr.CDRLE, `
			0001 0002
			03000000 616200
			00
			02000000 e900
			09 00
			000000000000f83f      # offset 16
			03000000 010203
			00
			3412
			0000`},
		{"inheritance", &tt.Derived{Base: tt.Base{ID: "x", Count: 2}, Note: "", Color: tt.ColorGreen}, cdr.DCDR2BE, `
			0008 0000
			00000018              # one DHEADER for the base and the rest
			00000002 7800 0000
			00000002
			00000001 00 000000
			00000001`},
		{"sequence of appendable structs", &tt.Node{Value: 1, Children: []tt.Node{{Value: 2}}}, cdr.DCDR2LE, `
			0009 0000
			1c000000
			01000000
			14000000              # DHEADER of the sequence
			01000000
			0c000000              # DHEADER of the element: a long, a DHEADER, a length
			02000000
			04000000 00000000`},
	} {
		t.Run(c.name+" "+c.enc.String(), func(t *testing.T) {
			want := hexBytes(t, c.want)
			got, err := cdr.Marshal(c.value, c.enc)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got  %x, %v\nwant %x", got, err, want)
			}
			back := reflect.New(reflect.TypeOf(c.value).Elem()).Interface().(cdr.Message)
			if err := cdr.Unmarshal(want, back); err != nil {
				t.Fatal(err)
			}
			if again, _ := cdr.Marshal(back, c.enc); !bytes.Equal(again, want) {
				t.Errorf("decoded %+v", back)
			}
		})
	}
}

// TestKeyVectors compares with keys worked out by hand from XTypes 1.3 §7.6.8.
func TestKeyVectors(t *testing.T) {
	keys := &tt.Keys{Last: 5, Text: "not a key", Color: tt.ColorGreen, Where: tt.Point{X: 1, Y: 2, Quality: 7},
		Base: tt.Base{ID: "ab", Count: 9}, Pair: [2]int16{1, -1}, Wide: "é", Names: [2]string{"n", "mm"}}
	wantKeys := hexBytes(t, `
		3ff0000000000000 4000000000000000 07   # id 1: where, which marks no key: all of it
		000000
		00000001                               # id 3: color
		0001 ffff                              # id 4: pair
		00000003 616200                        # id 5: the key of base
		00
		00000002 00e9                          # id 6: wide
		0000
		0000000f                               # id 7: names, an array of strings has a DHEADER
		00000002 6e00 0000
		00000003 6d6d00
		00
		0000000000000005                       # id 9: last`)
	for _, c := range []struct {
		name string
		m    cdr.Message
		key  []byte
		hash []byte
	}{
		{"short keys are their own hash", &tt.Collections{ID: 0x01020304}, hexBytes(t, "01020304"), hexBytes(t, "01020304 000000000000000000000000")},
		{"bounded string of 13 bytes", &tt.Base{ID: "ab"}, hexBytes(t, "00000003 616200"), hexBytes(t, "00000003 616200 000000000000000000")},
		{"long keys are hashed", keys, wantKeys, sum(wantKeys)},
		{"ids from names", &tt.Hashed{Color: 1, Size: 9, Flags: [2]bool{true, false}}, hexBytes(t, "0100 09"), hexBytes(t, "0100 09 00000000000000000000000000")},
		{"no key", &tt.Node{Value: 1}, nil, make([]byte, 16)},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := cdr.MarshalKey(nil, c.m)
			if err != nil || !bytes.Equal(key, c.key) {
				t.Fatalf("got  %x, %v\nwant %x", key, err, c.key)
			}
			if h := cdr.HashKey(c.m.CDRType(), key); !bytes.Equal(h[:], c.hash) {
				t.Errorf("hash %x, want %x", h, c.hash)
			}
		})
	}
}

func sum(b []byte) []byte {
	h := md5.Sum(b)
	return h[:]
}

// TestSizes compares sizes with those of the vectors.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		m        cdr.Message
		max, key int
	}{
		{&tt.Primitives{}, 48, 0},
		{&tt.Text{}, 4 + 13 + 3 + 4 + 8 + 1 + 3 + 8 + 4 + 16 + 2, 0},
		{&tt.Base{}, 4 + 13 + 3 + 4, 13},
		{&tt.Derived{}, -1, 13},
		{&tt.Keys{}, -1, 17 + 3 + 4 + 4 + 13 + 3 + 12 + 4 + 13 + 3 + 13 + 3 + 8},
		{&tt.Node{}, -1, 0},
	} {
		info := c.m.CDRType()
		if info.MaxSize != c.max || info.MaxKeySize != c.key {
			t.Errorf("%s: MaxSize %d, want %d; MaxKeySize %d, want %d", info.Name, info.MaxSize, c.max, info.MaxKeySize, c.key)
		}
	}
}

// TestEvolution reads an old sample with a new type and a new sample with an old type.
func TestEvolution(t *testing.T) {
	for _, enc := range encapsulations((*tt.Version1)(nil).CDRType()) {
		old, err := cdr.Marshal(&tt.Version1{ID: 3, Color: tt.ColorGreen}, enc)
		if err != nil {
			t.Fatal(err)
		}
		full := tt.Version2{ID: 8, Color: tt.ColorRed, Accent: tt.ColorRed, Text: "x", More: []int32{1}, At: tt.Point{X: 1}, Last: [2]float64{1, 2}, Base: tt.Base{ID: "b"}}
		got := full
		if err := cdr.Unmarshal(old, &got); err != nil {
			t.Fatalf("%s: %v", enc, err)
		}
		want := tt.Version2{ID: 3, Color: tt.ColorGreen, Accent: tt.ColorBlue, More: []int32{}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: new reader of an old sample got %+v, want %+v", enc, got, want)
		}
		view, err := tt.NewVersion2View(old)
		if err != nil {
			t.Fatalf("%s: %v", enc, err)
		}
		if view.ID() != 3 || view.Color() != tt.ColorGreen || view.Accent() != tt.ColorBlue || view.Text() != "" || view.More().Len() != 0 ||
			view.At().X() != 0 || view.Last().Len() != 0 || view.Base().ID() != "" {
			t.Errorf("%s: view of an old sample is wrong", enc)
		}

		sample, err := cdr.Marshal(&full, enc)
		if err != nil {
			t.Fatal(err)
		}
		var back tt.Version1
		if err := cdr.Unmarshal(sample, &back); err != nil || back != (tt.Version1{ID: 8}) {
			t.Errorf("%s: old reader of a new sample got %+v, %v", enc, back, err)
		}
	}
}

func TestMessages(t *testing.T) {
	good := func() *tt.Collections {
		return &tt.Collections{Tinies: [3]tt.Tiny{tt.TinyFive, tt.TinyFive, tt.TinyFive}}
	}
	for _, c := range []struct {
		change func(m *tt.Collections)
		is     error
		text   string
	}{
		{func(m *tt.Collections) { m.Doubles = make([]float64, 9) }, cdr.ErrBound,
			"cdr: marshal testtypes::Collections.doubles: sequence of 9 elements exceeds its bound of 8"},
		{func(m *tt.Collections) { m.Names = []string{"a", "123456789"} }, cdr.ErrBound,
			"cdr: marshal testtypes::Collections.names[1]: string of 9 bytes exceeds its bound of 8"},
		{func(m *tt.Collections) { m.Tinies[2] = 7 }, cdr.ErrInvalidValue,
			"cdr: marshal testtypes::Collections.tinies[2]: 7 is not an enumerator"},
		{func(m *tt.Collections) { m.Items = []tt.Derived{{}, {Base: tt.Base{ID: "123456789"}}} }, cdr.ErrBound,
			"cdr: marshal testtypes::Collections.items[1].id: string of 9 bytes exceeds its bound of 8"},
		{func(m *tt.Collections) { m.Table = make([][]int16, 5) }, cdr.ErrBound,
			"cdr: marshal testtypes::Collections.table: sequence of 5 elements exceeds its bound of 4"},
	} {
		m := good()
		c.change(m)
		_, err := cdr.Marshal(m, cdr.DCDR2LE)
		if !errors.Is(err, c.is) || err.Error() != c.text {
			t.Errorf("got  %v\nwant %s", err, c.text)
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *tt.TextBuilder)
		text  string
	}{
		{"missing", func(b *tt.TextBuilder) { b.SetS("a"); b.SetW("b"); b.SetMark(1); b.SetValue(2); b.SetCheck(3) },
			"cdr: build testtypes::Text.check: set too early; members of variable size before it come first, in the order of their declaration"},
		{"missing fixed", func(b *tt.TextBuilder) { b.SetS("a"); b.SetW("b"); b.SetMark(1); b.SetRaw(nil); b.SetCheck(3) },
			"cdr: build testtypes::Text.value: not set"},
		{"nothing set", func(b *tt.TextBuilder) {}, "cdr: build testtypes::Text.s: not set"},
		{"out of order", func(b *tt.TextBuilder) { b.SetW("b") },
			"cdr: build testtypes::Text.w: set too early; members of variable size before it come first, in the order of their declaration"},
		{"twice", func(b *tt.TextBuilder) { b.SetS("a"); b.SetS("b") }, "cdr: build testtypes::Text.s: set twice; a member of variable size is set once"},
		{"bound", func(b *tt.TextBuilder) { b.SetS("123456789") }, "cdr: build testtypes::Text.s: string of 9 bytes exceeds its bound of 8"},
		{"room above the bound", func(b *tt.TextBuilder) { b.SetS("a"); b.SetW("b"); b.RoomForRaw(17) }, "cdr: build testtypes::Text.raw: sequence of 17 elements exceeds its bound of 16"},
		{"negative room", func(b *tt.TextBuilder) { b.SetS("a"); b.SetW("b"); b.RoomForRaw(-1) }, "cdr: build testtypes::Text.raw: sequence of -1 elements exceeds 4294967295"},
		{"no room", func(b *tt.TextBuilder) { b.SetS("a"); b.SetW("b"); b.SetRaw(make([]byte, 16)) }, "cdr: build testtypes::Text.raw: buffer has 48 bytes, at least 52 needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tt.NewTextBuilder(make([]byte, 48))
			c.build(&b)
			if _, err := b.Finish(); err == nil || err.Error() != c.text {
				t.Errorf("got  %v\nwant %s", err, c.text)
			}
		})
	}
	var zero tt.TextBuilder
	zero.SetS("a")
	zero.SetMark(1)
	zero.RoomForRaw(1)
	if _, err := zero.Finish(); !errors.Is(err, cdr.ErrMember) {
		t.Errorf("zero builder: %v", err)
	}
}

// TestMembersOfMutableTypesAreBuiltOnce sets each member twice, as a whole or element by element: two headers with one
// id would be two values of a member, of which readers may take either.
func TestMembersOfMutableTypesAreBuiltOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(27, 28))
	refused := 0
	for _, g := range allGenerated {
		whole := g.message().CDRType()
		builder := reflect.TypeOf(g.build(nil))
		if _, union := builder.MethodByName("SetDiscriminator"); union || whole.Extensibility != cdr.Mutable {
			continue
		}
		for first := range builder.Methods() {
			for second := range builder.Methods() {
				member, is := setterOf(first.Name)
				if again, too := setterOf(second.Name); !is || !too || again != member {
					continue
				}
				b := g.build(make([]byte, 1<<16))
				for _, method := range []reflect.Method{first, second} {
					arg := reflect.New(method.Type.In(1)).Elem()
					switch {
					case arg.Kind() == reflect.Pointer: // not an absent one
						arg = reflect.New(arg.Type().Elem())
						fill(rnd, arg.Elem(), 0)
					case strings.HasPrefix(method.Name, "Set"):
						fill(rnd, arg, 0)
					}
					method.Func.Call([]reflect.Value{reflect.ValueOf(b), arg})
				}
				_, err := b.(finisher).Finish()
				if err == nil || !strings.HasPrefix(err.Error(), "cdr: build "+whole.Name+".") || !strings.EqualFold(err.(*cdr.Error).Path, member) || !strings.HasSuffix(err.Error(), ": set twice; a member is set once") {
					t.Errorf("%s, %s and %s: %v", whole.Name, first.Name, second.Name, err)
				}
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no member was set twice")
	}
}

// setterOf gives the member that a method of a builder sets, or begins.
func setterOf(method string) (member string, is bool) {
	if member, is = strings.CutPrefix(method, "Begin"); !is {
		member, is = strings.CutPrefix(method, "Set")
	}
	return member, is
}

// TestBuilderOrder sets members of fixed size out of order, and fills bytes in place.
func TestBuilderOrder(t *testing.T) {
	buf := bytes.Repeat([]byte{0xee}, 64)
	b := tt.NewTextBuilder(buf)
	b.SetS("ab")
	b.SetW("é")
	copy(b.RoomForRaw(3), []byte{1, 2, 3})
	b.SetCheck(1)
	b.SetCheck(0x1234)
	b.SetValue(1.5)
	b.SetMark(9)
	n, err := b.Finish()
	want, _ := cdr.Marshal(&textValue, cdr.DCDR2LE)
	if err != nil || !bytes.Equal(buf[:n], want) {
		t.Errorf("got  %x, %v\nwant %x", buf[:n], err, want)
	}
}

// TestHashID checks an id that XTypes 1.3 §7.3.1.2.1.1 has as its example.
func TestHashID(t *testing.T) {
	if text := (*tt.Hashed)(nil).CDRType().Text; !strings.Contains(text, "@id(262528368) int32 color;") { // 0x0fa5dd70
		t.Error(text)
	}
}

func TestEnumText(t *testing.T) {
	for _, v := range []tt.Small{tt.SmallOne, tt.SmallTwo, tt.SmallFour} {
		text, err := v.MarshalText()
		var back tt.Small
		if err != nil || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("%v became %q and %v", v, text, back)
		}
	}
	if s := tt.Small(3).String(); s != "Small(3)" {
		t.Error(s)
	}
	if _, err := tt.ParseSmall("THREE"); err == nil || err.Error() != `"THREE" is no Small` {
		t.Error(err)
	}
	if _, err := tt.Small(3).MarshalText(); err == nil {
		t.Error("3 is no Small")
	}
}

func TestGeneratedAllocatesNothing(t *testing.T) {
	m := &tt.Collections{Blob: make([]byte, 100), Doubles: make([]float64, 8), Names: []string{"a", "b"}, Wides: []string{"x"},
		Tinies: [3]tt.Tiny{tt.TinyFive, tt.TinyFive, tt.TinyFive}, Points: make([]tt.Point, 4), Items: make([]tt.Derived, 2), Table: [][]int16{{1}}}
	sample, err := cdr.Marshal(m, cdr.DCDR2LE)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(sample))
	key := make([]byte, 0, 128)
	keys := &tt.Keys{Names: [2]string{"n", "m"}}
	keySample, _ := cdr.Marshal(keys, cdr.CDR2LE)
	reuse := &tt.Primitives{}
	primitives, _ := cdr.Marshal(&primitivesValue, cdr.CDR2LE)
	for name, f := range map[string]func(){
		"Size":                              func() { _, _ = cdr.Size(m, cdr.DCDR2LE) },
		"MarshalTo":                         func() { _, _ = cdr.MarshalTo(buf, m, cdr.DCDR2LE) },
		"MarshalKey":                        func() { _, _ = cdr.MarshalKey(key, keys) },
		"KeyFromSample":                     func() { _, _ = cdr.KeyFromSample(key, (*tt.Keys)(nil), keySample) },
		"Unmarshal of what needs no memory": func() { _ = cdr.Unmarshal(primitives, reuse) },
		"View": func() {
			v, err := tt.NewCollectionsView(sample)
			if err != nil {
				t.Error(err)
			}
			total := 0
			for _, p := range v.Points().All() {
				total += int(p.Quality())
			}
			for _, s := range v.Names().All() {
				total += len(s)
			}
			for _, d := range v.Doubles().All() {
				total += int(d)
			}
			for _, item := range v.Items().All() {
				total += len(item.Note()) + len(item.ID())
			}
			sink = total + int(v.Items().At(1).Color()) + len(v.Blob())
		},
		"Builder": func() {
			b := tt.NewDerivedBuilder(buf)
			b.SetID("id")
			b.SetCount(4)
			b.SetNote("note")
			b.SetColor(tt.ColorBlue)
			if _, err := b.Finish(); err != nil {
				t.Error(err)
			}
			c := tt.NewCollectionsBuilder(buf)
			c.SetID(1)
			copy(c.RoomForBlob(5), "hello")
			c.SetDoubles(m.Doubles)
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

var sink int
