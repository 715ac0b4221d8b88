package dcps

import (
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"pgregory.net/rapid"
)

// naive is a reader cache that is written down from the standard without a thought for speed: one list of entries, and
// everything computed by walking it. The cache is compared with it under random operations.
type naive struct {
	q         qos.DataReader
	lifespans []int64 // by writer; 0 for none
	strengths []int32
	entries   []naiveEntry
	instances map[int32]*naiveInstance
	// registered are the instances that are not known yet, and who will write them.
	registered []naiveEntry
	missed     int64 // periods of DEADLINE
}

type naiveEntry struct {
	id         int32
	writer     int
	valid      bool
	read       bool
	dgen, ngen int32
	seq        uint64
	source     int64 // source timestamp
	data       *track
}

// before is the order by source timestamp.
func (e naiveEntry) before(o naiveEntry) bool {
	return e.source < o.source || e.source == o.source && e.writer < o.writer
}

type naiveInstance struct {
	accepted, ended, due int64
	held                 *naiveEntry
	latest, floor        *naiveEntry // of BY_SOURCE_TIMESTAMP
	untold               *naiveEntry // the end, while unread entries are all that tells it

	state      InstanceState
	view       ViewState
	dgen, ngen int32
	writers    map[int]bool
	owner      int // -1 for none
}

func (n *naive) of(id int32, keep func(naiveEntry) bool) []naiveEntry {
	var out []naiveEntry
	for _, e := range n.entries {
		if e.id == id && keep(e) {
			out = append(out, e)
		}
	}
	return out
}

func isValid(e naiveEntry) bool { return e.valid }

func (n *naive) removeFirst(match func(naiveEntry) bool) {
	if i := slices.IndexFunc(n.entries, match); i >= 0 {
		n.entries = slices.Delete(n.entries, i, i+1)
	}
}

func (n *naive) bySource() bool {
	return n.q.DestinationOrder.Kind == qos.DestinationOrderBySourceTimestamp
}

func (n *naive) expired(e naiveEntry, now int64) bool {
	return n.lifespans[e.writer] > 0 && now >= e.source+n.lifespans[e.writer]
}

func newest(a *naiveEntry, b naiveEntry) *naiveEntry {
	if a == nil || a.before(b) {
		return &b
	}
	return a
}

// tooLate applies DESTINATION_ORDER BY_SOURCE_TIMESTAMP.
func (n *naive) tooLate(in *naiveInstance, e naiveEntry) bool {
	if !n.bySource() {
		return false
	}
	held := n.of(e.id, isValid)
	full := n.q.History.Kind == qos.HistoryKeepLast && len(held) >= int(n.q.History.Depth)
	return in.floor != nil && e.before(*in.floor) || in.held != nil && e.before(*in.held) || full && e.before(held[0])
}

// tick does what is due at a time, which is tried for every time at which something may be.
func (n *naive) tick(now int64) {
	n.entries = slices.DeleteFunc(n.entries, func(e naiveEntry) bool { return e.valid && n.expired(e, now) })
	for id, in := range n.instances { // of two that expire at a time the order is not said
		n.report(id, in)
	}
	n.forget()
	for id, in := range n.instances {
		if in.held != nil && now >= in.accepted+int64(n.q.TimeBasedFilter.MinimumSeparation) {
			n.letIn(in, now)
			if in.held != nil {
				in.accepted = now // it found no room, and tries again after as long
			}
		}
		if in.state == InstanceAlive && n.q.Deadline.Period != qos.Infinite && in.due <= now {
			n.missed++
			in.due += int64(n.q.Deadline.Period)
			in.owner = -1
		}
		delay := qos.Infinite
		switch in.state {
		case InstanceNotAliveDisposed:
			delay = n.q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay
		case InstanceNotAliveNoWriters:
			delay = n.q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay
		}
		if delay != qos.Infinite && now >= in.ended+int64(delay) {
			n.entries = slices.DeleteFunc(n.entries, func(e naiveEntry) bool { return e.id == id })
			delete(n.instances, id)
		}
	}
}

func (n *naive) letIn(in *naiveInstance, now int64) {
	e := *in.held
	in.held = nil
	if n.expired(e, now) || !n.admits(in, e.writer, n.strengths) || n.tooLate(in, e) {
		return
	}
	registered, owner := in.writers[e.writer], in.owner
	if n.accept(in, e, now).refused() {
		in.held, in.owner = &e, owner
		return
	}
	if !registered {
		delete(in.writers, e.writer)
		if in.owner == e.writer {
			in.owner = -1
		}
	}
}

func (n *naive) admits(in *naiveInstance, writer int, strengths []int32) bool {
	if n.q.Ownership.Kind != qos.OwnershipExclusive || in.owner < 0 || in.owner == writer {
		return true
	}
	if strengths[writer] != strengths[in.owner] {
		return strengths[writer] > strengths[in.owner]
	}
	return writer < in.owner
}

func over(n int, limit int32) bool { return limit != qos.LengthUnlimited && n >= int(limit) }

func (n *naive) write(e naiveEntry, now int64) outcome {
	in := n.instances[e.id]
	if n.expired(e, now) {
		if in != nil {
			in.writers[e.writer] = true
		}
		return ignored
	}
	if in != nil {
		soon := in.state == InstanceAlive && now < in.accepted+int64(n.q.TimeBasedFilter.MinimumSeparation)
		switch {
		case !n.admits(in, e.writer, n.strengths), n.tooLate(in, e):
			in.writers[e.writer] = true
			return ignored
		case soon:
			in.writers[e.writer] = true
			in.owner = e.writer
			if n.q.Deadline.Period != qos.Infinite {
				in.due = now + int64(n.q.Deadline.Period)
			}
			if n.q.Reliability.Kind == qos.ReliabilityReliable {
				in.held = &e
			}
			return ignored
		}
	}
	return n.accept(in, e, now)
}

func (n *naive) accept(in *naiveInstance, e naiveEntry, now int64) outcome {
	if in == nil && over(len(n.instances), n.q.ResourceLimits.MaxInstances) {
		var free []int32
		for id, o := range n.instances {
			if o.state == InstanceNotAliveDisposed && len(n.of(id, func(naiveEntry) bool { return true })) == 0 {
				free = append(free, id)
			}
		}
		if len(free) == 0 {
			return fullInstances
		}
		// Which one is given up is not said; the test allows one candidate only.
		delete(n.instances, free[0])
	}
	held := len(n.of(e.id, isValid))
	if in == nil || n.q.History.Kind == qos.HistoryKeepAll || held < int(n.q.History.Depth) {
		if in != nil && over(held, n.q.ResourceLimits.MaxSamplesPerInstance) {
			return fullPerInstance
		}
		all := 0
		for _, x := range n.entries {
			if x.valid {
				all++
			}
		}
		if over(all, n.q.ResourceLimits.MaxSamples) {
			return fullSamples
		}
	} else {
		n.removeFirst(func(x naiveEntry) bool { return x.id == e.id && x.valid })
	}
	if in == nil {
		in = &naiveInstance{state: InstanceAlive, view: ViewNew, writers: make(map[int]bool), owner: -1}
		n.instances[e.id] = in
		for _, r := range n.registered {
			if r.id == e.id {
				in.writers[r.writer] = true
			}
		}
		n.registered = slices.DeleteFunc(n.registered, func(r naiveEntry) bool { return r.id == e.id })
	}
	switch in.state {
	case InstanceNotAliveDisposed:
		in.dgen++
		in.view = ViewNew
	case InstanceNotAliveNoWriters:
		in.ngen++
		in.view = ViewNew
	}
	in.state, in.untold = InstanceAlive, nil
	n.removeFirst(func(x naiveEntry) bool { return x.id == e.id && !x.valid })
	in.writers[e.writer] = true
	in.owner = e.writer
	in.accepted, in.held = now, nil
	in.latest = newest(in.latest, e)
	if n.q.Deadline.Period != qos.Infinite {
		in.due = now + int64(n.q.Deadline.Period)
	}
	e.valid, e.dgen, e.ngen = true, in.dgen, in.ngen
	at := len(n.entries)
	for i := at - 1; n.bySource() && i >= 0; i-- {
		if n.entries[i].valid {
			if !e.before(n.entries[i]) {
				break
			}
			at = i
		}
	}
	n.entries = slices.Insert(n.entries, at, e)
	return accepted
}

func (n *naive) end(id int32, e naiveEntry, state InstanceState, now int64) {
	in := n.instances[id]
	if in.held != nil {
		n.letIn(in, now)
		in.held = nil
	}
	in.state, in.ended = state, now
	e.id, e.valid, e.data, e.dgen, e.ngen = id, false, nil, in.dgen, in.ngen
	in.untold = &e
	n.report(id, in)
}

func (n *naive) report(id int32, in *naiveInstance) {
	if in.untold == nil || len(n.of(id, func(x naiveEntry) bool { return !x.read })) > 0 {
		return
	}
	n.removeFirst(func(x naiveEntry) bool { return x.id == id && !x.valid })
	n.entries = append(n.entries, *in.untold)
	in.untold = nil
}

func (n *naive) dispose(e naiveEntry, now int64) {
	in := n.instances[e.id]
	if in == nil || !n.admits(in, e.writer, n.strengths) {
		return
	}
	if n.bySource() && (e.before(*in.latest) || in.held != nil && e.before(*in.held)) {
		return
	}
	if in.state != InstanceNotAliveDisposed {
		n.end(e.id, e, InstanceNotAliveDisposed, now)
	}
	if n.bySource() {
		in.latest, in.floor = newest(in.latest, e), newest(in.floor, e)
	}
}

func (n *naive) unregister(e naiveEntry, now int64) {
	n.registered = slices.DeleteFunc(n.registered, func(r naiveEntry) bool { return r.id == e.id && r.writer == e.writer })
	in := n.instances[e.id]
	if in == nil || !in.writers[e.writer] {
		return
	}
	delete(in.writers, e.writer)
	if in.owner == e.writer {
		in.owner = -1
	}
	if len(in.writers) == 0 && in.state == InstanceAlive {
		n.end(e.id, e, InstanceNotAliveNoWriters, now)
	}
	n.forget()
}

func (n *naive) forget() {
	for id, in := range n.instances {
		if in.state != InstanceAlive && len(in.writers) == 0 && len(n.of(id, func(naiveEntry) bool { return true })) == 0 {
			delete(n.instances, id)
		}
	}
}

func (n *naive) register(id int32, writer int) {
	if in := n.instances[id]; in != nil {
		in.writers[writer] = true
		return
	}
	n.registered = append(n.registered, naiveEntry{id: id, writer: writer})
}

func (n *naive) depart(e naiveEntry, dispose bool, now int64) {
	n.registered = slices.DeleteFunc(n.registered, func(r naiveEntry) bool { return r.writer == e.writer })
	var ids []int
	for id, in := range n.instances {
		if in.writers[e.writer] {
			ids = append(ids, int(id))
		}
	}
	sort.Ints(ids)
	for _, id := range ids {
		e.id = int32(id)
		if dispose {
			n.dispose(e, now)
		}
		n.unregister(e, now)
	}
}

func (n *naive) collect(s *selection, q *naiveQuery) []string {
	var picked []int // indexes of entries
	match := func(e naiveEntry) bool {
		in := n.instances[e.id]
		state := SampleNotRead
		if e.read {
			state = SampleRead
		}
		return s.samples&state != 0 && s.views&in.view != 0 && s.instances&in.state != 0 && q.match(e)
	}
	ordered := q != nil && q.compare != nil
	chosen := n.chosen(s, match)
	add := func(i int) {
		if e := n.entries[i]; chosen(e.id) && match(e) && (s.max == 0 || ordered || len(picked) < s.max) {
			picked = append(picked, i)
		}
	}
	done := make(map[int32]bool)
	for i, e := range n.entries {
		if s.inOrder {
			add(i)
			continue
		}
		if !done[e.id] {
			done[e.id] = true
			for j := i; j < len(n.entries); j++ {
				if n.entries[j].id == e.id {
					add(j)
				}
			}
		}
	}
	if ordered {
		q.order(picked, n.entries)
		if s.max > 0 && len(picked) > s.max {
			picked = picked[:s.max]
		}
	}
	var out []string
	for k, i := range picked {
		e := n.entries[i]
		in := n.instances[e.id]
		following, latest := 0, e.dgen+e.ngen
		for at, j := range picked {
			if n.entries[j].id == e.id {
				latest = max(latest, n.entries[j].dgen+n.entries[j].ngen)
				if at > k {
					following++
				}
			}
		}
		out = append(out, fmt.Sprintf("%d read=%t view=%v state=%v d=%d n=%d ranks=%d,%d,%d valid=%t seq=%d",
			e.id, e.read, in.view, in.state, e.dgen, e.ngen, following, latest-e.dgen-e.ngen, in.dgen+in.ngen-e.dgen-e.ngen, e.valid, e.seq))
	}
	for _, i := range picked {
		n.entries[i].read = true
		in := n.instances[n.entries[i].id]
		in.untold = nil
		if n.entries[i].dgen+n.entries[i].ngen == in.dgen+in.ngen {
			in.view = ViewNotNew
		}
		if n.entries[i].valid {
			in.floor = newest(in.floor, n.entries[i])
		}
	}
	if s.take {
		sort.Sort(sort.Reverse(sort.IntSlice(picked)))
		for _, i := range picked {
			n.entries = slices.Delete(n.entries, i, i+1)
		}
		n.forget()
	}
	return out
}

func instanceHandle(id int32) InstanceHandle { return InstanceHandle{0: byte(id), 15: 1} }

func texts(c *collection) []string {
	var out []string
	for _, i := range c.infos {
		out = append(out, fmt.Sprintf("%d read=%t view=%v state=%v d=%d n=%d ranks=%d,%d,%d valid=%t seq=%d",
			i.InstanceHandle[0], i.SampleState == SampleRead, i.ViewState, i.InstanceState, i.DisposedGenerationCount, i.NoWritersGenerationCount,
			i.SampleRank, i.GenerationRank, i.AbsoluteGenerationRank, i.ValidData, i.Sequence))
	}
	return out
}

// The cache does what its naive twin does, whatever happens in whatever order; its counters agree with its lists, and
// every entry that it lets go is released exactly once.
func TestCacheAgainstNaive(t *testing.T) {
	queries := naiveQueries(t)
	rapid.Check(t, func(t *rapid.T) {
		q := qos.DefaultDataReader()
		if rapid.Bool().Draw(t, "keep all") {
			q.History.Kind = qos.HistoryKeepAll
			q.ResourceLimits.MaxSamplesPerInstance = rapid.SampledFrom([]int32{-1, 1, 3}).Draw(t, "per instance")
		} else {
			q.History.Depth = rapid.Int32Range(1, 3).Draw(t, "depth")
		}
		q.ResourceLimits.MaxSamples = rapid.SampledFrom([]int32{-1, 3, 5}).Draw(t, "samples")
		if rapid.Bool().Draw(t, "exclusive") {
			q.Ownership.Kind = qos.OwnershipExclusive
		}
		drawTimes(t, &q)
		twin := &naive{q: q, strengths: []int32{1, 2, 2}, lifespans: make([]int64, 3), instances: make(map[int32]*naiveInstance)}
		var sources []*source
		for i, s := range twin.strengths {
			if rapid.Bool().Draw(t, "lifespan") {
				twin.lifespans[i] = 120
			}
			sources = append(sources, &source{strength: s, handle: InstanceHandle{0: byte(i)}, lifespan: twin.lifespans[i]})
		}
		c := newCache(q)
		live, missed := 0, int64(0)
		c.missed = func(_ InstanceHandle, times int64) { missed += times }
		now := int64(1000)
		c.release = func(it *item) {
			if it.refs--; it.refs < 0 {
				t.Fatalf("released once too often: %+v", it)
			}
			if it.refs == 0 && it.kind == itemData {
				live--
			}
		}
		watched := watchedSelections(queries)
		seq, stamps := uint64(0), []int64(nil)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			seq++
			// Durations are multiples of 70, steps have different remainders: no two of them cause something for one moment, as
			// the order of that is not said.
			to := now + rapid.Int64Range(1, 60).Draw(t, "time")
			now = advance(c, twin, now, to+(int64(step)-to%70+70)%70)
			if missed != twin.missed {
				t.Fatalf("%d deadlines were missed, want %d", missed, twin.missed)
			}
			id := rapid.Int32Range(1, 3).Draw(t, "id")
			writer := rapid.IntRange(0, 2).Draw(t, "writer")
			source := now - rapid.Int64Range(0, 90).Draw(t, "age")
			for twin.lifespans[writer] > 0 && slices.Contains(stamps, source) {
				source-- // no two expire at a time
			}
			stamps = append(stamps, source)
			e := naiveEntry{id: id, writer: writer, seq: seq, source: source}
			it := &item{kind: itemData, refs: 1, src: sources[writer], handle: instanceHandle(id), seq: seq, sourceNs: source, receiveNs: now}
			switch op := rapid.SampledFrom([]string{"write", "write", "write", "dispose", "unregister", "close", "gone", "register", "read", "read", "take"}).Draw(t, "op"); op {
			case "write":
				live++
				e.data, it.buf = drawData(t, id)
				got, want := c.write(it, now), twin.write(e, now)
				if got != want {
					t.Fatalf("write: %d, want %d", got, want)
				}
				if got.refused() {
					c.release(it)
				}
			case "dispose":
				c.dispose(it.handle, it, now)
				twin.dispose(e, now)
			case "unregister":
				c.unregister(it.handle, it, now)
				twin.unregister(e, now)
			case "close", "gone":
				c.depart(it, op == "close", now)
				twin.depart(e, op == "close", now)
			case "register":
				c.register(it.handle, it.src)
				twin.register(id, writer)
			case "read", "take":
				s := everything
				s.take = op == "take"
				s.inOrder = rapid.Bool().Draw(t, "in order")
				s.max = rapid.IntRange(0, 3).Draw(t, "max")
				s.samples = rapid.SampledFrom([]SampleState{AnySampleState, SampleRead, SampleNotRead}).Draw(t, "samples")
				s.views = rapid.SampledFrom([]ViewState{AnyViewState, ViewNew, ViewNotNew}).Draw(t, "views")
				s.instances = rapid.SampledFrom([]InstanceState{AnyInstanceState, InstanceAlive, InstanceNotAlive}).Draw(t, "instances")
				drawChoice(t, &s)
				query := drawQuery(t, &s, queries)
				found := c.any(&s)
				var out collection
				c.collect(&s, &out)
				got, want := texts(&out), twin.collect(&s, query)
				if !slices.Equal(got, want) {
					t.Fatalf("%s %+v:\ngot  %v\nwant %v", op, s, got, want)
				}
				if found != (len(want) > 0) {
					t.Fatalf("any is %t, %d were found", found, len(want))
				}
				for _, it := range out.items {
					c.release(it)
				}
			}
			checkCache(t, c, twin, live)
			for i := range watched {
				if w := &watched[i]; rapid.Bool().Draw(t, "look") && c.anySince(&w.selection, &w.seen) != c.any(&w.selection) {
					t.Fatalf("a condition over %+v does not see what a read would find", w.selection)
				}
			}
		}
	})
}

// watchedSelections are those of conditions that are asked now and then.
func watchedSelections(queries []*naiveQuery) (all []struct {
	selection selection
	seen      sighting
}) {
	for _, samples := range []SampleState{SampleRead, SampleNotRead, AnySampleState} {
		for _, views := range []ViewState{ViewNew, ViewNotNew, AnyViewState} {
			for _, instances := range []InstanceState{InstanceAlive, InstanceNotAliveDisposed, InstanceNotAliveNoWriters, AnyInstanceState} {
				all = append(all, struct {
					selection selection
					seen      sighting
				}{selection: selection{samples: samples, views: views, instances: instances}})
			}
		}
	}
	for _, q := range queries {
		w := all[0]
		w.selection = everything
		w.selection.query = q.compiled
		all = append(all, w)
	}
	return all
}

// drawTimes draws the policies that have to do with time and order. One unit is a nanosecond.
func drawTimes(t *rapid.T, q *qos.DataReader) {
	duration := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int64{int64(qos.Infinite), 70, 140}).Draw(t, name))
	}
	if rapid.Bool().Draw(t, "reliable") {
		q.Reliability.Kind = qos.ReliabilityReliable
	}
	if rapid.Bool().Draw(t, "by source") {
		q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
	}
	if rapid.Bool().Draw(t, "filter") {
		q.TimeBasedFilter.MinimumSeparation = 70
	}
	q.Deadline.Period = duration("deadline")
	q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = duration("purge disposed")
	q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay = duration("purge without writers")
}

// advance lets time pass in both. Neither looks at a clock: the cache is called when it wants to be, the twin at all times.
func advance(c *cache, twin *naive, from, to int64) int64 {
	for now := from + 1; now <= to; now++ {
		if at := c.wakeAt(); at != 0 && at <= now {
			c.tick(now)
		}
		twin.tick(now)
	}
	return to
}

// checkCache checks what must hold between operations.
func checkCache(t *rapid.T, c *cache, twin *naive, live int) {
	samples, unread := 0, 0
	for it := c.first; it != nil; it = it.after {
		if it.valid {
			samples++
		}
		if !it.read {
			unread++
		}
		if it.after == nil && c.last != it {
			t.Fatal("the list does not end with last")
		}
	}
	for _, in := range c.instances {
		if in.held != nil {
			live--
		}
	}
	if samples != c.samples || unread != c.unread || samples != live {
		t.Fatalf("counted %d samples, %d unread; the cache says %d, %d; %d are alive", samples, unread, c.samples, c.unread, live)
	}
	if len(c.instances) != len(twin.instances) {
		t.Fatalf("%d instances, want %d", len(c.instances), len(twin.instances))
	}
}
