package derecho

import (
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/sst"
)

// A sender that fails is trimmed in each epoch by itself. So that nobody is handed what it sent in an epoch without what
// it had sent before, also in other epochs, a sender publishes nothing in an epoch before all receivers of those before
// hold all that it sent there, and that nothing follows. Then whatever the reports on a later epoch are, those on the
// earlier ones are that nothing of it is missing. What is committed meanwhile is in the ring, and goes out together.
//
// It has to be all receivers, also those that are not in the later epoch: where the sender ends in the earlier one is
// the least of what they have. And it has to be the sender who waits. That a receiver of both tells of the later one only what
// follows on all of the earlier one would not do: it has acknowledged it by then, or shares the sender's memory, and
// who is in the later one alone may have delivered it.

// withhold: nothing of this new epoch is published before what this node sent in those before is safe. An Unordered
// subgroup does not wait: each receiver ends where it is, and a gap is loss there.
func (e *epoch) withhold() {
	before := slices.ContainsFunc(e.g.epochs, func(b *epoch) bool { return b.sender != nil })
	if before && e.sender != nil && e.g.id != 0 && e.desc.Mode != Unordered && !mutant.Is("overtake") {
		e.sender.Withhold()
		e.preds.Add(sst.OneTime, e.mayPublish, e.letOut)
	}
}

func (e *epoch) withheld() bool { return e.sender != nil && e.sender.Withheld() }

// mayPublish looks at the fence after all else. Who reports what it reads in this node's row, and does not acknowledge,
// has raised the fence before: if it is not raised here it reads that the row is closed.
func (e *epoch) mayPublish() bool {
	if !e.withheld() {
		return false // it was abandoned
	}
	for _, b := range e.g.epochs {
		if b == e {
			break
		}
		if b.sender != nil && !b.allHeld() {
			return false
		}
	}
	return e.passed()
}

// letOut publishes what was withheld.
func (e *epoch) letOut() {
	if e.sender.Release() {
		e.tell()
	}
}

// allHeld: every receiver holds all that this node has sent in the epoch, which is closed, and knows that nothing
// follows. One that shares the memory holds what it can read.
func (e *epoch) allHeld() bool {
	return e.table.Row(e.me).Load(sst.Next) == sst.Forever && e.readByAll() &&
		!slices.ContainsFunc(e.awaitsAck[e.myRank], func(i int) bool {
			return e.table.Row(i).Load(e.table.Received(e.myRank)) != sst.Forever
		})
}
