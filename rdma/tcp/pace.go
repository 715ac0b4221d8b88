package tcp

import (
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// A frame waits behind what the socket has not sent yet, and behind the turn that is being written. Heartbeats may not wait
// for long, or the peer takes this process for dead: so both are bounded by the same number, and each turn has the newest
// heartbeats. What is under way is the kernel's to bound.
//
// What is little for a fast line is much for a slow one. So a link finds its number: it doubles when a full turn was
// taken at once, and is halved when one took long. Between the two lies more than what one step changes.
const (
	// firstTurn is that of a new connection: a tenth of a second at 5 Mbit/s, which a lease of 500 ms bears.
	firstTurn = 64 << 10
	// leastTurn is as much as is left of a range when it is cut so small that it would cost more than it hastens.
	leastTurn = 32 << 10
	// mostTurn is half of what suits 1.5 GB/s best, and what a line that was fast and is not still bears: as much twice
	// takes 80 ms at 100 Mbit/s.
	mostTurn = 512 << 10

	fastTurn = 5 * time.Millisecond
	slowTurn = 20 * time.Millisecond

	// wholeBytes: what is as short is sent whole, also if others have used the turn up, so that a region of which little
	// has changed does not wait for those that are large.
	wholeBytes = 4 << 10
)

// pace is how much of rings a link sends in a turn. It belongs to whoever has Link.sending.
type pace struct {
	least, most, whole int // the constants, but in tests
	room               int
}

// begin is for a new connection, whose line may be another one.
func (p *pace) begin(c *connection) {
	p.room = min(max(firstTurn, p.least), p.most)
	c.bound(p.room)
}

// note that a full turn took so long.
func (p *pace) note(c *connection, took time.Duration) {
	room := p.room
	switch {
	case took < fastTurn:
		room = min(2*room, p.most)
	case took > slowTurn:
		room = max(room/2, p.least)
	}
	if room != p.room {
		p.room = room
		c.bound(room)
	}
}

// bound has the writer wait while as much was not sent.
func (c *connection) bound(bytes int) {
	if c.socket != nil {
		_ = c.socket.BoundUnsent(bytes) // what is not TCP has nothing that waits, and no bound
	}
}

// take is how many of n bytes of a ring the turn has room for. That of subgroup 0 is not cut: its heartbeats come with
// its bytes, which are few.
func (t *turn) take(key rdma.Key, n uint64) uint64 {
	switch {
	case n <= uint64(t.whole) || !key.Fenced():
		return n
	case t.room <= t.whole: // not worth a frame
		return 0
	}
	n = min(n, uint64(t.room))
	t.room -= int(n)
	return n
}
