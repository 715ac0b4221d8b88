package dcps

import (
	"fmt"
	"hash/crc32"

	"github.com/omg-dds-go/dds/storage"
)

// checkTail looks at what follows the last whole entry of a file beside a log. What a crash has torn is the end of the
// file: it was told to nobody, and is cut off. If a whole entry follows, the file was damaged later. size is that of
// the whole entry with which its argument begins, or 0.
//
// What is torn may be a state of hundreds of megabytes, and each of its bytes may look like the front of an entry that
// is nearly as long. So the checksums of these are not computed over all that they cover: tailSums finds each in the
// same short time.
func checkTail(path string, at int64, rest []byte, size func([]byte, checksum) int) error {
	if len(rest) == 0 {
		return nil
	}
	sums := newTailSums(rest)
	for i := 1; i < len(rest); i++ {
		if size(rest[i:], sums.of) > 0 {
			return &storage.CorruptError{Path: path, Offset: at,
				Reason: fmt.Sprintf("an entry is damaged, and another one follows at offset %d", at+int64(i))}
		}
	}
	return nil
}

// checksum is that of an entry with which b begins: of its first bytes, as many as head says, and of those behind the
// four of the checksum, as many as size says.
type checksum func(b []byte, head, size int) uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is checksum as it is defined.
func sumOf(b []byte, head, size int) uint32 {
	return crc32.Update(crc32.Checksum(b[:head], castagnoli), castagnoli, b[head+4:][:size])
}

// tailSums are the checksums of the beginnings of some bytes, one every sumEvery. That of any piece follows from those
// of two beginnings: sum(a+b) is shift(sum(a), len(b)) ^ sum(b).
type tailSums struct {
	all   []byte
	every []uint32
}

const sumEvery = 256

func newTailSums(all []byte) *tailSums {
	s := &tailSums{all, make([]uint32, 0, len(all)/sumEvery+1)}
	sum := uint32(0)
	for b := all; ; b = b[sumEvery:] {
		s.every = append(s.every, sum)
		if len(b) < sumEvery {
			return s
		}
		sum = crc32.Update(sum, castagnoli, b[:sumEvery])
	}
}

// upTo is the checksum of the first n bytes.
func (s *tailSums) upTo(n int) uint32 {
	return crc32.Update(s.every[n/sumEvery], castagnoli, s.all[n/sumEvery*sumEvery:n])
}

// of is sumOf for a b that ends where all bytes do.
func (s *tailSums) of(b []byte, head, size int) uint32 {
	if size < 2*sumEvery {
		return sumOf(b, head, size)
	}
	body := len(s.all) - len(b) + head + 4
	return shift(crc32.Checksum(b[:head], castagnoli)^s.upTo(body), size) ^ s.upTo(body+size)
}

// shifts are what checksums are multiplied with, as polynomials over GF(2) whose highest coefficient is the lowest bit,
// for some bytes more: shifts[k][v] for v<<(4*k) of them.
var shifts = func() (t [16][16]uint32) {
	const (
		one   = 1 << 31
		octet = 1 << 23 // x^8
	)
	step := uint32(octet)
	for k := range t {
		t[k][0] = one
		for v := 1; v < 16; v++ {
			t[k][v] = product(t[k][v-1], step)
		}
		step = product(t[k][15], step)
	}
	return t
}()

// shift is what a checksum adds to that of what is longer by n bytes.
func shift(sum uint32, n int) uint32 {
	for k := 0; n > 0; k, n = k+1, n>>4 {
		if v := n & 15; v > 0 {
			sum = product(sum, shifts[k][v])
		}
	}
	return sum
}

// product multiplies two polynomials modulo that of CRC-32C.
func product(a, b uint32) (p uint32) {
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return p
}
