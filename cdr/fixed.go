package cdr

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxFixedDigits is the largest number of digits that IDL's fixed has.
const MaxFixedDigits = 31

// Fixed is a value of the IDL type fixed: a decimal number of up to 31 digits. Values are comparable with ==: zeros behind
// the point that say nothing are left out, and there is one zero.
//
// On the wire a digit takes half of a byte, the most significant first, and the sign the last half: 0xc or 0xd for less than
// zero. If the number of digits is even, half a byte of zero comes first.
type Fixed struct {
	digits   [MaxFixedDigits]uint8 // the least significant first
	scale    uint8                 // how many of them are behind the point
	negative bool
}

// ParseFixed reads a decimal number: "-12.50".
func ParseFixed(s string) (Fixed, error) {
	var v Fixed
	text := s
	if v.negative = strings.HasPrefix(text, "-"); v.negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	all := whole + strings.TrimRight(fraction, "0")
	if len(text) == 0 || text == "." || strings.Trim(all, "0123456789") != "" {
		return Fixed{}, fmt.Errorf("%q is no decimal number", s)
	}
	if len(all) > MaxFixedDigits {
		return Fixed{}, fmt.Errorf("%q has more than %d digits", s, MaxFixedDigits)
	}
	for i := range len(all) {
		v.digits[i] = all[len(all)-1-i] - '0'
	}
	v.scale = uint8(len(all) - len(whole))
	return v.normal(), nil
}

// MustFixed is ParseFixed for literals in generated code, which are known to be right. It gives zero for what is not.
func MustFixed(s string) Fixed {
	v, _ := ParseFixed(s)
	return v
}

// normal drops zeros behind the point, and the sign of zero.
func (v Fixed) normal() Fixed {
	for v.scale > 0 && v.digits[0] == 0 {
		copy(v.digits[:], v.digits[1:])
		v.digits[MaxFixedDigits-1] = 0
		v.scale--
	}
	if v.digits == (Fixed{}).digits {
		return Fixed{}
	}
	return v
}

// String gives the number in decimal: "-12.5".
func (v Fixed) String() string {
	top := MaxFixedDigits - 1
	for top > int(v.scale) && v.digits[top] == 0 {
		top--
	}
	var b strings.Builder
	if v.negative {
		b.WriteByte('-')
	}
	if int(v.scale) == MaxFixedDigits {
		b.WriteByte('0')
	}
	for i := top; i >= 0; i-- {
		if i == int(v.scale)-1 {
			b.WriteByte('.')
		}
		b.WriteByte('0' + v.digits[i])
	}
	return b.String()
}

// Float64 gives the nearest float64.
func (v Fixed) Float64() float64 {
	f, _ := strconv.ParseFloat(v.String(), 64)
	return f
}

// Rat gives the exact value.
func (v Fixed) Rat() *big.Rat {
	r, _ := new(big.Rat).SetString(v.String())
	return r
}

// MarshalText is String, for JSON and the like.
func (v Fixed) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseFixed.
func (v *Fixed) UnmarshalText(text []byte) error {
	parsed, err := ParseFixed(string(text))
	if err == nil {
		*v = parsed
	}
	return err
}

// at is the digit for 10^power.
func (v *Fixed) at(power int) uint8 {
	if i := power + int(v.scale); i >= 0 && i < MaxFixedDigits {
		return v.digits[i]
	}
	return 0
}

// Fixed writes a decimal number of so many digits, scale of them behind the point. A number that needs more is an error.
func (e *Encoder) Fixed(name string, v Fixed, digits, scale int) {
	for i, digit := range v.digits {
		if power := i - int(v.scale); digit != 0 && (power < -scale || power >= digits-scale) {
			e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%s does not fit into fixed<%d, %d>", v, digits, scale)})
			return
		}
	}
	n := (digits + 2) / 2
	b := e.take(1, n)
	if b == nil {
		return
	}
	sign := byte(0xc)
	if v.negative {
		sign = 0xd
	}
	for i := range n { // from the last byte: the halves are powers of ten that rise
		low := sign
		if i > 0 {
			low = v.at(2*i - 1 - scale)
		}
		high := byte(0)
		if 2*i < digits {
			high = v.at(2*i - scale)
		}
		b[n-1-i] = high<<4 | low
	}
}

// Fixed reads a decimal number of so many digits, scale of them behind the point.
func (d *Decoder) Fixed(name string, digits, scale int) Fixed {
	b := d.take(name, 1, (digits+2)/2)
	if b == nil {
		return Fixed{}
	}
	v, ok := unpackFixed(b, digits, scale)
	if !ok {
		d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("%x is no packed decimal number of %d digits", b, digits)})
		return Fixed{}
	}
	return v
}

// Fixed reads a decimal number; what is none reads as zero.
func (s Sample) Fixed(at int32, digits, scale int) Fixed {
	v, _ := unpackFixed(s.at(at, (digits+2)/2), digits, scale)
	return v
}

func unpackFixed(b []byte, digits, scale int) (v Fixed, ok bool) {
	if len(b) == 0 {
		return Fixed{}, false
	}
	v.scale = uint8(scale)
	n := len(b)
	switch b[n-1] & 0xf {
	case 0xc, 0xf:
	case 0xd:
		v.negative = true
	default:
		return Fixed{}, false
	}
	for i := range 2*n - 1 {
		half := b[n-1-(i+1)/2] // the sign comes first: digit i is half i+1 from behind
		if i%2 == 0 {
			half >>= 4
		}
		half &= 0xf
		if half > 9 || i >= digits && half != 0 {
			return Fixed{}, false
		}
		if i < digits {
			v.digits[i] = half
		}
	}
	return v.normal(), true
}
