package main

import (
	"bufio"
	"encoding/binary"
	"io"
)

// readFrame reads a message behind its length, four bytes, little endian.
func readFrame(in *bufio.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint32(length[:]))
	_, err := io.ReadFull(in, b)
	return b, err
}
