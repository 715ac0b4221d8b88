package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/datadriven"
)

// A process ends before each operation on its log, one after the other: while messages are stored, while a newcomer
// gets the state and begins its log with it, and while an epoch begins at the others. So do all at once, each before
// its own. All come back, and the checkers find that nothing is lost which was durable.
func TestEndAtEachDiskOperation(t *testing.T) {
	for _, victims := range []string{"a", "b", "c", "abc"} {
		t.Run(victims, func(t *testing.T) {
			points := 0
			for k := 1; endAt(t, victims, k); k++ {
				points++
			}
			require.Greater(t, points, 5, "operations before which a process ended")
		})
	}
}

// endAt plays the scenario in which the victims end before their k-th operation from some moment on, and tells whether one has.
func endAt(t *testing.T, victims string, k int) bool {
	s := newScript(t)
	args := func(words ...string) (list []datadriven.Arg) {
		for _, w := range words {
			list = append(list, datadriven.Arg{Key: w})
		}
		return list
	}
	does := func(what func([]datadriven.Arg), words ...string) {
		if p := s.names[words[0]]; !p.gone && p.joined {
			what(args(words...))
		}
	}
	writes := func(name string, texts ...string) {
		p := s.names[name]
		for _, text := range texts {
			for id, ep := range p.ready {
				if ep.Writes.ID != 0 && !p.gone {
					p.nextMsg++
					p.guard(func() { p.say(p.ready[id], fmt.Sprintf("%s:%d:%s", p.id, p.nextMsg, text)) })
					p.look()
				}
			}
			s.settle()
		}
	}
	s.group(args("a", "b", "c"))
	does(s.writer, "a", "logged")
	does(s.reader, "b", "logged")
	writes("a", "u", "v")
	s.let(s.r.plan.Lease)
	for _, name := range victims {
		s.names[string(name)].disk.crashIn = k
	}
	writes("a", "w")
	does(s.writer, "c", "logged")
	writes("a", "x")
	writes("c", "y")
	does(s.remove, "b", "logged")
	writes("a", "z")
	s.let(10 * s.r.plan.Lease) // who has ended comes back
	ended := s.r.faults[CrashSync]
	s.r.plan.Revive = true
	s.check()
	require.False(t, s.r.lost, "all are back")
	return ended > 0
}
