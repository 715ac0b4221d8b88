package ledger

import (
	"fmt"
	"maps"
	"slices"
)

// maxEntries is how many entries a book is made for: about 250 MB.
const maxEntries = 4 << 20

// Book is what was told by all lives of a run.
type Book struct {
	lives   []*Life
	now     int // counts what happened to lives, to tell which was first
	entries int
}

// Life is one process from its start to its end.
type Life struct {
	Role       string
	Generation int
	Late       bool // others were there before it

	book      *Book
	delivered map[string][]Entry
	published map[string]Progress
	last      map[string]uint64 // greatest number delivered
	absences  []absence
	ready     int                          // when it had its history; 0: not yet
	ended     int                          // when it was killed, or died; 0: it lives at the end
	promised  map[string]map[string]uint64 // when it was condemned: topic -> writer's role -> number that was acknowledged
}

// absence is a time in which a process stood still, and the others may have gone on without it.
type absence struct {
	from, to map[string]int      // how many entries it had told of each topic before and after
	sent     map[string]Progress // by its writers, before
	sentTo   map[string]Progress // and after; nil: it is not over
}

// Progress is how far a writer got.
type Progress struct {
	Published    uint64 `json:"published"`
	Acknowledged uint64 `json:"acknowledged"` // by all readers, and on disk where it is logged
}

// Begin notes a new process.
func (b *Book) Begin(role string, late bool) *Life {
	l := &Life{
		Role: role, Generation: b.Lives(role), Late: late, book: b, delivered: make(map[string][]Entry),
		published: make(map[string]Progress), last: make(map[string]uint64),
	}
	b.lives = append(b.lives, l)
	return l
}

// Lives is how many processes have played a role.
func (b *Book) Lives(role string) int {
	n := 0
	for _, l := range b.lives {
		if l.Role == role {
			n++
		}
	}
	return n
}

// Late tells whether the last process that played a role joined in the middle.
func (b *Book) Late(role string) bool {
	late := false
	for _, l := range b.lives {
		if l.Role == role {
			late = l.Late
		}
	}
	return late
}

// Full tells that the book has as many entries as it is made for, and the run is to end. What comes until it has is taken all the
// same: to leave it out would be to find that it is missing, at all processes and in all logs.
func (b *Book) Full() bool { return b.entries >= maxEntries }

// Ready notes that a process has joined, and has its history.
func (b *Book) Ready(l *Life) {
	b.now++
	l.ready = b.now
}

// Away notes that a process stood still after what it has told so far. Of one that is away already it is no news.
func (l *Life) Away() {
	if n := len(l.absences); n > 0 && l.absences[n-1].sentTo == nil {
		return
	}
	a := absence{from: make(map[string]int), sent: maps.Clone(l.published)}
	for topic, entries := range l.delivered {
		a.from[topic] = len(entries)
	}
	l.absences = append(l.absences, a)
}

// Back notes that it has joined again, if the others had gone on without it, and has its history.
func (l *Life) Back() {
	if len(l.absences) == 0 {
		return
	}
	a := &l.absences[len(l.absences)-1]
	a.to, a.sentTo = make(map[string]int), maps.Clone(l.published)
	for topic, entries := range l.delivered {
		a.to[topic] = len(entries)
	}
}

// excused tells whether a life need not have a position, because it was away.
func (l *Life) excused(topic string, e *Entry) bool {
	entries := l.delivered[topic]
	for _, a := range l.absences {
		begun := a.from[topic] == 0 || entries[a.from[topic]-1].before(e)
		ended := a.sentTo != nil && a.to[topic] < len(entries) && !e.before(&entries[a.to[topic]])
		if begun && !ended {
			return true
		}
	}
	return false
}

// hears tells whether a life must have a sample that comes between o[at-1] and o[at]: it is there all the time from the
// one to the other.
func (l *Life) hears(topic string, o order, at int) bool {
	entries, takes := l.delivered[topic]
	from, known := l.part(topic, o)
	if !takes || !known || at < from || l.Late && at == from {
		return false
	}
	if l.ended != 0 && (len(entries) == 0 || at > o.index(&entries[len(entries)-1])) {
		return false
	}
	for _, a := range l.absences {
		begun := a.from[topic] == 0 || o.index(&entries[a.from[topic]-1]) < at
		ended := a.sentTo != nil && a.to[topic] < len(entries) && o.index(&entries[a.to[topic]]) < at
		if begun && !ended {
			return false
		}
	}
	return true
}

// unheard tells whether there was a time from o[from-1] to o[to] in which nobody read a topic.
func (b *Book) unheard(topic string, o order, from, to int) bool {
	for at := from; at <= to; at++ {
		if !slices.ContainsFunc(b.lives, func(l *Life) bool { return l.hears(topic, o, at) }) {
			return true
		}
	}
	return false
}

// unsent tells whether a number may be lost, to all alike, because its writer was away: it was not acknowledged before.
func (l *Life) unsent(topic string, n uint64) bool {
	for _, a := range l.absences {
		if n > a.sent[topic].Acknowledged && (a.sentTo == nil || n <= a.sentTo[topic].Published) {
			return true
		}
	}
	return false
}

// Missed tells whether the last process that played a role was away when samples of a topic came, or when some came that nobody
// has. One that stood still for so short that nobody noticed has missed nothing.
func (b *Book) Missed(role string, t Topic) bool {
	var l *Life
	for _, o := range b.lives {
		if o.Role == role {
			l = o
		}
	}
	if l == nil || len(l.absences) == 0 {
		return false
	}
	entries, takes := l.delivered[t.Name]
	o := b.order(t, new(findings))
	from, known := l.part(t.Name, o)
	return takes && known && (len(entries)-history(entries) < len(o)-from || b.Total(t.Writer, t.Name) > uint64(len(o)))
}

// Unsent tells whether any process that played a role was away when it published samples of a topic that nobody has.
func (b *Book) Unsent(role, topic string) bool {
	return slices.ContainsFunc(b.lives, func(l *Life) bool {
		return l.Role == role && len(l.absences) > 0 && b.Published(l, topic) < l.published[topic].Published
	})
}

// Condemn notes that a process is about to be killed. What was acknowledged to a writer by now it had to store, too;
// what is acknowledged later may be so because the others go on without it.
func (b *Book) Condemn(l *Life) {
	l.promised = make(map[string]map[string]uint64)
	for _, w := range b.lives {
		for topic, p := range w.published {
			if p.Acknowledged == 0 {
				continue
			}
			if l.promised[topic] == nil {
				l.promised[topic] = make(map[string]uint64)
			}
			l.promised[topic][w.Role] = Number(w.Generation, p.Acknowledged)
		}
	}
}

// End notes that a process ended before the run did. It tells nothing any more.
func (b *Book) End(l *Life) {
	b.now++
	l.ended = b.now
}

// Deliver takes entries that a process tells, packed one behind the other.
func (l *Life) Deliver(topic string, packed []byte) error {
	entries, err := parse(packed)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", topic, l, err)
	}
	l.book.entries += len(entries)
	l.delivered[topic] = append(l.delivered[topic], entries...)
	for i := range entries {
		l.last[topic] = max(l.last[topic], entries[i].Number)
	}
	return nil
}

// Publish takes how far a writer of the process got.
func (l *Life) Publish(topic string, p Progress) { l.published[topic] = p }

// Published is how many samples a process has published of a topic: of one that was killed or away, how many anybody
// delivered.
func (b *Book) Published(l *Life, topic string) uint64 {
	if l.ended == 0 && len(l.absences) == 0 {
		return l.published[topic].Published
	}
	there := make(map[uint64]bool)
	for _, o := range b.lives {
		for _, e := range o.delivered[topic] {
			if Generation(e.Number) == l.Generation {
				there[e.Number] = true
			}
		}
	}
	return uint64(len(there))
}

// Total is Published of all lives that played a role.
func (b *Book) Total(role, topic string) uint64 {
	var n uint64
	for _, l := range b.lives {
		if l.Role == role {
			n += b.Published(l, topic)
		}
	}
	return n
}

// Reaches is the number of the last sample of a topic that everybody must deliver: the last that a living writer has
// published, or that anybody delivered.
func (b *Book) Reaches(topic string) uint64 {
	var number uint64
	for _, l := range b.lives {
		number = max(number, l.last[topic])
		if p := l.published[topic].Published; p > 0 && l.ended == 0 {
			number = max(number, Number(l.Generation, p))
		}
	}
	return number
}

// Whole tells whether every role was played by one process from its beginning to the end.
func (b *Book) Whole() bool {
	for _, l := range b.lives {
		if l.Late || l.ended != 0 || len(l.absences) > 0 {
			return false
		}
	}
	return true
}

// String names a life as people count: "nav", "nav (2nd process)".
func (l *Life) String() string {
	if l.Generation == 0 {
		return l.Role
	}
	return fmt.Sprintf("%s (process no. %d)", l.Role, l.Generation+1)
}
