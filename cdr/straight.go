package cdr

import (
	"bytes"
	"encoding/binary"
)

// Nearly every sample is what DefaultEncapsulation gives a type that is final or appendable. A view of one whose
// members are numbers, strings and sequences of numbers is found straight on: generated code goes from each member to
// the next by the functions below, without a Decoder. They accept nothing that the walk of the Decoder refuses. What
// they do not accept, malformed or not, is left to that: so there is one place for errors.

// beyond is a place that is behind the end of every body, and stays so.
const beyond = int(shifted)

// Straight is the body of a sample of a final type in little-endian XCDR2, nil if it is none.
func Straight(sample []byte) []byte { return straight(sample, byte(CDR2LE)) }

// straight is written for the compiler to inline it.
func straight(sample []byte, enc byte) []byte {
	if len(sample) < HeaderSize || sample[0] != 0 || sample[1] != enc {
		return nil
	}
	end := len(sample) - int(sample[3]&3) // padding
	if end < HeaderSize || end >= beyond {
		return nil
	}
	return sample[HeaderSize:end:end]
}

// StraightDelimited is Straight for an appendable type. Its members, behind the DHEADER, are in the part of the body up
// to end; 0 if it is none.
func StraightDelimited(sample []byte) (body []byte, end int) {
	body = straight(sample, byte(DCDR2LE))
	if len(body) < 4 {
		return nil, 0
	}
	n := binary.LittleEndian.Uint32(body)
	if uint64(n) > uint64(len(body)-4) {
		return nil, 0
	}
	return body, 4 + int(n)
}

// StraightSample makes a body readable at offsets.
func StraightSample(body []byte) Sample { return Sample{body: body, v2: true} }

// Behind is the place behind n bytes.
func Behind(body []byte, at, n int) int {
	if at > len(body)-n {
		return beyond
	}
	return at + n
}

// BehindSequence is the place behind a sequence of primitives that are width bytes wide; bound 0 stands for none.
func BehindSequence(body []byte, at, width, bound int) int {
	if at > len(body)-4 {
		return beyond
	}
	n := uint64(binary.LittleEndian.Uint32(body[at:]))
	end := uint64(at+4) + n*uint64(width)
	if end > uint64(len(body)) || bound > 0 && n > uint64(bound) {
		return beyond
	}
	return int(end)
}

// BehindString is the place behind a string; bound 0 stands for none.
func BehindString(body []byte, at, bound int) int {
	if at > len(body)-4 {
		return beyond
	}
	n := uint64(binary.LittleEndian.Uint32(body[at:]))
	from := at + 4
	switch {
	case n > uint64(len(body)-from), bound > 0 && n > uint64(bound)+1:
		return beyond
	case n > 0 && bytes.IndexByte(body[from:from+int(n)], 0) != int(n)-1:
		return beyond
	}
	return from + int(n)
}
