package derecho

import (
	"cmp"
	"slices"
)

// Opening is how often a log has been opened, as far as somebody knows.
type Opening struct {
	Log   uint64
	Count uint32
}

func (o Opening) compare(p Opening) int { return cmp.Compare(o.Log, p.Log) }

// maxPast bounds how many logs an epoch names that do not belong to it any more. Of more those with the lowest identifiers, which are drawn, are forgotten: nothing is decided
// by them then.
const maxPast = 256

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

// latestOpenings is what two know together, ascending: of each log the higher count.
func latestOpenings(a, b []Opening) []Opening {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(o, p Opening) int { return cmp.Or(o.compare(p), cmp.Compare(p.Count, o.Count)) })
	return slices.CompactFunc(all, func(o, p Opening) bool { return o.Log == p.Log })
}

// without are those of other logs.
func without(all []Opening, logs []uint64) []Opening {
	left := slices.DeleteFunc(slices.Clone(all), func(o Opening) bool { return slices.Contains(logs, o.Log) })
	return left[max(0, len(left)-maxPast):]
}

// within: of each log that a names b knows that it was opened as often, and of some that it was more often.
func within(a, b []Opening) bool {
	more := false
	for _, o := range a {
		i, known := slices.BinarySearchFunc(b, o, Opening.compare)
		if !known || b[i].Count < o.Count {
			return false
		}
		more = more || b[i].Count > o.Count
	}
	return more
}
