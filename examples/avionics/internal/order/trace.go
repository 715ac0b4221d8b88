package order

import (
	"crypto/sha256"
	"maps"
)

// event is one sample in a trace: its number, its instance, and a hash of what the digest takes of it.
type event struct {
	number   uint64
	instance string
	hash     [32]byte
}

// maxTrace bounds a trace: about 60 MB.
const maxTrace = 1 << 20

// KeepTrace makes the tracker remember each sample, so that Since and PictureAt can be asked. To be called before the
// first sample.
func (t *Tracker) KeepTrace() { t.keep = true }

// TraceFull tells that the trace has reached its bound, so that later samples are not in it.
func (t *Tracker) TraceFull() bool { return len(t.trace) == maxTrace }

func traceOf(t *Tracker, s *Sample) event {
	d := sha256.New()
	t.digestSample(d, s)
	e := event{number: s.Number, instance: s.Instance}
	d.Sum(e.hash[:0])
	return e
}

// Part is a digest over a part of the stream.
type Part struct {
	Count  uint64 `json:"count"`
	Digest string `json:"digest"`
}

// Since gives the part of the stream behind the sample with that number: all of it if the number is 0. For topics of
// one writer.
func (t *Tracker) Since(number uint64) Part {
	d := sha256.New()
	var p Part
	for i := range t.trace {
		if t.trace[i].number > number {
			_, _ = d.Write(t.trace[i].hash[:])
			p.Count++
		}
	}
	p.Digest = sum(d)
	return p
}

// PictureAt gives, for each instance, the number of its last sample up to that number: what the history of a topic
// with KEEP_LAST 1 held at that point. For topics of one writer.
func (t *Tracker) PictureAt(number uint64) map[string]uint64 {
	picture := make(map[string]uint64)
	for i := range t.trace {
		if e := &t.trace[i]; e.number <= number {
			picture[e.instance] = max(picture[e.instance], e.number)
		}
	}
	return picture
}

// HistoryEnds tells the tracker of a late reader that what it took so far is history, in which gaps are right: they do
// not count as missing. It gives the greatest number so far.
func (t *Tracker) HistoryEnds() uint64 {
	t.result.Missing = 0
	for w := range maps.Values(t.writers) {
		clear(w.skipped)
	}
	return t.result.Last
}
