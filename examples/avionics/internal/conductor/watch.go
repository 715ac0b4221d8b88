package conductor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
)

// stillLimit is how long a process may give no sign of life, or take nothing, before it is named: several beats.
const stillLimit = 8 * control.Beat

// sight is what was last seen of a process.
type sight struct {
	at      time.Time         // of the last sign of life
	reached map[string]uint64 // number of the last sample taken, by reliable topic
	moved   time.Time         // when that last changed
	missed  bool              // its silence was told
}

// watch remembers how far each process got and when it last said so. Those that wait for another are the ones which
// complain; who is to blame is who stands still. It is a plain value: time is an argument.
type watch map[string]*sight

// started begins to watch a process.
func (w watch) started(role string, now time.Time) { w[role] = &sight{at: now, moved: now} }

// alive notes a sign of life, and tells whether it had been missed.
func (w watch) alive(role string, reached map[string]uint64, now time.Time) (back bool) {
	s := w[role]
	s.at = now
	if !maps.Equal(s.reached, reached) {
		s.reached, s.moved = reached, now
	}
	back, s.missed = s.missed, false
	return back
}

// slept forgives the silence of a time in which nobody listened.
func (w watch) slept(now time.Time) {
	for _, s := range w {
		s.at, s.moved = now, now
	}
}

// missing lists those of whom nothing was heard for too long, each once for each silence.
func (w watch) missing(roles []string, now time.Time) []string {
	var list []string
	for _, role := range roles {
		if s := w[role]; !s.missed && now.Sub(s.at) >= stillLimit {
			s.missed = true
			list = append(list, role)
		}
	}
	return list
}

// behind names the topic of which a process has not taken what another has, although it had the time; "" if there is none.
func (w watch) behind(role string, now time.Time) (topic string, samples uint64, other string) {
	s := w[role]
	if now.Sub(s.moved) < stillLimit {
		return "", 0, ""
	}
	for _, o := range slices.Sorted(maps.Keys(w)) {
		for t, n := range w[o].reached {
			if mine, takes := s.reached[t]; takes && n > mine && n-mine > samples {
				topic, samples, other = t, n-mine, o
			}
		}
	}
	return topic, samples, other
}

// standstill says which of the processes stand still, and for how long. A process that is silent keeps the others from going
// on, which then fall behind: so those are named only if there is no silent one.
func (w watch) standstill(roles []string, now time.Time, pid func(role string) int) []string {
	var silent, behind []string
	for _, role := range roles {
		s := w[role]
		quiet := now.Sub(s.at)
		who := fmt.Sprintf("%s (process %d)", role, pid(role))
		switch stopped := isStopped(pid(role)); {
		case stopped:
			silent = append(silent, fmt.Sprintf("%s is stopped, by a signal or a debugger, and has given no sign of life for %v", who, round(quiet)))
		case quiet >= stillLimit:
			silent = append(silent, fmt.Sprintf("%s has given no sign of life for %v", who, round(quiet)))
		default:
			if topic, n, other := w.behind(role, now); topic != "" {
				behind = append(behind, fmt.Sprintf("%s has taken nothing for %v and is %d samples of %s behind %s", who,
					round(now.Sub(s.moved)), n, topic, other))
			}
		}
	}
	if len(silent) > 0 {
		return silent
	}
	return behind
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
