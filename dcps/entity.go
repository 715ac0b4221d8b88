package dcps

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// entity is what topics, writers and readers have in common: a state behind a lock that the polling goroutine never
// waits for.
//
// The polling goroutine posts items to the inbox, a lock-free list, and then tries the lock. Whoever holds the lock,
// be it a user's goroutine or the poller, applies what is in the inbox before letting go, and looks again afterwards:
// an item posted while the lock was held is applied by its holder. (Flat combining, after Hendler et al., 2010.)
type entity struct {
	p      *DomainParticipant // nil for what stands in for an entity that does not exist; see absent.go
	what   string             // for errors: `writer of topic "Track"`
	madeBy string             // of what stands in: its constructor
	logic  entityLogic

	inbox atomic.Pointer[item] // newest first
	// due: its alarm has gone off. It is stored before the lock is tried, and looked at after it was let go: so either who stored it
	// gets the lock, or who had that sees it.
	due atomic.Bool

	// enabled: stored once everything that operations need is there; whoever loads true sees it (DDS: enable).
	enabled atomic.Bool
	// refused is why the domain does not know the entity, though it is enabled: refused.go. Stored by the polling goroutine.
	refused atomic.Pointer[error]
	// changing is held while the entity is enabled, announced anew, or closed: one after the other. It is taken before all
	// other locks.
	changing mutex

	mu sync.Mutex
	// Guarded by mu:
	closed  bool
	changed StatusMask // statuses that changed since they were last looked at
	watched []*trigger // conditions that somebody waits on, or did
	failure error      // the group can not go on
	armed   int64      // what the participant's timer was last told

	listens   StatusMask // what a listener is to hear of
	listening bool       // the goroutine that calls it runs

	wakeListener chan struct{} // capacity 1
	stop         chan struct{} // closed when the entity is
	alarm        alarm
	listed       *listing // of the participant's entities; guarded by the participant's lock
}

// entityLogic is the single-threaded part of an entity, called with mu held.
type entityLogic interface {
	apply(it *item)
	// nextTick is when tick is due, 0 for never.
	nextTick() int64
	tick(now int64)
}

func (e *entity) init(p *DomainParticipant, what string, logic entityLogic) {
	e.p, e.what, e.logic, e.changing = p, what, logic, newMutex()
	e.stop, e.wakeListener = make(chan struct{}), make(chan struct{}, 1)
}

// post hands a chain of items over; head is the newest, and tail the oldest. It never blocks.
func (e *entity) post(head, tail *item) {
	for {
		old := e.inbox.Load()
		tail.next = old
		if e.inbox.CompareAndSwap(old, head) {
			break
		}
	}
	for e.inbox.Load() != nil && e.mu.TryLock() {
		e.drain()
		e.settle()
		e.mu.Unlock()
		if e.due.Load() { // the timer goroutine did not get the lock: it is to try again, as what is due may take long
			e.alarm.set(now())
			e.p.timers.ring()
		}
	}
}

// combine applies what is in the inbox, and does what is due, unless somebody else is about to.
func (e *entity) combine() {
	for (e.inbox.Load() != nil || e.due.Load()) && e.mu.TryLock() {
		e.drain()
		e.tickIfDue()
		e.settle()
		e.mu.Unlock()
	}
}

// lock enters the entity, with all that was posted applied.
func (e *entity) lock() {
	e.mu.Lock()
	e.drain()
	e.tickIfDue()
}

// unlock leaves the entity: conditions and listeners learn of what changed.
func (e *entity) unlock() {
	e.drain()
	e.tickIfDue()
	e.settle()
	e.mu.Unlock()
	e.combine()
}

func (e *entity) drain() {
	for {
		newest := e.inbox.Swap(nil)
		if newest == nil {
			return
		}
		var oldest *item
		for it := newest; it != nil; {
			next := it.next
			it.next = oldest
			oldest, it = it, next
		}
		for it := oldest; it != nil; {
			next := it.next
			it.next = nil
			e.logic.apply(it)
			it = next
		}
	}
}

// tickIfDue does what is due. The polling goroutine leaves that to others.
func (e *entity) tickIfDue() {
	if !e.due.Load() {
		return
	}
	e.due.Store(false) // first: what becomes due from here on is for the next one who looks
	if e.closed {
		return
	}
	e.armed = 0
	if at, t := e.logic.nextTick(), now(); at != 0 && at <= t {
		e.logic.tick(t)
	}
}

// settle wakes who waits for what became true.
func (e *entity) settle() {
	for _, t := range e.watched {
		t.update()
	}
	if e.changed&e.listens != 0 {
		e.wake()
	}
	if at := e.logic.nextTick(); at != e.armed && !e.closed {
		e.armed = at
		if at != 0 {
			e.alarm.set(at)
			e.p.timers.ring()
		}
	}
}

// fire has the entity do what is due. The participant's timer goroutine calls it, and does not wait for the lock: somebody may
// read very many samples, while others have deadlines.
func (e *entity) fire() {
	e.due.Store(true)
	e.combine()
}

// usable tells why an operation can not be done, if so. Called with mu held.
func (e *entity) usable(op string) error {
	if e.closed {
		return e.deleted(op)
	}
	if !e.enabled.Load() {
		return e.notEnabled(op)
	}
	return nil
}

// notEnabled is the error of an operation that an entity does only once it is enabled, or that does not exist.
func (e *entity) notEnabled(op string) error {
	if e.p == nil {
		return e.deleted(op)
	}
	return &Error{Op: op, Entity: e.what, Code: ErrNotEnabled,
		Detail: "call Enable first: ENTITY_FACTORY autoenable_created_entities of what made it is false"}
}

// deleted is the error of an operation on an entity that is closed, or does not exist.
func (e *entity) deleted(op string) error {
	if e.p == nil {
		return missing(op, e.what, e.madeBy)
	}
	return &Error{Op: op, Entity: e.what, Code: ErrAlreadyDeleted, Detail: "it was closed"}
}

// close marks the entity deleted, once; the listener goroutine ends after the callback that runs, if any.
func (e *entity) close() bool {
	e.lock()
	first := !e.closed
	e.closed = true
	if first {
		close(e.stop)
		for _, t := range e.watched {
			t.end() // also what holds already: who waits for it to begin to is to be told
		}
	}
	e.unlock()
	return first
}

// wake has the listener goroutine look. It never blocks.
func (e *entity) wake() {
	select {
	case e.wakeListener <- struct{}{}:
	default:
	}
}

// hear sets what a listener is to hear of: deliver runs on a goroutine of the entity for each batch of changes, outside of all
// locks, so that it may call anything. Called with mu held.
func (e *entity) hear(mask StatusMask, deliver func()) {
	e.listens = mask
	if mask != 0 {
		e.startListener(deliver)
	}
}

func (e *entity) startListener(deliver func()) {
	if e.listening || e.closed {
		return
	}
	e.listening = true
	e.p.spawn("dcps listener", func() {
		for {
			select {
			case <-e.wakeListener:
				deliver()
			case <-e.stop:
				return
			}
		}
	})
}

// await blocks until cond holds, checked with the lock held each time something changed.
func (e *entity) await(ctx context.Context, op string, cond func() bool) error {
	if ctx == nil {
		return isNil(op, e.what, "ctx")
	}
	held := false
	t := trigger{eval: func() bool {
		held = held || cond()
		return held || e.closed || e.failure != nil
	}}
	e.lock()
	e.watched = append(e.watched, &t)
	defer func() {
		e.unwatch(&t)
		e.unlock()
	}()
	for {
		ready := t.readyLocked()
		if err := e.usable(op); err != nil {
			return err
		}
		if held {
			return nil
		}
		if e.failure != nil {
			return e.failed(op)
		}
		e.unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			e.lock()
			if t.eval() && held {
				return nil
			}
			return failure(op, e.what, "", ctx.Err())
		}
		e.lock()
	}
}

// statusChanges tells which statuses changed since they were looked at.
func (e *entity) statusChanges() StatusMask {
	e.lock()
	defer e.unlock()
	return e.changed
}

func (e *entity) unwatch(t *trigger) {
	for i, w := range e.watched {
		if w == t {
			e.watched = append(e.watched[:i], e.watched[i+1:]...)
			return
		}
	}
}

func (e *entity) failed(op string) error {
	return domainFailed(op, e.what, e.failure)
}

// alarm is the time at which an entity's tick is due, as its participant's timer sees it.
type alarm struct{ at atomic.Int64 }

func (a *alarm) set(t int64) { a.at.Store(t) }

// take gives the alarm's time, 0 for none, and clears it if it has come.
func (a *alarm) take(now int64) (at int64, due bool) {
	at = a.at.Load()
	if at == 0 || at > now {
		return at, false
	}
	return 0, a.at.CompareAndSwap(at, 0)
}

// timers is the one goroutine of a participant that waits for time to pass: DEADLINE, LIFESPAN, autopurge.
type timers struct {
	bell chan struct{} // capacity 1
	stop chan struct{}
	list func() iter.Seq[*entity]
}

func newTimers(list func() iter.Seq[*entity]) *timers {
	return &timers{bell: make(chan struct{}, 1), stop: make(chan struct{}), list: list}
}

// ring makes the goroutine look at all alarms again. It never blocks.
func (t *timers) ring() {
	select {
	case t.bell <- struct{}{}:
	default:
	}
}

func (t *timers) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := t.fireDue(time.Now().UnixNano())
		wait := time.Hour
		if next != 0 {
			wait = max(0, time.Duration(next-time.Now().UnixNano()))
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-t.bell:
		case <-t.stop:
			return
		}
	}
}

// fireDue fires the alarms whose time has come and gives the earliest of the others, 0 for none.
func (t *timers) fireDue(now int64) int64 {
	var next int64
	for e := range t.list() {
		at, due := e.alarm.take(now)
		if due {
			e.fire()
			at = e.alarm.at.Load()
		}
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// now is the time that caches and timers work with.
func now() int64 { return time.Now().UnixNano() }

// timeOf is the inverse of UnixNano; zero is the zero time.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// what describes an entity in errors.
func what(kind, topicName string) string { return fmt.Sprintf("%s of topic %q", kind, topicName) }
