package cdr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String writes a string; bound counts bytes, 0 stands for none.
func (e *Encoder) String(name, v string, bound int) {
	if bound > 0 && len(v) > bound || uint64(len(v)) >= math.MaxUint32 {
		e.longString(name, len(v), bound)
		return
	}
	// As e.take(4, 4+len(v)+1), without the call: origins are multiples of 4.
	at := AlignUp(e.pos, 4)
	end := at + 4 + len(v) + 1
	if end > len(e.buf) {
		if i := strings.IndexByte(v, 0); i >= 0 {
			e.failNUL(name, v)
		} else {
			e.takeSlow(end)
		}
		return
	}
	binary.LittleEndian.PutUint32(e.buf[e.pos:], 0) // at most 3 are padding
	b := e.buf[at:end]
	if e.big {
		binary.BigEndian.PutUint32(b, uint32(len(v)+1))
	} else {
		binary.LittleEndian.PutUint32(b, uint32(len(v)+1))
	}
	var ok bool
	if b = b[4:]; len(v) > maxWords {
		b[copy(b, v)] = 0
		ok = strings.IndexByte(v, 0) < 0
	} else {
		ok = putWords(b, v)
	}
	if !ok {
		e.failNUL(name, v)
		return
	}
	e.pos = end
}

// maxWords is the length up to which strings are copied and searched in words.
const maxWords = 32

// putWords stores v, of at most maxWords bytes, and a NUL behind it in b, which has that many bytes. It says no if v
// has a NUL itself. The words may overlap. All that costs less than the calls that copy and search.
func putWords(b []byte, v string) bool {
	n := len(v)
	b = b[:n+1]
	b[n] = 0
	switch {
	case n >= 16:
		w0, w1, w2, w3 := wordOf(v), wordOf(v[8:]), wordOf(v[n-16:]), wordOf(v[n-8:])
		binary.LittleEndian.PutUint64(b, w0)
		binary.LittleEndian.PutUint64(b[8:], w1)
		binary.LittleEndian.PutUint64(b[n-16:], w2)
		binary.LittleEndian.PutUint64(b[n-8:], w3)
		return (hasZero(w0)|hasZero(w1)|hasZero(w2)|hasZero(w3))&highBits == 0
	case n >= 8:
		w0, w1 := wordOf(v), wordOf(v[n-8:])
		binary.LittleEndian.PutUint64(b, w0)
		binary.LittleEndian.PutUint64(b[n-8:], w1)
		return (hasZero(w0)|hasZero(w1))&highBits == 0
	}
	for i := range n {
		if b[i] = v[i]; v[i] == 0 {
			return false
		}
	}
	return true
}

const highBits = 0x8080_8080_8080_8080

// hasZero has some of highBits if a byte of w is 0: then the subtraction borrows from its highest bit, which was 0. A
// byte above one that is 0 may look so, too; none does where all are others.
func hasZero(w uint64) uint64 { return (w - highBits>>7) &^ w }

// failNUL keeps the error that a string has a NUL.
func (e *Encoder) failNUL(name, v string) {
	e.fail(&Error{Path: name, Err: ErrInvalidValue, Detail: fmt.Sprintf("string has a NUL at byte %d of %d", strings.IndexByte(v, 0), len(v))})
}

func (e *Encoder) longString(name string, n, bound int) {
	limit := "its bound of " + strconv.Itoa(bound)
	if bound == 0 {
		limit = strconv.Itoa(math.MaxUint32 - 1)
	}
	e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("string of %d bytes exceeds %s", n, limit)})
}

// WString writes a wstring; bound counts UTF-16 code units, 0 stands for none.
func (e *Encoder) WString(name, v string, bound int) {
	units := 0
	for i, r := range v {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(v[i:]); n == 1 {
				e.fail(&Error{Path: name, Err: ErrInvalidValue, Detail: fmt.Sprintf("wstring is not UTF-8 at byte %d of %d", i, len(v))})
				return
			}
		}
		units++
		if r > 0xffff {
			units++
		}
	}
	if bound > 0 && units > bound {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("wstring of %d code units exceeds its bound of %d", units, bound)})
		return
	}
	if uint64(units) > math.MaxUint32/2 {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("wstring of %d code units exceeds %d", units, uint32(math.MaxUint32/2))})
		return
	}
	e.Uint32(uint32(2 * units))
	b := e.take(2, 2*units)
	if b == nil {
		return
	}
	order := e.order()
	for _, r := range v {
		if r > 0xffff {
			r -= 0x10000
			order.PutUint16(b, uint16(0xd800+r>>10))
			b = b[2:]
			r = 0xdc00 + r&0x3ff
		}
		order.PutUint16(b, uint16(r))
		b = b[2:]
	}
}

// String reads a string into memory of its own; bound counts bytes, 0 stands for none.
func (d *Decoder) String(name string, bound int) string {
	return string(d.stringBytes(name, bound))
}

// stringBytes reads a string without its NUL. A length of 0, which some implementations send for the empty
// string, is accepted.
func (d *Decoder) stringBytes(name string, bound int) []byte {
	n := d.length(name)
	if n == 0 {
		return nil
	}
	b := d.take(name, 1, n)
	switch {
	case b == nil:
		return nil
	case b[n-1] != 0:
		d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("string of length %d does not end in NUL", n)})
		return nil
	case bound > 0 && n-1 > bound:
		d.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("string of %d bytes exceeds its bound of %d", n-1, bound)})
		return nil
	}
	if i := bytes.IndexByte(b, 0); i < n-1 {
		d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("string of length %d has a NUL at byte %d", n, i)})
		return nil
	}
	return b[:n-1]
}

// length reads a length in bytes and refuses one that the input cannot hold.
func (d *Decoder) length(name string) int {
	n := d.Uint32(name)
	if uint64(n) > uint64(d.end-d.pos) {
		d.fail(&Error{Path: name, Err: ErrTruncated,
			Detail: fmt.Sprintf("length %d at offset %d, %d bytes present", n, d.pos-4+HeaderSize, d.end-d.pos)})
		return 0
	}
	return int(n)
}

// WString reads a wstring; bound counts UTF-16 code units, 0 stands for none.
func (d *Decoder) WString(name string, bound int) string {
	b := d.wstringBytes(name, bound)
	if len(b) == 0 {
		return ""
	}
	return string(appendUTF8(make([]byte, 0, len(b)), b, d.big))
}

// wstringBytes reads the code units of a wstring and checks that they pair up.
func (d *Decoder) wstringBytes(name string, bound int) []byte {
	n := d.length(name)
	if n == 0 {
		return nil
	}
	b := d.take(name, 2, n&^1)
	switch {
	case n%2 != 0:
		d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("wstring has an odd length of %d bytes", n)})
		return nil
	case bound > 0 && n/2 > bound:
		d.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("wstring of %d code units exceeds its bound of %d", n/2, bound)})
		return nil
	}
	for i := 0; i < len(b); i += 2 {
		u := rune(loadUint16(b[i:], d.big))
		if !utf16.IsSurrogate(u) {
			continue
		}
		if i+4 > len(b) || utf16.DecodeRune(u, rune(loadUint16(b[i+2:], d.big))) == utf8.RuneError {
			d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("wstring has half of a surrogate pair at code unit %d", i/2)})
			return nil
		}
		i += 2
	}
	return b
}

// appendUTF8 converts code units that are known to pair up.
func appendUTF8(dst, units []byte, big bool) []byte {
	for ; len(units) >= 2; units = units[2:] {
		r := rune(loadUint16(units, big))
		if utf16.IsSurrogate(r) && len(units) >= 4 {
			units = units[2:]
			r = utf16.DecodeRune(r, rune(loadUint16(units, big)))
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// wordOf is the first eight bytes of v as a number; the compiler makes one load of it.
func wordOf(v string) uint64 {
	_ = v[7]
	return uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 | uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56
}
