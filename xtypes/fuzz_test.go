package xtypes

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
)

// FuzzDecode: no sample makes the decoder panic, and what it accepts is written and read again as the same value.
func FuzzDecode(f *testing.F) {
	types := []*Type{everything(cdr.Final), everything(cdr.Appendable), everything(cdr.Mutable)}
	rng := rand.New(rand.NewSource(9))
	for i, t := range types {
		d := randomValue(rng.Uint64, t, 0).(*Data)
		for _, enc := range encapsulations(t) {
			b, err := d.Encode(enc)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), b)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, sample []byte) {
		typ := types[int(which)%len(types)]
		d, err := Decode(typ, sample)
		if err != nil {
			return
		}
		once, err := d.Encode(cdr.Encapsulation(sample[1]))
		if err != nil {
			t.Fatalf("what was read does not write: %v", err)
		}
		again, err := Decode(typ, once)
		if err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
		twice, err := again.Encode(cdr.Encapsulation(sample[1]))
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written twice, and not alike: %v", err)
		}
	})
}

// FuzzJSON: no document makes the reader panic, and what it accepts is written, and read again as the same value.
func FuzzJSON(f *testing.F) {
	types := []*Type{everything(cdr.Final), everything(cdr.Appendable), everything(cdr.Mutable)}
	rng := rand.New(rand.NewSource(11))
	for i, t := range types {
		for range 3 {
			text, err := randomValue(rng.Uint64, t, 0).(*Data).MarshalJSON()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		d, err := NewData(types[int(which)%len(types)])
		if err != nil {
			t.Fatal(err)
		}
		if d.UnmarshalJSON(text) != nil {
			return
		}
		once, err := d.MarshalJSON()
		if err != nil {
			t.Fatalf("what was read does not write: %v", err)
		}
		again, err := NewData(d.Type())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(once); err != nil {
			t.Fatalf("what was written does not read: %v\n%s", err, once)
		}
		if twice, err := again.MarshalJSON(); err != nil || !bytes.Equal(once, twice) || !d.Equal(again) {
			t.Fatalf("written twice, and not alike: %v\n%s\n%s", err, once, twice)
		}
	})
}
