package chaos

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func processOf(name string) string {
	for i := range len(name) {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// handed makes what a reader of topic was handed: the writers are named by letters, and count on.
func handed(topic, reader, writers string) (ds []delivery) {
	numbers := map[rune]uint64{}
	for _, w := range writers {
		numbers[w]++
		ds = append(ds, delivery{
			topic: topic, reader: reader, writer: string(w) + ".w", handle: "00000000000000" + string(w) + "1",
			number: numbers[w], seq: uint64(len(ds)), sent: int64(len(ds)), received: int64(len(ds)),
		})
	}
	return ds
}

func only(name string, ds ...[]delivery) outcome {
	return outcome{name: name, fate: "closed", alive: true, told: told{deliveries: slices.Concat(ds...)}, over: 1 << 62}
}

// The checker finds what it is there for.
func TestChecker(t *testing.T) {
	whole := handed(atomicTopic, "p.r", "abcabcabc")
	drop := func(ds []delivery, i int) []delivery { return slices.Delete(slices.Clone(ds), i, i+1) }
	swap := func(ds []delivery, i int) []delivery {
		ds = slices.Clone(ds)
		ds[i], ds[i+1] = ds[i+1], ds[i]
		return ds
	}
	as := func(reader string, ds []delivery) []delivery {
		ds = slices.Clone(ds)
		for i := range ds {
			ds[i].reader = reader
		}
		return ds
	}
	inEpochs := func(ds []delivery, pairs ...int) []delivery { // epochs later from an index on
		ds = slices.Clone(ds)
		for k := 0; k < len(pairs); k += 2 {
			for j := pairs[k]; j < len(ds); j++ {
				ds[j].epoch += uint32(pairs[k+1])
			}
		}
		return ds
	}
	stood := func(ds []delivery, i int) []delivery { // the process stood still before i
		ds = slices.Clone(ds)
		for j := i; j < len(ds); j++ {
			ds[j].received += lease.Nanoseconds()
		}
		return ds
	}
	there := handed(loggedTopic, "p.r", "ababc")
	there[4].sent, there[4].received = 2, 12
	there = inEpochs(there, 0, 1)
	waited := inEpochs(there, 4, 1)
	excluded := func(o outcome, after ...int64) outcome { // when it had been handed what has that place
		o.told.exclusions = after
		return o
	}
	logged := handed(loggedTopic, "p.r", "abab")
	late := func(ds []delivery, history int) []delivery {
		ds = slices.Clone(ds)
		for i := range history {
			ds[i].received = -1
		}
		return ds
	}
	batch := func(ds []delivery, from, to int) []delivery { // these came at once
		ds = slices.Clone(ds)
		for i := from; i < to; i++ {
			ds[i].received = ds[from].received
		}
		return ds
	}
	samples := func(ds []delivery) (list []sample) {
		for _, d := range ds {
			list = append(list, d.sample())
		}
		return list
	}
	withLog := func(o outcome, log []sample, acks ...ack) outcome {
		o.log, o.told.acks = log, acks
		return o
	}
	returned := drop(handed(atomicTopic, "p.r", "abcabcabca"), 6) // the process of writer a was away
	returned[8].generation++
	for name, c := range map[string]struct {
		all  []outcome
		want string // part of what is found; "" for nothing
	}{
		"all the same":          {[]outcome{only("p", whole), only("q", as("q.r", whole))}, ""},
		"one joined later":      {[]outcome{only("p", whole), only("q", as("q.r", whole[4:]))}, ""},
		"one was killed before": {[]outcome{only("p", whole), only("q", as("q.r", whole[:4]))}, ""},
		"one was excluded":      {[]outcome{only("p", whole), excluded(only("q", as("q.r", drop(whole, 4))), 3)}, ""},
		"excluded twice":        {[]outcome{only("p", whole), excluded(only("q", as("q.r", drop(drop(whole, 4), 1))), 0, 3)}, ""},
		"excluded, and handed what was left when it went on": {[]outcome{
			only("p", inEpochs(handed(atomicTopic, "p.r", "aqaadddaqadqa"), 4, 1, 6, 4)),
			excluded(only("q", as("q.r", drop(drop(stood(inEpochs(handed(atomicTopic, "", "aqaadddaqadqa"), 4, 1, 6, 4), 3), 4), 4))), 3+lease.Nanoseconds()),
			withLog(only("d"), nil, ack{atomicTopic, "d.w", 1, 4, 5}), // by those who had gone on without q
		}, ""},
		"excluded, and lacks what came before": {[]outcome{only("p", whole), excluded(only("q", as("q.r", drop(whole, 4))), 6)}, "after a.w #2"},
		"excluded, and handed on":              {[]outcome{only("p", whole), excluded(only("q", as("q.r", drop(swap(whole, 1), 4))), 3)}, "q.r was handed b.w #1"},
		"a sample is missing":                  {[]outcome{only("p", whole), only("q", as("q.r", drop(whole, 3)))}, "q.r was handed a.w #3"},
		"missing with its writer":              {[]outcome{only("p", whole), only("q", as("q.r", drop(whole, 6)))}, "after c.w #2"},
		"a sample comes twice":                 {[]outcome{only("p", slices.Concat(whole, whole[8:]))}, "p.r was handed c.w #3 (at 0:8) after c.w #3"},
		"another order":                        {[]outcome{only("p", whole), only("q", as("q.r", swap(whole, 3)))}, "q.r was handed a.w #2 (at 0:3) after b.w #2"},
		"two go on in two ways":                {[]outcome{only("p", whole[:8]), only("q", as("q.r", drop(whole, 7)[:8]))}, "after a.w #3"},
		"one had more and is dead":             {[]outcome{only("p", whole[:5]), only("q", as("q.r", handed(atomicTopic, "", "dd")))}, "in 2 ways"},
		"a late one has history": {[]outcome{
			only("p", handed(localTopic, "p.r", "aaaaaaaaabbabab")),
			only("q", as("q.r", late(drop(handed(localTopic, "", "aaaaaaaaabbabab"), 0), 10))),
		}, ""},
		"a late one lacks the first of its history": {[]outcome{
			only("p", handed(localTopic, "p.r", "aaaaaaaaabbabab")),
			only("q", as("q.r", late(handed(localTopic, "", "aaaaaaaaabbabab")[2:], 9))),
		}, "q.r came late, and was given 7 samples of the history that ends before a.w #10"},
		"a late one has no history of one writer": {[]outcome{
			only("p", handed(localTopic, "p.r", "aabbabab")),
			only("q", as("q.r", late(drop(drop(handed(localTopic, "", "aabbabab"), 0), 0), 2))),
		}, "q.r came late, and was given 0 samples of the history that ends before a.w #3"},
		"one was away and is back with what it missed": {[]outcome{
			only("p", handed(localTopic, "p.r", "aaaaabab")),
			excluded(only("q", as("q.r", batch(handed(localTopic, "", "aaaaabab"), 3, 6))), 2),
		}, ""},
		"one was away and is back without all that it missed": {[]outcome{
			only("p", handed(localTopic, "p.r", "aaaaabab")),
			excluded(only("q", as("q.r", batch(drop(handed(localTopic, "", "aaaaabab"), 3), 3, 5))), 2),
		}, "q.r came late, and was given 1 samples of the history that ends before a.w #6"},
		"a late one has none of a writer whose process was away": {[]outcome{
			only("p", handed(localTopic, "p.r", "aabbabab")),
			only("q", as("q.r", late(drop(drop(handed(localTopic, "", "aabbabab"), 0), 0), 2))),
			excluded(only("a"), 0),
		}, ""},
		"the history has a gap": {[]outcome{
			only("p", handed(localTopic, "p.r", "aabbabab")),
			only("q", as("q.r", late(drop(handed(localTopic, "", "aabbabab"), 1), 3))),
		}, "after #1 of that writer"},
		"positions fall":          {[]outcome{only("p", swap(handed(localTopic, "p.r", "ab"), 0))}, "p.r was handed a.w #1 (at 0:0) after b.w #1 (at 0:1)"},
		"the log is the delivery": {[]outcome{withLog(only("p", logged), samples(logged), ack{loggedTopic, "b.w", 2, 3, 9})}, ""},
		"the log lacks a sample":  {[]outcome{withLog(only("p", logged), samples(drop(logged, 1)))}, "where the log has"},
		"the log ends too early":  {[]outcome{withLog(only("p", logged), samples(logged[:3]))}, "the log ends"},
		"what was durable is not": {[]outcome{
			withLog(only("p", logged), samples(logged), ack{loggedTopic, "b.w", 2, 3, 9}),
			withLog(outcome{name: "q", fate: "killed", over: 10, told: told{deliveries: as("q.r", logged[:3])}}, samples(logged[:3])),
		}, "b.w was told that #2 is durable"},
		"what was durable nobody was handed, long after an exclusion": {[]outcome{
			excluded(withLog(only("q", as("q.r", logged[:3])), samples(logged[:3])), 0),
			{name: "p", fate: "killed", over: 3, told: told{deliveries: logged[:3]}}, // it has the order
			withLog(only("b"), nil, ack{loggedTopic, "b.w", 2, 3, 9}),
		}, "b.w was told that #2 is durable"},
		"it was killed before it had caught up with what is durable": {[]outcome{
			withLog(only("p", slices.Concat(logged, as("p.s", handed(atomicTopic, "", "aqaqdddaqadqa")))), samples(logged), ack{loggedTopic, "b.w", 2, 3, 9}),
			withLog(outcome{name: "q", fate: "killed", over: 10, told: told{deliveries: slices.Concat(
				as("q.r", logged[:3]), as("q.s", drop(drop(handed(atomicTopic, "", "aqaqdddaqadqa"), 4), 4))), exclusions: []int64{3}}}, samples(logged[:3])),
		}, ""},
		"it was away, and what was sent before waited for the next epoch": {[]outcome{
			withLog(only("p", waited), samples(waited), ack{loggedTopic, "b.w", 2, 3, 9}),
			excluded(withLog(only("q", as("q.r", slices.Concat(waited[:2], waited[4:]))), samples(slices.Concat(waited[:2], waited[4:]))), 1),
		}, ""},
		"it was there, as what was sent before came in that epoch": {[]outcome{
			withLog(only("p", there), samples(there), ack{loggedTopic, "b.w", 2, 3, 9}),
			excluded(withLog(only("q", as("q.r", slices.Concat(there[:2], there[4:]))), samples(slices.Concat(there[:2], there[4:]))), 1),
		}, "b.w was told that #2 is durable"},
		"a write failed":                                     {[]outcome{{name: "p", fate: "closed", over: 1 << 62, told: told{deliveries: whole, failures: []string{"p.w sample 3: timeout"}}}}, "p.w sample 3: timeout"},
		"what arrived was lost with its writer":              {[]outcome{only("p", returned), withLog(only("a"), nil, ack{atomicTopic, "a.w", 3, 5, 7})}, "a.w was told that its #3 has arrived, but p.r was not handed it"},
		"what was not acknowledged was lost with its writer": {[]outcome{only("p", returned)}, ""},
		"it was lost at a process that may have been away too": {[]outcome{
			{name: "p", fate: "killed", over: 10, told: told{deliveries: returned}}, withLog(only("a"), nil, ack{atomicTopic, "a.w", 3, 5, 7}),
		}, ""},
		"what arrived was lost after its reader had come back": {[]outcome{
			{name: "p", fate: "closed", over: 1 << 62, told: told{deliveries: returned, exclusions: []int64{-1}, rejoins: []int64{2}}}, withLog(only("a"), nil, ack{atomicTopic, "a.w", 3, 5, 7}),
		}, "a.w was told that its #3 has arrived, but p.r was not handed it"},
		"what arrived was lost before its reader was there again": {[]outcome{
			{name: "p", fate: "closed", over: 1 << 62, told: told{deliveries: returned, exclusions: []int64{-1}, rejoins: []int64{5}}}, withLog(only("a"), nil, ack{atomicTopic, "a.w", 3, 5, 7}),
		}, ""},
		"what arrived was lost before its reader was made": {[]outcome{
			{name: "p", fate: "closed", over: 1 << 62, told: told{deliveries: returned, begun: map[string]int64{"p.r": 5}}}, withLog(only("a"), nil, ack{atomicTopic, "a.w", 3, 5, 7}),
		}, ""},
		"it joined after what arrived": {[]outcome{
			only("p", whole), only("q", as("q.r", whole[4:])), withLog(only("a"), nil, ack{atomicTopic, "a.w", 2, 3, 7}),
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(c.all).wrong
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.NotEmpty(t, got)
			require.Contains(t, got[0], c.want)
		})
	}
}

func TestRecallChecker(t *testing.T) {
	want := kept([]outcome{only("p", handed(loggedTopic, "p.r", "aaaaaaaaaababa")), only("q", handed(atomicTopic, "q.r", "c"))})
	require.Empty(t, checkRecall("p", want, parseSamples("a.w 5 a.w 6 a.w 7 a.w 8 a.w 9 a.w 10 b.w 1 a.w 11 b.w 2 a.w 12")))
	for answer, text := range map[string]string{
		"": "was given 0 samples, and not a.w #5 and 9 more",
		"a.w 6 a.w 7 a.w 8 a.w 9 a.w 10 b.w 1 a.w 11 b.w 2 a.w 12":             "was given a.w #6 where a.w #5 comes next",
		"a.w 5 a.w 6 a.w 7 a.w 8 a.w 9 a.w 10 b.w 1 a.w 11 b.w 2":              "was given 9 samples, and not a.w #12 and 0 more",
		"a.w 5 a.w 6 a.w 7 a.w 8 a.w 9 a.w 10 b.w 1 a.w 11 b.w 2 a.w 12 b.w 3": "was given b.w #3, which is none",
		"a.w 5 a.w 6 a.w 7 a.w 8 a.w 9 a.w 10 a.w 11 b.w 1 b.w 2 a.w 12":       "was given a.w #11 where b.w #1 comes next",
	} {
		wrong := checkRecall("p", want, parseSamples(answer))
		require.Len(t, wrong, 1)
		require.Contains(t, wrong[0], text)
	}
}
