package idlc

import (
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
)

// The benchmarks show what one small sample costs in each of the ways to write and to read it.

func BenchmarkPrimitives(b *testing.B) {
	buf := make([]byte, 64)
	m := primitivesValue
	n, err := cdr.MarshalTo(buf, &m, cdr.CDR2LE)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Size", func(b *testing.B) {
		for b.Loop() {
			_, _ = cdr.Size(&m, cdr.CDR2LE)
		}
	})
	b.Run("MarshalTo", func(b *testing.B) {
		for b.Loop() {
			_, _ = cdr.MarshalTo(buf, &m, cdr.CDR2LE)
		}
	})
	b.Run("MarshalToXCDR1", func(b *testing.B) {
		for b.Loop() {
			_, _ = cdr.MarshalTo(buf, &m, cdr.CDRLE)
		}
	})
	sample := append([]byte{}, buf[:n]...)
	if _, err := cdr.MarshalTo(sample, &m, cdr.CDR2LE); err != nil {
		b.Fatal(err)
	}
	b.Run("Unmarshal", func(b *testing.B) {
		for b.Loop() {
			_ = cdr.Unmarshal(sample, &m)
		}
	})
	b.Run("View", func(b *testing.B) {
		for b.Loop() {
			v, err := tt.NewPrimitivesView(sample)
			if err != nil || v.F64() != -2.5 {
				b.Fatal(err)
			}
		}
	})
	b.Run("Builder", func(b *testing.B) {
		for b.Loop() {
			w := tt.NewPrimitivesBuilder(buf)
			w.SetB(true)
			w.SetO(1)
			w.SetC(1)
			w.SetWc(1)
			w.SetI8(1)
			w.SetU8(1)
			w.SetI16(1)
			w.SetU16(1)
			w.SetI32(1)
			w.SetU32(1)
			w.SetI64(1)
			w.SetU64(1)
			w.SetF32(1)
			w.SetF64(1)
			if _, err := w.Finish(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	sample, err := cdr.Marshal(&textValue, cdr.DCDR2LE)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("MarshalTo", func(b *testing.B) {
		for b.Loop() {
			_, _ = cdr.MarshalTo(sample, &textValue, cdr.DCDR2LE)
		}
	})
	b.Run("View", func(b *testing.B) {
		for b.Loop() {
			v, err := tt.NewTextView(sample)
			if err != nil || v.S() != "ab" {
				b.Fatal(err)
			}
		}
	})
	key := make([]byte, 0, 32)
	base, _ := cdr.Marshal(&tt.Base{ID: "x"}, cdr.DCDR2LE)
	b.Run("KeyFromSample", func(b *testing.B) {
		for b.Loop() {
			_, _ = cdr.KeyFromSample(key, (*tt.Base)(nil), base)
		}
	})
}

// BenchmarkBulk copies 10 KB, which is what the core's papers measure with.
func BenchmarkBulk(b *testing.B) {
	m := &tt.Collections{Blob: make([]byte, 10<<10), Tinies: [3]tt.Tiny{5, 5, 5}}
	buf := make([]byte, 11<<10)
	b.SetBytes(10 << 10)
	for b.Loop() {
		if _, err := cdr.MarshalTo(buf, m, cdr.DCDR2LE); err != nil {
			b.Fatal(err)
		}
	}
}
