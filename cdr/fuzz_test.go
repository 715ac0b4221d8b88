package cdr

import (
	"bytes"
	"runtime"
	"testing"
)

// FuzzDecode gives any bytes to the decoder: it may not panic, and what decodes must encode to something stable.
func FuzzDecode(f *testing.F) {
	for enc := range vectors {
		f.Add(vector(f, enc))
	}
	f.Add([]byte{0, 7, 0, 0, 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, sample []byte) {
		for _, m := range []Message{&track{}, &fix{}, &chain{}} {
			if _, err := KeyFromSample(nil, m, sample); err == nil && Unmarshal(sample, m) == nil {
				enc := DefaultEncapsulation(m.CDRType())
				first, err := Marshal(m, enc)
				if err != nil {
					t.Fatalf("decodes, but %v", err)
				}
				if err := Unmarshal(first, m); err != nil {
					t.Fatalf("encodes, but %v", err)
				}
				if second, err := Marshal(m, enc); err != nil || !bytes.Equal(first, second) {
					t.Fatalf("%v: %x and %x", err, first, second)
				}
			}
		}
	})
}

// TestAllocationBoundedByInput claims huge lengths in short samples.
func TestAllocationBoundedByInput(t *testing.T) {
	for _, c := range []struct {
		name, in string
		m        Message
	}{
		{"string", "0001 0000 07000000 ffffff7f 6161", &track{}},
		{"sequence of structs", "0007 0000 08000000 ffffff0f 00000000", &chain{}},
		{"within the bound, not within the input", "0001 0000 07000000 01000000 00 000000 0000000000000000 01000000 04000000", &track{}},
		{"sequence of primitives", "0009 0000 24000000 07000000 01000000 00 000000 0000000000000000 01 000000 04000000 00000000 ffffff7f", &track{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := unhex(t, c.in)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := Unmarshal(in, c.m); err == nil {
				t.Fatal("accepted")
			}
			runtime.ReadMemStats(&after)
			perRun := after.TotalAlloc - before.TotalAlloc
			if perRun > 64<<10 {
				t.Errorf("%d bytes allocated for %d bytes of input", perRun, len(in))
			}
		})
	}
}
