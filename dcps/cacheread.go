package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/filter"
)

// selection is what one read or take asks for.
type selection struct {
	samples   SampleState
	views     ViewState
	instances InstanceState
	max       int  // 0 for all
	inOrder   bool // by arrival, not instance by instance
	take      bool
	lend      bool // by loan: where the samples lie, if the reader lends
	only      instanceChoice
	handle    InstanceHandle // of onlyThis and onlyNext
	query     *filter.Query  // nil for none
	condition *ReadCondition // whose query that is; nil for none
	err       error          // why it can not be done
}

type instanceChoice uint8

const (
	allInstances instanceChoice = iota
	onlyThis
	onlyNext // the instance with the smallest handle above handle that has something to give
)

var everything = selection{samples: AnySampleState, views: AnyViewState, instances: AnyInstanceState}

// anyStates has a zero mask mean any.
func (s *selection) anyStates() {
	if s.samples == 0 {
		s.samples = AnySampleState
	}
	if s.views == 0 {
		s.views = AnyViewState
	}
	if s.instances == 0 {
		s.instances = AnyInstanceState
	}
}

func (s *selection) instance(in *instance) bool {
	return s.views&in.view != 0 && s.instances&in.state != 0
}

func (s *selection) entry(it *item) bool {
	state := SampleNotRead
	if it.read {
		state = SampleRead
	}
	return s.samples&state != 0 && (s.query == nil || s.query.Match(it.buf))
}

// any tells whether a read with the selection would find something.
func (c *cache) any(s *selection) bool {
	if s.only != allInstances {
		c.flat()
	} else if c.anyRun(s) {
		return true
	}
	if s.query != nil {
		c.flat()
	}
	if s.only != allInstances {
		in := c.chosen(s)
		return in != nil && s.instance(in) && in.gives(s)
	}
	if c.first == nil || (c.unread == 0 && s.samples == SampleNotRead) {
		return false
	}
	if s.query == nil && s.views == AnyViewState && s.instances == AnyInstanceState && s.samples&SampleNotRead != 0 {
		return s.samples == AnySampleState || c.unread > 0
	}
	for it := c.first; it != nil; it = it.after {
		if s.entry(it) && s.instance(it.inst) {
			return true
		}
	}
	return false
}

// sighting is what a condition remembers of the entries, so that it does not look at all of them each time something comes.
type sighting struct {
	hit           *item // one that was selected, while hit.link is link
	link          uint64
	none          bool // of the first links entries none is selected, as long as shifts is that of the cache
	links, shifts uint64
}

// anySince is any for a selection that is asked about again and again.
func (c *cache) anySince(s *selection, seen *sighting) bool {
	if c.anyRun(s) {
		return true
	}
	if s.query != nil {
		c.flat()
	}
	if h := seen.hit; h != nil && h.link == seen.link && s.entry(h) && s.instance(h.inst) {
		return true
	}
	seen.hit = nil
	if !seen.none || seen.shifts != c.shifts {
		seen.links = 0
	}
	for it := c.last; it != nil && (seen.links == 0 || it.link > seen.links); it = it.before {
		if s.entry(it) && s.instance(it.inst) {
			seen.hit, seen.link, seen.none = it, it.link, false
			return true
		}
	}
	seen.none, seen.links, seen.shifts = true, c.links, c.shifts
	return false
}

// collection is a list of entries handed out, with the information of the moment. It holds a reference to each entry.
type collection struct {
	items []*item
	infos []SampleInfo
	turn  uint32 // how often it was used: a handle of an earlier turn is stale

	// Instead of items, samples of runs; then infos are filled in when somebody asks.
	samples                   []sampleOfRun
	runs                      []partOfRun
	at                        int // in runs, of the latest info
	in                        InstanceHandle
	view                      ViewState // and so on, at that time
	disposedGen, noWritersGen int32
}

// count is the number of samples.
func (c *collection) count() int {
	return len(c.items) + len(c.samples) // one of the two
}

// collect reads or takes. What it finds is appended to out, which is empty.
func (c *cache) collect(s *selection, out *collection) {
	if c.takeRuns(s, out) {
		return
	}
	c.flatFor(s)
	c.pass++
	sorted := s.query != nil && s.query.Ordered()
	if sorted {
		c.gatherSorted(s, out)
	} else {
		c.gather(s, out)
	}
	if sorted || c.rules&ruleBySource != 0 {
		c.rank(out)
	}
	c.describe(out)
	c.handOver(s, out)
}

// gatherSorted finds all, as any may be among the first, and keeps what comes first by ORDER BY.
func (c *cache) gatherSorted(s *selection, out *collection) {
	all := *s
	all.max = 0
	c.gather(&all, out)
	slices.SortStableFunc(out.items, func(a, b *item) int { return s.query.Compare(a.buf, b.buf) })
	if s.max > 0 && len(out.items) > s.max {
		clear(out.items[s.max:])
		out.items = out.items[:s.max]
	}
}

// rank finds the most recent generation of each instance in a collection, where it need not be that of the last entry.
func (c *cache) rank(out *collection) {
	for _, it := range out.items {
		in, generation := it.inst, it.disposedGen+it.noWritersGen
		if in.ranked != c.pass {
			in.ranked, in.following, in.latestGen = c.pass, 0, generation
		}
		in.latestGen = max(in.latestGen, generation)
	}
}

func (c *cache) gather(s *selection, out *collection) {
	switch {
	case s.only != allInstances:
		in := c.chosen(s)
		if in != nil && s.instance(in) {
			c.collectInstance(in, s, out)
		}
	case s.inOrder:
		for it := c.first; it != nil && !s.enough(out); it = it.after {
			if s.entry(it) && s.instance(it.inst) {
				out.items = append(out.items, it)
			}
		}
	default:
		// Instance by instance (§2.2.2.5.3.8), in the order of their oldest entries.
		for it := c.first; it != nil && !s.enough(out); it = it.after {
			in := it.inst
			if in.pass == c.pass {
				continue
			}
			in.pass = c.pass
			if s.instance(in) {
				c.collectInstance(in, s, out)
			}
		}
	}
}

func (s *selection) enough(out *collection) bool { return s.max > 0 && len(out.items) >= s.max }

func (c *cache) collectInstance(in *instance, s *selection, out *collection) {
	for it := in.oldest; it != nil && !s.enough(out); it = it.later {
		if s.entry(it) {
			out.items = append(out.items, it)
		}
	}
}

func (c *cache) chosen(s *selection) *instance {
	if s.only == onlyThis {
		return c.instances[s.handle]
	}
	return c.order.next(c, s)
}

func (in *instance) gives(s *selection) bool {
	for it := in.oldest; it != nil; it = it.later {
		if s.entry(it) {
			return true
		}
	}
	return false
}

// describe fills in the infos, ranks included: from the newest entry to the oldest, so that each instance's first one
// met is the most recent in the collection (§2.2.2.5.1.9 to 11).
func (c *cache) describe(out *collection) {
	n := len(out.items)
	if cap(out.infos) < n {
		out.infos = make([]SampleInfo, n, cap(out.items))
	}
	out.infos = out.infos[:n]
	for i := n - 1; i >= 0; i-- {
		it := out.items[i]
		in := it.inst
		generation := it.disposedGen + it.noWritersGen
		if in.ranked != c.pass {
			in.ranked, in.following, in.latestGen = c.pass, 0, generation
		}
		info := &out.infos[i]
		*info = SampleInfo{
			SampleState:              SampleNotRead,
			ViewState:                in.view,
			InstanceState:            in.state,
			SourceTimestamp:          timeOf(it.sourceNs),
			InstanceHandle:           in.handle,
			PublicationHandle:        it.src.handle,
			DisposedGenerationCount:  it.disposedGen,
			NoWritersGenerationCount: it.noWritersGen,
			SampleRank:               in.following,
			GenerationRank:           in.latestGen - generation,
			AbsoluteGenerationRank:   in.disposedGen + in.noWritersGen - generation,
			ValidData:                it.valid,
			ReceptionTimestamp:       timeOf(it.receiveNs),
			Epoch:                    it.epoch,
			Sequence:                 it.seq,
			WriterSequence:           it.writerSeq,
		}
		if it.read {
			info.SampleState = SampleRead
		}
		in.following++
	}
}

// handOver gives the entries to the collection: their instances are not new any more, if any is of the most recent
// generation (§2.2.2.5.3.8), and the entries are read or gone.
func (c *cache) handOver(s *selection, out *collection) {
	c.shifts++
	for _, it := range out.items {
		in := it.inst
		if it.disposedGen == in.disposedGen && it.noWritersGen == in.noWritersGen {
			in.view = ViewNotNew
		}
		in.untold = nil // the info of the entry has said it
		if c.rules&ruleBySource != 0 {
			in.shown(it)
		}
		if s.take {
			c.unlink(it)
			continue
		}
		it.refs++
		if !it.read {
			it.read = true
			c.unread--
			it.inst.unread--
		}
	}
	if s.take {
		for _, it := range out.items {
			c.reap(it.inst)
		}
	}
}
