package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/omg-dds-go/dds/rdma"
)

// errClosed: an end of the link has said goodbye, and the connection ended after it.
var errClosed = errors.New("connection closed")

const (
	// inputBytes is how much an input holds: what comes in small frames is taken in one go, and copied.
	inputBytes = 16 << 10
	// straightBytes: while ranges of rings are as long, only the head of the next frame is taken with them, so that the
	// next range can be read to where it belongs.
	straightBytes = 16 << 10
	headBytes     = 512
)

// scatterer reads into several buffers at once.
type scatterer interface {
	Read(into [3][]byte) (int, error)
}

// input reads a connection: heads of frames through a buffer, and ranges of rings straight to where they belong,
// together with the head that comes behind them. Its errors are errBroken.
type input struct {
	conn    io.Reader
	scatter scatterer // nil: conn has none
	ahead   int       // of buf, how much is offered to the connection
	r, w    int       // what is between them in buf was read, and not used
	buf     [inputBytes]byte

	// beyond is how many bytes of a ring came before the cells that speak of them: those from the copy's tail on.
	beyond map[rdma.Key]int
}

func newInput(c *connection) *input {
	in := &input{conn: c.Conn, ahead: inputBytes, beyond: map[rdma.Key]int{}}
	if s, ok := c.Conn.(interface{ scatter() scatterer }); ok {
		in.scatter = s.scatter()
	} else if c.socket != nil {
		in.scatter = c.socket.Scatter()
	}
	return in
}

// full fills one buffer, then another one.
func (in *input) full(first, second []byte) error {
	all := len(first) + len(second)
	for {
		first, second = in.use(first), in.use(second)
		if len(first) == 0 && len(second) == 0 {
			return nil
		}
		n, err := in.more(first, second)
		switch {
		case err == io.EOF && len(first)+len(second) == all:
			return broken(errClosed)
		case err == io.EOF:
			return broken(io.ErrUnexpectedEOF)
		case err != nil:
			return broken(err)
		}
		k := min(n, len(first))
		first, second = first[k:], second[n-k:]
	}
}

// use copies what was read to b, and returns the rest of b.
func (in *input) use(b []byte) []byte {
	n := copy(b, in.buf[in.r:in.w])
	in.r += n
	return b[n:]
}

// more reads at least one byte into two buffers, and what comes behind them into its own, which is empty. It returns
// how many bytes are in the two.
func (in *input) more(first, second []byte) (int, error) {
	in.r, in.w = 0, 0
	own := in.buf[:in.ahead]
	if len(first)+len(second) <= headBytes {
		first, second = nil, nil
	}
	if in.scatter == nil {
		switch {
		case len(first) > 0:
			n, err := in.conn.Read(first)
			return n, noError(n, err)
		case len(second) > 0:
			n, err := in.conn.Read(second)
			return n, noError(n, err)
		}
		n, err := in.conn.Read(own)
		in.w = max(0, n)
		return 0, noError(n, err)
	}
	n, err := in.scatter.Read([3][]byte{first, second, own})
	to := min(n, len(first)+len(second))
	in.w = n - to
	return to, noError(n, err)
}

// noError forgets the error of a read that brought something: the next one has it again.
func noError(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

// discard reads n bytes that nobody wants.
func (in *input) discard(n int) error {
	for n > 0 {
		if in.r == in.w {
			if _, err := in.more(nil, nil); err != nil {
				return broken(err)
			}
		}
		k := min(n, in.w-in.r)
		in.r, n = in.r+k, n-k
	}
	return nil
}

// read handles frames until the connection ends.
func (l *Link) read(c *connection) error {
	r := newInput(c)
	var head [writeHeader]byte
	var cells []byte
	first, bye, hushed := c.resumed, false, false
	for {
		if hushed && c.socket != nil && r.r == r.w {
			r.r, r.w = 0, copy(r.buf[:], l.sleep(c))
		}
		if err := r.full(head[:5], nil); err != nil {
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
		if kind == frameWrite || kind == frameQuiet || kind == frameAhead {
			if n < writeHeader-5 {
				return errors.New("short write frame")
			}
			if err := r.full(head[5:], nil); err != nil {
				return err
			}
			var err error
			if cells, err = l.apply(r, kind, head[5:], n-(writeHeader-5), cells); err != nil {
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
		if err := r.full(b, nil); err != nil {
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
			if kind == frameOpened { // a new copy
				delete(r.beyond, rdma.ParseKey(b))
			}
		}
	}
}

// confirm notes what the peer has handled. That it is not more than was sent is for the writer to see, who knows.
func (l *Link) confirm(b []byte) error {
	if len(b) < 8 {
		return errors.New("short frame")
	}
	l.confirmed.Store(binary.LittleEndian.Uint64(b))
	l.out.Nudge() // the writer forgets them
	return nil
}

// apply reads the rest of a write frame into the copy of the region: bytes first, then the cells in
// ascending order. The ring bytes are plain memory that this node's poller reads only below the
// tail that it loaded; they are above it until the tail cell is stored. If the connection breaks
// before, the bytes are sent again, to the same place. Of a frame of bytes ahead it notes that they are there.
func (l *Link) apply(r *input, kind byte, head []byte, rest int, cells []byte) ([]byte, error) {
	key := rdma.ParseKey(head)
	pos := binary.LittleEndian.Uint64(head[8:])
	n := int(binary.LittleEndian.Uint32(head[16:]))
	count := int(binary.LittleEndian.Uint32(head[20:]))
	if count > rdma.MaxCells || n > rdma.MaxRing || kind == frameAhead && (count > 0 || n == 0) || rest != count*cellBytes+n {
		return cells, fmt.Errorf("write frame of %s does not add up", key)
	}
	l.mu.Lock()
	region := l.copies[key]
	l.mu.Unlock()
	if region == nil { // released here while it was under way
		return cells, r.discard(rest)
	}
	if cap(cells) < count*cellBytes {
		cells = make([]byte, count*cellBytes)
	}
	cells = cells[:count*cellBytes]
	if err := r.full(cells, nil); err != nil {
		return cells, err
	}
	beyond, err := r.beyond[key], error(nil)
	if kind == frameAhead {
		err = checkBytes(region, pos, beyond, n)
	} else {
		err = checkCells(region, pos, beyond, n, cells)
	}
	if err != nil {
		return cells, fmt.Errorf("write of %d bytes at %d to %s: %w", n, pos, key, err)
	}
	ring := region.Ring()
	r.ahead = inputBytes
	if n >= straightBytes {
		r.ahead = headBytes
	}
	if n > 0 {
		from := int(pos) & (len(ring) - 1)
		first := min(n, len(ring)-from)
		if err := r.full(ring[from:from+first], ring[:n-first]); err != nil {
			return cells, err
		}
	}
	if kind == frameAhead {
		r.beyond[key] = beyond + n
		return cells, nil
	}
	if beyond > 0 {
		delete(r.beyond, key)
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
// between what this node has, which is so much beyond its tail, and the tail that is written.
func checkCells(region *rdma.Region, pos uint64, beyond, n int, cells []byte) error {
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
	if len(region.Ring()) == 0 && n == 0 {
		return nil
	}
	if tail != old+uint64(beyond+n) {
		return fmt.Errorf("tail %d to %d does not fit a ring of %d bytes at %d", old, tail, len(region.Ring()), pos)
	}
	return checkBytes(region, pos, beyond, n)
}

// checkBytes checks that ring bytes are those behind what this node has, and not more than the ring has room for.
func checkBytes(region *rdma.Region, pos uint64, beyond, n int) error {
	tail, size := region.Cell(rdma.TailCell).Load(), len(region.Ring())
	if n > size-beyond || n > 0 && pos != tail+uint64(beyond) {
		return fmt.Errorf("a range of %d bytes does not fit a ring of %d bytes at %d, of which %d are there", n, size, tail, beyond)
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
		shape := rdma.ParseShape(b[8:])
		if err := shape.Check(); err != nil {
			return err
		}
		l.cfg.Exporter.Want(l, rdma.ParseKey(b), shape)
	case frameOpened:
		l.opened(rdma.ParseKey(b))
	case frameOpenFail:
		l.openFailed(rdma.ParseKey(b), b[8:])
	}
	l.received.Add(1)
	l.out.Nudge() // the writer confirms it
	return nil
}

func (l *Link) opened(key rdma.Key) {
	l.mu.Lock()
	shape, wanted := l.opening[key]
	l.mu.Unlock()
	if !wanted {
		return
	}
	r := rdma.NewHeapRegion(shape) // not under mu: a large ring takes long, and the poller opens and releases others
	l.mu.Lock()
	_, wanted = l.opening[key] // it may have been released meanwhile
	delete(l.opening, key)
	if wanted {
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
