package bench

import (
	"context"
	"math/rand/v2"
)

// stampEvery: without a rate, the clock is read for one sample in so many.
const stampEvery = 16

// publish writes a warm-up, the samples that count, and the mark of the end.
func (r *run) publish(ctx context.Context) error {
	if err := r.out.waitForMatch(ctx, r.Readers); err != nil {
		return err
	}
	r.result.Matched = r.out.matched()
	if err := r.ready(ctx); err != nil {
		return err
	}
	h := header{writer: rand.Uint32(), phase: warmUp, payload: r.Size - MinSize}
	pace := r.schedule()
	turn, err := r.emit(ctx, &h, pace, 0, pace.start+int64(r.WarmUp), 0)
	if err != nil {
		return err
	}

	r.startProgress()
	before := usageAt(r.clock.now())
	dropped := r.out.dropped()
	h.phase, h.number = measured, 0
	until := int64(0)
	if r.Duration > 0 {
		until = before.at + int64(r.Duration)
	}
	_, err = r.emit(ctx, &h, pace, turn, until, r.Count)
	after := usageAt(r.clock.now())
	r.result.Count = h.number
	r.result.setRate(r.result.Count, after.at-before.at)
	r.result.fill(before, after)
	r.result.Dropped = r.out.dropped() - dropped
	r.stopProgress()
	if err != nil {
		return err
	}
	return r.markEnd(ctx, &h)
}

// emit writes samples of a phase until a time, or a count of them; 0 is no limit. turn counts the samples of all phases,
// so that the schedule goes on.
func (r *run) emit(ctx context.Context, h *header, pace *pacer, turn uint64, until int64, count uint64) (uint64, error) {
	now := r.clock.now()
	for ; count == 0 || h.number < count; turn++ {
		switch {
		case r.Rate > 0:
			h.due = pace.due(turn)
			if until != 0 && h.due >= until {
				return turn, nil
			}
			if err := pace.wait(ctx, h.due); err != nil {
				return turn, err
			}
			now = r.clock.now()
		case turn%stampEvery == 0:
			now = r.clock.now()
			h.due = now
			if err := ctx.Err(); err != nil {
				return turn, err
			}
		}
		if h.phase == measured && (r.Rate > 0 || turn%stampEvery == 0) {
			r.count.Store(h.number) // not for each sample: it is a locked instruction
		}
		if until != 0 && now >= until {
			return turn, nil
		}
		h.sent = now
		h.instance = uint32(h.number % uint64(r.Instances))
		if err := r.out.write(ctx, h); err != nil {
			return turn, err
		}
		h.number++
	}
	return turn, nil
}

// markEnd tells the readers how many samples there were. A best-effort mark may be lost, and one in a reader that keeps the
// last few may be replaced by a sample of another writer, so there are some, until the readers have gone.
func (r *run) markEnd(ctx context.Context, h *header) error {
	h.phase = end
	h.sent = r.clock.now()
	h.due = h.sent
	if r.Level != Unordered && r.Keep == 0 {
		if err := r.out.write(ctx, h); err != nil {
			return err
		}
		return r.out.waitForAcknowledgments(ctx)
	}
	const marks, apart = 200, int64(10e6)
	pace := &pacer{clock: r.clock}
	for i := int64(0); i < marks && r.out.matched() > 0; i++ {
		if err := r.out.write(ctx, h); err != nil {
			return err
		}
		if err := pace.wait(ctx, h.sent+(i+1)*apart); err != nil {
			return err
		}
	}
	return nil
}
