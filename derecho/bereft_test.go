package derecho

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scene is a catalogue of one channel, and what came of the commands that it has executed.
type scene struct {
	cat   *catalogue
	k     keptChannel
	next  *descriptor // the latest
	asked []NodeID    // in the last step
}

// step is a command, or a failure.
type step func(*scene)

func (s *scene) sg() Subgroup { return Subgroup{s.k.subgroup, Logged} }

func (s *scene) take(changed []*descriptor, asked []replica) {
	if len(changed) > 0 {
		s.next = changed[len(changed)-1]
	}
	for _, r := range asked {
		s.asked = append(s.asked, r.node)
	}
}

// keeps: a node announces a reader that keeps the state. Its log has the number of the node.
func keeps(node NodeID, holds LogState) step {
	return func(s *scene) {
		holds.ID = uint64(node)
		s.take(s.cat.add(Endpoint{Node: node, ID: 1, Channel: s.k.channel, Reads: []Subgroup{s.sg()}, Replica: true, Log: &holds}), nil)
	}
}

// remembers: a node announces a reader that keeps the state in memory.
func remembers(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.add(Endpoint{Node: node, ID: 3, Channel: s.k.channel, Reads: []Subgroup{s.sg()}, Replica: true}), nil)
	}
}

func writes(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.add(Endpoint{Node: node, ID: 2, Channel: s.k.channel, Writes: s.sg()}), nil)
	}
}

func fails(nodes ...NodeID) step {
	return func(s *scene) {
		s.take(s.cat.removeNodes(func(id NodeID) bool {
			for _, n := range nodes {
				if n == id {
					return true
				}
			}
			return false
		}))
	}
}

func withdraws(node NodeID) step {
	return func(s *scene) {
		_, changed, asked, _ := s.cat.remove(node, 1)
		s.take(changed, asked)
	}
}

func (s *scene) replica(node NodeID) replica { return replica{s.k.subgroup, s.k.channel, node} }

func loaded(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.loaded(s.replica(node), s.cat.loading[s.replica(node)].epoch), nil)
	}
}

// has: a node has got the state, and its log has not.
func has(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.has(s.replica(node), s.cat.loading[s.replica(node)].epoch), nil)
	}
}

// stores: its log has got the state, which it had.
func stores(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.loaded(s.replica(node), s.cat.unstored[s.replica(node)]), nil)
	}
}

func lacks(node NodeID) step {
	return func(s *scene) {
		s.take(s.cat.lacks(s.replica(node), s.cat.loading[s.replica(node)].epoch), nil)
	}
}

func hurries(s *scene) { s.take(s.cat.hurry(s.k), nil) }

// transfers of the latest epoch: 1>2 is from node 1 to node 2, 1>1 that it goes on with what it has, 0>2 that nobody has it yet.
func (s *scene) transfers() string {
	var list []string
	for _, t := range s.next.Transfers {
		list = append(list, fmt.Sprintf("%d>%d", uint64(t.From), uint64(t.To)))
	}
	return strings.Join(list, " ")
}

func TestBereft(t *testing.T) {
	empty := LogState{}
	// old is what a log holds that has an epoch of logs 1 and 2 up to some message.
	old := func(epoch uint32, seq uint64) LogState {
		return LogState{Begun: epoch, Epoch: epoch, Seq: seq, Logs: []uint64{1, 2}, History: 1, Written: true}
	}
	// opened is such a log if the second of the two had been opened so often.
	opened := func(epoch uint32, seq uint64, second uint32) LogState {
		l := old(epoch, seq)
		l.Openings = []uint32{0, second}
		return l
	}
	// alone is what log 3 holds of an epoch that it had alone.
	alone := func(epoch uint32, seq uint64) LogState {
		return LogState{Begun: epoch, Epoch: epoch, Seq: seq, Logs: []uint64{3}, History: 1, Written: true}
	}
	tests := []struct {
		name      string
		steps     []step
		asked     []NodeID // by the last step
		transfers string   // of the latest epoch
		bereft    bool     // nobody has the state, as all have said
		missing   []uint64 // logs
	}{
		{name: "a newcomer gets the state", steps: []step{keeps(1, empty), writes(1), keeps(2, empty)}, transfers: "1>2"},
		{
			name:  "another has it when the source fails",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), loaded(2), keeps(3, empty), fails(1)}, transfers: "2>3",
		},
		{
			name:  "who waited for it may have it, and is asked",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1)}, asked: []NodeID{2}, missing: []uint64{1},
		},
		{
			name:  "and has it",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1), loaded(2)},
		},
		{
			name:  "who has it after all gives it to the others",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), lacks(3), loaded(2)}, transfers: "2>3",
		},
		{
			name:   "all lack it: the log that had it is waited for",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1), lacks(2)},
			bereft: true, missing: []uint64{1},
		},
		{
			name:   "a minority of the logs is not enough, however long one waits",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1), lacks(2), hurries},
			bereft: true, missing: []uint64{1},
		},
		{
			name:   "a stranger's log is not what had it, and waits, too",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1), lacks(2), keeps(4, empty)},
			bereft: true, missing: []uint64{1}, transfers: "0>4",
		},
		{
			name:      "the log comes back and counts",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), fails(1), lacks(2), keeps(1, old(2, 5))},
			transfers: "1>1 1>2",
		},
		{
			name:   "one of two logs that had it is no majority",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), loaded(2), keeps(3, empty), fails(1, 2), lacks(3), keeps(1, old(2, 5)), hurries},
			bereft: true, missing: []uint64{2}, transfers: "0>1",
		},
		{
			name: "of those that are back the longest counts",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), loaded(2), keeps(3, empty), fails(1, 2), lacks(3),
				keeps(1, old(2, 5)), keeps(2, old(2, 6))},
			transfers: "2>1 2>2 2>3",
		},
		{
			name:  "two of three are enough after a while",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), loaded(2), keeps(3, empty), loaded(3), keeps(4, empty), fails(1, 2, 3), lacks(4), keeps(1, old(3, 1)), keeps(2, old(3, 2)), hurries},
			// The third, which had it, is not waited for.
			transfers: "2>1 2>2 2>4",
		},
		{
			name:  "and not before",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), loaded(2), keeps(3, empty), loaded(3), keeps(4, empty), fails(1, 2, 3), lacks(4), keeps(1, old(3, 1)), keeps(2, old(3, 2))},
			// Both wait.
			bereft: true, missing: []uint64{3}, transfers: "0>2",
		},
		{
			name:  "who failed while it waited is not waited for",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1, 2), lacks(3), keeps(2, opened(9, 6, 0))},
			// It waits, too.
			bereft: true, missing: []uint64{1}, transfers: "0>2",
		},
		{
			name:      "but its log counts if it got the state",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1, 2), lacks(3), keeps(2, opened(9, 6, 0)), keeps(1, old(1, 5))},
			transfers: "2>1 2>2 2>3",
		},
		{
			name:      "also if it failed when it was to say so",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), fails(2), lacks(3), keeps(2, opened(9, 6, 0)), keeps(1, old(1, 5))},
			transfers: "2>1 2>2 2>3",
		},
		{
			name:      "not if it had said that it lacks it",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), lacks(2), fails(2), lacks(3), keeps(2, opened(9, 6, 0)), keeps(1, old(1, 5))},
			transfers: "1>1 1>2 1>3",
		},
		{
			name:      "nor if it has not got that far",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1, 2), lacks(3), keeps(2, old(1, 6)), keeps(1, old(1, 5))},
			transfers: "1>1 1>2 1>3",
		},
		{
			name:      "nor if it got what it has elsewhere, when it had been opened again",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1, 2), lacks(3), keeps(2, opened(9, 6, 1)), keeps(1, old(1, 5))},
			transfers: "1>1 1>2 1>3",
		},
		{
			name:      "nor if another had the state",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), loaded(3), fails(1, 2), keeps(2, opened(9, 6, 0))},
			transfers: "3>2",
		},
		{
			name: "who failed while it waited for what another kept in memory is waited for when that one fails, too: it may be the only one that has stored what came since",
			steps: []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), keeps(4, empty), fails(3), lacks(4), fails(2), lacks(4),
				keeps(1, old(2, 5)), hurries},
			bereft: true, missing: []uint64{3}, transfers: "0>1",
		},
		{
			name:   "also if both fail at once",
			steps:  []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), keeps(4, empty), fails(2, 3), lacks(4), keeps(1, old(2, 5))},
			bereft: true, missing: []uint64{3}, transfers: "0>1",
		},
		{
			name: "and its log is not enough",
			steps: []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), keeps(4, empty), fails(3), fails(2), lacks(4),
				keeps(3, alone(9, 1))},
			bereft: true, missing: []uint64{1}, transfers: "0>3",
		},
		{
			name: "but it counts if it got the state",
			steps: []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), keeps(4, empty), fails(3), fails(2), lacks(4),
				keeps(3, alone(9, 1)), keeps(1, old(2, 5))},
			transfers: "3>1 3>3 3>4",
		},
		{
			name: "and not if it did not",
			steps: []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), keeps(4, empty), fails(3), fails(2), lacks(4),
				keeps(3, alone(1, 1)), keeps(1, old(2, 5))},
			transfers: "1>1 1>3 1>4",
		},
		{
			name: "it is not waited for when another log has got the state since",
			steps: []step{keeps(1, empty), writes(1), remembers(2), loaded(2), fails(1), keeps(3, empty), fails(3), keeps(4, empty), loaded(4), keeps(5, empty), fails(2), fails(4),
				lacks(5)},
			bereft: true, missing: []uint64{4},
		},
		{
			name:  "who has it and was not heard to have stored it is waited for with the log that had it before: it may have, and may be the only one that has stored what came since",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), keeps(3, empty), fails(2), lacks(3)},
			// Its log is not enough when it comes back.
			bereft: true, missing: []uint64{1, 2},
		},
		{
			name:   "and its log is not enough when it comes back",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), keeps(3, empty), fails(2), lacks(3), keeps(2, empty)},
			bereft: true, missing: []uint64{1}, transfers: "0>2",
		},
		{
			name:      "but counts if it had stored it",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), keeps(3, empty), fails(2), lacks(3), keeps(2, opened(9, 6, 0)), keeps(1, old(1, 5))},
			transfers: "2>1 2>2 2>3",
		},
		{
			name:      "and not if it had not",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), keeps(3, empty), fails(2), lacks(3), keeps(2, old(1, 6)), keeps(1, old(1, 5))},
			transfers: "1>1 1>2 1>3",
		},
		{
			name:  "so is one that had to answer before it had stored it: its disk may have been done after that",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), lacks(3), has(2), fails(2)},
			asked: []NodeID{3}, missing: []uint64{1, 2},
		},
		{
			name:   "who has it and stores it later is",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), stores(2), keeps(3, empty), fails(2), lacks(3)},
			bereft: true, missing: []uint64{2},
		},
		{
			name:      "who has it gives it, stored or not",
			steps:     []step{keeps(1, empty), writes(1), keeps(2, empty), has(2), withdraws(1), keeps(3, empty)},
			transfers: "2>3",
		},
		{
			name:   "a log that begins where the state is kept in memory is not enough either, and waited for: it may have got the state",
			steps:  []step{keeps(1, empty), writes(1), remembers(2), loaded(2), keeps(2, empty), withdraws(1), keeps(3, empty), fails(2), lacks(3)},
			bereft: true, missing: []uint64{1, 2},
		},
		{
			name:   "and is enough when it was heard to have it",
			steps:  []step{keeps(1, empty), writes(1), remembers(2), loaded(2), keeps(2, empty), stores(2), withdraws(1), keeps(3, empty), fails(2), lacks(3)},
			bereft: true, missing: []uint64{2},
		},
		{
			name: "a log that begins before the channel does gets it by a transfer",
			steps: []step{keeps(1, old(2, 5)), remembers(3), keeps(3, empty), keeps(2, old(2, 4)), writes(1), loaded(3), fails(1, 2), keeps(4, empty),
				fails(3), lacks(4)},
			bereft: true, missing: []uint64{3},
		},
		{
			name:   "whose source waits itself is an orphan with it",
			steps:  []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), lacks(2), lacks(3)},
			bereft: true, missing: []uint64{1},
		},
		{
			name:  "of what nobody had written nobody's log is waited for: who has waited longest goes on",
			steps: []step{keeps(1, empty), keeps(2, empty), keeps(3, empty), fails(1), lacks(2), lacks(3)}, transfers: "2>2 2>3",
		},
		{
			name:  "who withdraws without having it leaves its own orphans",
			steps: []step{keeps(1, empty), writes(1), keeps(2, empty), keeps(3, empty), fails(1), lacks(2), withdraws(2)},
			// The last may have it.
			missing: []uint64{1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
			for _, do := range test.steps {
				s.asked = nil
				do(s)
			}
			require.Equal(t, test.asked, s.asked, "asked")
			require.Equal(t, test.bereft, s.cat.bereft(s.k), "bereft")
			require.Equal(t, test.missing, s.cat.missed(s.k), "missing")
			require.Equal(t, test.transfers, s.transfers(), "transfers")
			require.Equal(t, test.bereft && len(test.missing) > 0, len(s.cat.missingLogs()) > 0, "somebody is told what to start")
		})
	}
}

// What is waited for of one channel does not hold up another of its subgroup.
func TestBereftChannelAlone(t *testing.T) {
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	for _, do := range []step{keeps(1, LogState{}), writes(1), keeps(2, LogState{}), fails(1), lacks(2)} {
		do(s)
	}
	require.True(t, s.cat.awaitsLogs(s.k))
	other := Endpoint{Node: 2, ID: 5, Channel: 8, Reads: []Subgroup{s.sg()}, Writes: s.sg(), Replica: true, Log: &LogState{ID: 2}}
	changed := s.cat.add(other)
	require.Len(t, changed, 1)
	require.True(t, changed[0].replica(2, 8))
	require.Equal(t, []ChannelID{8}, changed[0].Fresh)
	require.Empty(t, changed[0].Waiting)
}

// What is kept of a bereft channel does not grow with all that comes and goes while its logs are away.
func TestBereftIsBounded(t *testing.T) {
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	for _, do := range []step{
		writes(50), keeps(1, LogState{Opened: 1, Begun: 3, Epoch: 3, Seq: 5, Logs: []uint64{1}, Openings: []uint32{1}, History: 1, Written: true}),
		remembers(2), loaded(2), fails(1), keeps(3, LogState{Opened: 1}), fails(3), remembers(4), fails(2), lacks(4),
	} {
		do(s)
	}
	require.True(t, s.cat.bereft(s.k))
	unheard := s.cat.bereaved[s.k].unheard
	require.NotEmpty(t, unheard)
	for n := range NodeID(100) {
		fails(1000 + n)(s) // it has nothing to do with the channel
	}
	require.Equal(t, unheard, s.cat.bereaved[s.k].unheard)
	for n := range NodeID(4 * maxPast) {
		keeps(1000+n, LogState{Opened: 1})(s)
		fails(1000 + n)(s)
	}
	require.True(t, s.cat.bereft(s.k))
	require.Equal(t, []uint64{1, 3}, s.cat.missed(s.k))
	require.LessOrEqual(t, len(s.cat.bereaved[s.k].line), maxPast+4)
	require.LessOrEqual(t, len(s.cat.recovery[s.k].line), 2*maxPast)
}

// A log with another history of a channel than the members go on with is foreign, as long as it may hold something; and so is
// one that comes while those who are there still wait for theirs.
func TestForeignLog(t *testing.T) {
	of := func(history uint64, written bool) *Endpoint {
		return &Endpoint{Node: 9, Channel: 7, Reads: []Subgroup{{4, Logged}}, Replica: true, Log: &LogState{ID: 9, Begun: 5, Epoch: 5, History: history, Written: written}}
	}
	elsewhere := func(id uint64) *Endpoint {
		ep := of(1, true)
		ep.Log.ID, ep.Log.Logs, ep.Log.Openings = id, []uint64{id}, []uint32{2}
		return ep
	}
	tests := []struct {
		name    string
		steps   []step
		comes   *Endpoint
		foreign bool
	}{
		{"nobody has written", []step{keeps(1, LogState{})}, of(9, true), false},
		{"somebody has", []step{keeps(1, LogState{}), writes(1)}, of(9, true), true},
		{"of the same history", []step{keeps(1, LogState{}), writes(1)}, of(1, true), false},
		{"nothing was written in its own", []step{keeps(1, LogState{}), writes(1)}, of(9, false), false},
		{"those who are there wait for others", []step{keeps(1, LogState{Begun: 3, Epoch: 3, Logs: []uint64{1, 2}, History: 1, Written: true})}, of(9, true), true},
		{"all have gone", []step{keeps(1, LogState{}), writes(1), fails(1), keeps(2, LogState{})}, of(9, true), true},
		{"all have gone, and it went on elsewhere", []step{keeps(1, LogState{}), writes(1), fails(1), keeps(2, LogState{})}, elsewhere(9), true},
		{"it has gone, and went on elsewhere", []step{keeps(1, LogState{}), writes(1), fails(1), keeps(2, LogState{})}, elsewhere(1), false},
		{"all have gone whose history it is", []step{keeps(1, LogState{}), writes(1), fails(1), keeps(2, LogState{})}, of(1, true), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
			for _, do := range test.steps {
				do(s)
			}
			_, foreign := s.cat.foreign(test.comes)
			require.Equal(t, test.foreign, foreign)
		})
	}
}
