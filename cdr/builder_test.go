package cdr

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A builder refuses a NUL wherever it is in a string, and nothing else: short strings are looked at in words.
func TestBuilderStringNUL(t *testing.T) {
	info := &TypeInfo{Name: "Strings"}
	build := func(v string) ([]byte, error) {
		buf := bytes.Repeat([]byte{0xaa}, 100)
		var b Builder
		b.Init(buf, info, []string{"s"})
		n, err := b.Finish([]bool{b.String(0, 0, v, 0)})
		return buf[:n], err
	}
	for n := range 40 {
		for _, fill := range []string{"\x01", "a", "\x7f", "\x80", "\x81", "\xff"} {
			v := strings.Repeat(fill, n)
			got, err := build(v)
			want := []byte{0, 7, 0, byte(-(n + 1) & 3), byte(n + 1), 0, 0, 0}
			want = append(append(want, v...), make([]byte, 1+-(n+1)&3)...)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%q: %x, %v; want %x", v, got, err, want)
			}
			for at := range n {
				if _, err := build(v[:at] + "\x00" + v[at+1:]); !errors.Is(err, ErrInvalidValue) {
					t.Fatalf("NUL at byte %d of %d times %q: %v", at, n, fill, err)
				}
			}
		}
	}
}
