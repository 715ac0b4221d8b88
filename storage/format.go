package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// The layout of a segment; docs/formats.md draws it. All numbers are little-endian. Every constant
// in this file is part of the format: a change of meaning raises FormatVersion.
const (
	// FormatVersion is the version of the segment format that this package reads and writes.
	FormatVersion = 1

	headerBytes = 4096 // segment header: a block of its own, never written again
	frameBytes  = 80   // frame header
	frameAlign  = 8    // frames start at multiples of it

	minSegmentBytes = 2 * headerBytes
	maxSegmentBytes = 1 << 30 // offsets in frames are 32 bits

	segmentSuffix = ".seg"
	tempSuffix    = ".tmp" // a segment until it is complete; removed by the next Open
	lockName      = "LOCK"

	frameMagic uint32 = 0x314d5246 // "FRM1"
)

var segmentMagic = [8]byte{'D', 'D', 'S', 'L', 'O', 'G', '\r', '\n'}

var ( // do not compile when the relations that the code relies on break
	_ [-(headerBytes % frameAlign)]struct{}
	_ [-(frameBytes % frameAlign)]struct{}
	_ [minSegmentBytes - headerBytes - 3*frameBytes]struct{} // a record, a mark and a seal fit
)

// frameType says what a frame is.
type frameType uint8

const (
	frameRecord frameType = 1 // a Record
	frameMark   frameType = 2 // no contents; vouches for what stands before it
	frameSeal   frameType = 3 // the last frame of a segment that has a successor
)

func (t frameType) String() string {
	switch t {
	case frameRecord:
		return "record"
	case frameMark:
		return "mark"
	case frameSeal:
		return "seal"
	}
	return fmt.Sprintf("frame type %d", uint8(t))
}

// Offsets in the segment header.
const (
	hdrMagic     = 0
	hdrVersion   = 8
	hdrCRC       = 12 // of the whole block, this field zero
	hdrLog       = 16
	hdrIndex     = 24
	hdrPrevEpoch = 32 // four zero bytes follow
	hdrPrevSeq   = 40
	hdrCapacity  = 48 // zero from 56 on
)

// Offsets in the frame header.
const (
	frmMagic      = 0
	frmCRC        = 4 // of the rest of the frame header, seeded
	frmLength     = 8
	frmType       = 12
	frmKind       = 13
	frmFlags      = 14
	frmZero       = 15
	frmOffset     = 16
	frmDurable    = 20
	frmEpoch      = 24
	frmWriter     = 28
	frmSeq        = 32
	frmSender     = 40
	frmChannel    = 48
	frmWriterSeq  = 56
	frmTimestamp  = 64
	frmPayloadCRC = 72 // of the payload and its padding, seeded
	frmZero2      = 76
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// segmentHeader is the front of a segment.
type segmentHeader struct {
	log      uint64  // drawn at random with the first segment of the log
	index    uint64  // 1, 2, 3, ...
	prev     Version // of the last record before it; zero in the first segment
	capacity int64   // bytes of the file when preallocated; its frames end below
}

// segmentName is the file name of the segment with that index. Names sort as indices do. The name
// does not hold a version: a segment is made before it is known which record comes first, and a
// crash between the two must not leave a wrong name.
func segmentName(index uint64) string { return fmt.Sprintf("%010d%s", index, segmentSuffix) }

// segmentIndex is the reverse of segmentName; ok is false for the names of other files.
func segmentIndex(name string) (index uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	index, err := strconv.ParseUint(digits, 10, 64)
	return index, err == nil && segmentName(index) == name
}

// seed starts every checksum of a segment, so that a frame out of another segment or log, or out
// of a payload that happens to hold a piece of a log, does not pass for one of this segment.
func (h segmentHeader) seed() uint32 {
	var b [16]byte
	le.PutUint64(b[0:], h.log)
	le.PutUint64(b[8:], h.index)
	return crc32.Checksum(b[:], castagnoli)
}

func (h segmentHeader) encode() []byte {
	b := make([]byte, headerBytes)
	copy(b[hdrMagic:], segmentMagic[:])
	le.PutUint32(b[hdrVersion:], FormatVersion)
	le.PutUint64(b[hdrLog:], h.log)
	le.PutUint64(b[hdrIndex:], h.index)
	le.PutUint32(b[hdrPrevEpoch:], h.prev.Epoch)
	le.PutUint64(b[hdrPrevSeq:], h.prev.Seq)
	le.PutUint64(b[hdrCapacity:], uint64(h.capacity))
	le.PutUint32(b[hdrCRC:], crc32.Checksum(b, castagnoli))
	return b
}

// decodeHeader reads the header of the segment image b. A reason other than "" says at which offset
// it is not one that encode wrote.
func decodeHeader(b []byte) (h segmentHeader, offset int64, reason string) {
	if len(b) < headerBytes {
		return h, int64(len(b)), fmt.Sprintf("the file ends inside the segment header, at %d of %d bytes", len(b), headerBytes)
	}
	if [8]byte(b[hdrMagic:]) != segmentMagic {
		return h, hdrMagic, fmt.Sprintf("not a log segment: it begins with %q", b[:len(segmentMagic)])
	}
	if v := le.Uint32(b[hdrVersion:]); v != FormatVersion {
		return h, hdrVersion, fmt.Sprintf("segment format version %d, this build reads version %d", v, FormatVersion)
	}
	crc := crc32.Update(0, castagnoli, b[:hdrCRC])
	crc = crc32.Update(crc, castagnoli, make([]byte, 4))
	crc = crc32.Update(crc, castagnoli, b[hdrCRC+4:headerBytes])
	if crc != le.Uint32(b[hdrCRC:]) {
		return h, hdrCRC, "checksum of the segment header is wrong"
	}
	h = segmentHeader{
		log:      le.Uint64(b[hdrLog:]),
		index:    le.Uint64(b[hdrIndex:]),
		prev:     Version{le.Uint32(b[hdrPrevEpoch:]), le.Uint64(b[hdrPrevSeq:])},
		capacity: int64(le.Uint64(b[hdrCapacity:])),
	}
	if h.capacity < minSegmentBytes || h.capacity > maxSegmentBytes {
		return h, hdrCapacity, fmt.Sprintf("segment capacity of %d bytes, outside %d to %d", h.capacity, minSegmentBytes, maxSegmentBytes)
	}
	return h, 0, ""
}

// frame is a frame of a segment; the Record is that of a frameRecord, else zero.
type frame struct {
	typ     frameType
	offset  uint32 // of the frame in the segment
	durable uint32 // when it was written, the segment was synced up to here
	Record
}

// sizeOnDisk is how many bytes a frame with a payload of n bytes takes.
func sizeOnDisk(n int) int { return frameBytes + (n+frameAlign-1)&^(frameAlign-1) }

// appendFrame appends f to dst, its checksums still zero.
func appendFrame(dst []byte, f *frame) []byte {
	at := len(dst)
	size := sizeOnDisk(len(f.Payload))
	dst = append(dst, make([]byte, frameBytes)...)
	dst = append(dst, f.Payload...)
	for len(dst) < at+size {
		dst = append(dst, 0)
	}
	b := dst[at : at+frameBytes]
	le.PutUint32(b[frmMagic:], frameMagic)
	le.PutUint32(b[frmLength:], uint32(len(f.Payload)))
	b[frmType] = uint8(f.typ)
	b[frmKind] = f.Kind
	b[frmFlags] = f.Flags
	le.PutUint32(b[frmOffset:], f.offset)
	le.PutUint32(b[frmDurable:], f.durable)
	le.PutUint32(b[frmEpoch:], f.Epoch)
	le.PutUint32(b[frmWriter:], f.Writer)
	le.PutUint64(b[frmSeq:], f.Seq)
	le.PutUint64(b[frmSender:], f.Sender)
	le.PutUint64(b[frmChannel:], f.Channel)
	le.PutUint64(b[frmWriterSeq:], f.WriterSeq)
	le.PutUint64(b[frmTimestamp:], uint64(f.Timestamp))
	return dst
}

// stamp fills in the checksums of the frames in b, which belong to one segment.
func stamp(b []byte, seed uint32) {
	for len(b) > 0 {
		size := sizeOnDisk(int(le.Uint32(b[frmLength:])))
		le.PutUint32(b[frmPayloadCRC:], crc32.Update(seed, castagnoli, b[frameBytes:size]))
		le.PutUint32(b[frmCRC:], crc32.Update(seed, castagnoli, b[frmCRC+4:frameBytes]))
		b = b[size:]
	}
}

// checkFrameHeader says why there is no frame header at off in the image b, or "".
func checkFrameHeader(b []byte, off int, seed uint32) string {
	if len(b)-off < frameBytes {
		return fmt.Sprintf("the file ends inside a frame header, after %d of %d bytes", len(b)-off, frameBytes)
	}
	b = b[off : off+frameBytes]
	switch {
	case le.Uint32(b[frmMagic:]) != frameMagic:
		return "no frame begins here"
	case crc32.Update(seed, castagnoli, b[frmCRC+4:]) != le.Uint32(b[frmCRC:]):
		return "checksum of the frame header is wrong"
	case int64(le.Uint32(b[frmOffset:])) != int64(off):
		return fmt.Sprintf("the frame was written for offset %d", le.Uint32(b[frmOffset:]))
	}
	return ""
}

// decodeFrame reads the frame at off in the image b; Payload points into b. A reason other than ""
// says why there is none.
func decodeFrame(b []byte, off int, seed uint32) (f frame, size int, reason string) {
	if reason := checkFrameHeader(b, off, seed); reason != "" {
		return f, 0, reason
	}
	h := b[off : off+frameBytes]
	length := int64(le.Uint32(h[frmLength:]))
	if room := int64(len(b) - off - frameBytes); length > room {
		return f, 0, fmt.Sprintf("the payload of %d bytes ends behind the file, which has %d left", length, room)
	}
	size = sizeOnDisk(int(length))
	if size > len(b)-off {
		return f, 0, "the file ends inside the padding of a frame"
	}
	body := b[off+frameBytes : off+size]
	if crc32.Update(seed, castagnoli, body) != le.Uint32(h[frmPayloadCRC:]) {
		return f, 0, "checksum of the payload is wrong"
	}
	f = frame{
		typ:     frameType(h[frmType]),
		offset:  uint32(off),
		durable: le.Uint32(h[frmDurable:]),
		Record: Record{
			Version:   Version{le.Uint32(h[frmEpoch:]), le.Uint64(h[frmSeq:])},
			Timestamp: int64(le.Uint64(h[frmTimestamp:])),
			Sender:    le.Uint64(h[frmSender:]),
			Channel:   le.Uint64(h[frmChannel:]),
			WriterSeq: le.Uint64(h[frmWriterSeq:]),
			Writer:    le.Uint32(h[frmWriter:]),
			Kind:      h[frmKind],
			Flags:     h[frmFlags],
			Payload:   body[:length:length],
		},
	}
	return f, size, ""
}
