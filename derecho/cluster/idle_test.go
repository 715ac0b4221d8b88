package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/datadriven"
)

// A17: of several senders one sends, and those that are idle hold up nobody: its message is handed over everywhere
// within the time in which it gets to all, what they promise gets to all, and what they have received does, whatever
// the rank of the sender and however long the others have been silent.
func TestIdleSendersHoldUpNobody(t *testing.T) {
	args := func(words ...string) (list []datadriven.Arg) {
		for _, w := range words {
			list = append(list, datadriven.Arg{Key: w})
		}
		return list
	}
	names := []string{"a", "b", "c", "d", "e"}
	for _, channel := range []string{"ordered", "logged"} {
		s := newScript(t)
		s.group(args(append(names, "apart")...))
		for _, name := range names {
			s.writer(args(name, channel))
			s.reader(args(name, channel))
		}
		longest := time.Duration(0)
		for k := range 10 * len(names) {
			s.rest(nil)
			from := len(s.r.events)
			s.send(args(names[k%len(names)], channel, fmt.Sprintf("m%d", k)))
			s.let(s.r.plan.Lease)
			sent, handed := time.Duration(0), 0
			for _, e := range s.r.events[from:] {
				switch e.Kind {
				case Send:
					sent = e.At
				case Deliver:
					handed++
					longest = max(longest, e.At-sent)
				}
			}
			require.Equal(t, len(names), handed)
		}
		// Three times something gets from one to others. What is posted while a post of the same row is under way waits
		// until that is done, there and back; then it has its own way to go, and is looked at in the next step. No beat
		// is waited for.
		const ways, each = 3, 4
		most := ways * each * s.r.w.MaxDelay
		require.Less(t, most, s.r.plan.Lease/derecho.Heartbeats)
		require.LessOrEqual(t, longest, most)
		s.check()
	}
}
