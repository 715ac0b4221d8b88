package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream is samples first to last of a generation, at positions that follow the numbers. Each is another instance of three.
func stream(generation int, first, last uint64) []Entry {
	var entries []Entry
	for n := first; n <= last; n++ {
		number := Number(generation, n)
		entries = append(entries, Entry{
			Epoch: uint32(1 + generation), Sequence: 10 * n, Number: number, Instance: uint32(n % 3), Sum: number * 7,
		})
	}
	return entries
}

func past(entries ...Entry) []Entry {
	for i := range entries {
		entries[i].History = true
	}
	return entries
}

func (l *Life) tells(t *testing.T, topic string, parts ...[]Entry) {
	t.Helper()
	var packed []byte
	for _, entries := range parts {
		for _, e := range entries {
			packed = e.Append(packed)
		}
	}
	require.NoError(t, l.Deliver(topic, packed))
}

// scene is a writer that was killed after 10 samples and followed by another that wrote 10 more, a reader that was there all
// the time, one that was killed after sample 5, and one that took its place at sample 8.
type scene struct {
	book                       *Book
	writer, next, a, dead, new *Life
}

var traffic = Topic{Name: "T", Writer: "w", History: true}

func newScene() *scene {
	s := &scene{book: new(Book)}
	s.writer, s.a, s.dead = s.book.Begin("w", false), s.book.Begin("a", false), s.book.Begin("b", false)
	return s
}

// play fills it in; nil parts are what is right.
func (s *scene) play(t *testing.T, a, dead, given, live []Entry, acknowledged uint64) {
	t.Helper()
	s.writer.Publish("T", Progress{Published: 12, Acknowledged: acknowledged})
	or := func(parts, right []Entry) []Entry {
		if parts == nil {
			return right
		}
		return parts
	}
	s.dead.tells(t, "T", or(dead, stream(0, 1, 5)))
	s.book.Condemn(s.dead)
	s.book.End(s.dead)
	s.new = s.book.Begin("b", true)
	s.new.tells(t, "T", or(given, past(stream(0, 6, 8)...)))
	s.book.Ready(s.new)
	s.book.End(s.writer)
	s.next = s.book.Begin("w", true)
	s.book.Ready(s.next)
	s.next.Publish("T", Progress{Published: 10, Acknowledged: 10})
	s.a.tells(t, "T", or(a, append(stream(0, 1, 10), stream(1, 1, 10)...)))
	s.new.tells(t, "T", or(live, append(stream(0, 9, 10), stream(1, 1, 10)...)))
}

func without(entries []Entry, i int) []Entry { return append(entries[:i:i], entries[i+1:]...) }

func TestCheck(t *testing.T) {
	all := func() []Entry { return append(stream(0, 1, 10), stream(1, 1, 10)...) }
	for _, c := range []struct {
		name                 string
		a, dead, given, live []Entry
		acknowledged         uint64
		want                 []string
	}{
		{name: "all is well", acknowledged: 10},
		{name: "a survivor misses one", a: without(all(), 6), want: []string{
			"a: 1 samples of T are missing that others delivered, the first is number 7 at position 1.70"}},
		{name: "a survivor misses the end", a: all()[:18], want: []string{
			"a: 2 samples of T are missing that others delivered, the first is number 1000000000009 at position 2.90"}},
		{name: "the dead had delivered what nobody else has", dead: append(stream(0, 1, 4), Entry{Epoch: 1, Sequence: 45, Number: 5, Sum: 1}),
			want: []string{
				"w: what it published of T is not there in the order in which it did, or not without gaps (1, the first at its number 5)",
				"a: 1 samples of T are missing that others delivered, the first is number 5 at position 1.45"}},
		{name: "the dead missed one in the middle", dead: without(stream(0, 1, 5), 2), want: []string{
			"b: 1 samples of T are missing that others delivered, the first is number 3 at position 1.30"}},
		{name: "the dead died early", dead: []Entry{}},
		{name: "who came late misses one", live: without(append(stream(0, 9, 10), stream(1, 1, 10)...), 0), want: []string{
			"b (process no. 2): 1 samples of T are missing that others delivered, the first is number 9 at position 1.90"}},
		{name: "who came late has not the whole picture", given: past(stream(0, 7, 8)...), want: []string{
			"b (process no. 2) came late, and of 1 instances of T was not given the last sample, as of number 6 at position 1.60"}},
		{name: "what was acknowledged is lost", acknowledged: 12, want: []string{
			"w: 12 samples of T were acknowledged before it ended, and nobody has more than the first 10"}},
		{name: "two disagree", a: append([]Entry{{Epoch: 1, Sequence: 10, Number: 1, Instance: 1, Sum: 1}}, all()[1:]...), want: []string{
			"1 positions in the order of T hold different samples at different processes"}},
		{name: "out of order", a: append([]Entry{all()[1], all()[0]}, all()[2:]...), want: []string{
			"a: samples of T came out of order: position 1.10 behind 1.20"}},
		{name: "nobody has the last of a writer that lives", a: all()[:19], live: append(stream(0, 9, 10), stream(1, 1, 9)...), want: []string{
			"w (process no. 2) lives, and nobody has 1 of the 10 samples of T that it published"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.play(t, c.a, c.dead, c.given, c.live, c.acknowledged)
			assert.Equal(t, c.want, s.book.Check(traffic))
		})
	}
}

// A reader that is there from the beginning and tells nothing has missed everything; one that does not read the topic, nothing.
func TestSilentReader(t *testing.T) {
	b := new(Book)
	b.Begin("w", false).Publish("T", Progress{Published: 2, Acknowledged: 2})
	b.Begin("a", false).tells(t, "T", stream(0, 1, 2))
	silent := b.Begin("b", false)
	assert.Empty(t, b.Check(traffic))
	silent.tells(t, "T")
	assert.Equal(t, []string{"b: 2 samples of T are missing that others delivered, the first is number 1 at position 1.10"}, b.Check(traffic))
}

// What a writer that has gone wrote need not be given to who comes after it, unless the topic outlives its writers.
func TestPictureOfAWriterThatHasGone(t *testing.T) {
	b := new(Book)
	w, a := b.Begin("w", false), b.Begin("a", false)
	w.Publish("T", Progress{Published: 3, Acknowledged: 3})
	b.End(w)
	b.Begin("w", true).Publish("T", Progress{Published: 1, Acknowledged: 1})
	a.tells(t, "T", stream(0, 1, 3), stream(1, 1, 1))
	late := b.Begin("b", true)
	late.tells(t, "T", past(stream(1, 1, 1)...))
	b.Ready(late)
	assert.Empty(t, b.Check(traffic))
	outlives := traffic
	outlives.Outlives = true
	assert.Equal(t, []string{"b came late, and of 2 instances of T was not given the last sample, as of number 3 at position 1.30"}, b.Check(outlives))
}

// Who stood still is excused from what came meanwhile, and from nothing else; what its writer sent then may be lost to all.
func TestAbsence(t *testing.T) {
	b := new(Book)
	w, a := b.Begin("w", false), b.Begin("a", false)
	a.tells(t, "T", stream(0, 1, 3))
	w.Publish("T", Progress{Published: 4, Acknowledged: 2})
	assert.True(t, b.Whole())
	a.Away()
	w.Away()
	assert.False(t, b.Missed("a", traffic), "nothing yet")
	a.tells(t, "T", stream(0, 6, 7))
	a.Back()
	w.Publish("T", Progress{Published: 9, Acknowledged: 9})
	w.Back()
	w.Publish("T", Progress{Published: 12, Acknowledged: 12})
	a.tells(t, "T", stream(0, 9, 12))
	c := b.Begin("c", false)
	c.tells(t, "T", stream(0, 1, 2), stream(0, 4, 7), stream(0, 9, 12))
	assert.Equal(t, []string{"c: 1 samples of T are missing that others delivered, the first is number 3 at position 1.30"}, b.Check(traffic),
		"number 8 was sent while w was away, and nobody has it; a was away when 4 and 5 came")
	assert.Equal(t, uint64(11), b.Total("w", "T"))
	assert.True(t, b.Missed("a", traffic))
	assert.True(t, b.Unsent("w", "T"))
	b.Begin("w", true)
	assert.True(t, b.Unsent("w", "T"), "whoever came after it")
	assert.False(t, b.Missed("c", traffic))
	assert.False(t, b.Whole())
	assert.Empty(t, b.CheckLog("a", traffic, []Stored{{1, 7}, {2, 14}, {3, 21}, {7, 49}, {9, 63}, {10, 70}, {11, 77}, {12, 84}}))

	w.Publish("T", Progress{Published: 13, Acknowledged: 13})
	assert.Contains(t, b.Check(traffic), "w lives, and nobody has 1 of the 13 samples of T that it published", "the absence is over")
	a.tells(t, "T", stream(0, 14, 14))
	assert.Contains(t, b.Check(traffic), "w: what it published of T is not there in the order in which it did, or not without gaps (1, the first at its number 13)")
}

// What a writer sent while all who read the topic were away, or dead, nobody has. It has to be there if one was there
// all the time.
func TestNobodyReads(t *testing.T) {
	gap := func(dies, stays bool) (*Book, []string) {
		b := new(Book)
		w, a, c := b.Begin("w", false), b.Begin("a", false), b.Begin("c", false)
		a.tells(t, "T", stream(0, 1, 3))
		c.tells(t, "T", stream(0, 1, 3))
		w.Publish("T", Progress{Published: 4, Acknowledged: 4})
		if dies {
			b.End(a)
			a = b.Begin("a", true)
			a.tells(t, "T", past(stream(0, 1, 3)...))
			b.Ready(a)
		} else {
			a.Away()
			a.Away() // no news
			a.Back()
		}
		if !stays {
			c.Away()
			c.Back()
		}
		for _, l := range []*Life{a, c} {
			l.tells(t, "T", stream(0, 6, 8))
		}
		w.Publish("T", Progress{Published: 8, Acknowledged: 8})
		return b, b.Check(traffic)
	}
	for _, dies := range []bool{false, true} {
		b, found := gap(dies, false)
		assert.Empty(t, found)
		assert.True(t, b.Missed("c", traffic))
		_, found = gap(dies, true)
		assert.Equal(t, []string{"w: what it published of T is not there in the order in which it did, or not without gaps (1, the first at its number 4)"}, found)
	}
	b, _ := gap(false, false)
	b.lives[0].Publish("T", Progress{Published: 9, Acknowledged: 9})
	assert.Equal(t, []string{"w lives, and nobody has 1 of the 9 samples of T that it published"}, b.Check(traffic), "both are back")
	b.lives[1].Away()
	b.lives[2].Away()
	assert.Empty(t, b.Check(traffic))
}

func TestCheckLog(t *testing.T) {
	stored := func(parts ...[]Entry) (disk []Stored) {
		for _, entries := range parts {
			for _, e := range entries {
				disk = append(disk, Stored{e.Number, e.Sum})
			}
		}
		return disk
	}
	s := newScene()
	s.play(t, nil, nil, nil, nil, 0)
	rest := append(stream(0, 9, 10), stream(1, 1, 10)...)
	assert.Empty(t, s.book.CheckLog("a", traffic, stored(stream(0, 1, 10), stream(1, 1, 10))))
	assert.Empty(t, s.book.CheckLog("b", traffic, stored(stream(0, 1, 3), rest)), "what was not acknowledged may lack on the disk of who was killed")
	assert.Empty(t, s.book.CheckLog("b", traffic, stored(stream(0, 1, 6), stream(0, 8, 8), rest)), "it may hold more than was told")
	assert.Equal(t, []string{"b (process no. 2): 1 samples of T are not in its log on disk, which were delivered there"},
		s.book.CheckLog("b", traffic, stored(stream(0, 1, 3), rest[1:])))
	assert.Equal(t, []string{"b: 1 of 13 records in its log are no samples of T, or not in their order"},
		s.book.CheckLog("b", traffic, stored(rest, stream(0, 3, 3))))
}

func TestAcknowledgedIsOnTheDiskOfTheDead(t *testing.T) {
	s := newScene()
	s.writer.Publish("T", Progress{Published: 4, Acknowledged: 4})
	s.play(t, nil, nil, nil, nil, 4)
	rest := append(stream(0, 9, 10), stream(1, 1, 10)...)
	var disk []Stored
	for _, e := range append(stream(0, 1, 3), rest...) {
		disk = append(disk, Stored{e.Number, e.Sum})
	}
	assert.Equal(t, []string{"b: 1 samples of T are not in its log on disk, which were delivered there"}, s.book.CheckLog("b", traffic, disk))
}

// What the others acknowledge alone, when they have excluded who was killed, may lack on its disk; its end may be heard
// of later than that.
func TestAcknowledgedWithoutTheDead(t *testing.T) {
	b := new(Book)
	w, a, dead := b.Begin("w", false), b.Begin("a", false), b.Begin("b", false)
	a.tells(t, "T", stream(0, 1, 5))
	dead.tells(t, "T", stream(0, 1, 5))
	w.Publish("T", Progress{Published: 5, Acknowledged: 3})
	b.Condemn(dead)
	w.Publish("T", Progress{Published: 5, Acknowledged: 5})
	b.End(dead)
	disk := func(n uint64) (disk []Stored) {
		for _, e := range stream(0, 1, n) {
			disk = append(disk, Stored{e.Number, e.Sum})
		}
		return disk
	}
	assert.Empty(t, b.CheckLog("b", traffic, disk(3)))
	assert.Equal(t, []string{"b: 1 samples of T are not in its log on disk, which were delivered there"}, b.CheckLog("b", traffic, disk(2)))
}

func TestTotals(t *testing.T) {
	s := newScene()
	s.play(t, nil, nil, nil, nil, 0)
	assert.Equal(t, uint64(20), s.book.Total("w", "T"), "of the killed one, what was delivered")
	assert.Equal(t, Number(1, 10), s.book.Reaches("T"))
	assert.False(t, s.book.Whole())
	assert.True(t, s.book.Late("b"))
	assert.False(t, s.book.Late("a"))
	assert.Equal(t, 2, s.book.Lives("b"))
}

func TestTornTale(t *testing.T) {
	assert.ErrorContains(t, new(Book).Begin("a", false).Deliver("T", make([]byte, 34)), "34 bytes are no whole number of entries of 33")
}

// What is told between the moment in which the book is full and the end of the run, which comes then, is compared with the rest.
func TestFull(t *testing.T) {
	b := new(Book)
	b.entries = maxEntries - 4
	w, a := b.Begin("w", false), b.Begin("a", false)
	a.tells(t, "T", stream(0, 1, 3))
	assert.False(t, b.Full())
	a.tells(t, "T", stream(0, 4, 4))
	assert.True(t, b.Full())
	a.tells(t, "T", stream(0, 5, 6))
	w.Publish("T", Progress{Published: 6, Acknowledged: 6})
	var disk []Stored
	for _, e := range stream(0, 1, 6) {
		disk = append(disk, Stored{e.Number, e.Sum})
	}
	assert.Empty(t, b.Check(traffic))
	assert.Empty(t, b.CheckLog("a", traffic, disk))
}
