package tcp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/omg-dds-go/dds/rdma"
)

// errClosed: an end of the link has said goodbye, and the connection ended after it.
var errClosed = errors.New("connection closed")

// input reads a connection; its errors are errBroken.
type input struct{ *bufio.Reader }

func (r input) full(b []byte) error {
	_, err := io.ReadFull(r.Reader, b)
	if err == io.EOF {
		err = errClosed
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// source is a connection of which some bytes were read before.
type source struct {
	io.Reader
	before []byte
}

func (s *source) Read(b []byte) (int, error) {
	if n := copy(b, s.before); n > 0 {
		s.before = s.before[n:]
		return n, nil
	}
	return s.Reader.Read(b)
}

// read handles frames until the connection ends.
func (l *Link) read(c *connection) error {
	from := &source{Reader: c.Conn}
	r := input{bufio.NewReaderSize(from, 64<<10)}
	var head [writeHeader]byte
	var cells []byte
	first, bye, hushed := c.resumed, false, false
	for {
		if hushed && c.socket != nil && r.Buffered() == 0 && len(from.before) == 0 {
			from.before = l.sleep(c)
		}
		if err := r.full(head[:5]); err != nil {
			if bye || c.left.Load() {
				return errClosed
			}
			return err
		}
		n, kind := int(binary.LittleEndian.Uint32(head[:]))-1, head[4]
		if first != (kind == framePosition) {
			return fmt.Errorf("frame %d, position expected: %v", kind, first)
		}
		first = false
		hushed = kind == frameHush || hushed && kind == frameQuiet
		if kind == frameWrite || kind == frameQuiet {
			if n < writeHeader-5 {
				return errors.New("short write frame")
			}
			if err := r.full(head[5:]); err != nil {
				return err
			}
			var err error
			if cells, err = l.apply(r, head[5:], n-(writeHeader-5), cells); err != nil {
				return err
			}
			if kind == frameWrite {
				l.cfg.Bell.Ring()
			}
			continue
		}
		limit := rdma.MaxMessage + 64
		if kind == framePosition {
			limit = 8 + maxCopies*tailBytes
		}
		if n < 0 || n > limit {
			return fmt.Errorf("frame of %d bytes", n)
		}
		b := make([]byte, n)
		if err := r.full(b); err != nil {
			return err
		}
		switch kind {
		case framePosition:
			p, ok := parsePosition(b)
			if !ok {
				return errors.New("short frame")
			}
			c.peer <- p
		case frameBye:
			bye = true
		case frameHush, frameWake:
		case frameConfirm:
			if err := l.confirm(b); err != nil {
				return err
			}
		default:
			if err := l.handle(kind, b); err != nil {
				return err
			}
		}
	}
}

// confirm notes what the peer has handled.
func (l *Link) confirm(b []byte) error {
	if len(b) < 8 {
		return errors.New("short frame")
	}
	n, old, sent := binary.LittleEndian.Uint64(b), l.confirmed.Load(), l.sent.Load()
	if n < old || n > sent {
		return fmt.Errorf("%d numbered frames confirmed after %d, of %d sent", n, old, sent)
	}
	l.confirmed.Store(n)
	l.out.Nudge() // the writer forgets them
	return nil
}

// apply reads the rest of a write frame into the copy of the region: bytes first, then the cells in
// ascending order. The ring bytes are plain memory that this node's poller reads only below the
// tail that it loaded; they are above it until the tail cell is stored. If the connection breaks
// before, the bytes are sent again, to the same place.
func (l *Link) apply(r input, head []byte, rest int, cells []byte) ([]byte, error) {
	key := parseKey(head)
	pos := binary.LittleEndian.Uint64(head[8:])
	n := int(binary.LittleEndian.Uint32(head[16:]))
	count := int(binary.LittleEndian.Uint32(head[20:]))
	if count > rdma.MaxCells || n > rdma.MaxRing || rest != count*cellBytes+n {
		return cells, fmt.Errorf("write frame of %s does not add up", key)
	}
	l.mu.Lock()
	region := l.copies[key]
	l.mu.Unlock()
	if region == nil { // released here while it was under way
		if _, err := r.Discard(rest); err != nil {
			return cells, broken(err)
		}
		return cells, nil
	}
	if cap(cells) < count*cellBytes {
		cells = make([]byte, count*cellBytes)
	}
	cells = cells[:count*cellBytes]
	if err := r.full(cells); err != nil {
		return cells, err
	}
	if err := checkCells(region, pos, n, cells); err != nil {
		return cells, fmt.Errorf("write of %d bytes at %d to %s: %w", n, pos, key, err)
	}
	ring := region.Ring()
	if n > 0 {
		from := int(pos) & (len(ring) - 1)
		first := min(n, len(ring)-from)
		if err := r.full(ring[from : from+first]); err != nil {
			return cells, err
		}
		if err := r.full(ring[:n-first]); err != nil {
			return cells, err
		}
	}
	applyCells(region, cells)
	return cells, nil
}

// applyCells stores cells that were checked, in ascending order.
func applyCells(region *rdma.Region, cells []byte) {
	for c := cells; len(c) > 0; c = c[cellBytes:] {
		region.Cell(int(binary.LittleEndian.Uint32(c))).Store(binary.LittleEndian.Uint64(c[4:]))
	}
}

// checkCells checks a write before any of it is applied: cells ascend, and the ring bytes are those
// between the tail that this node has and the tail that is written.
func checkCells(region *rdma.Region, pos uint64, n int, cells []byte) error {
	last := -1
	old := region.Cell(rdma.TailCell).Load()
	tail := old
	for c := cells; len(c) > 0; c = c[cellBytes:] {
		i := int(binary.LittleEndian.Uint32(c))
		if i <= last || i >= region.Shape().Cells {
			return fmt.Errorf("cell %d after %d, of %d", i, last, region.Shape().Cells)
		}
		if i == rdma.TailCell {
			tail = binary.LittleEndian.Uint64(c[4:])
		}
		last = i
	}
	size := len(region.Ring())
	if size == 0 && n == 0 {
		return nil
	}
	if n > size || n > 0 && pos != old || tail != old+uint64(n) {
		return fmt.Errorf("tail %d to %d does not fit a ring of %d bytes at %d", old, tail, size, pos)
	}
	return nil
}

// handle acts on a numbered frame, and counts it: it is not sent again.
func (l *Link) handle(kind byte, b []byte) error {
	if !numbered(kind) {
		return fmt.Errorf("unknown frame %d", kind)
	}
	if kind != frameControl && len(b) < 8 {
		return errors.New("short frame")
	}
	switch kind {
	case frameControl:
		l.cfg.Events.Message(l, b)
	case frameOpen:
		if len(b) < 16 {
			return errors.New("short frame")
		}
		shape := rdma.Shape{Cells: int(binary.LittleEndian.Uint32(b[8:])), Ring: int(binary.LittleEndian.Uint32(b[12:]))}
		if err := shape.Check(); err != nil {
			return err
		}
		l.cfg.Exporter.Want(l, parseKey(b), shape)
	case frameOpened:
		l.opened(parseKey(b))
	case frameOpenFail:
		l.openFailed(parseKey(b), b[8:])
	}
	l.received.Add(1)
	l.out.Nudge() // the writer confirms it
	return nil
}

func (l *Link) opened(key rdma.Key) {
	l.mu.Lock()
	shape, wanted := l.opening[key]
	delete(l.opening, key)
	var r *rdma.Region
	if wanted {
		r = rdma.NewHeapRegion(shape)
		l.copies[key] = r
	}
	l.mu.Unlock()
	if wanted {
		l.cfg.Events.Opened(l, key, r, nil)
	}
}

func (l *Link) openFailed(key rdma.Key, text []byte) {
	l.mu.Lock()
	_, wanted := l.opening[key]
	delete(l.opening, key)
	l.mu.Unlock()
	if wanted {
		l.cfg.Events.Opened(l, key, nil, fmt.Errorf("tcp: %s: %s: %s", l.cfg.Peer.Name, key, text))
	}
}
