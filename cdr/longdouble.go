package cdr

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// LongDouble is the IDL type long double: an IEEE 754 binary128 number, its least significant byte first. Go has no
// arithmetic for it; Float64 and LongDoubleOf convert.
type LongDouble [16]byte

const (
	quadBias   = 16383
	doubleBias = 1023
	quadMax    = 0x7fff // the exponent of infinities and NaNs
)

// LongDoubleOf gives the number that is f: every float64 is one.
func LongDoubleOf(f float64) LongDouble {
	bits := math.Float64bits(f)
	sign, exponent, fraction := bits>>63, int(bits>>52&0x7ff), bits<<12
	switch {
	case exponent == 0x7ff:
		exponent = quadMax
	case exponent == 0 && fraction == 0:
	case exponent == 0: // subnormal: the first bit of the fraction becomes the one in front of the point
		for exponent = 1 - doubleBias + quadBias; fraction>>63 == 0; exponent-- {
			fraction <<= 1
		}
		fraction <<= 1
		exponent--
	default:
		exponent += quadBias - doubleBias
	}
	var v LongDouble
	binary.LittleEndian.PutUint64(v[8:], sign<<63|uint64(exponent)<<48|fraction>>16)
	binary.LittleEndian.PutUint64(v[:], fraction<<48)
	return v
}

// Float64 gives the nearest float64, ties to even.
func (v LongDouble) Float64() float64 {
	high, low := binary.LittleEndian.Uint64(v[8:]), binary.LittleEndian.Uint64(v[:])
	exponent := int(high >> 48 & quadMax)
	fraction := high<<16>>1 | low>>49 // 63 bits behind the point
	if low<<15 != 0 {
		fraction |= 1 // so that halves round right
	}
	var f float64
	switch {
	case exponent == quadMax && fraction == 0:
		f = math.Inf(1)
	case exponent == quadMax:
		f = math.NaN()
	case exponent > quadBias-doubleBias:
		f = math.Ldexp(float64(fraction|1<<63), exponent-quadBias-63)
	case exponent > 0: // smaller ones are below what float64 has
		f = subnormal(fraction|1<<63, quadBias-exponent-1011)
	}
	if high>>63 == 1 {
		f = -f
	}
	return f
}

// subnormal gives the float64 whose bits are m without its last n. It rounds once, to even: Ldexp would round a second time.
func subnormal(m uint64, n int) float64 {
	if n > 64 {
		return 0
	}
	bits, rest, half := m>>n, m<<(64-n), uint64(1)<<63
	if rest > half || rest == half && bits&1 == 1 {
		bits++
	}
	return math.Float64frombits(bits)
}

// String gives the nearest float64 in decimal.
func (v LongDouble) String() string { return strconv.FormatFloat(v.Float64(), 'g', -1, 64) }

// MarshalText gives "0x" and 32 hexadecimal digits, the most significant first: nothing is lost.
func (v LongDouble) MarshalText() ([]byte, error) {
	slices.Reverse(v[:])
	return hex.AppendEncode([]byte("0x"), v[:]), nil
}

// UnmarshalText is the inverse of MarshalText. It takes a decimal number, too.
func (v *LongDouble) UnmarshalText(text []byte) error {
	if digits, ok := strings.CutPrefix(string(text), "0x"); ok && len(digits) == 2*len(v) {
		if _, err := hex.Decode(v[:], []byte(digits)); err != nil {
			return fmt.Errorf("%q is no long double: %w", text, err)
		}
		slices.Reverse(v[:])
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%q is no long double", text)
	}
	*v = LongDoubleOf(f)
	return nil
}

// LongDouble writes a long double.
func (e *Encoder) LongDouble(v LongDouble) {
	if e.big {
		slices.Reverse(v[:])
	}
	if b := e.take(8, len(v)); b != nil {
		copy(b, v[:])
	}
}

// LongDouble reads a long double.
func (d *Decoder) LongDouble(name string) LongDouble {
	return longDouble(d.take(name, 8, len(LongDouble{})), d.big)
}

// LongDouble reads a long double.
func (s Sample) LongDouble(at int32) LongDouble {
	return longDouble(s.at(at, len(LongDouble{})), s.big)
}

func longDouble(b []byte, big bool) (v LongDouble) {
	copy(v[:], b)
	if big {
		slices.Reverse(v[:])
	}
	return v
}
