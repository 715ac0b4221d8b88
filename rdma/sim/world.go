package sim

import (
	"math/rand/v2"
	"time"
)

// World is the clock, the randomness and the queue of events.
type World struct {
	rng    *rand.Rand
	source *rand.PCG  // of rng
	losses *rand.Rand // what is lost of what a link has on its way when it ends: the rest is drawn the same whatever that is
	now    time.Duration
	events eventQueue
	count  uint64 // events ever queued: ties in time are broken by it
	taken  uint64 // events ever executed
	nodes  []*Fabric

	blocked map[[2]*Fabric]bool
	walls   map[[2]uint64]int // between hosts, from one to the other
	slow    map[[2]*Fabric]time.Duration
	held    []*link       // links that hold things back
	last    time.Duration // when the last thing that is on its way arrives

	// Knobs, drawn from the seed by NewWorld; a test may set them before the first event.
	MaxDelay time.Duration // of a message on a link; the least is a hundredth of it
	MaxPause time.Duration // between the steps of applying a capture
	Rejects  bool          // what cuts nodes off refuses their connections, as a firewall may, and does not only drop what they send; not drawn
	Loses    bool          // a link that its own end drops, or whose process ends on the peer's host, loses the last of what is on its way; not drawn
	Foretold bool          // that a process ends is told to those on its host (rdma.Events.Dying) before its links are down; not drawn
}

// NewWorld makes a world from a seed.
func NewWorld(seed uint64) *World {
	source := rand.NewPCG(seed, 0xdd5)
	w := &World{rng: rand.New(source), source: source, losses: rand.New(rand.NewPCG(seed, 0x105e)),
		blocked: map[[2]*Fabric]bool{}, walls: map[[2]uint64]int{}, slow: map[[2]*Fabric]time.Duration{}}
	w.MaxDelay = []time.Duration{20 * time.Microsecond, 200 * time.Microsecond, 5 * time.Millisecond}[w.rng.IntN(3)]
	w.MaxPause = []time.Duration{0, time.Microsecond, 100 * time.Microsecond}[w.rng.IntN(3)]
	return w
}

// Rand is the world's randomness.
func (w *World) Rand() *rand.Rand { return w.rng }

// Now is the virtual time since the beginning.
func (w *World) Now() time.Duration { return w.now }

// After queues an event.
func (w *World) After(d time.Duration, do func()) {
	w.count++
	w.events.push(event{w.now + d, w.count, do})
}

// Between is a random duration.
func (w *World) Between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(w.rng.Int64N(int64(high-low)))
}

// Block lets nothing pass from one node to another, or lets it pass again.
func (w *World) Block(from, to *Fabric, on bool) {
	if on {
		w.blocked[[2]*Fabric{from, to}] = true
		w.reject()
		return
	}
	delete(w.blocked, [2]*Fabric{from, to})
	w.release()
}

// Wall lets nothing pass from one host to another, also of nodes that are not there yet, or takes such a wall away.
// Several may stand between two hosts, and nothing passes until all are gone.
func (w *World) Wall(from, to uint64, on bool) {
	way := [2]uint64{from, to}
	switch {
	case on:
		w.walls[way]++
		w.reject()
	case w.walls[way] > 1:
		w.walls[way]--
	default:
		delete(w.walls, way)
		w.release()
	}
}

// Passes reports whether what a node sends to another arrives, or is held back on the way.
func (w *World) Passes(from, to *Fabric) bool {
	return !w.blocked[[2]*Fabric{from, to}] && w.walls[[2]uint64{from.self.ShmDomain, to.self.ShmDomain}] == 0
}

// Slow makes what is sent from one node to another from now on arrive that much later; 0: no later than
// anything else. What comes behind it does not overtake it.
func (w *World) Slow(from, to *Fabric, by time.Duration) {
	if by == 0 {
		delete(w.slow, [2]*Fabric{from, to})
		return
	}
	w.slow[[2]*Fabric{from, to}] = by
}

// Lose loses what is on its way from a node that has died to another, which finds that it has.
func (w *World) Lose(from, to *Fabric) {
	for _, l := range to.links {
		if b := l.back; l.to == from && from.closed {
			b.held, b.limited, b.limit = nil, true, b.passed
			b.put(l.judge, true)
		}
	}
}

// Heal lets everything pass again, nothing is slow, and who was not found is; it returns how long that takes which is on its way.
func (w *World) Heal() time.Duration {
	clear(w.blocked)
	clear(w.walls)
	clear(w.slow)
	w.release()
	for _, f := range w.nodes {
		for _, p := range f.unfound {
			f.connect(p) // unless one of them has ended, or the other has dialled
		}
		f.unfound = nil
	}
	return max(w.last-w.now, 0)
}

// release lets links go on that nothing holds back any more.
func (w *World) release() {
	held := w.held
	w.held = nil
	for _, l := range held {
		l.holds = false
		l.drain()
	}
	w.reject()
}

// reject lets all look, each after a while, whether the others refuse their connections.
func (w *World) reject() {
	if !w.Rejects {
		return
	}
	for _, f := range w.nodes {
		for _, l := range f.links {
			if l.refused != l.severed() {
				w.After(l.delay(), l.judge)
			}
		}
	}
}

// Run executes events until none is left, the time is over, or stop reports true; it returns how many.
func (w *World) Run(until time.Duration, stop func() bool) int {
	n := 0
	for len(w.events) > 0 && w.events[0].at <= until && !(stop != nil && stop()) {
		e := w.events.pop()
		w.now = e.at
		w.taken++
		e.do()
		n++
	}
	return n
}

// Moment tells two moments of a run apart: between two that are equal nothing was executed or queued, and nothing was drawn.
type Moment struct {
	taken, queued uint64
	random        rand.PCG
}

// Moment is the present one.
func (w *World) Moment() Moment { return Moment{w.taken, w.count, *w.source} }

// Fences is how often the fences of all nodes that are there were raised and lowered.
func (w *World) Fences(visit func(word uint32)) {
	for _, f := range w.nodes {
		visit(f.word.Load())
	}
}

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// eventQueue is a binary heap, the next event first. container/heap would allocate for each event, of which a short run
// has thousands.
type eventQueue []event

func (q *eventQueue) push(e event) {
	*q = append(*q, e)
	h, i := *q, len(*q)-1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (q *eventQueue) pop() event {
	h := *q
	first, n := h[0], len(h)-1
	e := h[n]
	h[n] = event{} // what it refers to may go
	if h = h[:n]; n > 0 {
		h.sink(e)
	}
	*q = h
	return first
}

// sink puts an event in the place of the first, or as far down as it belongs.
func (q eventQueue) sink(e event) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if right := child + 1; right < len(q) && q[right].before(&q[child]) {
			child = right
		}
		if !q[child].before(&e) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = e
}
