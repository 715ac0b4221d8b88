package idlc

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/xtypes"
)

// described gives the types of generated code that have a type object, with it.
func described(t testing.TB) (list []generated, types []*xtypes.Type) {
	t.Helper()
	for _, g := range allGenerated {
		info := g.message().CDRType()
		switch g.message().(type) {
		case *ct.Defaulted, *ct.NewerLoose:
			continue // type objects have no @default and no ranges that are checked
		}
		if info.TypeObject == "" {
			continue // fixed, or a label beyond 32 bits
		}
		typ, _, _, err := xtypes.ParseDescription([]byte(info.TypeObject))
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		list, types = append(list, g), append(types, typ)
	}
	return list, types
}

// sameDecoding gives a sample, which may be damaged, to generated code and to dynamic data: both take it or both refuse
// it, and what they have read encodes alike.
func sameDecoding(t *testing.T, g generated, typ *xtypes.Type, sample []byte) {
	t.Helper()
	m := g.message()
	genErr := cdr.Unmarshal(sample, m)
	d, dynErr := xtypes.Decode(typ, sample)
	if (genErr == nil) != (dynErr == nil) {
		t.Fatalf("%s: generated code says %v, dynamic data %v\n%s", g.name, genErr, dynErr, hex.Dump(sample))
	}
	if genErr != nil {
		return
	}
	enc := cdr.DefaultEncapsulation(m.CDRType())
	gen, genErr := cdr.Marshal(m, enc)
	dyn, dynErr := d.Encode(enc)
	if genErr != nil || dynErr != nil || !bytes.Equal(gen, dyn) {
		t.Fatalf("%s: of\n%s\ngenerated code has read, %v,\n%s\ndynamic data, %v,\n%s", g.name, hex.Dump(sample), genErr, hex.Dump(gen), dynErr, hex.Dump(dyn))
	}
}

// FuzzDifferential damages samples for sameDecoding.
func FuzzDifferential(f *testing.F) {
	list, types := described(f)
	rnd := rand.New(rand.NewPCG(13, 14))
	for i, g := range list {
		m := g.message()
		fill(rnd, reflect.ValueOf(m).Elem(), 0)
		for _, enc := range encapsulations(m.CDRType()) {
			sample, err := cdr.Marshal(m, enc)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), sample)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, sample []byte) {
		i := int(which) % len(list)
		sameDecoding(t, list[i], types[i], sample)
	})
}

// TestDamagedSamplesReadAlike changes random bytes of samples of all types, mostly in those that steer the decoding.
func TestDamagedSamplesReadAlike(t *testing.T) {
	list, types := described(t)
	for i, g := range list {
		t.Run(g.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(i), 15))
			for range 300 {
				m := g.message()
				fill(rnd, reflect.ValueOf(m).Elem(), 0)
				encs := encapsulations(m.CDRType())
				sample, err := cdr.Marshal(m, encs[rnd.IntN(len(encs))])
				if err != nil {
					t.Fatal(err)
				}
				for range 1 + rnd.IntN(3) {
					if len(sample) == cdr.HeaderSize {
						break
					}
					at := cdr.HeaderSize + rnd.IntN(len(sample)-cdr.HeaderSize)
					switch rnd.IntN(4) {
					case 0:
						sample[at] = byte(rnd.Uint32())
					case 1:
						sample[at] ^= 1 << rnd.IntN(8)
					case 2:
						sample[at] = byte(rnd.IntN(5))
					case 3:
						sample = sample[:at]
						sample[3] &^= 3
					}
				}
				sameDecoding(t, g, types[i], sample)
			}
		})
	}
}

// TestNarrowTypesReadAlike gives values to types that can not hold all of them, and say with @try_construct what happens then.
func TestNarrowTypesReadAlike(t *testing.T) {
	received := of[ct.Received](ct.NewReceivedView, func([]byte) int { return 0 }, ct.NewReceivedWriter)
	typ, _, _, err := xtypes.ParseDescription([]byte(received.message().CDRType().TypeObject))
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 16))
		var sent ct.Sent
		fill(rnd, reflect.ValueOf(&sent).Elem(), 0)
		for _, e := range []*int32{&sent.Color, &sent.Strict.Color} { // mostly ones that there are
			*e = rnd.Int32N(4)
		}
		sent.Picks, sent.Text = append(sent.Picks, 1), sent.Text+"ü"
		for _, list := range [][]ct.StrictSent{sent.Many, sent.Firsts} {
			for i := range list {
				list[i].Color = rnd.Int32N(4)
			}
		}
		sent.Blob = sent.Blob[:min(len(sent.Blob), 3)]
		encs := encapsulations(sent.CDRType())
		sample, err := cdr.Marshal(&sent, encs[rnd.IntN(len(encs))])
		if err != nil {
			t.Fatal(err)
		}
		sameDecoding(t, received, typ, sample)
		var got ct.Received
		if cdr.Unmarshal(sample, &got) != nil {
			continue
		}
		taken++
		view, err := ct.NewReceivedView(sample)
		if err != nil {
			t.Fatalf("decodes, but the view says %v", err)
		}
		_ = view
	}
	if taken < 500 {
		t.Errorf("only %d of 2000 samples can be read", taken)
	}
}
