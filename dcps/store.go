package dcps

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// store is the history of one topic on one subgroup, for readers that come late (DURABILITY above VOLATILE). Every
// replica of the channel has one; all hold the same, because all add the same messages in the same order.
//
// Of each instance it keeps, for each writer, the latest samples: as many as the writer's HISTORY says, or for
// TRANSIENT and PERSISTENT its DURABILITY_SERVICE if that says more. What does not fit the limits of that is not kept.
// A disposal removes the samples of the instance: who comes late never learns of it. With a service_cleanup_delay it
// does so only when the instance has had no writers for so long; until then who comes late gets both (§2.2.3.5). The
// samples of a TRANSIENT_LOCAL writer go when it goes. A sample of a coherent set counts when the set has ended, and never if
// its writer goes before that (storeset.go). What is past its LIFESPAN goes (storelifespan.go).
//
// Owned by the polling goroutine.
type store struct {
	writers   map[endpointKey]*storedWriter
	instances map[InstanceHandle]*storedInstance
	all       []*storedInstance // the same, in no order; see storedInstance.at
	arrivals  uint64
	count     int                       // records in instances
	size      int64                     // of these, about, in a log or on their way
	clock     int64                     // latest source timestamp: what service_cleanup_delay and LIFESPAN go by, the same everywhere
	form      topic.Form                // of the handles
	cleaning  dueQueue[*storedInstance] // disposed and without writers
	expiries  dueQueue[*record]         // with a LIFESPAN
	free      []*record
	// lent counts cuts that are read, or will be. The polling goroutine raises it; who reads lowers it, after its last look at a
	// record, so a record that is recycled at 0 is read by nobody else.
	lent    atomic.Int32
	cuts    uint64 // that were made
	ends    uint64 // of writers
	cutting []*cut // that have not taken all instances
}

type storedWriter struct {
	key   endpointKey
	info  []byte // its announcement
	ann   *announcement
	depth int // samples kept of an instance; 0 for all
	limit int // of samples of an instance with KEEP_ALL
	gone  bool
	used  uint64    // by the end of so many: something is kept of it, or disposed by it
	open  []*record // of the coherent set that has not ended
	set   storedSet
	torn  bool // the beginning of that set was lost: its process was excluded, and is back

	// DURABILITY_SERVICE of TRANSIENT and PERSISTENT.
	maxSamples   int
	maxInstances int
	cleanup      int64 // ns
}

type storedInstance struct {
	handle   InstanceHandle
	lines    []*storedLine
	disposed *disposal // service_cleanup_delay: it is disposed, and not forgotten yet
	alarm    int32     // place in store.cleaning
	at       int       // place in store.all
	taken    uint64    // by the first so many cuts; what came after those it is newer than
}

func (in *storedInstance) place() *int32 { return &in.alarm }

// disposal is who disposed an instance, and when.
type disposal struct {
	w   *storedWriter
	ns  int64
	end int64 // when it is forgotten; 0 while it has writers
}

// storedLine is what is kept of one writer in one instance.
type storedLine struct {
	w *storedWriter
	recordList
	unregistered bool
}

// record is one kept sample.
type record struct {
	w       *storedWriter
	handle  InstanceHandle
	arrival uint64
	message derecho.Message // Payload is the record's own
	open    bool            // of a coherent set that has not ended
	alarm   int32           // place in store.expiries
}

func (r *record) place() *int32 { return &r.alarm }

// size is about what the record takes in a log, or in a history that travels.
func (r *record) size() int64 { return int64(len(r.message.Payload)) + besideSample }

func newStore() *store {
	return &store{writers: make(map[endpointKey]*storedWriter), instances: make(map[InstanceHandle]*storedInstance)}
}

func newStoredWriter(key endpointKey, info []byte, ann *announcement) *storedWriter {
	w := &storedWriter{key: key, info: info, ann: ann}
	q := &ann.writer
	if q.History.Kind == qos.HistoryKeepLast {
		w.depth = int(q.History.Depth)
	}
	if s := &q.DurabilityService; q.Durability.Kind > qos.DurabilityTransientLocal && w.depth != 0 {
		if s.HistoryKind == qos.HistoryKeepAll {
			w.depth = 0
		} else {
			w.depth = max(w.depth, int(s.HistoryDepth))
		}
	}
	w.limit = limit(q.ResourceLimits.MaxSamplesPerInstance)
	w.maxSamples, w.maxInstances = limit(qos.LengthUnlimited), limit(qos.LengthUnlimited)
	if s := &q.DurabilityService; q.Durability.Kind > qos.DurabilityTransientLocal {
		w.limit = min(w.limit, limit(s.MaxSamplesPerInstance))
		w.maxSamples, w.maxInstances = limit(s.MaxSamples), limit(s.MaxInstances)
		w.cleanup = int64(s.ServiceCleanupDelay)
	}
	return w
}

// add follows one message of a writer. The handle is that of the message's instance.
func (s *store) add(e *endpoint, m *derecho.Message, h InstanceHandle) {
	s.follow(e, m, h).all()
}

// follow is add, but for the end of a writer, which is still to be followed in each instance then.
func (s *store) follow(e *endpoint, m *derecho.Message, h InstanceHandle) *writerEnd {
	w := s.writers[e.key]
	first := w == nil
	if first {
		w = newStoredWriter(e.key, e.info, e.ann)
		s.writers[e.key] = w
	}
	s.followSet(w, m, first)
	if e.keys != nil {
		s.form = e.keys.Form()
	}
	s.clean(m.Timestamp)
	switch m.Kind {
	case kindData:
		s.keep(w, m, h)
	case kindDispose:
		s.dispose(w, s.instances[h], m.Timestamp, m.Flags&flagAgain != 0)
	case kindUnregister:
		if m.Flags&flagDispose != 0 {
			s.dispose(w, s.instances[h], m.Timestamp, m.Flags&flagAgain != 0)
		}
		s.unregister(w, s.instances[h])
	case kindSetEnd:
		s.endSet(w, w.torn || losesOwn(w.key.id, m.Payload))
	case kindClosing:
		return s.depart(w, m.Flags&flagDispose != 0, m.Timestamp)
	}
	return nil
}

func (s *store) keep(w *storedWriter, m *derecho.Message, h InstanceHandle) {
	if w.expiry(m.Timestamp) <= s.clock {
		return
	}
	in := s.instances[h]
	if in != nil && in.disposed != nil {
		s.endLife(in, w)
		in = s.instances[h]
	}
	if !s.room(w, in, m.Timestamp) {
		return
	}
	if in == nil {
		in = s.begin(h)
	}
	s.touch(in)
	l := in.line(w)
	l.unregistered = false
	// The samples of an open set are on top of those that they will replace when it ends: until then these are the history.
	inSet := m.Flags&flagInSet != 0
	full := l.len() >= w.keeps()
	if full && (inSet || len(w.open) > 0) {
		full = l.count(inSet) >= w.keeps()
	}
	if full {
		s.dropOldest(l, inSet)
	}
	s.put(l, m, h)
	s.trim(in)
}

// endLife forgets what is left of a disposed instance that a writer begins anew: who comes late would take the two for one. What
// other writers have in sets that are open comes after the disposal.
func (s *store) endLife(in *storedInstance, w *storedWriter) {
	s.touch(in)
	in.disposed = nil
	s.cleaning.remove(in)
	w.open = slices.DeleteFunc(w.open, func(r *record) bool { return r.handle == in.handle })
	for _, l := range in.lines {
		l.removeAll(func(r *record) bool {
			over := !r.open || r.w == w
			if over {
				s.recycle(r)
			}
			return over
		})
	}
	s.removeLines(in, func(l *storedLine) bool { return l.len() == 0 })
}

// put has a line keep a message.
func (s *store) put(l *storedLine, m *derecho.Message, h InstanceHandle) {
	w := l.w
	s.arrivals++
	r := s.newRecord()
	payload := append(r.message.Payload[:0], m.Payload...)
	*r = record{w: w, handle: h, arrival: s.arrivals, message: m.With(payload)}
	r.message.Flags &^= flagInSet
	if r.open = m.Flags&flagInSet != 0; r.open {
		w.open = append(w.open, r)
	} else {
		s.watch(r)
	}
	l.push(r)
	s.count++
	s.size += r.size()
}

// count is how many records are of the open set, or how many are not.
func (l *storedLine) count(open bool) (n int) {
	for n < l.len() && l.all()[l.len()-1-n].open { // a set is on top of what it replaces
		n++
	}
	if !open {
		n = l.len() - n
	}
	return n
}

// dropOldest removes the oldest record of the open set, or the oldest that is not of it.
func (s *store) dropOldest(l *storedLine, open bool) {
	i := slices.IndexFunc(l.all(), func(r *record) bool { return r.open == open })
	oldest := l.all()[i]
	if open {
		w := l.w // a record that is used again is not of the set any more
		w.open = slices.DeleteFunc(w.open, func(r *record) bool { return r == oldest })
	}
	s.recycle(oldest)
	l.remove(i)
}

// room applies the limits of DURABILITY_SERVICE to a sample for in, which is nil if it would be a new instance.
func (s *store) room(w *storedWriter, in *storedInstance, ns int64) bool {
	if in == nil {
		return len(s.instances) < w.maxInstances && s.count < w.maxSamples
	}
	held, bySource := 0, w.bySource() && in.bySource()
	for _, l := range in.lines {
		if l.w == w || l.w.gone && (!bySource || l.len() == 0 || l.latest().message.Timestamp <= ns) {
			held += l.len()
		}
	}
	return held >= w.keeps() || s.count < w.maxSamples // it replaces one: keep, trim
}

// over tells whether the service_cleanup_delay of an instance is over. Who comes late is told nothing of it from then on. It is
// forgotten when a message comes that is as late, which is at one place of the order: so all replicas stay the same.
func (d *disposal) over(now int64) bool { return d != nil && d.end != 0 && d.end <= now }

// clean forgets the samples and instances whose LIFESPAN or service_cleanup_delay is over by the timestamp of a message.
func (s *store) clean(now int64) {
	s.clock = max(s.clock, now)
	s.expire()
	for {
		in, ok := s.cleaning.take(s.clock)
		if !ok {
			return
		}
		s.removeLines(in, func(*storedLine) bool { return true })
	}
}

// restore takes over a disposal that another process knows of. There is no cut yet.
func (s *store) restore(w *storedWriter, h InstanceHandle, by disposal) {
	in := s.instances[h]
	if in == nil {
		return
	}
	by.w = w
	in.disposed = &by
	if by.end != 0 {
		s.cleaning.by(in, by.end)
	}
}

// settle begins the service_cleanup_delay of a disposed instance once nobody writes it any more.
func (s *store) settle(in *storedInstance) {
	if in.disposed != nil && in.alarm == 0 && !slices.ContainsFunc(in.lines, func(l *storedLine) bool { return !l.unregistered && !l.w.gone }) {
		s.touch(in)
		in.disposed.end = after(s.clock, in.disposed.w.cleanup)
		s.cleaning.by(in, in.disposed.end)
	}
}

// keeps is how many samples of an instance are kept of the writer.
func (w *storedWriter) keeps() int {
	if w.depth == 0 {
		return w.limit
	}
	return w.depth
}

// trim lets the samples of writers that have left give way to those that came after: together with the latest writer
// they have as much room as that writer alone. Otherwise a topic that is written by one process after another would
// grow with each of them.
//
// It is called whenever a sample comes or a writer ends. That is at one place of the order: a writer that is closed ends with
// its last message, and one whose process ends with the last message of the epoch.
func (s *store) trim(in *storedInstance) {
	if len(in.lines) < 2 {
		return
	}
	s.touch(in)
	older := in.order()
	var latest *storedLine // of what is in no open set: nothing gives way to a set that may never end
	var last *record
	for _, l := range in.lines {
		for _, r := range slices.Backward(l.all()) {
			if !r.open {
				if last == nil || older(last, r) {
					latest, last = l, r
				}
				break
			}
		}
	}
	for latest != nil {
		total, oldest := latest.len(), latest
		for _, l := range in.lines {
			if l == latest || !l.w.gone || l.len() == 0 {
				continue
			}
			total += l.len()
			if oldest == latest || older(l.oldest(), oldest.oldest()) {
				oldest = l
			}
		}
		if oldest == latest || total <= latest.w.keeps() || total-latest.count(true) <= latest.w.keeps() {
			break
		}
		s.recycle(oldest.oldest())
		oldest.removeFirst()
	}
	in.lines = slices.DeleteFunc(in.lines, func(l *storedLine) bool { return l.w.gone && l.len() == 0 })
}

// order is that in which samples of an instance replace each other: that of their arrival, or where all its writers offer
// DESTINATION_ORDER BY_SOURCE_TIMESTAMP, that of their source timestamps.
func (in *storedInstance) order() (older func(a, b *record) bool) {
	if !in.bySource() {
		return func(a, b *record) bool { return a.arrival < b.arrival }
	}
	return func(a, b *record) bool {
		return cmp.Or(cmp.Compare(a.message.Timestamp, b.message.Timestamp), cmp.Compare(a.arrival, b.arrival)) < 0
	}
}

func (in *storedInstance) bySource() bool {
	return !slices.ContainsFunc(in.lines, func(l *storedLine) bool { return !l.w.bySource() })
}

func (w *storedWriter) bySource() bool {
	return w.ann.writer.DestinationOrder.Kind == qos.DestinationOrderBySourceTimestamp
}

// recycle keeps records for reuse, unless somebody may still read them in a cut.
func (s *store) recycle(records ...*record) {
	s.count -= len(records)
	for _, r := range records {
		s.expiries.remove(r)
		s.size -= r.size()
	}
	if s.lent.Load() == 0 {
		s.free = append(s.free, records...)
	}
}

func (s *store) newRecord() *record {
	if n := len(s.free) - 1; n >= 0 {
		r := s.free[n]
		s.free = s.free[:n]
		s.expiries.remove(r) // it was of a set, and given up before that ended
		return r
	}
	return new(record)
}

func (in *storedInstance) line(w *storedWriter) *storedLine {
	for _, l := range in.lines {
		if l.w == w {
			return l
		}
	}
	l := &storedLine{w: w}
	in.lines = append(in.lines, l)
	return l
}

// dispose drops the samples of an instance: those of all writers, or with OWNERSHIP EXCLUSIVE, where the disposal of
// a writer that is not the owner does not count, its own. A disposal that is sent again (resend.go) comes at a later place of
// the order than it had, and perhaps for the second time: what others have written since it was made stays.
func (s *store) dispose(w *storedWriter, in *storedInstance, ns int64, again bool) {
	if in == nil {
		return
	}
	s.touch(in)
	if again {
		s.disposeUntil(w, in, ns)
		return
	}
	if w.cleanup > 0 {
		s.cleaning.remove(in)
		in.disposed = &disposal{w: w, ns: ns}
		s.settle(in)
		return
	}
	exclusive := w.ann.writer.Ownership.Kind == qos.OwnershipExclusive
	s.removeLines(in, func(l *storedLine) bool { return !exclusive || l.w == w })
}

// disposeUntil is dispose for what has a source timestamp up to one. With service_cleanup_delay an instance that somebody has
// written since is alive.
func (s *store) disposeUntil(w *storedWriter, in *storedInstance, ns int64) {
	since := func(r *record) bool { return r.message.Timestamp > ns }
	if w.cleanup > 0 {
		if !slices.ContainsFunc(in.lines, func(l *storedLine) bool { return slices.ContainsFunc(l.all(), since) }) {
			s.dispose(w, in, ns, false)
		}
		return
	}
	exclusive := w.ann.writer.Ownership.Kind == qos.OwnershipExclusive
	for _, l := range in.lines {
		if exclusive && l.w != w {
			continue
		}
		l.removeAll(func(r *record) bool {
			over := !since(r)
			if over {
				s.recycle(r)
			}
			return over
		})
	}
	s.removeLines(in, func(l *storedLine) bool { return l.len() == 0 })
}

func (s *store) unregister(w *storedWriter, in *storedInstance) {
	if in == nil {
		return
	}
	for _, l := range in.lines {
		if l.w == w {
			s.touch(in)
			l.unregistered = true
		}
	}
	s.settle(in)
}

// endAll follows the end of all writers.
func (s *store) endAll() {
	for _, key := range s.keys() {
		s.end(key)
	}
}

// keys are those of all writers, in one order everywhere.
func (s *store) keys() []endpointKey { return slices.SortedFunc(maps.Keys(s.writers), compareKeys) }

func compareKeys(a, b endpointKey) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.id, b.id))
}

func (s *store) removeLines(in *storedInstance, drop func(*storedLine) bool) {
	if len(in.lines) > 0 && !slices.ContainsFunc(in.lines, drop) {
		return
	}
	s.touch(in)
	in.lines = slices.DeleteFunc(in.lines, func(l *storedLine) bool {
		if drop(l) {
			s.recycle(l.all()...)
			return true
		}
		return false
	})
	if len(in.lines) == 0 {
		s.cleaning.remove(in)
		s.forgetInstance(in)
	}
	if len(s.free) > maxFreeRecords {
		clear(s.free[maxFreeRecords:])
		s.free = s.free[:maxFreeRecords]
	}
}

// begin makes an instance known.
func (s *store) begin(h InstanceHandle) *storedInstance {
	in := &storedInstance{handle: h, at: len(s.all), taken: s.cuts}
	s.instances[h] = in
	s.all = append(s.all, in)
	return in
}

// each gives all instances, of which who is given one may remove that one.
func (s *store) each() iter.Seq[*storedInstance] {
	return func(yield func(*storedInstance) bool) {
		for i := len(s.all) - 1; i >= 0; i-- {
			if !yield(s.all[i]) {
				return
			}
		}
	}
}

// has: the instance is not forgotten.
func (s *store) has(in *storedInstance) bool { return in.at < len(s.all) && s.all[in.at] == in }

func (s *store) forgetInstance(in *storedInstance) {
	delete(s.instances, in.handle)
	last := len(s.all) - 1
	s.all[in.at] = s.all[last]
	s.all[in.at].at = in.at
	s.all[last] = nil
	s.all = s.all[:last]
}

// maxFreeRecords bounds what is kept for reuse after many instances went.
const maxFreeRecords = 1024

// history lists what is kept, in the order in which it came.
func (s *store) history() []*record {
	return slices.DeleteFunc(s.records(), func(r *record) bool { return r.open })
}

// records is history with what is of sets that are open.
func (s *store) records() []*record {
	var all []*record
	for in := range s.each() {
		for _, l := range in.lines {
			all = append(all, l.all()...)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.arrival, b.arrival) })
	return all
}

// ended lists the lines whose writer unregistered the instance, or is gone, in the order of their latest sample.
func (s *store) ended() []*storedLine {
	var all []*storedLine
	for in := range s.each() {
		for _, l := range in.lines {
			if (l.unregistered || l.w.gone) && l.len() > 0 {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, func(a, b *storedLine) int { return cmp.Compare(a.latest().arrival, b.latest().arrival) })
	return all
}

func (l *storedLine) latest() *record { return l.array[len(l.array)-1] }

func (l *storedLine) oldest() *record { return l.array[l.first] }

// latest is the record of the instance that came last; nil if it has none.
func (in *storedInstance) latest() (latest *record) {
	for _, l := range in.lines {
		if l.len() > 0 && (latest == nil || l.latest().arrival > latest.arrival) {
			latest = l.latest()
		}
	}
	return latest
}
