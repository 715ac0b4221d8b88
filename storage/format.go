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
	FormatVersion = 2

	headerBytes = 4096 // segment header: a block of its own, never written again
	frameBytes  = 64   // frame header

	minBlockBytes = 512  // frames start at multiples of the segment's block size,
	maxBlockBytes = 4096 // a power of two

	minSegmentBytes = 2 * headerBytes
	maxSegmentBytes = 1 << 30 // offsets in frames are 32 bits

	segmentSuffix = ".seg"
	tempSuffix    = ".tmp" // a segment until it is complete; removed by the next Open
	lockName      = "LOCK"

	frameMagic uint32 = 0x324d5246 // "FRM2"
)

var segmentMagic = [8]byte{'D', 'D', 'S', 'L', 'O', 'G', '\r', '\n'}

var ( // do not compile when the relations that the code relies on break
	_ [-(headerBytes % maxBlockBytes)]struct{}
	_ [-(maxBlockBytes % minBlockBytes)]struct{}
	_ [minSegmentBytes - headerBytes - 3*minBlockBytes]struct{} // a batch, a mark and a seal fit
)

// frameType says what a frame is.
type frameType uint8

const (
	frameBatch frameType = 1 // records that were synced together
	frameMark  frameType = 2 // no contents; vouches for what stands before it
	frameSeal  frameType = 3 // the last frame of a segment that has a successor
)

func (t frameType) String() string {
	switch t {
	case frameBatch:
		return "batch"
	case frameMark:
		return "mark"
	case frameSeal:
		return "seal"
	}
	return fmt.Sprintf("frame type %d", uint8(t))
}

// Offsets in the segment header.
const (
	hdrMagic    = 0
	hdrVersion  = 8
	hdrCRC      = 12 // of the whole header, this field zero
	hdrLog      = 16
	hdrIndex    = 24
	hdrCapacity = 32
	hdrBlock    = 40 // zero from 44 on
)

// Offsets in the frame header.
const (
	frmMagic     = 0
	frmCRC       = 4 // of the rest of the frame header, seeded
	frmLength    = 8 // of the body
	frmType      = 12
	frmOffset    = 16
	frmCount     = 20
	frmPrevSeq   = 24
	frmPrevEpoch = 32
	frmBodyCRC   = 36 // of the body and the zeros behind it, not seeded: the header vouches for it; zero from 40 on
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// segmentHeader is the front of a segment. Nothing in it depends on the records, so that it is written before there are any.
type segmentHeader struct {
	log      uint64 // drawn at random with the first segment of the log
	index    uint64 // 1, 2, 3, ...
	capacity int64  // bytes of the file when preallocated; its frames end below
	block    int64  // frames begin and end at multiples of it
}

// segmentName is the file name of the segment with that index. Names sort as indices do.
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

// sizeOnDisk is how many bytes a frame with a body of n bytes takes.
func (h segmentHeader) sizeOnDisk(n int) int64 {
	return (frameBytes + int64(n) + h.block - 1) &^ (h.block - 1)
}

// encode writes the header to b, which holds headerBytes zeros.
func (h segmentHeader) encode(b []byte) {
	copy(b[hdrMagic:], segmentMagic[:])
	le.PutUint32(b[hdrVersion:], FormatVersion)
	le.PutUint64(b[hdrLog:], h.log)
	le.PutUint64(b[hdrIndex:], h.index)
	le.PutUint64(b[hdrCapacity:], uint64(h.capacity))
	le.PutUint32(b[hdrBlock:], uint32(h.block))
	le.PutUint32(b[hdrCRC:], crc32.Checksum(b[:headerBytes], castagnoli))
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
		capacity: int64(le.Uint64(b[hdrCapacity:])),
		block:    int64(le.Uint32(b[hdrBlock:])),
	}
	if h.capacity < minSegmentBytes || h.capacity > maxSegmentBytes {
		return h, hdrCapacity, fmt.Sprintf("segment capacity of %d bytes, outside %d to %d", h.capacity, minSegmentBytes, maxSegmentBytes)
	}
	if h.block < minBlockBytes || h.block > maxBlockBytes || h.block&(h.block-1) != 0 {
		return h, hdrBlock, fmt.Sprintf("blocks of %d bytes, not a power of two from %d to %d", h.block, minBlockBytes, maxBlockBytes)
	}
	return h, 0, ""
}

// frame is a frame of a segment.
type frame struct {
	typ    frameType
	offset uint32  // in the segment
	prev   Version // of the last record before it in the log
	count  uint32  // of records
	body   []byte  // the records
	sum    uint32  // checksum of the body and the zeros behind it
}

// encode writes the header of f to the front of b, which holds the body behind it and zeros behind that up to the size
// on disk.
func (f *frame) encode(b []byte, seed uint32) {
	clear(b[:frameBytes])
	le.PutUint32(b[frmMagic:], frameMagic)
	le.PutUint32(b[frmLength:], uint32(len(f.body)))
	b[frmType] = uint8(f.typ)
	le.PutUint32(b[frmOffset:], f.offset)
	le.PutUint32(b[frmCount:], f.count)
	le.PutUint64(b[frmPrevSeq:], f.prev.Seq)
	le.PutUint32(b[frmPrevEpoch:], f.prev.Epoch)
	le.PutUint32(b[frmBodyCRC:], f.sum)
	le.PutUint32(b[frmCRC:], crc32.Update(seed, castagnoli, b[frmCRC+4:frameBytes]))
}

// checkFrameHeader says why there is no frame header at off in the image b, or "".
func checkFrameHeader(b []byte, off int64, seed uint32) string {
	if int64(len(b))-off < frameBytes {
		return fmt.Sprintf("the file ends inside a frame header, after %d of %d bytes", int64(len(b))-off, frameBytes)
	}
	b = b[off : off+frameBytes]
	switch {
	case le.Uint32(b[frmMagic:]) != frameMagic:
		return "no frame begins here"
	case crc32.Update(seed, castagnoli, b[frmCRC+4:]) != le.Uint32(b[frmCRC:]):
		return "checksum of the frame header is wrong"
	case int64(le.Uint32(b[frmOffset:])) != off:
		return fmt.Sprintf("the frame was written for offset %d", le.Uint32(b[frmOffset:]))
	}
	return ""
}

// decodeFrame reads the frame at off in the image b; its body points into b. A reason other than ""
// says why there is none.
func decodeFrame(b []byte, off int64, h segmentHeader, seed uint32) (f frame, size int64, reason string) {
	if reason := checkFrameHeader(b, off, seed); reason != "" {
		return f, 0, reason
	}
	b = b[off:]
	length := int(le.Uint32(b[frmLength:]))
	size = h.sizeOnDisk(length)
	if size > int64(len(b)) {
		return f, 0, fmt.Sprintf("the frame of %d bytes ends behind the file, which has %d left", size, len(b))
	}
	sum := crc32.Checksum(b[frameBytes:size], castagnoli)
	if sum != le.Uint32(b[frmBodyCRC:]) {
		return f, 0, "checksum of the batch is wrong"
	}
	return frame{
		typ:    frameType(b[frmType]),
		offset: uint32(off),
		prev:   prevOf(b),
		count:  le.Uint32(b[frmCount:]),
		body:   b[frameBytes : frameBytes+length : frameBytes+length],
		sum:    sum,
	}, size, ""
}

// prevOf is the version before the frame whose header b begins with.
func prevOf(b []byte) Version {
	return Version{Epoch: le.Uint32(b[frmPrevEpoch:]), Seq: le.Uint64(b[frmPrevSeq:])}
}
