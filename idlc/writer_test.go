package idlc

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/internal/viewtest"
)

// TestWriters writes random values of all types in place, in all encodings, each member as a whole or in parts: the
// bytes are those of MarshalTo.
func TestWriters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	for range 40 {
		eachSample(t, rnd, func(i int, m cdr.Message, enc cdr.Encapsulation, want []byte) {
			g := allGenerated[i]
			var s cdr.Stream
			buf := bytes.Repeat([]byte{0xee}, len(want))
			w := g.write(&s, buf, enc)
			viewtest.Write(rnd, w, m)
			n, err := w.(finisher).Finish()
			if err != nil || !bytes.Equal(buf[:n], want) {
				t.Errorf("%s %s: written %x, %v\n want %x", g.name, enc, buf[:n], err, want)
				return
			}
			back := g.message()
			if err := cdr.Unmarshal(buf[:n], back); err != nil {
				t.Errorf("%s %s: %v\n%x", g.name, enc, err, buf[:n])
			} else if again, err := cdr.Marshal(back, enc); err != nil || !bytes.Equal(again, want) {
				t.Errorf("%s %s: decoded %+v, want %+v", g.name, enc, back, m)
			}
		})
		if t.Failed() {
			return
		}
	}
}

type finisher interface{ Finish() (int, error) }

// TestShortWriters writes into too little room: there is an error, and nothing behind the room changes.
func TestShortWriters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 24))
	eachSample(t, rnd, func(i int, m cdr.Message, enc cdr.Encapsulation, want []byte) {
		for n := range want {
			var s cdr.Stream
			buf := bytes.Repeat([]byte{0xee}, len(want))
			w := allGenerated[i].write(&s, buf[:n:n], enc)
			viewtest.Write(rnd, w, m)
			if _, err := w.(finisher).Finish(); !errors.Is(err, cdr.ErrShortBuffer) {
				t.Errorf("%s %s in %d of %d bytes: %v", allGenerated[i].name, enc, n, len(want), err)
			}
			if len(bytes.Trim(buf[n:], "\xee")) > 0 {
				t.Errorf("%s %s in %d of %d bytes: wrote behind them", allGenerated[i].name, enc, n, len(want))
			}
		}
	})
}

// TestWriterErrors holds what a writer says when it is used otherwise than it is meant to be.
func TestWriterErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(w *ct.HolderWriter)
		text  string
	}{
		{"nothing", func(w *ct.HolderWriter) {}, "cdr: write constructs::Holder.choice: not set"},
		{"left out", func(w *ct.HolderWriter) { w.BeginItem() }, "cdr: write constructs::Holder.choice: not set"},
		{"empty union", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.End() }, "cdr: write constructs::Holder.choice.discriminator: not set"},
		{"two members of a union", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.SetSmall(1); c.SetOther(2) },
			"cdr: write constructs::Holder.choice.discriminator: set after another member; a union holds one"},
		{"twice", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.SetSmall(1); c.End(); w.BeginChoice() },
			"cdr: write constructs::Holder.choice: set after choice; a writer takes each member once, in the order of their declaration"},
		{"parent before child", func(w *ct.HolderWriter) { w.BeginChoice(); w.BeginItem() },
			"cdr: write constructs::Holder.item: not by the innermost writer: one that this one began has not ended, or this one has"},
		{"child not ended", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.SetSmall(1) },
			"cdr: write constructs::Holder: not by the innermost writer: one that this one began has not ended, or this one has"},
		{"after its end", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.SetSmall(1); c.End(); c.SetOther(1) },
			"cdr: write constructs::Holder.choice.discriminator: not by the innermost writer: one that this one began has not ended, or this one has"},
		{"ended twice", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.SetSmall(1); c.End(); c.End() },
			"cdr: write constructs::Holder.choice: not by the innermost writer: one that this one began has not ended, or this one has"},
		{"a copy", func(w *ct.HolderWriter) { c := *w; d := w.BeginChoice(); d.SetSmall(1); d.End(); c.BeginChoice() },
			"cdr: write constructs::Holder.choice: set after choice; a writer takes each member once, in the order of their declaration"},
		{"an element by a copy", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			w.SetItem(new(ct.Item))
			w.BeginMany(2)
			stale := *w
			w.AddMany(new(ct.Item))
			stale.AddMany(new(ct.Item))
		}, "cdr: write constructs::Holder.many: by a copy of a writer that has gone on; writers are not to be copied"},
		{"two members of a union whose discriminator is set by itself", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetDiscriminator(ct.ColorRed)
			c.SetSmall(1)
			c.SetOther(2)
		}, "cdr: write constructs::Holder.choice.discriminator: set after another member; a union holds one"},
		{"deep", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.BeginLabels(2)
			l := i.NextLabels()
			l.SetText("a")
			l.SetWeight(1)
			l.End()
			l = i.NextLabels()
			l.SetText("too long a text")
		}, "cdr: write constructs::Holder.item.labels[1].text: string of 15 bytes exceeds its bound of 8"},
		{"elements missing", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.BeginLabels(2)
			i.End()
		}, "cdr: write constructs::Holder.item.labels: 2 of its 2 elements are not added"},
		{"too many elements", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.BeginLabels(0)
			i.NextLabels()
		}, "cdr: write constructs::Holder.item.labels: an element more than it was begun with"},
		{"End of the sample", func(w *ct.HolderWriter) { w.End() },
			"cdr: write constructs::Holder: End is for a value within another; a sample ends with Finish"},
		{"Finish within", func(w *ct.HolderWriter) { c := w.BeginChoice(); c.Finish() },
			"cdr: write constructs::Holder.choice: Finish is for a sample; a value within another ends with End"},
		{"a union's free discriminator", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.SetDiscriminator(2)
			i.End()
		}, "cdr: write constructs::Holder.item.text: not set; the discriminator selects it"},
		{"another member than the discriminator selects", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetDiscriminator(ct.ColorGreen)
			c.SetSmall(1)
			c.End()
		}, "cdr: write constructs::Holder.choice.small: the discriminator selects another member, or none"},
		{"a member of no discriminator", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.SetDiscriminator(99)
			i.SetReal(1)
		}, "cdr: write constructs::Holder.item.real: the discriminator selects another member, or none"},
		{"discriminator behind the member", func(w *ct.HolderWriter) {
			c := w.BeginChoice()
			c.SetSmall(1)
			c.SetDiscriminator(ct.ColorRed)
		}, "cdr: write constructs::Holder.choice.discriminator: set after another member; a union holds one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s cdr.Stream
			w := ct.NewHolderWriter(&s, make([]byte, 200), cdr.DCDR2LE)
			c.write(&w)
			if _, err := w.Finish(); err == nil || err.Error() != c.text {
				t.Errorf("got  %v\nwant %s", err, c.text)
			}
		})
	}
	var s cdr.Stream
	ranged := ct.NewDefaultedWriter(&s, make([]byte, 200), cdr.CDR2LE)
	ranged.SetFive(5)
	ranged.SetText("t")
	ranged.SetYes(true)
	ranged.SetRanged(1e6)
	if _, err := ranged.Finish(); !errors.Is(err, cdr.ErrInvalidValue) || !strings.HasPrefix(err.Error(), "cdr: write constructs::Defaulted.ranged: 1e+06 is outside of its range") {
		t.Error(err)
	}
	none := ct.NewHolderWriter(&s, make([]byte, 200), cdr.CDR2LE)
	if _, err := none.Finish(); !errors.Is(err, cdr.ErrEncapsulation) {
		t.Error(err)
	}
	var zero ct.HolderWriter
	zero.SetItem(new(ct.Item))
	zero.End()
	if _, err := zero.Finish(); !errors.Is(err, cdr.ErrMember) {
		t.Error(err)
	}
	finished := ct.NewNothingWriter(&s, make([]byte, 20), cdr.PLCDR2LE)
	if n, err := finished.Finish(); n != 8 || err != nil {
		t.Error(n, err)
	}
	if _, err := finished.Finish(); !errors.Is(err, cdr.ErrMember) {
		t.Error(err)
	}
}

// TestWritersTogether calls the methods of writers of a sample in any order, of copies and of writers that have ended,
// too. Whatever it is, nothing panics, and what Finish gives can be decoded.
func TestWritersTogether(t *testing.T) {
	rnd := rand.New(rand.NewPCG(25, 26))
	complete := 0
	for range 3000 {
		i := rnd.IntN(len(allGenerated))
		g := allGenerated[i]
		list := encapsulations(g.message().CDRType())
		var s cdr.Stream
		buf := make([]byte, 4096)
		first := g.write(&s, buf, list[rnd.IntN(len(list))])
		writers := []reflect.Value{reflect.ValueOf(first)}
		for range rnd.IntN(30) {
			w := writers[rnd.IntN(len(writers))]
			switch o := writers[rnd.IntN(len(writers))]; {
			case rnd.IntN(10) == 0:
				c := reflect.New(w.Type().Elem())
				c.Elem().Set(w.Elem())
				w = c
				writers = append(writers, c)
			case rnd.IntN(10) == 0 && o.Type() == w.Type():
				o.Elem().Set(w.Elem())
			}
			method := w.Type().Method(rnd.IntN(w.NumMethod()))
			if method.Name == "Within" || method.Name == "Finish" {
				continue
			}
			var args []reflect.Value
			for k := 1; k < method.Type.NumIn(); k++ {
				arg := reflect.New(method.Type.In(k)).Elem()
				switch arg.Kind() {
				case reflect.Int: // how many
					arg.SetInt(int64(rnd.IntN(3)))
				case reflect.Pointer:
					arg.Set(reflect.New(arg.Type().Elem()))
					fill(rnd, arg.Elem(), 4)
				default:
					fill(rnd, arg, 4)
				}
				args = append(args, arg)
			}
			for _, out := range w.MethodByName(method.Name).Call(args) {
				if out.Kind() == reflect.Struct {
					c := reflect.New(out.Type())
					c.Elem().Set(out)
					writers = append(writers, c)
				}
			}
		}
		n, err := first.(finisher).Finish()
		if err != nil {
			continue
		}
		complete++
		if err := cdr.Unmarshal(buf[:n], g.message()); err != nil {
			t.Errorf("%s: %v\n%x", g.name, err, buf[:n])
		}
	}
	if complete == 0 {
		t.Error("no sample was complete")
	}
}

// TestWriterOfBefore goes on with a writer as it was before it was through with a list: the bytes are those of the
// writer, or there is an error.
func TestWriterOfBefore(t *testing.T) {
	var want []byte
	for _, before := range []bool{false, true} {
		var s cdr.Stream
		buf := make([]byte, 2000)
		w := ct.NewAroundWriter(&s, buf, cdr.CDR2LE)
		w.SetHead(1)
		w.SetLoose(new(ct.Loose))
		w.SetNumber(1)
		w.BeginMore(1)
		stale := w
		w.AddMore(new(ct.Loose))
		w.SetKeys(new([2]ct.Loose))
		if before {
			w = stale
		}
		p := w.BeginWhere()
		p.SetX(1)
		p.SetY(1)
		p.SetQuality(1)
		p.End()
		w.SetAgain(new(ct.Loose))
		w.SetCount(1)
		w.SetWord("x")
		w.SetList(nil)
		w.SetLast(1)
		n, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if before && !bytes.Equal(buf[:n], want) {
			t.Errorf("got  %x\nwant %x", buf[:n], want)
		}
		want = buf[:n]
	}
}

// TestOverwrittenWriters assigns other writers to one that has another open within it.
func TestOverwrittenWriters(t *testing.T) {
	const text = "the writer that began this one has been overwritten; it has to be kept until this one has ended"
	for _, c := range []struct {
		name  string
		write func(w *testtypes.NodeWriter)
	}{
		{"by the one within", func(w *testtypes.NodeWriter) {
			for range 2 {
				w.SetValue(1)
				w.BeginChildren(1)
				*w = w.NextChildren()
			}
			w.SetValue(1)
			w.SetChildren(nil)
			w.End()
		}},
		{"by none", func(w *testtypes.NodeWriter) {
			w.SetValue(1)
			w.BeginChildren(1)
			c := w.NextChildren()
			*w = testtypes.NodeWriter{}
			c.SetValue(1)
			c.SetChildren(nil)
			c.End()
		}},
		{"by that of another sample", func(w *testtypes.NodeWriter) {
			w.SetValue(1)
			w.BeginChildren(1)
			c := w.NextChildren()
			var s cdr.Stream
			*w = testtypes.NewNodeWriter(&s, make([]byte, 200), cdr.DCDR2LE)
			c.SetValue(1)
			c.SetChildren(nil)
			c.End()
		}},
	} {
		var s cdr.Stream
		w := testtypes.NewNodeWriter(&s, make([]byte, 200), cdr.DCDR2LE)
		first := w
		c.write(&w)
		if _, err := first.Finish(); err == nil || !strings.HasSuffix(err.Error(), text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRoomForTooMuch asks for more bytes than there can be.
func TestRoomForTooMuch(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt - 4, math.MaxInt - 100, math.MaxUint32, math.MaxUint32 + 1, -1, math.MinInt} {
		for _, enc := range []cdr.Encapsulation{cdr.PLCDR2LE, cdr.PLCDR2BE, cdr.PLCDRLE} {
			var s cdr.Stream
			w := ct.NewLooseWriter(&s, make([]byte, 200), enc)
			w.SetID(1)
			w.SetO(1)
			w.SetS(1)
			w.SetD(1)
			w.SetText("a")
			if b := w.RoomForBlob(n); b != nil {
				t.Errorf("%s: %d of %d bytes", enc, len(b), n)
			}
			if _, err := w.Finish(); !errors.Is(err, cdr.ErrBound) && !errors.Is(err, cdr.ErrShortBuffer) {
				t.Errorf("%s, %d: %v", enc, n, err)
			}
		}
	}
}

// TestStackGrowsMeanwhile has the stack grow while a writer tells what is wrong, at any of its calls: the writer has to
// find the stream where it is then.
func TestStackGrowsMeanwhile(t *testing.T) {
	for depth := range 300 {
		told := make(chan error)
		go deepen(depth, func() {
			var s cdr.Stream
			w := ct.NewLooseWriter(&s, make([]byte, 200), cdr.PLCDR2LE)
			w.SetID(1)
			w.SetO(1)
			w.SetS(1)
			w.SetD(1)
			w.SetText("a")
			w.RoomForBlob(-1)
			_, err := w.Finish()
			told <- err
		})
		if err := <-told; !errors.Is(err, cdr.ErrBound) {
			t.Errorf("%d calls deep: %v", depth, err)
		}
	}
}

// deepen calls f with so many frames above it.
//
//go:noinline
func deepen(frames int, f func()) int {
	if frames == 0 {
		f()
		return 0
	}
	return deepen(frames-1, f) + 1
}

// TestWritersAllocateNothing writes nested values, elements, unions and maps.
func TestWritersAllocateNothing(t *testing.T) {
	buf := make([]byte, 1024)
	for _, enc := range []cdr.Encapsulation{cdr.DCDR2LE, cdr.CDRBE} {
		if n := testing.AllocsPerRun(100, func() {
			var s cdr.Stream
			w := ct.NewHolderWriter(&s, buf, enc)
			c := w.BeginChoice()
			c.SetSmall(1)
			c.End()
			i := w.BeginItem()
			i.BeginNamed(1)
			l := i.NextNamed("a")
			l.SetText("b")
			l.SetWeight(2)
			l.End()
			i.End()
			w.BeginMany(1)
			i = w.NextMany()
			i.SetReal(1)
			i.End()
			w.BeginBoth()
			for range 2 {
				b := w.NextBoth()
				b.SetYes(1)
				b.End()
			}
			w.BeginMore(1)
			m := w.NextMore()
			m.SetNumber(3)
			m.End()
			wide := w.BeginWide()
			wide.SetRest(1)
			wide.End()
			if _, err := w.Finish(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", enc, n)
		}
	}
}

// TestNumbersOutOfTurn holds what a writer says of numbers that are set when they are not next. Setting them is
// inlined, so it is told by what follows.
func TestNumbersOutOfTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(w *ct.MaybeFinalWriter)
		text  string
	}{
		{"too early", func(w *ct.MaybeFinalWriter) { p := w.BeginAt(); p.SetY(1); p.SetX(1); p.End() }, ".at.x: not set"},
		{"incomplete", func(w *ct.MaybeFinalWriter) { p := w.BeginAt(); p.SetX(1); p.End() }, ".at.y: not set"},
		{"twice", func(w *ct.MaybeFinalWriter) {
			p := w.BeginAt()
			p.SetX(1)
			p.SetY(1)
			p.SetX(1)
			p.SetQuality(1)
			p.End()
		},
			".at.x: set after y; a writer takes each member once, in the order of their declaration"},
		{"after the end", func(w *ct.MaybeFinalWriter) {
			p := w.BeginAt()
			p.SetX(1)
			p.SetY(1)
			p.SetQuality(1)
			p.End()
			p.SetX(1)
			w.SetTail(1)
		}, ": a member within was set by a writer that has ended, or by one that is not the innermost"},
		{"ended twice", func(w *ct.MaybeFinalWriter) {
			p := w.BeginAt()
			p.SetX(1)
			p.SetY(1)
			p.SetQuality(1)
			p.End()
			p.End()
		}, ".at: not by the innermost writer: one that this one began has not ended, or this one has"},
		{"above the innermost", func(w *ct.MaybeFinalWriter) { p := w.BeginAt(); w.SetID(1); p.SetX(1); p.End() },
			".at: a member within was set by a writer that has ended, or by one that is not the innermost"},
		{"again behind others", func(w *ct.MaybeFinalWriter) { w.SetHeight(1); w.SetID(1); w.SetTail(1) },
			".id: set after height; a writer takes each member once, in the order of their declaration"},
		{"End of the sample", func(w *ct.MaybeFinalWriter) { w.SetTail(1); w.End() }, ": End is for a value within another; a sample ends with Finish"},
		{"Finish within", func(w *ct.MaybeFinalWriter) { p := w.BeginAt(); p.Finish() },
			".at: Finish is for a sample; a value within another ends with End"},
	} {
		for _, enc := range []cdr.Encapsulation{cdr.CDR2LE, cdr.CDR2BE, cdr.CDRLE, cdr.CDRBE} {
			var s cdr.Stream
			w := ct.NewMaybeFinalWriter(&s, make([]byte, 200), enc)
			w.SetID(1)
			c.write(&w)
			if _, err := w.Finish(); err == nil || err.Error() != "cdr: write constructs::MaybeFinal"+c.text {
				t.Errorf("%s, %s: got  %v\nwant ...%s", c.name, enc, err, c.text)
			}
		}
	}
	var zero ct.PointWriter
	zero.SetX(1)
	zero.End()
	if _, err := zero.Finish(); !errors.Is(err, cdr.ErrMember) {
		t.Error(err)
	}
	var s cdr.Stream
	point := ct.NewPointWriter(&s, make([]byte, 200), cdr.CDRBE)
	point.SetX(1)
	if _, err := point.Finish(); err == nil || err.Error() != "cdr: write constructs::Point.y: not set" {
		t.Error(err)
	}
}

// TestCollectionsInCollectionsErrors holds where a writer says that something is wrong in a collection within others.
func TestCollectionsInCollectionsErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(w *ct.NestWriter)
		text  string
	}{
		{"element", func(w *ct.NestWriter) {
			w.BeginDeep(2)
			w.AddDeep(nil)
			rows := w.NextDeep(1)
			row := rows.Next(2)
			row.Add("a")
			row.Add("too long")
		}, ".deep[1][0][1]: string of 8 bytes exceeds its bound of 4"},
		{"elements missing", func(w *ct.NestWriter) { w.BeginDeep(1); rows := w.NextDeep(2); rows.Add(nil); rows.End() }, ".deep[0]: 1 of its 2 elements are not added"},
		{"an element more", func(w *ct.NestWriter) { w.BeginDeep(2); rows := w.NextDeep(1); rows.Add(nil); rows.Add(nil) }, ".deep[0]: an element more than it was begun with"},
		{"too large", func(w *ct.NestWriter) {
			w.SetDeep(nil)
			w.SetGrid(new([2][2][][]float64))
			w.SetTriples(nil)
			w.SetPair(new([2][3]int16))
			w.BeginSheets(1)
			m := w.NextSheets("k", 1)
			m.Next(5)
		}, ".sheets[0][0]: sequence of 5 elements exceeds its bound of 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s cdr.Stream
			w := ct.NewNestWriter(&s, make([]byte, 200), cdr.CDR2LE)
			w.SetMark(1)
			w.SetRagged(nil)
			w.SetMatrix(nil)
			c.write(&w)
			if _, err := w.Finish(); err == nil || err.Error() != "cdr: write constructs::Nest"+c.text {
				t.Errorf("got  %v\nwant ...%s", err, c.text)
			}
		})
	}
}
