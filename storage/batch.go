package storage

import (
	"fmt"
	"hash/crc32"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// Batch is records in the form in which Log.Write puts them on the disk, so that Append's copy is the only one. The zero
// Batch is empty and usable. It keeps its memory for the next records.
type Batch struct {
	buf     []byte // room for a frame header, then records; its address is aligned for direct writes
	first   Version
	last    Version
	prev    recordKey // of the last record
	count   uint32
	largest int    // bytes of the largest payload
	sum     uint32 // checksum of the records in buf up to summed
	summed  int
}

// Append copies r to the end of the batch. Its version must be above the one before.
func (b *Batch) Append(r *Record) error {
	if b.count > 0 && r.Version.Compare(b.last) <= 0 {
		return orderError(r.Version, b.last)
	}
	b.append(r)
	return nil
}

// Bytes is how much memory the records take.
func (b *Batch) Bytes() int { return max(0, len(b.buf)-frameBytes) }

// Last is the version of the last record, zero in an empty batch.
func (b *Batch) Last() Version { return b.last }

// Reset makes the batch empty.
func (b *Batch) Reset() {
	b.buf, b.first, b.last, b.count, b.largest = b.buf[:0], Version{}, Version{}, 0, 0
	b.sum, b.summed = 0, 0
}

func (b *Batch) append(r *Record) {
	var prev *recordKey
	if b.count > 0 {
		prev = &b.prev
	}
	at := max(len(b.buf), frameBytes)
	end := at + align(wholeBytes+len(r.Payload)) // or a little less
	if end > cap(b.buf) {
		b.grow(end)
	}
	buf := b.buf[:end]
	at += putRecord(buf[at:], r, prev)
	n := at + copy(buf[at:], r.Payload)
	for end = align(n); n < end; n++ {
		buf[n] = 0
	}
	b.buf = buf[:end]
	if b.count == 0 {
		b.first = r.Version
	}
	b.last, b.prev = r.Version, r.key()
	b.count++
	b.largest = max(b.largest, len(r.Payload))
	if len(b.buf)-b.summed > sumBytes {
		b.checksum()
	}
}

// sumBytes is after how many bytes the checksum goes on: few enough to be in the cache of the processor that has just
// written them, enough for the fast code.
const sumBytes = 16 << 10

func (b *Batch) checksum() {
	b.sum = crc32.Update(b.sum, castagnoli, b.buf[max(b.summed, frameBytes):])
	b.summed = len(b.buf)
}

// grow makes room for n bytes, and for zeros behind them up to the end of their block.
func (b *Batch) grow(n int) {
	size := max(16<<10, 2*cap(b.buf))
	for size < n {
		size *= 2
	}
	buf := vfs.Aligned(size)
	b.buf = buf[:copy(buf, b.buf)]
}

// frame is the batch as a frame, whose memory is up to the size on disk.
func (b *Batch) frame(size int64) (f frame, image []byte) {
	if int64(cap(b.buf)) < size {
		b.grow(int(size))
	}
	image = b.buf[:size]
	clear(image[len(b.buf):])
	sum := crc32.Update(b.sum, castagnoli, image[max(b.summed, frameBytes):])
	return frame{typ: frameBatch, count: b.count, body: b.buf[frameBytes:], sum: sum}, image
}

func orderError(v, last Version) error {
	return fmt.Errorf("%w: %v is not above %v", ErrOrder, v, last)
}
