package sst

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// history evaluates a predicate of the given kind over conditions and notes when it fires.
func history(kind Kind, conditions ...bool) (fired []bool) {
	var ps Predicates
	var now, did bool
	ps.Add(kind, func() bool { return now }, func() { did = true })
	for _, now = range conditions {
		did = false
		if ps.Evaluate() != did {
			panic("Evaluate must report what fired")
		}
		fired = append(fired, did)
	}
	return fired
}

func TestKinds(t *testing.T) {
	in := []bool{false, true, true, false, true}
	for _, c := range []struct {
		name string
		kind Kind
		want []bool
	}{
		{"recurrent", Recurrent, []bool{false, true, true, false, true}},
		{"one-time", OneTime, []bool{false, true, false, false, false}},
		{"transition", Transition, []bool{false, true, false, false, true}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, history(c.kind, in...)) })
	}
	require.Equal(t, []bool{true, false}, history(Transition, true, true), "holds from the start: fires once")
}

func TestTriggersRunInOrderAndSeeEachOther(t *testing.T) {
	var ps Predicates
	var order []string
	x := 0
	ps.Add(Recurrent, func() bool { return x == 0 }, func() { order = append(order, "a"); x = 1 })
	ps.Add(Recurrent, func() bool { return x == 1 }, func() { order = append(order, "b"); x = 2 })
	ps.Add(Recurrent, func() bool { return x == 1 }, func() { order = append(order, "never") })
	require.True(t, ps.Evaluate())
	require.False(t, ps.Evaluate())
	require.Equal(t, []string{"a", "b"}, order)
}

func TestChangesWithinTriggers(t *testing.T) {
	var ps Predicates
	var order []string
	always := func() bool { return true }
	note := func(s string) func() { return func() { order = append(order, s) } }
	var self, later Handle
	self = ps.Add(Recurrent, always, func() {
		order = append(order, "self")
		ps.Remove(self) // itself
		ps.Remove(later)
		ps.Add(OneTime, always, note("added"))
	})
	later = ps.Add(Recurrent, always, note("later"))
	ps.Add(Recurrent, always, note("last"))

	require.True(t, ps.Evaluate())
	require.Equal(t, []string{"self", "last"}, order, "removed: not in this pass; added: not in this pass")
	order = nil
	require.True(t, ps.Evaluate())
	require.Equal(t, []string{"last", "added"}, order)
	order = nil
	ps.Evaluate()
	require.Equal(t, []string{"last"}, order)

	ps.Remove(self) // again, and of nothing
	ps.Remove(Handle{})
	require.Len(t, ps.list, 1, "what is gone is not kept")
}

func TestEvaluateAllocatesNothing(t *testing.T) {
	var ps Predicates
	n := 0
	ps.Add(Recurrent, func() bool { return true }, func() { n++ })
	ps.Add(Transition, func() bool { return n%2 == 0 }, func() {})
	require.Zero(t, testing.AllocsPerRun(100, func() { ps.Evaluate() }))
}
