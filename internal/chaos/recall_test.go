package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// recall starts the processes again that ended last, at once and in any order, when all have ended, and checks that
// each of them is given what was kept of the logged topic: so many samples.
func (s *squall) recall(all []outcome) int {
	s.t.Helper()
	want := kept(all)
	var seats []string
	for _, p := range slices.Backward(s.over) {
		if p.outcome.alive && len(seats) < fewest {
			seats = append(seats, strings.TrimPrefix(p.seat, s.dir+"/"))
		}
	}
	s.rnd.Shuffle(len(seats), func(i, j int) { seats[i], seats[j] = seats[j], seats[i] })
	for _, seat := range seats {
		s.spawn(seat, nil)
	}
	for _, p := range s.running {
		s.joined(p)
	}
	for _, p := range s.running {
		s.tell(p, "recall %s", loggedTopic)
	}
	for _, p := range s.running {
		for _, w := range checkRecall(p.name, want, parseSamples(s.answer(p))) {
			s.t.Error(w)
		}
	}
	for len(s.running) > 0 {
		s.retire(s.running[0])
	}
	return len(want)
}

// parseSamples reads what a process answers to recall.
func parseSamples(answer string) (list []sample) {
	w := strings.Fields(answer)
	for i := 0; i+1 < len(w); i += 2 {
		n, _ := strconv.ParseUint(w[i+1], 10, 64)
		list = append(list, sample{w[i], n})
	}
	return list
}

// kept is what has to be left of the logged topic when all have ended: of each writer the latest historyDepth samples
// that anybody was handed, in the order in which they were.
func kept(all []outcome) (list []sample) {
	first := positions(all, loggedTopic)
	of := map[string][]uint64{}
	for s := range first {
		of[s.writer] = append(of[s.writer], s.number)
	}
	for writer, numbers := range of {
		slices.Sort(numbers)
		for _, n := range numbers[max(0, len(numbers)-historyDepth):] {
			list = append(list, sample{writer, n})
		}
	}
	slices.SortFunc(list, func(a, b sample) int {
		x, y := first[a], first[b]
		return slices.Compare(x[:], y[:])
	})
	return list
}

// checkRecall compares what was kept with what a late reader was given of it.
func checkRecall(reader string, want, got []sample) (wrong []string) {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return []string{fmt.Sprintf("all had ended, and %s was given %d samples, and not %s #%d and %d more", reader, len(got), want[i].writer, want[i].number, len(want)-i-1)}
		case i >= len(want):
			return []string{fmt.Sprintf("all had ended, and %s was given %s #%d, which is none of those that were kept", reader, got[i].writer, got[i].number)}
		case want[i] != got[i]:
			return []string{fmt.Sprintf("all had ended, and %s was given %s #%d where %s #%d comes next (%d of %d)",
				reader, got[i].writer, got[i].number, want[i].writer, want[i].number, len(got), len(want))}
		}
	}
	return nil
}
