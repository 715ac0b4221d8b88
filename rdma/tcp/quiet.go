package tcp

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// Over most links of an idle group only heartbeats go, which nobody waits for: they are posted quietly, and looked at when
// the next one is due. What they cost is not their bytes but waking threads, of the writer at one end and of the reader at the
// other, so many times a second and so many times for each process of the group.
//
// So a link over which only quiet frames went for a while is hushed. Its writer says so (frameHush), and then whoever
// posts quietly also sends the frame (sendQuiet), and takes those that came (HearQuiet): two system calls that do not
// wait, and no thread wakes. The peer's socket counts as readable only from wakeBytes on, so its reader sleeps on.
// Whatever else is sent goes behind as many bytes (frameWake), and is never late.
//
// The reader has the threshold set only while it naps: from a boundary of frames, behind a hush, until anything comes
// that is not a whole quiet frame. With the first byte of anything else it is 1 again, also if that byte was taken by
// somebody else's HearQuiet, since the rest may be less than the threshold. Linux looks anew whether a socket is
// readable when the threshold changes.

const (
	// hushAfter is how many turns in a row were quiet when a link is hushed.
	hushAfter = 3
	// wakeBytes are some heartbeats: who does not come to look at them in time is woken once for several of them.
	wakeBytes = 256
)

var (
	hushFrame = frame(frameHush, 0)
	wakeFrame = frame(frameWake, wakeBytes-5)[:wakeBytes]
)

// address tells the peer of a change, before or behind a turn that is about to be written.
func (c *connection) address(t *turn) {
	switch {
	case t.loud:
		c.quiet = 0
		if c.hushed {
			t.vec = slices.Insert(t.vec, 0, wakeFrame)
			c.hushed = false
		}
	case len(t.vec) > 0 && !c.hushed:
		if c.quiet++; c.quiet == hushAfter {
			t.vec = append(t.vec, hushFrame)
			c.hushed = true
		}
	}
	if len(c.rest) > 0 {
		t.vec = slices.Insert(t.vec, 0, c.rest)
		c.rest = nil
	}
}

// sendQuiet sends what is posted quietly of a region, in place of the writer. It reports false if that has to do something.
//
// A frame that is queued goes first, as the writer takes the queue before it captures: so there is nothing to send here
// while one is. More is not promised: a message and a post that follows it are two ways to the peer (rdma.Link).
func (l *Link) sendQuiet(e *export) bool {
	if !l.sending.TryLock() {
		return false
	}
	defer l.sending.Unlock()
	c, t := l.writing, &l.quietly
	if c == nil || !c.hushed || c.socket == nil || len(c.rest) > 0 || l.each != nil {
		return false
	}
	t.begin(&l.pace)
	t.received = l.sender.told // it confirms nothing
	if e.withdrawn {
		return true
	}
	if e.part {
		return false
	}
	err := t.add(e)
	// The fence is looked at after the capture, as ever.
	if err != nil || t.loud || t.ring || l.cfg.Fence.Raised() || !l.out.Empty() {
		t.undo()
		return false
	}
	n := 0
	if len(t.heads) > 0 {
		if n, err = c.socket.Send(t.heads); n == 0 || err != nil { // the writer waits for room, or meets the error
			t.undo()
			return false
		}
	}
	l.commit(t)
	clear(t.captured)
	c.rest = slices.Clone(t.heads[n:])
	return len(c.rest) == 0
}

// nap is the sleep of a reader whose peer has said that only quiet frames come.
type nap struct {
	c *connection

	mu   sync.Mutex          // guards what follows; held by the reader while it is awake to look
	came [2 * wakeBytes]byte // what came, and was not handled
	n    int                 // bytes of it
	over bool                // there is something for the reader, or there will be nothing more
}

// sleep is for the reader, at a boundary of frames, with everything handled that it has read. It returns what has come
// that is for the reader.
func (l *Link) sleep(c *connection) []byte {
	if c.socket.Threshold(wakeBytes) != nil {
		return nil // it reads on, as if nothing had been said
	}
	z := &nap{c: c}
	l.nap.Store(z)
	// Whatever ends it: an error of the connection is met by who reads on.
	_ = c.socket.Await(func() bool {
		z.mu.Lock()
		defer z.mu.Unlock()
		return l.look(z)
	})
	l.nap.Store(nil)
	z.mu.Lock()
	z.over = true // who has loaded it before leaves it alone
	z.mu.Unlock()
	_ = c.SetReadDeadline(time.Time{})
	_ = c.socket.Threshold(1)
	return z.came[:z.n]
}

// HearQuiet implements rdma.Link: it looks for quiet frames in place of a reader that naps.
func (l *Link) HearQuiet() {
	z := l.nap.Load()
	if z == nil || !z.mu.TryLock() {
		return
	}
	defer z.mu.Unlock()
	if !z.over && l.look(z) {
		_ = z.c.SetReadDeadline(time.Unix(1, 0)) // ends Await
	}
}

// look handles the quiet frames that have come. It reports whether there is anything else. The caller holds z.mu.
//
// It goes on until it has found the socket empty. The poller of the Go runtime tells of what comes, not of what is
// there: nobody would wake the reader for bytes that were left behind.
func (l *Link) look(z *nap) bool {
	for more := true; more && !z.over; {
		n, err := z.c.socket.Receive(z.came[:]) // nothing is in it: else it would be over
		z.n, more = n, n == len(z.came)
		z.over = err != nil || !l.applyQuiet(z)
	}
	return z.over
}

// applyQuiet applies whole quiet frames without ring bytes, and reports whether there was nothing else. What does not
// add up is left to the reader, too.
func (l *Link) applyQuiet(z *nap) bool {
	b := z.came[:z.n]
	for len(b) >= writeHeader {
		n := 4 + int(binary.LittleEndian.Uint32(b))
		head := b[5:writeHeader]
		if b[4] != frameQuiet || n < writeHeader || n > len(b) || binary.LittleEndian.Uint32(head[16:]) != 0 ||
			n-writeHeader != cellBytes*int(binary.LittleEndian.Uint32(head[20:])) {
			break
		}
		l.mu.Lock()
		region := l.copies[rdma.ParseKey(head)]
		l.mu.Unlock()
		if region != nil { // else it was released here
			cells := b[writeHeader:n]
			if checkCells(region, binary.LittleEndian.Uint64(head[8:]), 0, 0, cells) != nil {
				break
			}
			applyCells(region, cells)
		}
		b = b[n:]
	}
	z.n = copy(z.came[:], b)
	return z.n == 0
}
