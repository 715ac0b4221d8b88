package cdr

import "encoding/binary"

// The functions below read a value in either byte order. A nil slice, of a value that is absent or behind an error,
// reads as zero.

func loadUint16(b []byte, big bool) uint16 {
	switch {
	case b == nil:
		return 0
	case big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func loadUint32(b []byte, big bool) uint32 {
	switch {
	case b == nil:
		return 0
	case big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func loadUint64(b []byte, big bool) uint64 {
	switch {
	case b == nil:
		return 0
	case big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}
