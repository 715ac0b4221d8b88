package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// sender is what is known of what was sent; it outlives connections.
type sender struct {
	// kept are the numbered frames that the peer has not confirmed, oldest first; the first of them
	// has number base. Those from next on were not sent on this connection.
	kept []keptFrame
	base uint64
	next int

	told      uint64    // what the last confirmation said
	withdrawn []*export // that are kept until the peer has their last state
}

type keptFrame struct {
	b       []byte
	derived bool // from the state of an export, and made anew when the session is resumed
}

// export is what the peer has of a region of ours. What is not atomic belongs to whoever has Link.sending.
type export struct {
	key    rdma.Key
	region *rdma.Region
	ring   bool // the peer wants the ring, not only the cells
	// posted is 0, postedQuiet or postedLoud: raised by a post after its stores, taken by the writer
	// before it captures.
	posted  atomic.Uint32
	closing atomic.Bool // set by Withdraw; the next capture is the last

	announced, withdrawn     bool   // the frame went out
	announcedAt, withdrawnAt uint64 // and this is its number
	sent                     []uint64
	now                      []uint64 // capture, reused
	pos                      uint64   // ring position up to which the peer has the bytes
	whole                    bool     // sent is unknown: every cell is sent
	unheard                  bool     // the last frame was quiet
	// part: now is what an earlier turn captured, and the peer has not yet all bytes below its tail, only those up to pos.
	// Its cells go with the last of them: what is captured anew all the time would never be sent.
	part bool
	took uint32 // by that turn, of posted
	last bool   // of its captures
}

// What is posted of an export, as bits: a loud post is a quiet one that wakes the peer.
const (
	postedQuiet = 1
	postedLoud  = 3
)

// turn is what the writer sends with one writev. Nothing of it is noted as sent before commit.
type turn struct {
	vec      net.Buffers
	confirm  []byte // frame, reused
	received uint64 // what it says
	heads    []byte // write headers, back to back
	captured []captured
	derived  []keptFrame // of captured, in order
	loud     bool        // there is more than quiet writes
	ring     bool        // there are bytes of rings
	room     int         // for more of them
	whole    int         // what is as short needs none
	full     bool        // something had to be cut
	more     bool        // something has to wait for the next turn, or did for this one, with what was posted since
}

type captured struct {
	*export
	took   uint32 // of posted
	framed bool   // there was something to send
	last   bool
	bytes  uint64 // of the ring
	cut    bool   // there are more of them, which have to come before the cells
}

// write sends until the connection is over, or the link is closed and everything was sent.
func (l *Link) write(c *connection) error {
	err := l.writeTurns(c)
	switch {
	case err == nil:
	case errors.Is(err, errBroken):
		// What the peer sent before the end, a goodbye perhaps, is still read.
		if half, ok := c.Conn.(interface{ CloseRead() error }); !ok || half.CloseRead() != nil {
			c.Close()
		}
	default:
		c.Close()
	}
	return err
}

func (l *Link) writeTurns(c *connection) error {
	defer l.each.end(false, false)
	l.sending.Lock()
	defer l.sending.Unlock()
	if c.resumed {
		if over, err := l.resume(c); over || err != nil {
			return err
		}
	}
	var (
		s     = &l.sender
		t     turn
		items [][]byte
	)
	// Nobody may nudge again for what the last connection left: the first turn waits for nothing.
	items, closed := l.out.Drain(items)
	l.writing = c
	l.pace.begin(c)
	defer func() { l.writing = nil }()
	for {
		for _, b := range items {
			s.kept = append(s.kept, keptFrame{b: b})
		}
		select {
		case <-c.over:
			return nil
		default:
		}
		if err := l.trim(); err != nil {
			return err
		}
		l.each.begin()
		if err := l.collect(&t, true); err != nil {
			return err
		}
		// After the captures: what they hold was perhaps seen by a node that did not yet know why the
		// fence was raised. Then only what does not pass the fence is sent; the rest stays dirty, and is
		// captured anew when FenceLowered has nudged (package rdma, Fence).
		held := l.cfg.Fence.Raised()
		if held {
			t.undo()
			if err := l.collect(&t, false); err != nil {
				return err
			}
		}
		l.commit(&t)
		closing := closed && !held && !t.more
		if closing {
			t.vec, t.loud = append(t.vec, frame(frameBye, 0)), true
		}
		c.address(&t)
		if len(t.vec) > 0 {
			if err := l.send(c, &t); err != nil {
				return broken(err)
			}
		}
		l.each.end(t.more, !held)
		clear(t.captured) // not earlier: an export keeps the ring mapped that the turn was sent from
		if closing {
			// Half-close, and let the reader see the peer's end: to close with unread input would reset
			// the connection and could take back what was just sent. Close bounds the wait.
			c.left.Store(true)
			if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				c.Close()
			}
			return nil
		}
		if !t.more {
			l.sending.Unlock()
			l.out.Wait()
			l.sending.Lock() // before what is queued is taken: see sendQuiet
		}
		items, closed = l.out.Drain(items)
	}
}

// send writes a turn, and looks how long a full one takes.
func (l *Link) send(c *connection, t *turn) error {
	if !t.full {
		return c.send(t.vec)
	}
	begin := time.Now()
	err := c.send(t.vec)
	l.pace.note(c, time.Since(begin))
	return err
}

// send writes all of what a turn has, and uses it up.
func (c *connection) send(vec net.Buffers) error {
	if c.gather != nil {
		return c.gather.Write(vec)
	}
	rest := vec // what WriteTo uses up is on the heap
	_, err := rest.WriteTo(c.Conn)
	return err
}

// trim forgets what the peer has confirmed. The reader has taken the peer's word, perhaps while this end went back to
// what the peer has by another (goBack).
func (l *Link) trim() error {
	s, confirmed := &l.sender, l.confirmed.Load()
	n := int(confirmed - s.base)
	switch {
	case confirmed == s.base:
		return nil
	case n < 0 || n > s.next:
		return fmt.Errorf("%d numbered frames confirmed after %d, of %d sent", confirmed, s.base, s.sent())
	}
	clear(s.kept[:n])
	s.kept, s.base, s.next = s.kept[n:], confirmed, s.next-n
	s.withdrawn = slices.DeleteFunc(s.withdrawn, func(e *export) bool {
		if e.withdrawnAt >= confirmed {
			return false
		}
		l.remove(e)
		return true
	})
	return nil
}

// sent is how many numbered frames went out at least once, as the peer knows them.
func (s *sender) sent() uint64 { return s.base + uint64(s.next) }

func (l *Link) remove(e *export) {
	l.changeExports(func(m map[rdma.Key]*export) {
		if m[e.key] == e {
			delete(m, e.key)
		}
	})
}

// collect puts together what there is to send: numbered frames, and captures of all regions that are
// dirty, or of those only that do not pass the fence.
func (l *Link) collect(t *turn, fenced bool) error {
	s := &l.sender
	t.begin(&l.pace)
	if t.received = l.received.Load(); t.received != s.told {
		t.confirm = appendFrame(t.confirm[:0], frameConfirm, 8)
		t.confirm = binary.LittleEndian.AppendUint64(t.confirm, t.received)
		t.vec = append(t.vec, t.confirm)
	}
	for _, f := range s.kept[s.next:] {
		t.vec = append(t.vec, f.b)
	}
	t.loud = len(t.vec) > 0
	for _, e := range *l.exports.Load() {
		if !e.withdrawn && (fenced || !e.key.Fenced()) {
			if err := t.add(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// add captures a region if it is dirty, or goes on with what was captured.
func (t *turn) add(e *export) error {
	var c captured
	if e.part {
		c = captured{export: e, took: e.took, last: e.last}
		t.more = true // what is posted meanwhile was not taken
	} else {
		posted := e.posted.Swap(0)
		if posted == 0 {
			return nil
		}
		c = captured{export: e, took: posted, last: e.closing.Load()} // before the capture, which then is complete
		e.load()
	}
	if !e.announced {
		t.derive(frameOpened, e.key)
	}
	err := e.capture(t, &c)
	t.loud = t.loud || c.last || !e.announced || c.took == postedLoud || c.cut
	t.more, t.full = t.more || c.cut, t.full || c.cut
	t.captured = append(t.captured, c)
	if err != nil {
		return err
	}
	if c.last && !c.cut {
		t.derive(frameWithdrawn, e.key)
	}
	return nil
}

func (t *turn) begin(p *pace) {
	t.vec, t.heads, t.captured, t.derived = t.vec[:0], t.heads[:0], t.captured[:0], t.derived[:0]
	t.loud, t.ring, t.more, t.full = false, false, false, false
	t.room, t.whole = p.room, p.whole
}

// derive adds a numbered frame that speaks of an export.
func (t *turn) derive(kind byte, key rdma.Key) {
	b := key.Append(frame(kind, 8))
	t.vec = append(t.vec, b)
	t.derived = append(t.derived, keptFrame{b, true})
}

// undo: the turn is not sent. Of what was sent in part the peer has seen nothing, as it has no cells.
func (t *turn) undo() {
	for _, e := range t.captured {
		e.part = false
		e.posted.Or(e.took)
	}
	clear(t.captured)
}

// commit notes the turn as sent.
func (l *Link) commit(t *turn) {
	s := &l.sender
	s.told = t.received
	number := s.base + uint64(len(s.kept)) // of the next derived frame
	for _, e := range t.captured {
		if !e.announced {
			e.announced, e.announcedAt = true, number
			number++
		}
		if e.cut {
			e.pos += e.bytes
			e.part, e.export.took, e.export.last = true, e.took, e.last
			continue
		}
		e.part = false
		e.sent, e.now = e.now, e.sent
		e.pos, e.whole = e.sent[rdma.TailCell], false
		if e.framed {
			e.unheard = e.took != postedLoud
		}
		if e.last {
			e.withdrawn, e.withdrawnAt = true, number
			number++
			s.withdrawn = append(s.withdrawn, e.export)
		}
	}
	s.kept = append(s.kept, t.derived...)
	s.next = len(s.kept)
}

// load captures the cells.
func (e *export) load() {
	for i := len(e.now) - 1; i >= 0; i-- {
		e.now[i] = e.region.Cell(i).Load()
	}
}

// capture appends what the peer lacks of what was captured of the region: a header with the cells that changed, then the
// ring bytes. If the turn has no room for all of these, it is as many as there is room for, and no cells: what the peer
// sees is what it has seen before. The ring bytes are sent from where they lie: the ring's owner does not reuse them
// before this peer has told, through cells of its own, that it is done with them. A loud post of what an earlier quiet
// frame carried already is a frame without cells: it wakes the peer.
func (e *export) capture(t *turn, c *captured) error {
	changed, loud := 0, c.took == postedLoud
	for i, v := range e.now {
		if e.whole || v != e.sent[i] {
			changed++
		}
	}
	if changed == 0 && !(loud && e.unheard) {
		return nil
	}
	ring := e.region.Ring()
	n := uint64(0)
	if e.ring {
		n = e.now[rdma.TailCell] - e.pos
		lies := n
		if e.part {
			lies = e.region.Cell(rdma.TailCell).Load() - e.pos
		}
		if lies > uint64(len(ring)) { // it asked for a ring whose owner does not wait for it
			return fmt.Errorf("%s: %d bytes from %d on were asked for, the ring keeps %d", e.key, lies, e.pos, len(ring))
		}
	}
	c.bytes = t.take(e.key, n)
	c.cut = c.bytes < n
	t.ring = t.ring || n > 0
	if c.cut && c.bytes == 0 {
		return nil
	}
	kind := byte(frameQuiet)
	switch {
	case c.cut:
		kind, changed = frameAhead, 0
	case loud:
		kind = frameWrite
	}
	n = c.bytes
	heads, start := t.heads, len(t.heads)
	heads = appendFrame(heads, kind, writeHeader-5+changed*cellBytes+int(n))
	heads = e.key.Append(heads)
	heads = binary.LittleEndian.AppendUint64(heads, e.pos)
	heads = binary.LittleEndian.AppendUint32(heads, uint32(n))
	heads = binary.LittleEndian.AppendUint32(heads, uint32(changed))
	if changed > 0 {
		for i, v := range e.now {
			if e.whole || v != e.sent[i] {
				heads = binary.LittleEndian.AppendUint32(heads, uint32(i))
				heads = binary.LittleEndian.AppendUint64(heads, v)
			}
		}
	}
	t.heads = heads
	t.vec = append(t.vec, heads[start:len(heads):len(heads)])
	if n > 0 {
		from := e.pos & uint64(len(ring)-1)
		first := min(n, uint64(len(ring))-from)
		t.vec = append(t.vec, ring[from:from+first])
		if first < n {
			t.vec = append(t.vec, ring[:n-first])
		}
	}
	c.framed = true
	return nil
}

// resume tells the peer on a new connection what this end has, and goes back to what the peer has.
func (l *Link) resume(c *connection) (over bool, err error) {
	if _, err := c.Write(c.own.frame()); err != nil {
		return false, broken(err)
	}
	l.sender.told = c.own.received
	select {
	case p := <-c.peer:
		return false, l.goBack(p)
	case <-c.over:
		return true, nil
	}
}

// goBack makes the sender's state that of the peer. The counts are exact: neither end reads the old
// connection any more. What the peer has not got of the frames that speak of exports is made anew, as
// the captures that belong between them are; so their numbers are given again.
func (l *Link) goBack(p position) error {
	s := &l.sender
	if p.received < s.base || p.received > s.sent() {
		return fmt.Errorf("the peer has %d numbered frames, of %d sent and %d confirmed", p.received, s.sent(), s.base)
	}
	l.confirmed.Store(p.received)
	if err := l.trim(); err != nil {
		return err
	}
	s.kept = slices.DeleteFunc(s.kept, func(f keptFrame) bool { return f.derived })
	s.next = 0
	s.withdrawn = s.withdrawn[:0]
	for key, e := range *l.exports.Load() {
		tail, has := p.tails[key]
		e.part = false
		switch {
		case e.announced && e.announcedAt < p.received && !has:
			l.remove(e) // it was released
			continue
		case e.announced && e.announcedAt < p.received:
			e.pos, e.whole = tail, true
		default: // the peer makes an empty copy when it is told
			clear(e.sent)
			e.announced, e.pos, e.whole = false, 0, false
		}
		e.withdrawn = false
		e.posted.Store(postedLoud)
	}
	return nil
}
