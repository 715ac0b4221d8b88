package derecho

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/sst"
)

// Describe is the state of this node as text: the view, and for each epoch that is not released what
// every member's row says. It answers "who are we waiting for". For people; the format may change.
func (n *Node) Describe(ctx context.Context) string {
	var text string
	if err := n.await(ctx, func(m *machine, done func(error)) {
		text = m.describe()
		done(nil)
	}); err != nil {
		return err.Error()
	}
	return text
}

func (m *machine) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %s phase %d, view %d of group %016x\n", m.id, m.phase, m.view.epoch, m.view.group)
	if m.phase < joined {
		fmt.Fprintf(&b, "  scanned %v, sponsor %s\n", m.scanned, m.sponsor)
		for _, id := range slices.Sorted(maps.Keys(m.links)) {
			s, known := m.statuses[id]
			fmt.Fprintf(&b, "  link to %s, status %+v %v\n", id, s, known)
		}
	}
	for _, p := range m.view.members {
		id := NodeID(p.ID)
		fmt.Fprintf(&b, "  member %s %s (process %d on %s) linked %v\n", id, p.Name, p.PID, p.Host, m.links[id] != nil || id == m.id)
	}
	fmt.Fprintf(&b, "  %d commands queued, %d acts deferred, next view: %d joins, %d leaves\n", len(m.queue), len(m.deferred),
		len(m.change.joins), len(m.change.leaves))
	for _, g := range m.order {
		for _, e := range g.epochs {
			e.describe(&b)
		}
	}
	return b.String()
}

func (e *epoch) describe(b *strings.Builder) {
	fmt.Fprintf(b, "%s mode %d: delivered %d, stable %v, drained %v, newest %v\n", e.key, e.desc.Mode, e.delivered, e.stable,
		e.drained, !e.superseded())
	if a := e.agree; a != nil {
		fmt.Fprintf(b, "  trouble %v wedged %v ballot %x proposed %v decision %v isolated %v, took for failed %v\n", a.trouble,
			a.wedged, a.ballot, a.proposed, a.decision, a.told, a.failed())
		for i := range e.desc.Members {
			row := e.table.Row(i)
			fmt.Fprintf(b, "  %s beat %d accused %x certain %x wedged %d promised %x decided %x, heard %v ago\n",
				e.node(i), row.Load(e.table.Beat()),
				row.Load(e.table.Accused()), row.Load(e.table.Certain()), row.Load(e.table.Wedged()),
				row.Load(e.table.Promised()), row.Load(e.table.Decided()), e.g.m.now-a.watches[i].heard)
		}
	}
	for i := range e.desc.Members {
		row := e.table.Row(i)
		fmt.Fprintf(b, "  %s open %v tail %d real %d next %d", e.node(i), row.Open(), row.Load(sst.Tail),
			row.Load(sst.Real), row.Load(sst.Next))
		for rank := range e.senders {
			fmt.Fprintf(b, " %d:(received %d handed %d freed %d)", rank, row.Load(e.table.Received(rank)),
				row.Load(e.table.Handed(rank)), row.Load(e.table.Freed(rank)))
		}
		fmt.Fprintf(b, " delivered %d persisted %d drained %d\n", row.Load(e.table.Delivered()), row.Load(e.table.Persisted()),
			row.Load(e.table.Drained()))
	}
}
