package xtypes

import (
	"crypto/md5"
	"encoding/binary"
)

// HashID is the member id that @hashid and @autoid(HASH) give (XTypes 1.3 §7.3.1.2): the first four bytes of the MD5
// of the name as a little-endian number, without its four highest bits. MD5 identifies here; it protects nothing.
func HashID(name string) uint32 {
	sum := md5.Sum([]byte(name))
	return binary.LittleEndian.Uint32(sum[:]) & maxID
}
