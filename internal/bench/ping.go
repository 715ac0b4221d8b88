package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// patience is how long a ping waits for its pongs, at least; at most twice as long.
const patience = time.Second

// ping writes a sample, waits until every pong has written it back, and begins again: at once, or when the next one is
// due.
func (r *run) ping(ctx context.Context) error {
	if err := errors.Join(r.out.waitForMatch(ctx, r.Readers), r.in.waitForMatch(ctx, r.Readers)); err != nil {
		return err
	}
	r.result.Matched = r.out.matched()
	if err := r.ready(ctx); err != nil {
		return err
	}
	h := header{writer: rand.Uint32(), phase: warmUp, payload: r.Size - MinSize}
	pace := r.schedule()
	t := &trips{run: r, sent: &h, latency: newHistogram(), due: newHistogram()}
	defer t.giveUp()
	turn, err := t.rounds(ctx, pace, 0, pace.start+int64(r.WarmUp), 0)
	if err != nil {
		return err
	}

	r.startProgress()
	before := usageAt(r.clock.now())
	h.phase, h.number = measured, 0
	t.lost = 0
	until := int64(0)
	if r.Duration > 0 {
		until = before.at + int64(r.Duration)
	}
	_, err = t.rounds(ctx, pace, turn, until, r.Count)
	after := usageAt(r.clock.now())
	r.stopProgress()
	r.result.Count = h.number
	r.result.Lost = t.lost
	r.result.Latency = t.latency.latency()
	if due := t.due.latency(); due.Samples > 0 {
		r.result.Due = &due
	}
	r.result.setRate(r.result.Count, after.at-before.at)
	r.result.fill(before, after)
	if err != nil {
		return err
	}
	return r.markEnd(ctx, &h)
}

// trips measures round trips. It is the sink of the pongs.
type trips struct {
	run          *run
	sent         *header // the ping that is under way
	back         int     // how many pongs it has
	now          int64
	lost         uint64
	latency, due histogram

	patience context.Context // of this round; see patient
	cancel   context.CancelFunc
	expires  int64
}

func (t *trips) begin(int) {
	t.now = t.run.clock.now()
	t.run.result.Batches++
}

func (t *trips) add(h *header) error {
	if h.writer != t.sent.writer || h.phase != t.sent.phase || h.number != t.sent.number {
		return nil // of another ping, or too late
	}
	t.back++
	if h.phase == measured {
		t.latency.add(t.now - h.sent)
		if h.due != h.sent {
			t.due.add(t.now - h.due)
		}
	}
	return nil
}

// rounds makes round trips until a time, or a count of them; 0 is no limit.
func (t *trips) rounds(ctx context.Context, pace *pacer, turn uint64, until int64, count uint64) (uint64, error) {
	r, h := t.run, t.sent
	for ; count == 0 || h.number < count; turn++ {
		h.sent = r.clock.now()
		h.due = h.sent
		if r.Rate > 0 {
			h.due = pace.due(turn)
			if until != 0 && h.due >= until {
				return turn, nil
			}
			if err := pace.wait(ctx, h.due); err != nil {
				return turn, err
			}
			h.sent = r.clock.now()
		}
		if until != 0 && h.sent >= until {
			return turn, nil
		}
		if err := t.round(ctx); err != nil {
			return turn, err
		}
		h.number++
		if h.phase == measured {
			r.count.Store(h.number)
		}
	}
	return turn, nil
}

func (t *trips) round(ctx context.Context) error {
	t.back = 0
	t.sent.instance = uint32(t.sent.number % uint64(t.run.Instances))
	if err := t.run.out.write(ctx, t.sent); err != nil {
		return err
	}
	for t.back < t.run.Readers {
		switch err := t.run.in.take(t); {
		case err == nil:
		case !errors.Is(err, errEmpty):
			return err
		default:
			if err := t.run.in.wait(t.patient(ctx)); err == nil {
				continue
			} else if ctx.Err() != nil || t.patience.Err() == nil {
				return err
			}
			t.lost += uint64(t.run.Readers - t.back)
			t.run.lost.Store(t.lost)
			return nil
		}
	}
	return nil
}

// patient is ctx with an end. It serves many rounds: a timer for each would cost as much as the rest of it.
func (t *trips) patient(ctx context.Context) context.Context {
	if now := t.run.clock.now(); t.patience == nil || t.expires-now < int64(patience) {
		t.giveUp()
		t.patience, t.cancel = context.WithTimeout(ctx, 2*patience)
		t.expires = now + int64(2*patience)
	}
	return t.patience
}

func (t *trips) giveUp() {
	if t.cancel != nil {
		t.cancel()
	}
}

// pong writes back what it reads.
func (r *run) pong(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	e := &echo{ctx: ctx, run: r, pings: map[uint32]bool{}}
	err := r.drain(ctx, e, func() bool { return r.Writers > 0 && e.ended >= r.Writers })
	r.stopProgress()
	r.result.Interrupted = e.ended < max(r.Writers, len(e.pings))
	if e.after.at == 0 {
		e.after = usageAt(r.clock.now())
	}
	if r.result.Count > 0 {
		r.result.setRate(r.result.Count, e.last-e.before.at)
		r.result.fill(e.before, e.after)
	}
	return err
}

// echo is the sink of the pings.
type echo struct {
	ctx           context.Context
	run           *run
	now, last     int64
	pings         map[uint32]bool // whether they have ended
	ended         int
	before, after usage
}

func (e *echo) begin(int) {
	e.now = e.run.clock.now()
	e.run.result.Batches++
}

func (e *echo) add(h *header) error {
	if h.phase == end {
		if !e.pings[h.writer] {
			e.pings[h.writer] = true
			e.ended++
			e.after = usageAt(e.now)
		}
		return nil
	}
	if h.phase == measured {
		if e.run.result.Count == 0 {
			e.before = usageAt(e.now)
			e.run.result.Size = MinSize + h.payload
			e.run.startProgress()
		}
		if h.number == 0 {
			e.pings[h.writer] = false
		}
		e.run.result.Count++
		e.last = e.now
		e.run.count.Store(e.run.result.Count)
	}
	return e.run.out.write(e.ctx, h)
}
