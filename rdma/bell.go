package rdma

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bell is a doorbell: whoever has news for a process rings it, and wakes the one who has said that it sleeps.
//
// There are two who may: the poller, and a thread that waits for news of its own and looks after everything
// meanwhile. Only the one who was last to say so is woken; the other may sleep on.
type Bell struct {
	words *BellWords
	// local: only goroutines of this process ring. Then a sleeper waits on a channel and leaves its processor to others
	// at once, while one that sleeps in a system call keeps it until the monitor of the Go runtime notices, up to 10 ms
	// later: with few processors that is how long nobody looks at the network.
	local atomic.Bool
	rung  [2]chan struct{} // of capacity 1: the sleeper was woken
}

// BellWords lie in shared memory that the sleepers and all who wake them may write.
//
// Asleep says who is to be woken: nobody, or one of the sleepers. A sleeper sets it, then looks once more for work, then
// sleeps on its own word while that is what it was before. Whoever has made news visible loads Asleep afterwards and, if it
// names somebody, is the one of all wakers that swaps it back, moves that one's word and pays for the system call. Both sides
// store first and load second, sequentially consistent, so one of them sees the other: no news is slept over.
//
// Unless that waker ends, or stands still, between the swap and the wake-up: nobody is named then, and who sleeps sleeps on.
// So whoever has sleepers looks now and then whether one sleeps that is not named, and wakes it (Named, Wake). Nothing but
// these words lies in that memory: the worst that a broken peer can do with it is a needless wake-up, or one as late as that.
type BellWords struct {
	Asleep atomic.Uint32
	_      [60]byte // Asleep is loaded with every ring | the words of the sleepers, which change with every wake-up
	rung   [2]atomic.Uint32
	_      [56]byte
}

const (
	awake = 0 // of Asleep; else one of these:

	poller = 1
	waiter = 2

	futexWait = 0 // FUTEX_WAIT and FUTEX_WAKE, which x/sys does not name
	futexWake = 1

	// shortSleep is how long a sleep in a train is at most; see Sleep. It is longer than a millisecond, which is how
	// often many programs do what they do.
	shortSleep = 2 * time.Millisecond
	// trainLength is how many short sleeps in a row make a train.
	trainLength = 8
)

// NewBell makes a bell of words of (shared) memory.
func NewBell(words *BellWords) *Bell {
	return &Bell{words: words, rung: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
}

// SetLocal says whether only goroutines of this process ring from now on.
func (b *Bell) SetLocal(local bool) {
	if b.local.Swap(local) != local {
		for _, who := range []uint32{poller, waiter} { // to sleep in the other way
			b.words.rung[who-1].Add(1)
			b.tell(who)
			futex(&b.words.rung[who-1], futexWake, 1, nil)
		}
	}
}

// Ring wakes the one who sleeps, if anybody does. A load when nobody does.
func (b *Bell) Ring() {
	if b.words.Asleep.Load() != awake {
		b.ring()
	}
}

func (b *Bell) ring() {
	if who := b.words.Asleep.Load(); who != awake && b.words.Asleep.CompareAndSwap(who, awake) {
		b.wake(who)
	}
}

func (b *Bell) wake(who uint32) {
	if who > waiter { // a broken peer wrote it
		who = poller
	}
	word := &b.words.rung[who-1]
	word.Add(1)
	b.tell(who)
	if !b.local.Load() {
		futex(word, futexWake, 1, nil)
	}
}

func (b *Bell) tell(who uint32) {
	select {
	case b.rung[who-1] <- struct{}{}:
	default:
	}
}

// Poller is the sleeper that is there as long as the process.
func (b *Bell) Poller() *Sleeper { return &Sleeper{bell: b, who: poller} }

// Waiter is the other one. At a time one thread may use it.
func (b *Bell) Waiter() *Sleeper { return &Sleeper{bell: b, who: waiter} }

// Sleeper is one of the two who may sleep. One goroutine at a time uses it.
type Sleeper struct {
	bell   *Bell
	who    uint32
	before uint32 // what its word was when it prepared
	short  int    // sleeps in a row that were
}

// Prepare announces sleep: this one is to be woken from now on. The caller then looks for work once more, and
// calls Sleep or Cancel. Only one of the two may prepare or cancel at a time.
func (s *Sleeper) Prepare() {
	s.Settle()
	s.Name()
}

// Settle is the first half of Prepare: who wakes this one from now on ends the Sleep that follows.
func (s *Sleeper) Settle() { s.before = s.bell.words.rung[s.who-1].Load() }

// Name is the other half: this one is to be woken.
func (s *Sleeper) Name() { s.bell.words.Asleep.Store(s.who) }

// Named: it is this one that is to be woken.
func (s *Sleeper) Named() bool { return s.bell.words.Asleep.Load() == s.who }

// Cancel says that somebody is awake and will look. The word is stored only if that changes it, since all who ring load
// it. If nobody was named when it was loaded nobody is now: ringing only ever takes a name away.
func (s *Sleeper) Cancel() {
	if s.bell.words.Asleep.Load() != awake {
		s.bell.words.Asleep.Store(awake)
	}
}

// Sleep waits until this one is woken or, unless the bell is local, the limit has passed. It returns at once if that happened
// since Prepare, and now and then for no reason. It reports whether it gave its processor (P) to others meanwhile.
//
// A thread that sleeps in a system call keeps its P, until the monitor of the Go runtime takes it away up to 10 ms
// later. It may have been the one that waited for the network before it went on with the goroutine that sleeps here;
// then no link hears anything for as long. To give the P away is not free: who wakes up then wakes the monitor before
// it goes on. So one that is woken every now and then keeps it, for shortSleep at most, and any other gives it away at
// once. That costs less than what the monitor does about a P that is kept for longer.
func (s *Sleeper) Sleep(limit time.Duration) (apart bool) {
	if s.bell.local.Load() {
		<-s.bell.rung[s.who-1]
		return true
	}
	word := &s.bell.words.rung[s.who-1]
	if s.short >= trainLength {
		ts := unix.NsecToTimespec(int64(min(limit, shortSleep)))
		if err := futex(word, futexWait, s.before, &ts); err != unix.ETIMEDOUT || limit <= shortSleep {
			return false
		}
		s.short = 0
	}
	began := time.Now()
	ts := unix.NsecToTimespec(int64(limit))
	sleepApart(word, s.before, &ts)
	if s.short++; time.Since(began) > shortSleep {
		s.short = 0
	}
	return sleepsApart
}

// Park waits until a goroutine of this process wakes this one, and gives up its processor at once. It returns at once
// if that happened before, and now and then for no reason. Other processes must not have it named (Cancel).
func (s *Sleeper) Park() { <-s.bell.rung[s.who-1] }

// Wake wakes it, whoever else is said to sleep.
func (s *Sleeper) Wake() { s.bell.wake(s.who) }

// futex is the system call; spurious and interrupted returns are fine for both uses. The word is
// shared between processes, so the private flag is not set.
func futex(word *atomic.Uint32, op int, val uint32, timeout *unix.Timespec) unix.Errno {
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(val), uintptr(unsafe.Pointer(timeout)), 0, 0)
	return err
}
