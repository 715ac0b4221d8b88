package derecho

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Which logs are waited for, and which of those that are there counts, when epochs have the same number, or one with a
// lower number began later.
func TestLatestEpoch(t *testing.T) {
	has := func(id uint64, epoch uint32, seq uint64, logs []uint64, openings ...uint32) LogState {
		return LogState{ID: id, Begun: epoch, Epoch: epoch, Seq: seq, Logs: logs, Openings: openings, History: 1, Written: true}
	}
	alone := func(times uint32, with ...Opening) LogState { // 1 went on when 2 and 3 had died
		l := has(1, 9, 5, []uint64{1}, times)
		l.Past = append(with, Opening{2, 1}, Opening{3, 1})
		return l
	}
	afterwards := has(2, 4, 5, []uint64{2, 3}, 2, 2) // they went on without 1
	afterwards.Past = []Opening{{1, 1}}
	ab, ac, b := []uint64{1, 2}, []uint64{1, 3}, []uint64{2}
	for name, c := range map[string]struct {
		logs    []LogState
		missing []uint64
		source  NodeID
	}{
		"one epoch": {[]LogState{has(1, 8, 5, ab, 1, 1), has(2, 8, 6, ab, 1, 1)}, nil, 2},
		"the next":  {[]LogState{has(1, 8, 5, ab, 1, 1), has(2, 9, 0, ab, 1, 1)}, nil, 2},
		// 1 and 2 have begun epoch 8, but 1 had not written that; then 1 and 3 have begun another one.
		"the same number":                        {[]LogState{has(1, 8, 5, ac, 2, 1), has(2, 8, 9, ab, 1, 1)}, []uint64{3}, 1},
		"the same number, the other comes first": {[]LogState{has(2, 8, 9, ab, 1, 1), has(1, 8, 5, ac, 2, 1)}, []uint64{3}, 1},
		"a lower number":                         {[]LogState{has(1, 8, 5, ac, 2, 1), has(2, 10, 9, ab, 1, 1)}, []uint64{3}, 1},
		"without the one that tells":             {[]LogState{has(2, 10, 9, ab, 1, 1), has(3, 8, 5, ac, 2, 1)}, []uint64{1}, 3},
		"all are there":                          {[]LogState{has(1, 8, 4, ac, 2, 1), has(2, 10, 9, ab, 1, 1), has(3, 8, 5, ac, 2, 1)}, nil, 3},
		"holds nothing":                          {[]LogState{{ID: 1, Begun: 20, Epoch: 20, Logs: []uint64{1}, Openings: []uint32{2}, History: 1}, has(2, 5, 3, ab, 1, 1)}, nil, 2},
		"nothing in common":                      {[]LogState{has(1, 8, 5, ac, 2, 1), has(2, 10, 9, b, 1)}, nil, 2},
		"not recorded by an earlier version":     {[]LogState{has(1, 8, 5, ac, 1, 1), has(2, 8, 9, ab)}, []uint64{3}, 1},
		"both of earlier versions":               {[]LogState{has(1, 8, 5, ac), has(2, 8, 9, ab)}, nil, 2},
		"one was put back, beside an older":      {[]LogState{has(1, 9, 5, ab, 4, 8), has(2, 8, 7, ab, 5, 7), has(3, 1, 9, []uint64{3}, 1)}, nil, 1},
		"disks have forgotten how often":         {[]LogState{has(1, 8, 5, ab, 2, 1), has(2, 9, 5, ab, 1, 2)}, nil, 2},
		"one went on without the others":         {[]LogState{alone(1), has(2, 3, 9, []uint64{1, 2, 3}, 1, 1, 1)}, nil, 1},
		"and then they without it":               {[]LogState{alone(1), afterwards}, []uint64{3}, 2},
		"which it does not know":                 {[]LogState{alone(2), afterwards}, nil, 1},
		"with one that they do not know":         {[]LogState{alone(1, Opening{0, 1}), afterwards}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
			for _, l := range c.logs {
				keeps(NodeID(l.ID), l)(s)
			}
			missing, _ := s.cat.missing(s.k)
			require.Equal(t, c.missing, missing)
			require.Equal(t, c.source, s.cat.longest(s.k, func(*LogState) bool { return true }))
		})
	}
}

// A log is refused that was in an epoch of which the members have not been told, also if another that the epoch names
// has been opened since: that may have been waited for, and know nothing of it.
func TestLinesApart(t *testing.T) {
	members := []Opening{{1, 2}, {2, 3}, {3, 1}}
	for name, c := range map[string]struct {
		log   LogState
		apart bool
	}{
		"theirs":                  {LogState{Logs: []uint64{1, 2}, Openings: []uint32{2, 3}, Past: []Opening{{3, 1}}}, false},
		"an earlier one":          {LogState{Logs: []uint64{1, 2, 3}, Openings: []uint32{1, 1, 1}}, false},
		"later":                   {LogState{Logs: []uint64{3}, Openings: []uint32{2}}, true},
		"with one that was later": {LogState{Logs: []uint64{3}, Openings: []uint32{1}, Past: []Opening{{1, 3}}}, true},
		"with one unknown":        {LogState{Logs: []uint64{3, 4}, Openings: []uint32{1, 1}}, true},
		"and one of it is here":   {LogState{Logs: []uint64{2, 4}, Openings: []uint32{2, 1}}, true},
	} {
		require.Equal(t, c.apart, apart(members, &c.log), name)
	}
}

// Two logs of one group have not parted, however many came and went before the last epoch of each, and are forgotten.
func TestLinesOfOneGroup(t *testing.T) {
	const first, second = 100_001, 100_002
	begins := LogState{Opened: 1, Begun: 1, Epoch: 1, Logs: []uint64{first, second}, Openings: []uint32{1, 1}, History: 1, Written: true}
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	for _, do := range []step{writes(50), keeps(first, begins), keeps(second, begins), loaded(second)} {
		do(s)
	}
	comesAndGoes := func(node NodeID) {
		for _, do := range []step{keeps(node, LogState{Opened: 1}), loaded(node), fails(node)} {
			do(s)
		}
	}
	has := func(id uint64) *LogState { // of the present epoch
		d := s.cat.subgroups[4]
		l := d.Logs[0]
		return &LogState{ID: id, Begun: d.Epoch, Epoch: d.Epoch, Seq: 5, Logs: l.Logs, Openings: l.Openings, Past: l.Past, Opened: 2, History: l.History, Written: true}
	}
	for n := range NodeID(maxPast + 3) {
		comesAndGoes(10 * (n + 1))
	}
	a := has(first)
	comesAndGoes(10*maxPast + 100)
	b := has(second)
	forgotten := func(l, o *LogState) bool {
		return slices.ContainsFunc(l.line(), func(p Opening) bool { return unknownTo(o.line(), p) })
	}
	require.True(t, forgotten(a, b) && forgotten(b, a), "each names one that the other does not")
	require.False(t, parted(a, b))
	for first, then := range map[*LogState]*LogState{a: b, b: a} {
		r := &scene{cat: newCatalogue(), k: s.k}
		keeps(NodeID(first.ID), *first)(r)
		_, foreign := r.cat.foreign(&Endpoint{Node: NodeID(then.ID), ID: 1, Channel: 7, Reads: []Subgroup{r.sg()}, Replica: true, Log: then})
		require.False(t, foreign)
	}
	b.Openings = []uint32{3, 3} // it was in another one since
	require.True(t, parted(a, b))
}

// Who joins is told of lines, wherever they are.
func TestWelcomeTellsLines(t *testing.T) {
	k := keptChannel{4, 7}
	w := welcome{
		group: 1, epoch: 2, subgroups: []Subgroup{{4, Logged}}, epochs: []uint32{5},
		endpoints: []Endpoint{{Node: 1, ID: 1, Channel: 7, Reads: []Subgroup{{4, Logged}}, Replica: true, Log: &LogState{ID: 1, Past: []Opening{{6, 2}}}}},
		logs:      [][]channelLogs{{{Channel: 7, Logs: []uint64{1}, Openings: []uint32{3}, Past: []Opening{{5, 4}}, History: 8, Written: true}}},
		bereaved:  map[keptChannel]bereavement{k: {logs: []uint64{3}, line: []Opening{{3, 1}}}},
		recovery:  map[keptChannel]recovery{k: {done: true, history: 8, line: []Opening{{1, 3}, {5, 4}}}},
	}
	b := w.encode()
	got, err := parseWelcome(b)
	require.NoError(t, err)
	require.Equal(t, w.endpoints[0].Log.Past, got.endpoints[0].Log.Past)
	require.Equal(t, w.logs, got.logs)
	require.Equal(t, w.bereaved, got.bereaved)
	require.Equal(t, w.recovery, got.recovery)
	for cut := range b {
		_, err := parseWelcome(b[:cut])
		require.Error(t, err, cut)
	}
}

func TestOpenings(t *testing.T) {
	require.Equal(t, []Opening{{1, 2}, {2, 4}, {3, 1}}, mergeLines([]Opening{{1, 2}, {2, 3}}, []Opening{{1, 1}, {2, 4}, {3, 1}}))
	line := []Opening{{1, 2}, {2, 4}}
	require.Equal(t, line, extend(line, []*LogState{{ID: 2, Opened: 4}}))
	require.Equal(t, []Opening{{1, 2}, {2, 5}, {3, 1}}, extend(line, []*LogState{{ID: 3, Opened: 1, Past: []Opening{{9, 1}}}, {ID: 2, Opened: 5}}))
	require.Equal(t, []Opening{{4, 1}, {5, 0}}, openingsOf([]uint64{4, 5}, []uint32{1}))
	var many []Opening
	for id := range uint64(2 * maxPast) {
		many = append(many, Opening{id, 1})
	}
	require.Equal(t, many[maxPast:2*maxPast-1], pastOf(many[maxPast-1:2*maxPast], []uint64{maxPast - 1, 2*maxPast - 1}))
	require.Len(t, pastOf(many, nil), maxPast)
	there := []*LogState{{ID: 0, Opened: 2}, {ID: 1, Opened: 1}}
	require.Equal(t, slices.Concat([]Opening{{0, 2}, {1, 1}}, many[maxPast:]), extend(many, there))
}

// The members decide whose log counts with each announcement, on the polling goroutines: that must be quick when a
// hundred processes come back with one topic.
func TestLatestEpochOfManyLogs(t *testing.T) {
	limit := time.Second // a lease is over before
	if raceEnabled {
		limit *= 10 // as long as it takes with the detector, at least
	}
	longest := announceManyLogs(t)
	for try := 1; longest >= limit && try < 5; try++ { // a process that stands still for a while only makes it longer
		longest = announceManyLogs(t)
	}
	require.Less(t, longest, limit)
	t.Logf("the longest took %v", longest)
}

// announceManyLogs says how long the announcement took that took longest.
func announceManyLogs(t *testing.T) time.Duration {
	const n = 120
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	longest := time.Duration(0)
	for _, id := range ids {
		l := LogState{Begun: 8, Epoch: 8, Seq: id, Logs: slices.Clone(ids), Openings: slices.Repeat([]uint32{1}, n), History: 1, Written: true}
		began := time.Now()
		keeps(NodeID(id), l)(s)
		longest = max(longest, time.Since(began))
	}
	require.True(t, s.cat.recovery[s.k].done)
	require.Equal(t, NodeID(n), s.cat.longest(s.k, func(*LogState) bool { return true }))
	return longest
}

// What is known of logs that come and go does not grow: every newcomer is told it.
func TestOpeningsOfLogsThatAreGone(t *testing.T) {
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	keeps(1, LogState{Opened: 3})(s)
	for node := NodeID(2); node < 20; node++ {
		keeps(node, LogState{Opened: 1})(s)
		s.take(s.cat.removeNodes(func(n NodeID) bool { return n == node }))
	}
	require.Equal(t, map[uint64]uint32{1: 3}, s.cat.opened)
}
