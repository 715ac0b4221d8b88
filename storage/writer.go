package storage

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/omg-dds-go/dds/internal/invariant"
	"github.com/omg-dds-go/dds/internal/vfs"
)

// writer puts frames behind each other on the disk, each with one write and one sync, and begins segments. It is the part
// of a Log that does I/O; an error of it is final.
type writer struct {
	segment         // where frames are written
	tail    int64   // of it: where the next one goes
	last    Version // of the last record written
	marked  bool    // the last frame is a mark
	bytes   int64   // of frames that were found and written
	maker   maker   // of segments
	next    *making // the segment after this one, nil until it is due
	parts   *Batch  // of a batch that is larger than a segment; nil until there is one
	small   []byte  // a mark or a seal on its way
}

// continueAt makes s the segment to be written, from tail on.
func (w *writer) continueAt(s segment, tail int64) {
	w.segment, w.tail = s, tail
	if w.small == nil {
		w.small = vfs.Aligned(maxBlockBytes)
	}
}

// fits says whether a batch has room at off of a segment, and behind it a mark and the seal.
func (w *writer) fits(off int64, bytes int, capacity int64) bool {
	return off+w.header.sizeOnDisk(bytes)+2*w.header.block <= capacity
}

// write writes and syncs a batch, to a new segment if the current one has no room for it.
func (w *writer) write(b *Batch) error {
	if !w.fits(w.tail, b.Bytes(), w.header.capacity) {
		if !w.fits(headerBytes, b.Bytes(), w.maker.capacity) {
			return w.writeParts(b)
		}
		if err := w.roll(); err != nil {
			return err
		}
		if !w.fits(w.tail, b.Bytes(), w.header.capacity) { // the sectors of the device have grown
			return fmt.Errorf("%w: batch of %d bytes in a segment of %d with blocks of %d", ErrTooLarge, b.Bytes(), w.header.capacity, w.header.block)
		}
	}
	size := w.header.sizeOnDisk(b.Bytes())
	f, image := b.frame(size)
	if err := w.put(f, image); err != nil {
		return err
	}
	w.last = b.Last()
	if w.next == nil && w.tail > w.header.capacity/2 {
		w.next = w.maker.start(w.header.index + 1)
	}
	return nil
}

// writeParts writes a batch that is larger than a segment.
func (w *writer) writeParts(b *Batch) error {
	if w.parts == nil {
		w.parts = &Batch{}
	}
	part := w.parts
	part.Reset()
	for r := range records(b.buf[frameBytes:]) {
		if part.count > 0 && !w.fits(headerBytes, part.Bytes()+wholeBytes+align(len(r.Payload)), w.maker.capacity) {
			if err := w.write(part); err != nil {
				return err
			}
			part.Reset()
		}
		part.append(r)
	}
	return w.write(part)
}

// roll ends the current segment and begins the next one. That one is safe before the seal says that there is one: a
// sealed segment without a successor is then always a loss, not a crash.
func (w *writer) roll() error {
	if w.next == nil {
		w.next = w.maker.start(w.header.index + 1)
	}
	next, err := w.next.wait()
	w.next = nil
	if err != nil {
		// Made ahead, it may have failed for a reason that is gone. There is nothing in it to lose.
		if next, err = w.maker.create(w.header.index + 1); err != nil {
			return err
		}
	}
	err = w.putSmall(frameSeal)
	if err == nil {
		err = ioError("truncate", w.path, w.file.Truncate(w.tail)) // gives back what is not used
	}
	if err == nil {
		err = ioError("close segment", w.path, w.file.Close())
	}
	if err != nil {
		next.file.Close() // the error before says more
		return err
	}
	w.continueAt(next, headerBytes)
	return nil
}

func (w *writer) putSmall(t frameType) error {
	image := w.small[:w.header.block]
	clear(image)
	return w.put(frame{typ: t, sum: crc32.Checksum(image[frameBytes:], castagnoli)}, image)
}

// put writes a frame: one write, one sync. The image has the frame's body at its place.
func (w *writer) put(f frame, image []byte) error {
	invariant.Check(w.tail+int64(len(image)) <= w.header.capacity, "frame ends within its segment")
	invariant.Check(w.tail%w.header.block == 0 && int64(len(image))%w.header.block == 0, "frame is whole blocks")
	f.offset, f.prev = uint32(w.tail), w.last
	f.encode(image, w.seed)
	if _, err := w.file.WriteAt(image, w.tail); err != nil {
		return ioError("write", w.path, err)
	}
	if err := w.file.Sync(); err != nil {
		return ioError("sync", w.path, err)
	}
	w.tail += int64(len(image))
	w.bytes += int64(len(image))
	w.marked = f.typ == frameMark
	return nil
}

// finish writes the mark and gives back what is not used: the rest of the segment, and the one made ahead.
func (w *writer) finish() error {
	if !w.marked && w.tail+2*w.header.block <= w.header.capacity {
		if err := w.putSmall(frameMark); err != nil {
			return err
		}
	}
	if err := w.file.Truncate(w.tail); err != nil {
		return ioError("truncate", w.path, err)
	}
	if err := w.file.Sync(); err != nil {
		return ioError("sync", w.path, err)
	}
	if w.next == nil {
		return nil
	}
	next, err := w.next.wait()
	w.next = nil
	if err != nil {
		return nil // it is not needed any more
	}
	return errors.Join(ioError("close segment", next.path, next.file.Close()), ioError("remove", next.path, w.maker.fs.Remove(next.path)))
}

// close closes the files. What was made ahead and is still there is for the next Open to remove.
func (w *writer) close() error {
	err := ioError("close segment", w.path, w.file.Close())
	if w.next != nil {
		if next, failed := w.next.wait(); failed == nil {
			err = errors.Join(err, ioError("close segment", next.path, next.file.Close()))
		}
	}
	return err
}
