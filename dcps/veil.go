package dcps

import (
	"context"
	"math"
	"slices"
)

// veil hangs before the readers of a Subscriber that are to see at once what is put behind it little by little, with passes of
// the polling goroutine in between: histories, of which nobody knows what was of one coherent set, and with GROUP access what
// has waited for these. With that it hangs before all readers of the Subscriber, in the other scopes before those that are given
// a history.
//
// What the readers get is staged under a cut that is not revealed. When all is there a goroutine of its own shows it: to let a
// million samples in takes a second or two, and the lock of their reader, for which the polling goroutine never waits. What came
// meanwhile is shown likewise, until no more of it is left than may be shown at once.
//
// It belongs to the polling goroutine.
type veil struct {
	readers []*reader // before which it hangs
	filling int       // so many put something behind it
	staged  int       // so many samples are behind it, but for those that are being shown
	// complete are readers that have all history, and learn it when they have been shown it: the first so many with what is being
	// shown.
	complete []*endpoint
	shown    int
	showing  bool      // a goroutine shows
	to       []*reader // to these
	// Writers of these channels wait, as more has come than limit while the readers were shown what was behind it: it is to be less
	// each time, or they would be shown more for ever.
	holding []channelKey
	limit   int
}

// veilBefore is the veil through which a reader sees nothing; nil if there is none.
func veilBefore(r *reader) *veil {
	if a := r.sub.access; a != nil && (a.group || r.veiled) {
		return a.veil
	}
	return nil
}

// hang hangs a veil, or finds the one that hangs.
func (h *hub) hang(a *access) *veil {
	if a.veil == nil {
		a.veil = &veil{limit: math.MaxInt}
		a.veiled.Store(true)
		h.veiled = append(h.veiled, a)
	}
	a.veil.filling++
	return a.veil
}

// filled has what is behind a veil be shown, unless more is still to be put there.
func (h *hub) filled(a *access, v *veil) {
	v.filling--
	if a.veil == v && v.filling == 0 && !v.showing {
		v.showing = true
		h.p.spawn("dcps veil", func() { h.unfold(a, v) })
	}
}

// veilFor hangs a veil before the reader of a backlog, until that is given.
func (h *hub) veilFor(b *backlog, a *access) {
	if b.veil != nil {
		return
	}
	b.veil = h.hang(a)
	if r := b.r.reader; !r.veiled {
		r.veiled = true
		a.veil.readers = append(a.veil.readers, r)
	}
}

// unveil ends that.
func (h *hub) unveil(b *backlog) {
	if v := b.veil; v != nil {
		b.veil = nil
		h.filled(b.r.reader.sub.access, v)
	}
}

// lag has what may leave streams with GROUP access leave them little by little, behind a veil, if it is more than is let out at
// once.
func (h *hub) lag(a *access, more bool) {
	switch v := a.lags; {
	case more && v == nil:
		a.lags = h.hang(a)
		h.p.spawn("dcps veil", func() {
			for more := true; more; {
				again := func() {
					h.touch(a)
					h.flush()
					more = a.lags != nil
				}
				if h.p.core.Upcall(context.Background(), again) != nil {
					return // as in unfold
				}
			}
		})
	case !more && v != nil:
		a.lags = nil
		h.filled(a, v)
	}
}

// unfold shows what is behind a veil.
func (h *hub) unfold(a *access, v *veil) {
	for {
		var cut uint64
		var readers []*reader
		// If that fails this node has ended, or is not in the group any more, and the veil is abandoned when it hears so.
		if h.p.core.Upcall(context.Background(), func() { cut, readers = h.next(a, v) }) != nil || readers == nil {
			return
		}
		for _, r := range readers {
			r.lock()
			r.show(cut)
			r.unlock()
		}
	}
}

// next follows that readers were shown what was behind a veil, and tells what they are to be shown next; no readers if that is
// for somebody else.
func (h *hub) next(a *access, v *veil) (cut uint64, readers []*reader) {
	if a.veil != v {
		return 0, nil
	}
	v.to = nil
	if v.filling == 0 && v.staged <= h.atOnce {
		a.reveal()
		v.shown = len(v.complete)
		h.drop(a)
	}
	seen := v.complete[:v.shown]
	v.complete, v.shown = v.complete[v.shown:], 0
	for _, r := range seen {
		if !slices.Contains(v.complete, r) { // else there is more of it
			h.completeHistory(r)
		}
	}
	switch {
	case a.veil != v:
		return 0, nil
	case v.filling > 0: // the last of them goes on
		v.showing = false
		h.letGo(v)
		return 0, nil
	}
	v.limit = max(h.atOnce, v.staged/2)
	v.staged, v.shown, v.to = 0, len(v.complete), a.cutting
	a.cutting = nil
	a.visible.Store(a.cut)
	return a.cut, v.to
}

// grow notes that an item has come behind a veil.
func (h *hub) grow(v *veil, r *reader, it *item) {
	v.staged += max(1, len(it.members()))
	at := channelKey{it.src.sg, r.channel}
	if v.filling == 0 && v.staged > v.limit && at.sg != 0 && !slices.Contains(v.holding, at) {
		v.holding = append(v.holding, at)
		h.p.holds.add(at.sg, at.ch, 1)
	}
}

// letGo lets the writers go on that wait for a veil.
func (h *hub) letGo(v *veil) {
	for _, at := range v.holding {
		h.p.holds.add(at.sg, at.ch, -1)
	}
	v.holding = nil
}

// drop takes a veil away.
func (h *hub) drop(a *access) {
	for _, r := range a.veil.readers {
		r.veiled = false
	}
	h.letGo(a.veil)
	h.veiled = without(h.veiled, a)
	a.veil, a.lags = nil, nil
	a.veiled.Store(false)
}

// abandon takes from a Subscriber whose process was excluded what it has not been shown: readers that want history are given it
// anew, and the others have lost it.
func (h *hub) abandon(a *access) {
	for _, s := range a.all {
		h.clear(s)
	}
	if a.veil == nil {
		return
	}
	for _, r := range slices.Concat(a.veil.readers, a.veil.to) {
		if !slices.Contains(a.cutting, r) {
			a.cutting = append(a.cutting, r)
		}
	}
	for _, r := range a.cutting {
		it := &item{kind: itemUnseen, link: a.visible.Load()}
		r.post(it, it)
	}
	a.cutting = nil
	h.drop(a)
}

// The reader's part.

// unstage forgets what was to be seen behind a cut; but not what became of the writers.
func (r *reader) unstage(cut uint64) {
	n := 0
	for n < len(r.staged) && r.staged[n].link <= cut {
		n++
	}
	behind := slices.Clone(r.staged[n:])
	clear(r.staged[n:])
	r.staged = r.staged[:n]
	for _, it := range behind {
		switch {
		case it.kind == itemGone || it.kind == itemAltered:
			it.link = 0
			r.follow(it)
			continue
		case it.kind == itemData && !r.durable:
			r.lose(1)
		}
		for _, member := range it.members() {
			if member.kind == itemData && !r.durable {
				r.lose(1)
			}
		}
		r.discard(it)
	}
	if r.parkedHead == nil {
		r.letWriters()
	}
}
