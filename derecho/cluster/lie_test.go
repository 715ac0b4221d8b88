package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/datadriven"
)

// b's disk lies: of what it called synced since some moment each of its two files keeps the first entries, every number
// of them. Both processes lose their power at once and come back, either first. What a's honest disk has is there in
// the end, for one whose log is a part of the last epoch and has it is enough.
func TestLieOfEachLength(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		for messages := range 5 {
			for starts := range 2 {
				r := lieAt(t, first, messages, starts, false)
				require.NoError(t, r, "%s first, b keeps %d messages and %d beginnings", first, messages, starts)
			}
		}
	}
}

// Who trusts what a node said of its log before it lost its power takes up the log that is shorter, and the checkers see it.
func TestLieBelieved(t *testing.T) {
	err := lieAt(t, "b", 1, 1, true)
	require.ErrorContains(t, err, "P2: ")
}

// lieAt plays the scenario: b's disk keeps so many of the messages and beginnings that came when it lied. If it is
// believed it announces its log as it was. It returns what the checkers say.
func lieAt(t *testing.T, first string, messages, starts int, believed bool) error {
	s := newScript(t)
	args := func(words ...string) (list []datadriven.Arg) {
		for _, w := range words {
			list = append(list, datadriven.Arg{Key: w})
		}
		return list
	}
	s.group(args("b", "a"))
	s.writer(args("b", "logged"))
	s.writer(args("a", "logged"))
	s.let(s.r.plan.Lease)
	liar := s.names["b"].disk
	liar.lie(3)
	for k := range 4 {
		if k == 2 {
			s.writer(args("a", "logged")) // another epoch begins
			s.let(s.r.plan.Lease)
		}
		s.send(args("a", "logged", fmt.Sprintf("m%d", k)))
		s.let(s.r.plan.Lease)
	}
	require.Equal(t, 4, len(liar.messages.entries)-liar.messages.real)
	require.Equal(t, 1, len(liar.starts.entries)-liar.starts.real)
	liar.honest = func(f *file) int {
		if f == &liar.messages {
			return messages
		}
		return starts
	}
	if believed {
		liar.claims = liar.found(logged)
		liar.claims.Seq++ // the longest, also if a's is the first of equals
	}
	s.crash(args("a"))
	s.crash(args("b"))
	s.restart(args(first))
	s.let(s.r.plan.Lease)
	for _, name := range []string{"a", "b"} {
		if name != first {
			s.restart(args(name))
		}
	}
	s.r.plan.Revive = true
	s.r.liveness()
	require.NoError(t, s.r.err)
	require.False(t, s.r.lost, "both are back")
	return check(s.r.plan, s.r.events)
}

// Of a channel that all have lost who had its state only their logs are asked: of those who fail together each, not
// that of one who had failed, or withdrawn what keeps the channel, before. What one of these has on disk is not
// excused.
func TestLogsOfTheLast(t *testing.T) {
	const group, x, y, z = 1, 17, 18, 19 // z keeps nothing
	for _, c := range []struct {
		name    string
		then    func(h *having, keep keepers)
		excused bool
	}{
		{"the one that has it failed before", func(h *having, keep keepers) {
			h.install(2, []derecho.NodeID{y, z}, keep)
			h.install(3, []derecho.NodeID{z}, keep)
		}, true},
		{"the one that has it withdrew before", func(h *having, keep keepers) {
			keep.executed(&derecho.Event{From: x, Command: []byte{remove, 1, 0, 0, 0}})
			h.install(2, []derecho.NodeID{x, z}, keep)
		}, true},
		{"the other withdraws after it, and comes again", func(h *having, keep keepers) {
			for _, node := range []derecho.NodeID{x, y} {
				keep.executed(&derecho.Event{From: node, Command: []byte{remove, 1, 0, 0, 0}})
				h.install(uint32(node), []derecho.NodeID{x, y, z}, keep)
			}
			h.awaits(y)
		}, true},
		{"both fail together", func(h *having, keep keepers) { h.install(2, []derecho.NodeID{z}, keep) }, false},
		{"it fails last", func(h *having, keep keepers) {
			h.install(2, []derecho.NodeID{x, z}, keep)
			h.install(3, []derecho.NodeID{z}, keep)
		}, false},
		{"it lives", func(h *having, keep keepers) { h.install(2, []derecho.NodeID{x, z}, keep) }, false},
	} {
		for _, line := range []uint32{4, 5} { // that on which they had it, or that of logs which know of none
			l, keep := newLies(), keepers{}
			h := l.of(group)
			for node, log := range map[derecho.NodeID]uint64{x: 7, y: 8} {
				h.has(node, log, 4)
				keep.known(node, fmt.Sprintf("%s/1", node))
				l.durable(&Event{Log: log, Epoch: 1, Text: "m"})
			}
			l.lost(&Event{Log: 8, Epoch: 1, Text: "m"})
			c.then(h, keep)
			l.durable(&Event{Log: 8, Epoch: 1, Text: "of a line before"})
			l.lost(&Event{Log: 8, Epoch: 1, Text: "of a line before"})
			of := lastEpoch{epoch: 1, logs: []uint64{7, 8}}
			at := map[string]onDisk{"m": {line: 4, lastEpoch: of}, "of a line before": {line: 3, lastEpoch: of}}
			l.resumed(8, h, []uint64{7, 8}, []uint64{7, 8}, line, []uint64{7, 8}, map[uint64]onDisk{}, at)
			require.Equal(t, c.excused, l.excused["m"], "%s, line %d", c.name, line)
			require.False(t, l.excused["of a line before"])
		}
	}
}
