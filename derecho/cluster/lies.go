package cluster

import (
	"slices"
	"strings"
)

// lies is what the disks of a channel's logs have lied about, for checkStored. A message that some disk has lost after all logs of its epoch
// had called it durable need not be there in the end in three cases:
//
//   - The channel went on, and of the logs that were there none had it any more which had had the channel in the last epoch. One such log is
//     enough.
//   - A group that lives on has lost all who had the state, and goes on from the log of one of them (derecho/bereft.go), which has lost it. Logs of
//     those who went before are not asked.
//   - It was written under the number of an epoch that its log had forgotten. Positions under this number do not compare with those of logs
//     that have not forgotten it, and the channel went on from one of these.
//
// Everything else is promised as it is with disks that do not lie.
type lies struct {
	copies  map[string]map[uint64]int // of a message in each log
	missed  map[string]bool           // some disk has lost it
	before  map[uint64][]onDisk       // what each log had before each beginning
	forgot  map[uint64]uint32         // the highest epoch that a log has forgotten
	again   map[string]bool           // written under such a number
	groups  map[uint64]bool           // that have had the state
	excused map[string]bool
}

func newLies() *lies {
	return &lies{copies: map[string]map[uint64]int{}, missed: map[string]bool{}, before: map[uint64][]onDisk{}, forgot: map[uint64]uint32{}, again: map[string]bool{}, groups: map[uint64]bool{}, excused: map[string]bool{}}
}

func (l *lies) add(text string, log uint64, n int) {
	if l.copies[text] == nil {
		l.copies[text] = map[uint64]int{}
	}
	l.copies[text][log] += n
}

// durable and begun: a log has a message, or a beginning with the state that came with it.
func (l *lies) durable(e *Event) {
	l.add(e.Text, e.Log, 1)
	if e.Epoch <= l.forgot[e.Log] {
		l.again[e.Text] = true
	}
}

func (l *lies) begun(e *Event, before onDisk) {
	l.before[e.Log] = append(l.before[e.Log], before)
	for _, t := range strings.Fields(e.Text) {
		l.add(t, e.Log, 1)
	}
}

// lost and unbegun: it has not. unbegun returns what it had before.
func (l *lies) lost(e *Event) {
	l.add(e.Text, e.Log, -1)
	l.missed[e.Text] = true
}

func (l *lies) unbegun(e *Event) (before onDisk) {
	for _, t := range strings.Fields(e.Text) {
		l.add(t, e.Log, -1)
		l.missed[t] = true
	}
	l.forgot[e.Log] = max(l.forgot[e.Log], e.Epoch)
	n := len(l.before[e.Log]) - 1
	before = l.before[e.Log][n]
	l.before[e.Log] = l.before[e.Log][:n]
	return before
}

// resumed: the channel goes on from what a log holds, in a group and on a line of history. Some logs are there; the last epoch of the line had some.
func (l *lies) resumed(from, group uint64, there []uint64, line uint32, last []uint64, logs map[uint64]onDisk, at map[string]onDisk) {
	lives := l.groups[group]
	l.groups[group] = true
	for t := range at {
		if at[t].line != line {
			continue
		}
		nobody := !slices.ContainsFunc(there, func(log uint64) bool { return slices.Contains(last, log) && l.copies[t][log] > 0 })
		forgotten := l.again[t] && l.copies[t][from] == 0 && logs[from].epoch >= at[t].epoch
		has, had := l.copies[t][from]
		if l.missed[t] && (nobody || lives && had && has == 0) || forgotten {
			l.excused[t] = true
		}
	}
}
