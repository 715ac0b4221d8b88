package chaos

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/storage"
)

// sample names one sample, whoever is handed it.
type sample struct {
	writer string
	number uint64
}

func (d delivery) sample() sample { return sample{d.writer, d.number} }

// stay is what one reader was handed while its process was a member: a process that was excluded and came back
// begins another one.
type stay struct {
	reader     string
	deliveries []delivery
	cut        bool  // it began because the process had been excluded
	ended      bool  // it ended because of that
	since      int64 // ns: when the process had been excluded before; 0: it had not
	from       int64 // ns: from then on what others write was to reach the reader
	until      int64 // ns: to then the process was surely a member
}

// stays cuts what a reader was handed where its process was excluded, and checks it by itself: the samples of each writer in its
// order, none twice, and none missing unless the writer was gone and came back, or the reader's process was.
func stays(ds []delivery, exclusions []int64) (list []stay, wrong []string) {
	type latest struct {
		delivery
		stay int
	}
	newest := map[string]latest{}
	from, away, since := 0, 0, int64(0)
	end := func(at int) {
		if at > from {
			list = append(list, stay{reader: ds[from].reader, deliveries: ds[from:at], cut: from > 0, ended: at < len(ds), since: since})
		}
		from = at
	}
	for i, d := range ds {
		for ; away < len(exclusions) && exclusions[away] < d.received; away++ {
			end(i)
			since = exclusions[away]
		}
		before, known := newest[d.writer]
		newest[d.writer] = latest{d, away}
		// All samples of an instance that is new are fresh which are taken at once; after a while and in another epoch
		// it is new again.
		again := d.epoch > before.epoch && time.Duration(d.received-before.received) > lease/2
		came := known && (d.handle != before.handle || d.generation > before.generation ||
			d.fresh && (!before.fresh || d.number != before.number+1 || again))
		switch {
		case known && d.number <= before.number:
			wrong = append(wrong, fmt.Sprintf("%s was handed %s after %s", d.reader, d, before.delivery))
		case known && d.number != before.number+1 && !came && before.stay == away:
			wrong = append(wrong, fmt.Sprintf("%s was handed %s after #%d of that writer", d.reader, d, before.number))
		}
	}
	end(len(ds))
	if n := len(list); n > 0 && away < len(exclusions) {
		list[n-1].ended = true
	}
	return list, wrong
}

// live leaves out the history that a late joiner got, which comes all at once, before anything else: of each writer that is
// there it has the latest samples only.
func (s stay) live() []delivery {
	for i, d := range s.deliveries {
		if d.received != s.deliveries[0].received {
			return s.deliveries[i:]
		}
	}
	return nil
}

// checkHistory checks that a reader of the transient-local topic was given what it came too late for, before anything
// else: of each writer that is there the latest historyDepth samples, if its process was away but for those that it had
// before, had being the latest. Not of writers whose process was away: what it sent then may be lost.
func (s stay) checkHistory(away map[string]bool, had map[string]uint64) (wrong []string) {
	given := map[string]uint64{} // by writer
	met := map[string]bool{}     // writers of which it was handed something that is no history
	for _, d := range s.deliveries {
		if d.received == s.deliveries[0].received {
			given[d.writer]++
			continue
		}
		if n := given[d.writer]; !met[d.writer] && !away[processOf(d.writer)] && n < min(historyDepth, d.number-1-had[d.writer]) {
			wrong = append(wrong, fmt.Sprintf("%s came late, and was given %d samples of the history that ends before %s", s.reader, n, d))
		}
		met[d.writer] = true
	}
	return wrong
}

// positions are the places at which the samples of a topic were delivered first. A transient-local writer whose process was
// away sends again what it keeps: who lacks it is handed it at a later place, as history.
func positions(all []outcome, topic string) map[sample][2]uint64 {
	first := map[sample][2]uint64{}
	for _, p := range all {
		for _, d := range p.told.deliveries {
			at := [2]uint64{uint64(d.epoch), d.seq}
			if is, known := first[d.sample()]; d.topic == topic && (!known || slices.Compare(at[:], is[:]) < 0) {
				first[d.sample()] = at
			}
		}
	}
	return first
}

// ascends checks that the positions rise that the middleware itself gave.
func (s stay) ascends() (wrong []string) {
	for i := 1; i < len(s.deliveries); i++ {
		a, b := s.deliveries[i-1], s.deliveries[i]
		if b.epoch < a.epoch || b.epoch == a.epoch && b.seq <= a.seq {
			return []string{fmt.Sprintf("%s was handed %s after %s", s.reader, b, a)}
		}
	}
	return nil
}

// order is the one order of a topic: what follows what, wherever both were handed over.
type order struct {
	next, before map[sample]link
}

type link struct {
	to delivery
	by string // the first reader that had it so
}

func newOrder() *order { return &order{map[sample]link{}, map[sample]link{}} }

// add compares a piece of the order with all that was added before: all readers take all writers of the topic, so what one
// has next to each other is next to each other for all.
func (o *order) add(reader string, ds []delivery) (wrong []string) {
	for i := 1; i < len(ds); i++ {
		a, b := ds[i-1], ds[i]
		if l, ok := o.next[a.sample()]; !ok {
			o.next[a.sample()] = link{b, reader}
		} else if l.to.sample() != b.sample() {
			wrong = append(wrong, fmt.Sprintf("after %s, %s was handed %s, and %s was handed %s", a, reader, b, l.by, l.to))
		}
		if l, ok := o.before[b.sample()]; !ok {
			o.before[b.sample()] = link{a, reader}
		} else if l.to.sample() != a.sample() {
			wrong = append(wrong, fmt.Sprintf("before %s, %s was handed %s, and %s was handed %s", b, reader, a, l.by, l.to))
		}
		if len(wrong) > 3 {
			return wrong
		}
	}
	return wrong
}

// end follows the order from a sample to the latest that anybody has.
func (o *order) end(s sample, known map[sample]sample) sample {
	var path []sample
	at := s
	for {
		if e, ok := known[at]; ok {
			at = e
			break
		}
		path = append(path, at)
		l, ok := o.next[at]
		if !ok || len(path) > len(o.next)+1 {
			break
		}
		at = l.to.sample()
	}
	for _, p := range path {
		known[p] = at
	}
	return at
}

// outcome is what a process has told and stored, once it is over.
type outcome struct {
	name    string
	fate    string // for messages: closed, killed
	told    told
	log     []sample         // of the logged topic, of this run of the process
	trimmed *storage.Version // of the first message in the log, if what came before is gone
	alive   bool             // to the end of the round
	began   int64            // ns: its readers and writers were there
	over    int64            // ns: it was killed, or began to close
}

// findings are what a check found.
type findings struct {
	wrong      []string
	deliveries int
	stays      int
	arrived    int            // samples at readers, of those that writers were told have arrived
	cuts       map[string]int // by process: how often it was excluded, as its readers saw it
}

func (f *findings) add(wrong ...string) {
	if len(f.wrong) < 20 {
		f.wrong = append(f.wrong, wrong...)
	}
}

// check compares what all processes of a round were handed.
func check(all []outcome) *findings {
	f := &findings{cuts: map[string]int{}}
	away := map[string]bool{}
	for _, p := range all {
		away[p.name] = len(p.told.exclusions) > 0
	}
	for _, topic := range allTopics {
		o, first := newOrder(), positions(all, topic)
		var ends, whole []stay
		for _, p := range all {
			perReader := map[string][]delivery{}
			for _, d := range p.told.deliveries {
				if d.topic == topic {
					perReader[d.reader] = append(perReader[d.reader], d)
				}
			}
			cuts := 0
			for _, reader := range sortedKeys(perReader) {
				ds := perReader[reader]
				f.deliveries += len(ds)
				list, wrong := stays(ds, p.told.exclusions)
				f.add(wrong...)
				n, had := 0, map[string]uint64{}
				for _, s := range list {
					f.stays++
					s.from, s.until = p.thereFrom(s), p.memberUntil(s)
					whole = append(whole, s)
					if s.cut {
						n++
					}
					live := s.deliveries
					if topic == localTopic {
						live = slices.DeleteFunc(slices.Clone(s.live()), func(d delivery) bool {
							return first[d.sample()] != [2]uint64{uint64(d.epoch), d.seq}
						})
						f.add(s.checkHistory(away, had)...)
						for _, d := range s.deliveries {
							had[d.writer] = d.number
						}
					}
					f.add(s.ascends()...)
					if len(live) == 0 {
						continue
					}
					f.add(o.add(reader, live)...)
					ends = append(ends, stay{reader: reader, deliveries: live[len(live)-1:]})
				}
				cuts = max(cuts, n)
			}
			f.cuts[p.name] = max(f.cuts[p.name], cuts)
		}
		f.add(oneEnd(topic, o, ends)...)
		f.add(f.checkArrived(topic, all, whole)...)
	}
	for _, p := range all {
		f.add(checkLog(p)...)
		f.add(p.told.failures...)
	}
	f.add(checkAcks(all)...)
	return f
}

// oneEnd checks that whatever anybody was handed is on the way to the sample that is the last one of the topic.
func oneEnd(topic string, o *order, ends []stay) (wrong []string) {
	known := map[sample]sample{}
	by := map[sample][]string{}
	for _, s := range ends {
		e := o.end(s.deliveries[0].sample(), known)
		by[e] = append(by[e], fmt.Sprintf("%s (until %s)", s.reader, s.deliveries[0]))
	}
	if len(by) > 1 {
		text := fmt.Sprintf("%s went on in %d ways:", topic, len(by))
		for e, readers := range by {
			slices.Sort(readers)
			text += fmt.Sprintf("\n      to %s #%d: %d readers, such as %s", e.writer, e.number, len(readers), readers[0])
		}
		wrong = append(wrong, text)
	}
	return wrong
}

// thereFrom is when a reader was made, or its process had joined again. It may be handed something before, while some
// writers go on in the epoch before the first that reaches it.
func (p outcome) thereFrom(s stay) int64 {
	from := max(s.deliveries[0].received, p.told.begun[s.reader])
	if s.since == 0 {
		return from
	}
	for _, at := range p.told.rejoins {
		if at > s.since {
			return max(from, at)
		}
	}
	return math.MaxInt64 // it ended before that
}

// memberUntil is when the process of a stay was surely a member: one that was killed may have been excluded, and have come
// back, after its own writers were last heard; one that was excluded while it stood still is handed what had reached it before,
// when it goes on.
func (p outcome) memberUntil(s stay) (at int64) {
	ds := s.deliveries
	for i := len(ds) - 1; s.ended && i > 0; i-- {
		if time.Duration(ds[i].received-ds[i-1].received) > lease/2 {
			ds = ds[:i]
			break
		}
	}
	for _, d := range ds {
		if p.fate == "closed" || p.alive || processOf(d.writer) == p.name {
			at = d.received
		}
	}
	return at
}

// checkArrived checks that what a writer was told has arrived was handed to every reader that was there before it was sent and
// after the writer was told. That the writer's process was excluded meanwhile is no excuse.
func (f *findings) checkArrived(topic string, all []outcome, stays []stay) (wrong []string) {
	var acks []ack
	for _, p := range all {
		for _, a := range p.told.acks {
			if a.topic == topic {
				acks = append(acks, a)
			}
		}
	}
	for _, s := range stays {
		had := make(map[sample]bool, len(s.deliveries))
		for _, d := range s.deliveries {
			had[d.sample()] = true
		}
		for _, a := range acks {
			if s.from >= a.sent || s.until <= a.at {
				continue
			}
			if f.arrived++; !had[sample{a.writer, a.number}] {
				wrong = append(wrong, fmt.Sprintf("%s was told that its #%d has arrived, but %s was not handed it, which was there from %s to %s",
					a.writer, a.number, s.reader, s.deliveries[0], s.deliveries[len(s.deliveries)-1]))
			}
		}
	}
	return wrong
}

// checkLog compares the log of a process with what its readers of the logged topic were handed: a piece of it, or
// the other way round at the ends; of a log that was trimmed the beginning is missing.
func checkLog(p outcome) (wrong []string) {
	at := make(map[sample]int, len(p.log))
	for i, s := range p.log {
		if j, ok := at[s]; ok {
			wrong = append(wrong, fmt.Sprintf("the log of %s has %s #%d twice, as records %d and %d", p.name, s.writer, s.number, j, i))
		}
		at[s] = i
	}
	perReader := map[string][]delivery{}
	for _, d := range p.told.deliveries {
		if d.topic == loggedTopic {
			perReader[d.reader] = append(perReader[d.reader], d)
		}
	}
	for _, reader := range sortedKeys(perReader) {
		list, _ := stays(perReader[reader], p.told.exclusions)
		for n, s := range list {
			// What came last may not have been stored when the process ended, or before it was excluded.
			wrong = append(wrong, p.checkStay(s, at, p.alive && n == len(list)-1)...)
		}
	}
	return wrong
}

func (p outcome) checkStay(s stay, at map[sample]int, whole bool) (wrong []string) {
	ds := s.deliveries
	if p.trimmed != nil {
		ds = slices.DeleteFunc(slices.Clone(ds), func(d delivery) bool { return (storage.Version{Epoch: d.epoch, Seq: d.seq}).Compare(*p.trimmed) < 0 })
		if len(ds) == 0 {
			return nil
		}
	}
	i, ok := at[ds[0].sample()]
	if !ok {
		if whole {
			wrong = append(wrong, fmt.Sprintf("%s was handed %s first, which is not in the log (%d records)", s.reader, ds[0], len(p.log)))
		}
		return wrong
	}
	for k, d := range ds {
		if i+k >= len(p.log) {
			if whole {
				wrong = append(wrong, fmt.Sprintf("%s was handed %s, but the log ends after %d records", s.reader, d, len(p.log)))
			}
			break
		}
		if l := p.log[i+k]; l != d.sample() {
			_, stored := at[d.sample()]
			if !stored && !whole {
				break
			}
			wrong = append(wrong, fmt.Sprintf("%s was handed %s where the log has %s #%d", s.reader, d, l.writer, l.number))
			break
		}
	}
	return wrong
}

// checkAcks checks that what a writer was told is durable is in the log of every process that was there before it and after.
// A process that was excluded meanwhile was not among those that store.
func checkAcks(all []outcome) (wrong []string) {
	epochs := map[sample]uint32{} // in which it came, for those who were handed it then
	for _, p := range all {
		for _, d := range p.told.deliveries {
			if d.topic == loggedTopic {
				epochs[d.sample()] = d.epoch
			}
		}
	}
	for _, p := range all {
		has := make(map[sample]bool, len(p.log))
		newest := map[string]uint64{}
		oldest := map[string]uint64{}
		for _, s := range p.log {
			has[s] = true
			newest[s.writer] = max(newest[s.writer], s.number)
			if oldest[s.writer] == 0 {
				oldest[s.writer] = s.number
			}
		}
		for _, q := range all {
			for _, a := range q.told.acks {
				first, met := oldest[a.writer]
				s := sample{a.writer, a.number}
				// Kept it must be by who stored that writer before and lived when the writer was told.
				if !met || a.number < first || a.at >= p.over || has[s] {
					continue
				}
				if p.excludable(epochs[s], a.sent, a.at) {
					continue
				}
				wrong = append(wrong, fmt.Sprintf("%s was told that #%d is durable, but the log of %s (%s) has its samples %d to %d", a.writer, a.number, p.name, p.fate, first, newest[a.writer]))
				if len(wrong) > 5 {
					return wrong
				}
			}
		}
	}
	return wrong
}

// excludable tells whether the process was away, or may have been, from one time to another, when a sample of an epoch
// was sent (0: not known): what it was handed before an exclusion and after it leaves that open. That it was handed
// what was sent before the sample does not say that it was there if that waited for a later epoch.
func (p outcome) excludable(epoch uint32, from, to int64) bool {
	var ds []delivery
	for _, d := range p.told.deliveries {
		if d.topic == loggedTopic {
			ds = append(ds, d)
		}
	}
	away := func(at int64) bool { // from at, or earlier, on
		for _, d := range ds {
			if d.received <= at && d.sent > to || d.received > at && d.sent < from && (epoch == 0 || d.epoch <= epoch) {
				return false
			}
		}
		return true
	}
	// Stopped when it was killed: the group went on without it before it died.
	return len(ds) == 0 || slices.ContainsFunc(p.told.exclusions, away) || p.fate == "killed while it was stopped" && away(p.over)
}
