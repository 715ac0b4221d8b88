package dcps

import "slices"

// recordList is what is kept of one writer in one instance, oldest first. Cuts (storecut.go) read what it held when they were
// made, on other goroutines, so of an array that is lent only what is behind all that was in it may be written.
type recordList struct {
	array []*record
	first int // what is before is not in the list any more
	lent  bool
}

func (l *recordList) len() int { return len(l.array) - l.first }

// all is valid until the list is changed.
func (l *recordList) all() []*record { return l.array[l.first:] }

// lend gives what is in the list, to be read by anybody, for good.
func (l *recordList) lend() []*record {
	l.lent = true
	return slices.Clip(l.all())
}

// own makes the array one that may be written.
func (l *recordList) own() {
	if l.lent {
		*l = recordList{array: slices.Clone(l.all())}
	}
}

func (l *recordList) push(r *record) {
	switch full := len(l.array) == cap(l.array); {
	case full && l.lent:
		*l = recordList{array: append(make([]*record, 0, 2*l.len()+1), l.all()...)}
	case full && l.first > 0 && l.first >= l.len(): // rather than let it grow with all that ever was in it
		n := copy(l.array, l.all())
		clear(l.array[n:])
		l.array, l.first = l.array[:n], 0
	}
	l.array = append(l.array, r)
}

// removeFirst costs the same however long the list is.
func (l *recordList) removeFirst() {
	if !l.lent {
		l.array[l.first] = nil
	}
	l.first++
}

func (l *recordList) remove(i int) {
	if i == 0 {
		l.removeFirst()
		return
	}
	l.own()
	l.array = slices.Delete(l.array, l.first+i, l.first+i+1)
}

// removeAll removes those of which over is true; it is called once for each.
func (l *recordList) removeAll(over func(*record) bool) {
	i := slices.IndexFunc(l.all(), over)
	if i < 0 {
		return
	}
	l.own()
	kept := l.array[:l.first+i]
	for _, r := range l.all()[i+1:] {
		if !over(r) {
			kept = append(kept, r)
		}
	}
	clear(l.array[len(kept):])
	l.array = kept
}
