package cdr

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the length of the encapsulation header in front of every sample.
const HeaderSize = 4

// Encapsulation is a representation identifier of RTPS 2.5 §10.2 (table 10.3).
type Encapsulation uint16

// Representation identifiers. The PL kinds carry mutable types.
const (
	CDRBE    Encapsulation = 0x0000 // XCDR1, big endian
	CDRLE    Encapsulation = 0x0001 // XCDR1, little endian
	PLCDRBE  Encapsulation = 0x0002 // XCDR1 of a mutable type, a parameter list
	PLCDRLE  Encapsulation = 0x0003
	CDR2BE   Encapsulation = 0x0006 // XCDR2 of a final type
	CDR2LE   Encapsulation = 0x0007
	DCDR2BE  Encapsulation = 0x0008 // XCDR2 of an appendable type, with DHEADER
	DCDR2LE  Encapsulation = 0x0009
	PLCDR2BE Encapsulation = 0x000a // XCDR2 of a mutable type, with DHEADER and member headers
	PLCDR2LE Encapsulation = 0x000b
)

var encapsulationNames = map[Encapsulation]string{
	CDRBE: "CDR_BE", CDRLE: "CDR_LE", PLCDRBE: "PL_CDR_BE", PLCDRLE: "PL_CDR_LE",
	CDR2BE: "CDR2_BE", CDR2LE: "CDR2_LE", DCDR2BE: "D_CDR2_BE", DCDR2LE: "D_CDR2_LE",
	PLCDR2BE: "PL_CDR2_BE", PLCDR2LE: "PL_CDR2_LE",
}

// String gives the name that the RTPS specification uses.
func (enc Encapsulation) String() string {
	if s, ok := encapsulationNames[enc]; ok {
		return s
	}
	return fmt.Sprintf("encapsulation 0x%04x", uint16(enc))
}

// BigEndian tells the byte order: in all identifiers, the lowest bit stands for little endian.
func (enc Encapsulation) BigEndian() bool { return enc&1 == 0 }

// XCDR2 tells the version of the encoding.
func (enc Encapsulation) XCDR2() bool { return enc >= CDR2BE && enc <= PLCDR2LE }

// fits tells whether a sample of a type with extensibility x may carry enc.
func (enc Encapsulation) fits(x Extensibility) bool {
	switch enc {
	case CDRBE, CDRLE:
		return x != Mutable
	case CDR2BE, CDR2LE:
		return x == Final
	case DCDR2BE, DCDR2LE:
		return x == Appendable
	case PLCDRBE, PLCDRLE, PLCDR2BE, PLCDR2LE:
		return x == Mutable
	}
	return false
}

// DefaultEncapsulation is what a writer of t uses: XCDR2, little endian.
func DefaultEncapsulation(t *TypeInfo) Encapsulation {
	switch t.Extensibility {
	case Appendable:
		return DCDR2LE
	case Mutable:
		return PLCDR2LE
	}
	return CDR2LE
}

// padding is the number of zero bytes behind a body of n bytes.
func padding(n int) int { return -n & 3 }

func putHeader(buf []byte, enc Encapsulation, pad int) {
	binary.BigEndian.PutUint16(buf, uint16(enc))
	binary.BigEndian.PutUint16(buf[2:], uint16(pad))
}

// splitSample takes an encoded sample apart. The other bits of the options are reserved and ignored.
func splitSample(sample []byte) (enc Encapsulation, body []byte, err error) {
	if len(sample) < HeaderSize {
		return 0, nil, &Error{Detail: fmt.Sprintf("%d bytes are no encapsulation header", len(sample)), Err: ErrTruncated}
	}
	enc = Encapsulation(binary.BigEndian.Uint16(sample))
	body = sample[HeaderSize:]
	pad := int(sample[3] & 3)
	if pad > len(body) {
		return 0, nil, &Error{Detail: fmt.Sprintf("%d padding bytes announced, %d bytes present", pad, len(body)), Err: ErrMalformed}
	}
	return enc, body[: len(body)-pad : len(body)-pad], nil
}

// checkFit refuses a sample in an encoding that its type does not have.
func checkFit(enc Encapsulation, t *TypeInfo) error {
	if enc.fits(t.Extensibility) {
		return nil
	}
	return &Error{Type: t.Name, Err: ErrEncapsulation,
		Detail: fmt.Sprintf("%s does not carry a type that is %s", enc, t.Extensibility)}
}
