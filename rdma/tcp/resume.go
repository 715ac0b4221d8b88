package tcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// While a link is suspended, its peer is dialled again after a time that doubles from the first of
// these to the second.
const (
	firstRedial = 5 * time.Millisecond
	lastRedial  = 250 * time.Millisecond
)

var (
	// ErrGone: the peer does not know the session any more, and never will.
	ErrGone = errors.New("gone")
	// ErrRefused: nobody listens where the peer did. Its process has ended, or cannot be reached just now: a firewall
	// that rejects, or a forwarder that is being started anew, answers in the same way.
	ErrRefused = errors.New("refusing connections")

	// errBroken is the class of errors after which the session goes on over another connection.
	errBroken = errors.New("connection broken")
)

func broken(err error) error { return fmt.Errorf("%w: %w", errBroken, err) }

// reconnect waits for the next connection of the session, for as long as it takes. cause is what
// happened to the last one.
//
// While it is refused the peer is taken for dying. Whoever uses the link knows best whether the peer still matters, and
// drops the link if not.
func (l *Link) reconnect(cause error) (conn net.Conn, err error) {
	defer func() {
		if l.refused.Load() && err == nil {
			l.refused.Store(false)
			l.cfg.Events.Resumed(l)
		}
	}()
	for wait := firstRedial; ; wait = min(2*wait, lastRedial) {
		if l.ctx.Err() != nil {
			return nil, context.Cause(l.ctx)
		}
		var generation uint64
		if conn, generation = l.takeArrived(); conn != nil {
			return conn, nil
		}
		if l.cfg.Initiator {
			generation = l.nextGeneration()
		}
		if conn, err = l.redial(generation); err == nil {
			return conn, nil
		}
		refused := errors.Is(err, ErrRefused)
		if errors.Is(err, ErrGone) || refused && l.closing.Load() {
			if conn, _ = l.takeArrived(); conn != nil { // its last act: it does not listen any more
				return conn, nil
			}
			return nil, fmt.Errorf("%v, and the peer is %w", cause, err) // not errBroken any more
		}
		if refused && !l.refused.Swap(true) {
			l.cfg.Events.Dying(l)
		}
		pause := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-pause.C:
		case <-l.news:
		case <-l.ctx.Done():
		}
		pause.Stop()
	}
}

// redial makes one attempt. A connection that arrives cuts it short.
func (l *Link) redial(generation uint64) (net.Conn, error) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	l.mu.Lock()
	l.interrupt = cancel
	if l.arrived != nil {
		cancel()
	}
	l.mu.Unlock()
	conn, err := l.cfg.Redial(ctx, generation)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupt = nil
	if err == nil {
		l.conn = conn
	}
	return conn, err
}

// takeArrived makes the connection on which the peer resumes, if there is one, the one in use. It
// returns the generation of the last connection too.
func (l *Link) takeArrived() (net.Conn, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn := l.arrived
	if conn != nil {
		l.arrived, l.conn = nil, conn
	}
	return conn, l.generation
}

func (l *Link) nextGeneration() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	return l.generation
}

// Down reports whether the link has ended, or is about to: no connection can resume it.
func (l *Link) Down() bool { return l.ctx.Err() != nil }

// Suspended reports whether the link has no connection.
func (l *Link) Suspended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn == nil
}

// Resumable reports whether Resume would take a connection of this generation.
func (l *Link) Resumable(generation uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resumable(generation)
}

// A request that was overtaken by a later one must not replace its connection. The caller holds mu.
func (l *Link) resumable(generation uint64) bool {
	return !l.cfg.Initiator && !l.Down() && generation > l.generation
}

// Resume gives the link a connection that the peer, who is the initiator, made to resume the
// session. The one in use is replaced: the peer has seen it break. If Resume reports false the
// connection is the caller's.
func (l *Link) Resume(conn net.Conn, generation uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.resumable(generation) {
		return false
	}
	if l.arrived != nil {
		l.arrived.Close()
	}
	if l.conn != nil {
		l.conn.Close()
	}
	l.arrived, l.generation = conn, generation
	if l.interrupt != nil {
		l.interrupt()
	}
	l.wake()
	return true
}

// Asked tells the initiator that the peer has seen the connection of that generation break.
func (l *Link) Asked(generation uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil && l.generation == generation {
		l.conn.Close()
	}
	l.wake()
}

// wake ends a wait for the next attempt.
func (l *Link) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// position is what this end has. The last connection's reader has ended.
func (l *Link) position() position {
	p := position{received: l.received.Load(), tails: map[rdma.Key]uint64{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, r := range l.copies {
		p.tails[key] = r.Cell(rdma.TailCell).Load()
	}
	return p
}
