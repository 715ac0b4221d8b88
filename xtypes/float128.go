package xtypes

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Float128 holds the 16 bytes of a long double (IEEE 754 binary128), little endian. Go has no such number: it is carried, not
// computed with.
type Float128 [16]byte

const bias128, bias64 = 16383, 1023

// Float128From gives the long double that equals f; every double has one.
func Float128From(f float64) Float128 {
	b := math.Float64bits(f)
	exponent, fraction := b>>52&0x7ff, b&(1<<52-1)
	switch {
	case exponent == 0x7ff:
		exponent = 0x7fff
	case exponent > 0:
		exponent += bias128 - bias64
	case fraction > 0: // subnormal: a long double has room for it as a normal number
		shift := bits.LeadingZeros64(fraction) - 11
		fraction = fraction << shift & (1<<52 - 1)
		exponent = uint64(bias128 - bias64 + 1 - shift)
	}
	var v Float128
	binary.LittleEndian.PutUint64(v[8:], b>>63<<63|exponent<<48|fraction>>4)
	binary.LittleEndian.PutUint64(v[:8], fraction<<60)
	return v
}

// Float64 gives the nearest double, ties to even.
func (f Float128) Float64() float64 {
	low, high := binary.LittleEndian.Uint64(f[:8]), binary.LittleEndian.Uint64(f[8:])
	exponent, fraction := int(high>>48&0x7fff), high&(1<<48-1)
	var v float64
	switch {
	case exponent == 0x7fff && fraction|low != 0:
		return math.NaN()
	case exponent == 0x7fff:
		v = math.Inf(1)
	case exponent > 0: // what is smaller is far below the smallest double
		m := new(big.Int).SetUint64(1<<48 | fraction)
		m.Or(m.Lsh(m, 64), new(big.Int).SetUint64(low))
		exact := new(big.Float).SetInt(m)
		v, _ = exact.SetMantExp(exact, exponent-bias128-112).Float64()
	}
	if high>>63 == 1 {
		v = -v
	}
	return v
}
