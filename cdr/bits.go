package cdr

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Flag is a bit of a bitmask with its name in IDL.
type Flag struct {
	Name string
	Bit  int
}

// FormatFlags gives names with bars between them; bits without a name come last, as a number.
func FormatFlags(v uint64, flags []Flag) string {
	var b strings.Builder
	for _, f := range flags {
		if v>>f.Bit&1 == 1 {
			v &^= 1 << f.Bit
			if b.Len() > 0 {
				b.WriteByte('|')
			}
			b.WriteString(f.Name)
		}
	}
	if v != 0 || b.Len() == 0 {
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		fmt.Fprintf(&b, "%#x", v)
	}
	return b.String()
}

// ParseFlags is the inverse of FormatFlags, for a bitmask of so many bits.
func ParseFlags(s string, flags []Flag, bits int) (uint64, error) {
	var v uint64
	for part := range strings.SplitSeq(s, "|") {
		bit, err := parseFlag(strings.TrimSpace(part), flags, bits)
		if err != nil {
			return 0, err
		}
		v |= bit
	}
	return v, nil
}

func parseFlag(s string, flags []Flag, bits int) (uint64, error) {
	for _, f := range flags {
		if f.Name == s {
			return 1 << f.Bit, nil
		}
	}
	v, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is no flag and no number of %d bits", s, bits)
	}
	return v, nil
}

// MarshalFlagsJSON gives a list of names; bits without a name come last, as a number.
func MarshalFlagsJSON(v uint64, flags []Flag) ([]byte, error) {
	list := []any{}
	for _, f := range flags {
		if v>>f.Bit&1 == 1 {
			v &^= 1 << f.Bit
			list = append(list, f.Name)
		}
	}
	if v != 0 {
		list = append(list, v)
	}
	return json.Marshal(list)
}

// UnmarshalFlagsJSON is the inverse of MarshalFlagsJSON, for a bitmask of so many bits. It takes a number, too.
func UnmarshalFlagsJSON(data []byte, flags []Flag, bits int) (uint64, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		list = []json.RawMessage{data}
	}
	var v uint64
	for _, item := range list {
		var name string
		if err := json.Unmarshal(item, &name); err != nil {
			name = string(item)
		}
		bit, err := parseFlag(name, flags, bits)
		if err != nil {
			return 0, err
		}
		v |= bit
	}
	return v, nil
}

// BoolBit is 1 for true.
func BoolBit(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// PackBits gives the n lowest bits of v at a position.
func PackBits(v uint64, position, n int) uint64 { return v << (64 - n) >> (64 - n) << position }

// UnpackBits gives the n bits at a position.
func UnpackBits(bits uint64, position, n int) uint64 { return bits >> position << (64 - n) >> (64 - n) }

// UnpackSigned gives the n bits at a position as a number in two's complement.
func UnpackSigned(bits uint64, position, n int) int64 {
	return int64(bits>>position<<(64-n)) >> (64 - n)
}

// CheckBits refuses a value that is wider than its bit field.
func (e *Encoder) CheckBits(name string, v uint64, n int) {
	if v>>n != 0 {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%d does not fit into %d bits", v, n)})
	}
}

// CheckSigned is CheckBits for a number in two's complement.
func (e *Encoder) CheckSigned(name string, v int64, n int) {
	if v<<(64-n)>>(64-n) != v {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%d does not fit into %d bits with its sign", v, n)})
	}
}
