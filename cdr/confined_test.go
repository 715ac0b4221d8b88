package cdr

import (
	"runtime"
	"testing"
)

// deep needs much stack between one member and the next: struct deep { long before; long after; };
type deep struct{ before, after int32 }

var deepType = Define(TypeInfo{Name: "test::deep", MaxSize: 8, Text: "deep"})

func (*deep) CDRType() *TypeInfo { return deepType }

func (m *deep) MarshalCDR(e *Encoder) {
	e.Int32(m.before)
	growStack(100)
	e.Int32(m.after)
}

func (m *deep) UnmarshalCDR(d *Decoder) {
	m.before = d.Int32("before")
	growStack(100)
	m.after = d.Int32("after")
}

func (m *deep) MarshalKeyCDR(e *Encoder)             { m.MarshalCDR(e) }
func (m *deep) UnmarshalKeyCDR(d *Decoder)           { m.UnmarshalCDR(d) }
func (*deep) TranscodeKeyCDR(d *Decoder, e *Encoder) {}

// growStack makes the runtime move the stack, and shrink it when it looks for garbage.
//
//go:noinline
func growStack(n int) byte {
	var frame [4096]byte
	frame[n] = byte(n)
	if n > 0 {
		return growStack(n-1) + frame[n]
	}
	runtime.GC()
	return frame[0]
}

// TestTheStackMovesUnderACoder starts on a small stack each time.
func TestTheStackMovesUnderACoder(t *testing.T) {
	for range 20 {
		done := make(chan error)
		go func() {
			m := deep{1, 2}
			sample, err := Marshal(&m, CDR2LE)
			if err == nil {
				err = Unmarshal(sample, &m)
			}
			if err == nil && m != (deep{1, 2}) {
				err = ErrInvalidValue
			}
			done <- err
		}()
		noError(t, <-done)
	}
}
