package dcps

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/qos"
)

// joiner makes the samples of a reader of a MultiTopic. It has a reader of its own for each topic, a part, which is
// announced and matched like any other and does what QoS asks for; takes what comes there, and posts the rows that
// change by it. The reader itself, the whole, is not announced.
//
// A goroutine of its own does that when a part has data; who reads the whole does it first, too, so that what has been
// delivered is seen. It stops while the whole is full: then the parts fill, and hold their writers as QoS says.
type joiner struct {
	whole *reader
	multi *multiTopic
	parts []*reader
	src   *source  // who seems to write
	bell  *WaitSet // of it only the channel is used: data at a part, or room at the whole

	mu sync.Mutex // taken before the locks of the readers
	// Guarded by mu.
	table       *filter.Table
	rows        map[*filter.Row]InstanceHandle
	counts      map[InstanceHandle]int                // rows of an instance
	generations []map[InstanceHandle]instanceLifetime // by part, of instances that are in the table
	handleOf    func(sample []byte) (InstanceHandle, error)
	out         chain // items that are posted together
	stopped     bool
}

// instanceLifetime tells one life of an instance from the next.
type instanceLifetime struct{ disposed, noWriters int32 }

// newJoinedReader makes the untyped reader of a MultiTopic, not enabled yet.
func newJoinedReader(op string, sub *Subscriber, m *multiTopic, q qos.DataReader) (*reader, error) {
	if sub.p != m.p {
		return nil, &Error{Op: op, Entity: what("reader", m.name), Code: ErrPreconditionNotMet,
			Detail: "the multitopic belongs to another participant than the subscriber"}
	}
	r := &reader{sub: sub, topic: m.of}
	j := &joiner{
		whole: r, multi: m, src: new(source), bell: new(WaitSet),
		rows: make(map[*filter.Row]InstanceHandle), counts: make(map[InstanceHandle]int), handleOf: m.handles(),
	}
	j.bell.ready()
	r.join = j
	r.setup()
	for _, t := range m.topics {
		part := &reader{sub: sub, topic: t, whole: r}
		part.setup()
		j.parts = append(j.parts, part)
		j.generations = append(j.generations, make(map[InstanceHandle]instanceLifetime))
	}
	if err := j.configure(op, q); err != nil {
		return nil, err
	}
	return r, nil
}

// partQos is the QoS of the parts: what is not alive stays until it is joined.
func partQos(q qos.DataReader) qos.DataReader {
	q.ReaderDataLifecycle = qos.ReaderDataLifecycle{AutopurgeNowriterSamplesDelay: qos.Infinite, AutopurgeDisposedSamplesDelay: qos.Infinite}
	return q
}

// wholeQos is what the cache of the whole does: the parts have done the rest.
func wholeQos(q qos.DataReader) qos.DataReader {
	d := qos.DefaultDataReader()
	q.Deadline, q.Ownership, q.TimeBasedFilter, q.DestinationOrder = d.Deadline, d.Ownership, d.TimeBasedFilter, d.DestinationOrder
	return q
}

// configure is reader.configure for the whole.
func (j *joiner) configure(op string, q qos.DataReader) error {
	if err := checkReader(op, j.whole.what, q); err != nil {
		return err
	}
	for _, part := range j.parts {
		if err := part.configure(op, partQos(q)); err != nil {
			return err
		}
	}
	r := j.whole
	r.lock()
	defer r.unlock()
	r.q = q
	r.newCache()
	return nil
}

// setQos changes the QoS of the parts, which are enabled. Called with changing of the whole held.
func (j *joiner) setQos(q qos.DataReader) error {
	var errs []error
	for _, part := range j.parts {
		errs = append(errs, part.setQos(partQos(q)))
	}
	return errors.Join(errs...)
}

// again announces the parts once more.
func (j *joiner) again(op string) error {
	var errs []error
	for _, part := range j.parts {
		errs = append(errs, part.again(op))
	}
	return errors.Join(errs...)
}

// enable enables the parts, and begins to join. Called with changing of the whole held.
func (j *joiner) enable(op string) error {
	r := j.whole
	if a := r.sub.access; a != nil && a.group {
		return &Error{Op: op, Entity: r.what, Code: ErrUnsupported,
			Detail: "PRESENTATION access_scope GROUP of the Subscriber holds samples back until BeginAccess, and rows are made as they come; use another Subscriber"}
	}
	for _, part := range j.parts {
		if err := part.enable(op); err != nil {
			return err
		}
	}
	j.multi.mu.Lock()
	j.mu.Lock()
	j.table = j.multi.now.Load().NewTable()
	if j.multi.readers == nil {
		j.multi.readers = make(map[*joiner]struct{})
	}
	j.multi.readers[j] = struct{}{}
	j.mu.Unlock()
	j.multi.mu.Unlock()
	for _, part := range j.parts {
		c := new(ReadCondition)
		c.init(part, SampleNotRead, 0, 0)
		c.attach(j.bell)
	}
	order := r.sub.Qos().Presentation
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	if err := r.p.usable(op); err != nil {
		return err
	}
	r.lock()
	r.id = r.p.nextID()
	r.handle = r.p.handleOfEndpoint(r.id)
	r.inOrder, r.oneByOne = orderOf(order)
	r.unlock()
	r.p.enlist(&r.entity)
	r.p.spawn("dcps join", j.run)
	r.enabled.Store(true)
	return nil
}

// run joins until the whole is closed.
func (j *joiner) run() {
	for {
		select {
		case <-j.bell.wake:
			j.pull()
		case <-j.whole.stop:
			return
		}
	}
}

// pull joins what the parts have, as far as the whole has room.
func (j *joiner) pull() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for more := true; more && !j.stopped && j.table != nil; {
		more = false
		for i, part := range j.parts {
			if j.full() {
				return // unpark rings
			}
			more = j.take(i, part) || more
		}
	}
}

func (j *joiner) full() bool {
	j.whole.lock()
	defer j.whole.unlock()
	return j.whole.parkedHead != nil
}

// take joins what a part has, and tells whether there was anything. It takes all: what becomes of an instance that is not alive
// any more is decided behind its last sample. Called with mu held.
func (j *joiner) take(i int, part *reader) bool {
	s := everything
	s.take, s.inOrder = true, true
	part.lock()
	c := part.collectLocked(&s)
	part.unlock()
	defer part.giveBack(c)
	for k, it := range c.items {
		j.join(i, it, &c.infos[k])
	}
	for k := range c.infos {
		if info := &c.infos[k]; info.InstanceState != InstanceAlive && info.SampleRank == 0 {
			j.remove(i, info.InstanceHandle, c.items[k].sourceNs, info.InstanceState == InstanceNotAliveDisposed)
		}
	}
	j.flush()
	return len(c.items) > 0
}

// join puts one sample of a part into the table.
func (j *joiner) join(i int, it *item, info *SampleInfo) {
	if !info.ValidData {
		return
	}
	h, life := info.InstanceHandle, instanceLifetime{info.DisposedGenerationCount, info.NoWritersGenerationCount}
	if was, known := j.generations[i][h]; known && was != life { // it was not alive in between
		j.remove(i, h, it.sourceNs, was.disposed != life.disposed)
	}
	changes, err := j.table.Put(i, h, it.buf, it.sourceNs)
	if err != nil {
		j.whole.p.problem(err)
		return
	}
	j.generations[i][h] = life
	j.change(changes)
}

func (j *joiner) remove(i int, h InstanceHandle, at int64, disposed bool) {
	delete(j.generations[i], h)
	j.change(j.table.Remove(i, h, at, disposed))
}

// change makes items of what becomes of rows.
func (j *joiner) change(changes []filter.Change) {
	for _, c := range changes {
		if c.Sample == nil {
			if h, known := j.rows[c.Row]; known {
				delete(j.rows, c.Row)
				j.leave(h, c.At, c.Disposed)
			}
			continue
		}
		h, err := j.handleOf(c.Sample)
		if err != nil {
			j.whole.p.problem(err)
			continue
		}
		was, known := j.rows[c.Row]
		if !known || was != h {
			j.rows[c.Row] = h
			j.counts[h]++
		}
		j.add(&item{kind: itemData, handle: h, own: c.Sample, buf: c.Sample, sourceNs: c.At})
		if known && was != h { // its key is of something that changes
			j.leave(was, c.At, false)
		}
	}
}

// leave takes a row from its instance.
func (j *joiner) leave(h InstanceHandle, at int64, disposed bool) {
	if j.counts[h]--; j.counts[h] > 0 {
		return
	}
	delete(j.counts, h)
	it := &item{kind: itemUnregister, handle: h, sourceNs: at}
	if disposed {
		it.flags = flagDispose
	}
	j.add(it)
}

func (j *joiner) add(it *item) {
	it.refs, it.src, it.receiveNs = 1, j.src, now()
	it.next = j.out.first
	if j.out.first == nil {
		j.out.last = it
	}
	j.out.first = it
}

// flush posts what was added. Called with mu held, so that items arrive in the order of the rows.
func (j *joiner) flush() {
	if c := j.out; c.first != nil {
		j.out = chain{}
		j.whole.post(c.first, c.last)
	}
}

// follow goes on with other parameters.
func (j *joiner) follow(join *filter.Join) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped {
		return
	}
	changes, err := j.table.Follow(join)
	if err != nil {
		j.whole.p.problem(err)
		return
	}
	j.change(changes)
	j.flush()
}

// history waits until the parts have what was kept for late joiners, and joins it.
func (j *joiner) history(ctx context.Context, op string) error {
	for _, part := range j.parts {
		if err := part.awaitHistory(ctx, op); err != nil {
			return err
		}
	}
	j.pull()
	return nil
}

// close ends the parts, and the joining.
func (j *joiner) close() error {
	j.multi.mu.Lock()
	delete(j.multi.readers, j)
	j.multi.mu.Unlock()
	var errs []error
	for _, part := range j.parts {
		errs = append(errs, part.Close())
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopped, j.table = true, nil
	clear(j.rows)
	return errors.Join(errs...)
}

// ring has the goroutine look again. It never blocks.
func (j *joiner) ring() { j.bell.notify() }

// tell has the whole, if the reader is a part of one, follow what the reader's statuses follow. It never blocks. Called with the
// reader's lock held.
func (r *reader) tell(follow func(whole *reader)) {
	if r.whole == nil {
		return
	}
	it := &item{kind: itemOfPart, ctl: &control{follow: follow}}
	r.whole.post(it, it)
}

// publications are the writers that the parts are matched with.
func (j *joiner) publications() []Peer {
	var out []Peer
	for _, part := range j.parts {
		for _, p := range part.matchedPublications() {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
