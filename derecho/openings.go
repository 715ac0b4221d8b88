package derecho

import (
	"cmp"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// Opening is how often a log has been opened, as far as somebody knows.
type Opening struct {
	Log   uint64
	Count uint32
}

func (o Opening) compare(p Opening) int { return cmp.Compare(o.Log, p.Log) }

// The line of an epoch are the logs that have a channel in it, or had it in an epoch before on the way to it,
// ascending, and how often each had been opened when it was announced last (docs/adr/0013).

// maxPast bounds how many logs of its line an epoch names that do not belong to it any more. Of more those with the
// lowest identifiers, which are drawn, are forgotten. An epoch that names one of these is not before this one by its
// line, and a log that names one and comes late is refused (apart): people decide then, and nothing is lost.
const maxPast = 256

// line is that of the last epoch of a log.
func (l *LogState) line() []Opening { return mergeLines(l.Past, openingsOf(l.Logs, l.Openings)) }

// openingsOf pairs logs, ascending, with how often each had been opened; 0 where that is not recorded.
func openingsOf(logs []uint64, counts []uint32) []Opening {
	all := make([]Opening, len(logs))
	for i, id := range logs {
		all[i].Log = id
		if i < len(counts) {
			all[i].Count = counts[i]
		}
	}
	return all
}

// mergeLines is what two know together: of each log the higher count.
func mergeLines(a, b []Opening) []Opening {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(o, p Opening) int { return cmp.Or(o.compare(p), cmp.Compare(p.Count, o.Count)) })
	return slices.CompactFunc(all, func(o, p Opening) bool { return o.Log == p.Log })
}

// extend adds logs that are there to a line, which has them nearly always. What is in their own lines is not added: it
// may be what they give up. If too many are named that are not there, some are forgotten.
func extend(line []Opening, there []*LogState) []Opening {
	var own []Opening
	for _, l := range there {
		if o := (Opening{l.ID, l.Opened}); unknownTo(line, o) {
			own = append(own, o)
		}
	}
	if len(own) == 0 {
		return line
	}
	return bound(mergeLines(line, own), there)
}

// bound forgets some of the logs of a line that are not there, if too many are named.
func bound(line []Opening, there []*LogState) []Opening {
	if len(line) <= maxPast {
		return line
	}
	of := func(o Opening) bool {
		return slices.ContainsFunc(there, func(l *LogState) bool { return l.ID == o.Log })
	}
	past := 0
	for _, o := range line {
		if !of(o) {
			past++
		}
	}
	return slices.DeleteFunc(slices.Clone(line), func(o Opening) bool {
		if of(o) {
			return false
		}
		past--
		return past >= maxPast
	})
}

// pastOf is what an epoch with some logs says of others of its line.
func pastOf(line []Opening, logs []uint64) []Opening {
	past := slices.DeleteFunc(slices.Clone(line), func(o Opening) bool { return slices.Contains(logs, o.Log) })
	return past[max(0, len(past)-maxPast):]
}

// unknownTo: a line does not name a log, or as one that was opened less often.
func unknownTo(line []Opening, o Opening) bool {
	i, named := slices.BinarySearchFunc(line, o, Opening.compare)
	return !named || line[i].Count < o.Count
}

// within: of each log of a line another line knows that it was opened as often, and of some that it was more often.
func within(line, other []Opening) bool {
	return !slices.ContainsFunc(line, func(o Opening) bool { return unknownTo(other, o) }) &&
		slices.ContainsFunc(line, func(o Opening) bool { return !unknownTo(other, Opening{o.Log, o.Count + 1}) })
}

// reopened: a log that the last epoch of l names had been opened again when it was named. So that was later. It need
// not have told what was stored in the epoch: that may name it only because another waited for what it has.
func (l *LogState) reopened(named []Opening) bool {
	for i, k := 0, 0; i < len(l.Logs) && k < len(named); { // both ascend
		switch c := cmp.Compare(l.Logs[i], named[k].Log); {
		case c < 0:
			i++
		case c > 0:
			k++
		case named[k].Count > l.opening(i):
			return true
		default:
			i, k = i+1, k+1
		}
	}
	return false
}

// opening is how often one of Logs had been opened; 0 if that is not recorded.
func (l *LogState) opening(i int) uint32 {
	if i < len(l.Openings) {
		return l.Openings[i]
	}
	return 0
}

// parted: the last epochs of two logs are on lines that have parted. Each was begun by some that had not been told of
// the other: to go on from one loses what was stored in the other, be one of them before the other by a log that was
// opened again (reopened). Two that name one opening of a log are of one group, as a log is open once: its epochs
// ascend, and if each line lacks something of the other that has been forgotten (maxPast).
func parted(a, b *LogState) bool {
	x, y := newLastEpoch(a), newLastEpoch(b)
	if slices.ContainsFunc(x.named, func(o Opening) bool { return o.Count > 0 && slices.Contains(y.named, o) }) {
		return false
	}
	lacks := func(x, y *lastEpoch) bool {
		return slices.ContainsFunc(x.line, func(o Opening) bool { return unknownTo(y.line, o) })
	}
	return lacks(x, y) && lacks(y, x) && !mutant.Is("apart-joined")
}

// apart: the last epoch of a log began on another line than that of the members, who have not been told of it. What was
// stored in it would be lost if the log was given what they have.
func apart(line []Opening, l *LogState) bool {
	if mutant.Is("apart-joined") || mutant.Is("history-again") {
		return false
	}
	return slices.ContainsFunc(l.line(), func(o Opening) bool { return unknownTo(line, o) })
}
