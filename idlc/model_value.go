package idlc

import (
	"math/big"
	"strings"
)

// Value is a constant: an integer, a character, a floating-point number, a fixed-point number, a string, a boolean, an enumerator
// or flags of a bitmask. Fields that are nil are not it; the zero Value is none.
type Value struct {
	Int   *big.Int
	Float *float64
	Fixed *big.Rat
	Str   *string
	Bool  *bool
	Enum  *Enumerator
	Char  bool     // Int holds a character
	Wide  bool     // Int holds a wide character, Str a wide string: written L'x', L"x"
	Mask  *Bitmask // Int holds flags of it
}

// Valid tells whether there is a value.
func (v Value) Valid() bool {
	return v.Int != nil || v.Float != nil || v.Fixed != nil || v.Str != nil || v.Bool != nil || v.Enum != nil
}

// Ordinal gives what stands for an integer, a character, a boolean, an enumerator or flags on the wire; 0 for others. An unsigned
// number above the int64 wraps.
func (v Value) Ordinal() int64 {
	switch {
	case v.Enum != nil:
		return int64(v.Enum.Value)
	case v.Bool != nil && *v.Bool:
		return 1
	case v.Int != nil && v.Int.IsInt64():
		return v.Int.Int64()
	case v.Int != nil:
		return int64(v.Int.Uint64())
	}
	return 0
}

// integer tells whether the value is a number without a fraction, and not a character or flags.
func (v Value) integer() bool { return v.Int != nil && !v.Char && v.Mask == nil }

func (v Value) kind() string {
	switch {
	case v.Char && v.Wide:
		return "a wide character"
	case v.Char:
		return "a character"
	case v.Mask != nil:
		return "a flag of " + v.Mask.Name
	case v.Int != nil:
		return "an integer"
	case v.Float != nil:
		return "a floating-point number"
	case v.Fixed != nil:
		return "a fixed-point number"
	case v.Str != nil && v.Wide:
		return "a wide string"
	case v.Str != nil:
		return "a string"
	case v.Bool != nil:
		return "a boolean"
	case v.Enum != nil:
		return "an enumerator of " + v.Enum.Enum.Name
	}
	return "nothing"
}

// text writes a value as in IDL.
func (v Value) text() string {
	switch {
	case v.Enum != nil:
		return v.Enum.Name
	case v.Bool != nil && *v.Bool:
		return "TRUE"
	case v.Bool != nil:
		return "FALSE"
	case v.Str != nil:
		return literalText(*v.Str, '"')
	case v.Float != nil:
		return formatFloat(*v.Float)
	case v.Fixed != nil:
		return strings.TrimSuffix(strings.TrimRight(v.Fixed.FloatString(maxDigits), "0"), ".") + "d"
	case v.Char:
		return literalText(string(rune(v.Int.Int64())), '\'')
	case v.Int != nil:
		return v.Int.String()
	}
	return "?"
}
