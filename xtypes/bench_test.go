package xtypes

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
)

// Types of two versions, as discovery compares them.
func BenchmarkAssignable(b *testing.B) {
	version := func(n int) *Type {
		d := TypeDescriptor{Kind: TKStructure, Name: "Version", Extensibility: cdr.Appendable}
		for i := range n {
			d.Members = append(d.Members, member(fmt.Sprintf("member_%d", i), long))
		}
		return Must(Build(d))
	}
	older, newer := version(100), version(101)
	b.ReportAllocs()
	for b.Loop() {
		if err := Assignable(older, newer, DefaultConsistency()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccessor(b *testing.B) {
	rng := rand.New(rand.NewSource(3))
	flat := structure("Flat", cdr.Appendable, member("a", octet), member("b", double), member("s", NewString(0)), member("z", long))
	mutable := everything(cdr.Mutable)
	for _, c := range []struct {
		name, path string
		typ        *Type
	}{{"fixed", "b", flat}, {"string", "s", flat}, {"behind a string", "z", flat}, {"mutable, last", "far", mutable}} {
		b.Run(c.name, func(b *testing.B) {
			p, err := c.typ.Path(c.path)
			if err != nil {
				b.Fatal(err)
			}
			a, err := NewAccessor(p)
			if err != nil {
				b.Fatal(err)
			}
			sample, err := randomValue(rng.Uint64, c.typ, 0).(*Data).Encode(c.typ.Encapsulation(true, false))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok, err := a.Get(sample); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
