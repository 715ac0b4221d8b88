package tcp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

const (
	frameControl  = 1
	frameOpen     = 2
	frameOpenFail = 3
	frameOpened   = 4
	frameWrite    = 5

	writeHeader = 5 + 8 + 8 + 4 + 4 // length and type, key, position, bytes, cells
	cellBytes   = 4 + 8

	// lingerTime is how long a closing link waits for the peer to take what is left and to close too.
	lingerTime = time.Second
)

// Exporter finds regions that peers ask for. Want answers through Link.Export, now or when the
// region is registered.
type Exporter interface {
	Want(l *Link, key rdma.Key, shape rdma.Shape)
}

// Link connects two nodes over TCP. It takes over the connection after the greeting.
//
// Two goroutines: Run reads, and is the one that ends the link; write writes, and closes the
// connection if it can not.
type Link struct {
	conn   net.Conn
	peer   rdma.PeerInfo
	exp    Exporter
	events rdma.Events
	bell   *rdma.Bell // this node's: frames that were applied are news for its poller
	out    *rdma.Outbox[[]byte]

	// exports is replaced, never changed, so that Post can look it up without a lock.
	exports atomic.Pointer[map[rdma.Key]*export]

	mu      sync.Mutex // guards writers of exports, and what follows
	opening map[rdma.Key]rdma.Shape
	copies  map[rdma.Key]*rdma.Region // read by the read goroutine

	writeErr atomic.Pointer[error] // set by write before it closes the connection
	dropped  atomic.Pointer[error] // set by Drop before it closes the connection
	ended    chan struct{}         // closed when Run returns
}

// export is what the peer has of a region of ours. Only the writer goroutine touches announced,
// sent and now.
type export struct {
	key       rdma.Key
	region    *rdma.Region
	ring      bool        // the peer wants the ring, not only the cells
	announced bool        // the opened frame went out
	dirty     atomic.Bool // set by Post after its stores; cleared by the writer before it captures
	closing   atomic.Bool // set by Withdraw; the next capture is the last
	sent      []uint64    // values that the peer has; sent[TailCell] is also the ring position
	now       []uint64    // capture, reused
}

// NewLink makes a link of a greeted connection; bell is this node's own.
func NewLink(conn net.Conn, peer rdma.PeerInfo, bell *rdma.Bell, exp Exporter, events rdma.Events) *Link {
	l := &Link{
		conn: conn, peer: peer, exp: exp, events: events, bell: bell,
		out: rdma.NewOutbox[[]byte](), ended: make(chan struct{}),
		opening: map[rdma.Key]rdma.Shape{}, copies: map[rdma.Key]*rdma.Region{},
	}
	l.exports.Store(&map[rdma.Key]*export{})
	return l
}

// Run reads and writes until the link is down and has been reported so. LinkUp must have been
// reported before.
func (l *Link) Run() {
	defer close(l.ended)
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write()
	}()
	err := l.readFrames(bufio.NewReaderSize(l.conn, 64<<10))
	if err == io.EOF {
		err = errors.New("connection closed")
	}
	l.conn.Close()
	l.out.Close()
	<-written
	if p := l.writeErr.Load(); p != nil && errors.Is(err, net.ErrClosed) {
		err = *p
	}
	if p := l.dropped.Load(); p != nil {
		err = *p
	}
	l.events.LinkDown(l, false, fmt.Errorf("tcp: link to %s: %w", l.peer.Name, err))
}

// Peer implements rdma.Link.
func (l *Link) Peer() rdma.PeerInfo { return l.peer }

// Aliased implements rdma.Link: the peer has a copy.
func (l *Link) Aliased() bool { return false }

// Ring implements rdma.Link: applying a frame rings the peer's bell there.
func (l *Link) Ring() {}

// RaiseFence implements rdma.Link: no memory is shared.
func (l *Link) RaiseFence() {}

// Drop implements rdma.Link.
func (l *Link) Drop(err error) {
	l.dropped.CompareAndSwap(nil, &err)
	l.conn.Close()
}

// Post implements rdma.Link.
func (l *Link) Post(key rdma.Key) {
	if e := (*l.exports.Load())[key]; e != nil {
		e.dirty.Store(true)
		l.out.Nudge()
	}
}

// Send implements rdma.Link.
func (l *Link) Send(msg []byte) { l.out.Put(append(frame(frameControl, len(msg)), msg...)) }

// Open implements rdma.Link.
func (l *Link) Open(key rdma.Key, shape rdma.Shape) {
	l.mu.Lock()
	l.opening[key] = shape
	l.mu.Unlock()
	b := appendKey(frame(frameOpen, 16), key)
	b = binary.LittleEndian.AppendUint32(b, uint32(shape.Cells))
	l.out.Put(binary.LittleEndian.AppendUint32(b, uint32(shape.Ring)))
}

// Release implements rdma.Link.
func (l *Link) Release(key rdma.Key) {
	l.mu.Lock()
	delete(l.opening, key)
	delete(l.copies, key)
	l.mu.Unlock()
}

// Export answers Exporter.Want with the region, or err says why there is none. Without ring the peer
// gets the cells only.
func (l *Link) Export(key rdma.Key, r *rdma.Region, ring bool, err error) {
	if err != nil {
		l.out.Put(append(appendKey(frame(frameOpenFail, 8+len(err.Error())), key), err.Error()...))
		return
	}
	n := r.Shape().Cells
	e := &export{key: key, region: r, ring: ring, sent: make([]uint64, n), now: make([]uint64, n)}
	e.dirty.Store(true) // whatever was posted before the peer asked
	l.changeExports(func(m map[rdma.Key]*export) { m[key] = e })
	l.out.Nudge()
}

// Withdraw ends an export: the peer gets the last state, then nothing more.
func (l *Link) Withdraw(key rdma.Key) {
	if e := (*l.exports.Load())[key]; e != nil {
		e.closing.Store(true)
		e.dirty.Store(true)
		l.out.Nudge()
	}
}

func (l *Link) changeExports(change func(map[rdma.Key]*export)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := maps.Clone(*l.exports.Load())
	change(m)
	l.exports.Store(&m)
}

// Close ends the link from this side and waits for its end: what was queued or posted is still
// sent, unless the peer does not take it.
func (l *Link) Close() {
	_ = l.conn.SetWriteDeadline(time.Now().Add(lingerTime))
	l.out.Close()
	<-l.ended
}

func frame(kind byte, n int) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 5+n), uint32(1+n))
	return append(b, kind)
}

func appendKey(b []byte, key rdma.Key) []byte {
	b = binary.LittleEndian.AppendUint32(b, key.Subgroup)
	return binary.LittleEndian.AppendUint32(b, key.Epoch)
}

func parseKey(b []byte) rdma.Key {
	return rdma.Key{Subgroup: binary.LittleEndian.Uint32(b), Epoch: binary.LittleEndian.Uint32(b[4:])}
}

// turn is what the writer sends with one writev.
type turn struct {
	vec   net.Buffers
	heads []byte    // write headers, back to back
	last  []*export // that were captured for the last time
}

func (l *Link) write() {
	var (
		items [][]byte
		t     turn
		vec   = new(net.Buffers) // WriteTo consumes it; on the heap once, not once a turn
	)
	for closed := false; !closed; {
		items, closed = l.out.Take(items)
		t.vec = append(t.vec[:0], items...)
		err := l.collect(&t)
		if err == nil && len(t.vec) > 0 {
			*vec = t.vec
			_, err = vec.WriteTo(l.conn)
		}
		if err != nil {
			failure := err // a copy: err would else be on the heap, once a turn
			l.writeErr.Store(&failure)
			l.conn.Close()
			l.out.Close()
			return
		}
		// Not earlier: an export keeps the ring mapped that the turn was sent from.
		for _, e := range t.last {
			l.changeExports(func(m map[rdma.Key]*export) {
				if m[e.key] == e {
					delete(m, e.key)
				}
			})
			runtime.KeepAlive(e.region)
		}
	}
	// Half-close, and let the reader see the peer's end: to close with unread input would reset the
	// connection and could take back what was just sent.
	_ = l.conn.SetReadDeadline(time.Now().Add(lingerTime))
	if c, ok := l.conn.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
		l.conn.Close()
	}
}

// collect captures all regions that are dirty.
func (l *Link) collect(t *turn) error {
	t.heads, t.last = t.heads[:0], t.last[:0]
	for _, e := range *l.exports.Load() {
		if !e.dirty.Swap(false) {
			continue
		}
		closing := e.closing.Load() // before the capture, which then is complete
		if !e.announced {
			e.announced = true
			t.vec = append(t.vec, appendKey(frame(frameOpened, 8), e.key))
		}
		if err := e.capture(t); err != nil {
			return err
		}
		if closing {
			t.last = append(t.last, e)
		}
	}
	return nil
}

// capture appends what the peer lacks of the region: a header with the cells that changed, then the
// ring bytes. The ring bytes are sent from where they lie: the ring's owner does not reuse them
// before this peer has told, through cells of its own, that it is done with them.
func (e *export) capture(t *turn) error {
	changed := 0
	for i := len(e.now) - 1; i >= 0; i-- {
		e.now[i] = e.region.Cell(i).Load()
		if e.now[i] != e.sent[i] {
			changed++
		}
	}
	if changed == 0 {
		return nil
	}
	pos, ring := e.sent[rdma.TailCell], e.region.Ring()
	n := uint64(0)
	if e.ring {
		n = e.now[rdma.TailCell] - pos
	}
	if n > uint64(len(ring)) { // it asked for a ring whose owner does not wait for it
		return fmt.Errorf("%s: %d bytes from %d on were asked for, the ring keeps %d", e.key, n, pos, len(ring))
	}
	heads, start := t.heads, len(t.heads)
	heads = binary.LittleEndian.AppendUint32(heads, uint32(writeHeader-4+changed*cellBytes)+uint32(n))
	heads = appendKey(append(heads, frameWrite), e.key)
	heads = binary.LittleEndian.AppendUint64(heads, pos)
	heads = binary.LittleEndian.AppendUint32(heads, uint32(n))
	heads = binary.LittleEndian.AppendUint32(heads, uint32(changed))
	for i, v := range e.now {
		if v != e.sent[i] {
			heads = binary.LittleEndian.AppendUint32(heads, uint32(i))
			heads = binary.LittleEndian.AppendUint64(heads, v)
		}
	}
	e.sent, e.now = e.now, e.sent
	t.heads = heads
	t.vec = append(t.vec, heads[start:len(heads):len(heads)])
	if n > 0 {
		from := pos & uint64(len(ring)-1)
		first := min(n, uint64(len(ring))-from)
		t.vec = append(t.vec, ring[from:from+first])
		if first < n {
			t.vec = append(t.vec, ring[:n-first])
		}
	}
	return nil
}

func (l *Link) readFrames(r *bufio.Reader) error {
	var head [writeHeader]byte
	var cells []byte
	for {
		if _, err := io.ReadFull(r, head[:5]); err != nil {
			return err
		}
		n, kind := int(binary.LittleEndian.Uint32(head[:]))-1, head[4]
		if kind == frameWrite {
			if n < writeHeader-5 {
				return errors.New("short write frame")
			}
			if _, err := io.ReadFull(r, head[5:]); err != nil {
				return err
			}
			var err error
			if cells, err = l.apply(r, head[5:], n-(writeHeader-5), cells); err != nil {
				return err
			}
			l.bell.Ring()
			continue
		}
		if n < 0 || n > rdma.MaxMessage+64 {
			return fmt.Errorf("frame of %d bytes", n)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		if err := l.handle(kind, b); err != nil {
			return err
		}
	}
}

// apply reads the rest of a write frame into the copy of the region: bytes first, then the cells in
// ascending order. The ring bytes are plain memory that this node's poller reads only below the
// tail that it loaded; they are above it until the tail cell is stored.
func (l *Link) apply(r *bufio.Reader, head []byte, rest int, cells []byte) ([]byte, error) {
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
		_, err := r.Discard(rest)
		return cells, err
	}
	if cap(cells) < count*cellBytes {
		cells = make([]byte, count*cellBytes)
	}
	cells = cells[:count*cellBytes]
	if _, err := io.ReadFull(r, cells); err != nil {
		return cells, err
	}
	if err := checkCells(region, pos, n, cells); err != nil {
		return cells, fmt.Errorf("write of %d bytes at %d to %s: %w", n, pos, key, err)
	}
	ring := region.Ring()
	if n > 0 {
		from := int(pos) & (len(ring) - 1)
		first := min(n, len(ring)-from)
		if _, err := io.ReadFull(r, ring[from:from+first]); err != nil {
			return cells, err
		}
		if _, err := io.ReadFull(r, ring[:n-first]); err != nil {
			return cells, err
		}
	}
	for c := cells; len(c) > 0; c = c[cellBytes:] {
		region.Cell(int(binary.LittleEndian.Uint32(c))).Store(binary.LittleEndian.Uint64(c[4:]))
	}
	return cells, nil
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

func (l *Link) handle(kind byte, b []byte) error {
	if kind == frameControl {
		l.events.Message(l, b)
		return nil
	}
	if len(b) < 8 {
		return errors.New("short frame")
	}
	key, b := parseKey(b), b[8:]
	switch kind {
	case frameOpen:
		if len(b) < 8 {
			return errors.New("short frame")
		}
		shape := rdma.Shape{Cells: int(binary.LittleEndian.Uint32(b)), Ring: int(binary.LittleEndian.Uint32(b[4:]))}
		if err := shape.Check(); err != nil {
			return err
		}
		l.exp.Want(l, key, shape)
	case frameOpened:
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
			l.events.Opened(l, key, r, nil)
		}
	case frameOpenFail:
		l.mu.Lock()
		_, wanted := l.opening[key]
		delete(l.opening, key)
		l.mu.Unlock()
		if wanted {
			l.events.Opened(l, key, nil, fmt.Errorf("tcp: %s: %s: %s", l.peer.Name, key, b))
		}
	default:
		return fmt.Errorf("unknown frame %d", kind)
	}
	return nil
}
