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

// shallow is deep without that need.
type shallow struct{ deep }

func (m *shallow) MarshalCDR(e *Encoder) {
	e.Int32(m.before)
	e.Int32(m.after)
}

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

// below calls f with about 48 bytes of stack more for each of n, and with 64 for each of wide.
//
//go:noinline
func below(n, wide int, f func()) byte {
	if n == 0 {
		return belowWide(wide, f)
	}
	return below(n-1, wide, f) + byte(n)
}

//go:noinline
func belowWide(n int, f func()) byte {
	var frame [16]byte
	if n == 0 {
		f()
	} else {
		frame[n%16] = belowWide(n-1, f)
	}
	return frame[(n+1)%16]
}

// TestTheStackMovesAroundConfined makes the stack too small in another place each time. Under the race detector, the
// runtime checks conversions of pointers, and the check may need more stack than there is.
func TestTheStackMovesAroundConfined(t *testing.T) {
	runtime.GC() // stacks begin small again: not as large as those of other tests were
	for n := range 400 {
		for wide := range 4 {
			done := make(chan error)
			go func() {
				var sample []byte
				var err error
				m := shallow{}
				below(n, wide, func() { sample, err = Marshal(&m, CDR2LE) })
				if err == nil && len(sample) != 12 {
					err = ErrInvalidValue
				}
				done <- err
			}()
			noError(t, <-done)
		}
	}
}
