package bench

import (
	"context"
	"errors"
	"runtime/debug"
)

// subscribe reads until all writers have ended, or are gone.
func (r *run) subscribe(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	m := &meter{run: r, streams: map[uint32]*stream{}, latency: newHistogram(), due: newHistogram()}
	done := func() bool { return r.Writers > 0 && m.ended >= r.Writers }
	var err error
	if r.Listener {
		err = r.listen(ctx, m, done)
	} else {
		err = r.drain(ctx, m, done)
	}
	m.finish()
	r.result.Interrupted = m.ended < max(r.Writers, len(m.streams)) // what is missing at the end is not known
	return err
}

// drain takes what comes until done says so, or no writer is left.
func (r *run) drain(ctx context.Context, s sink, done func() bool) error {
	for !done() {
		// Before the look at what is there: writers are unmatched once all they sent has been delivered.
		now, most := r.in.matched()
		r.result.Matched = most
		switch err := r.in.take(s); {
		case err == nil:
			if err := ctx.Err(); err != nil {
				return err
			}
		case !errors.Is(err, errEmpty):
			return err
		case most > 0 && now == 0:
			return nil
		default:
			if err := r.in.wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream is what a reader knows of a writer.
type stream struct {
	phase uint32
	next  uint64 // the number that is due, in phase measured
}

// meter measures what a sub takes. It is used by the goroutine of Run.
type meter struct {
	run     *run
	streams map[uint32]*stream
	ended   int // streams with a mark of the end

	latest       *stream // of the sample before, which is nearly always that of the next one
	latestWriter uint32

	now           int64  // when the batch was taken
	first, last   int64  // when the first and the last batch with samples that count were taken
	early         uint64 // samples that count in the first of them
	lost          uint64
	clockIsShared bool
	latency, due  histogram
	before, after usage
}

func (m *meter) begin(int) {
	m.now = m.run.clock.now()
	m.run.result.Batches++
	m.run.count.Store(m.run.result.Count) // not for each sample: it is a locked instruction
}

func (m *meter) add(h *header) error {
	m.run.toil()
	s, known := m.stream(h.writer)
	switch h.phase {
	case measured:
		m.measure(h, s, known)
	case end:
		if s.phase == end {
			return nil // another mark
		}
		m.lose(h.number - min(s.next, h.number))
		s.phase = end
		m.ended++
		m.after = usageAt(m.now)
	}
	return nil
}

func (m *meter) stream(writer uint32) (s *stream, known bool) {
	if m.latest != nil && m.latestWriter == writer {
		return m.latest, true
	}
	s, known = m.streams[writer]
	if !known {
		s = &stream{phase: warmUp}
		m.streams[writer] = s
	}
	m.latest, m.latestWriter = s, writer
	return s, known
}

func (m *meter) measure(h *header, s *stream, known bool) {
	if s.phase == warmUp {
		s.phase = measured
		if !known { // it was writing already when this reader came
			s.next = h.number
		}
		m.clockIsShared = m.run.in.sameClock()
	}
	if h.number < s.next || s.phase == end {
		m.run.result.Disordered++
		return
	}
	m.lose(h.number - s.next)
	s.next = h.number + 1
	r := &m.run.result
	if r.Count == 0 {
		m.start(h)
	}
	r.Count++
	m.last = m.now
	if m.last == m.first {
		m.early++
	}
	if !m.clockIsShared {
		return
	}
	m.latency.add(m.now - h.sent)
	if h.due != h.sent { // written on schedule
		m.due.add(m.now - h.due)
	}
}

func (m *meter) start(h *header) {
	if m.run.result.Role == Peer {
		// Memory of epochs that were gone through when the others came goes with the next collection (ADR 0009), which
		// could be minutes away. It is not what a process needs.
		debug.FreeOSMemory()
		m.run.result.Live = residentKB()
	}
	m.first = m.now
	m.before = usageAt(m.now)
	m.run.result.Size = MinSize + h.payload
	m.run.startProgress()
}

func (m *meter) lose(n uint64) {
	if n > 0 { // a store is a locked instruction
		m.lost += n
		m.run.lost.Store(m.lost)
	}
}

// finish completes the result. What was taken in the first batch was there when time began, so it does not count for
// the rate.
func (m *meter) finish() {
	m.run.stopProgress()
	r := &m.run.result
	// All that was written may have been taken before the listener, on its own goroutine, said who is matched.
	r.Matched = max(r.Matched, len(m.streams))
	r.Lost = m.lost
	r.Latency = m.latency.latency()
	if due := m.due.latency(); due.Samples > 0 {
		r.Due = &due
	}
	r.setRate(r.Count-m.early, m.last-m.first)
	if m.after.at == 0 {
		m.after = usageAt(m.run.clock.now())
	}
	if r.Count > 0 {
		r.fill(m.before, m.after)
	}
}
