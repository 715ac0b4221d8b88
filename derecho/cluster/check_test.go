package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
)

// tampering is an edit of a trace in which nothing is violated, and the invariant that it violates.
type tampering struct {
	name, violates string
	edit           func(t *tampered)
}

// tampered is a trace that is edited.
type tampered struct {
	t      testing.TB
	events []Event
}

// find is the first event from some place on that is like this.
func (x *tampered) find(from int, is func(e *Event) bool) int {
	x.t.Helper()
	for i := from; i < len(x.events); i++ {
		if is(&x.events[i]) {
			return i
		}
	}
	x.t.Fatal("no such event in the trace")
	return -1
}

// last is the last one.
func (x *tampered) last(is func(e *Event) bool) int {
	x.t.Helper()
	for i := len(x.events) - 1; i >= 0; i-- {
		if is(&x.events[i]) {
			return i
		}
	}
	x.t.Fatal("no such event in the trace")
	return -1
}

func (x *tampered) insert(at int, e Event) { x.events = slices.Insert(x.events, at, e) }
func (x *tampered) drop(at int)            { x.events = slices.Delete(x.events, at, at+1) }
func (x *tampered) swap(i, j int)          { x.events[i], x.events[j] = x.events[j], x.events[i] }
func (x *tampered) dropAll(is func(e *Event) bool) {
	x.events = slices.DeleteFunc(x.events, func(e Event) bool { return is(&e) })
}

// what is what a machine decided, to be changed in this one event; row is what a node told.
func (x *tampered) what(at int) *derecho.Event {
	w := *x.events[at].What
	w.Members, w.Senders, w.Ends, w.Logs = slices.Clone(w.Members), slices.Clone(w.Senders), slices.Clone(w.Ends), slices.Clone(w.Logs)
	x.events[at].What = &w
	return &w
}

func (x *tampered) row(at int) *derecho.Row {
	x.events[at].Row = x.events[at].Row.Clone()
	return x.events[at].Row
}

func made(kind derecho.EventKind, sg derecho.SubgroupID) func(e *Event) bool {
	return func(e *Event) bool { return e.Kind == Decision && e.What.Kind == kind && e.What.Subgroup == sg }
}

func tells(sg derecho.SubgroupID, is func(r *derecho.Row) bool) func(e *Event) bool {
	return func(e *Event) bool { return e.Kind == Told && e.Row.Subgroup == sg && is(e.Row) }
}

func delivers(sg derecho.SubgroupID) func(e *Event) bool {
	return func(e *Event) bool { return e.Kind == Deliver && e.SG == sg }
}

func kind(k Kind) func(e *Event) bool { return func(e *Event) bool { return e.Kind == k } }

// changeBefore is a change that a node is told of, and the next message of that writer, which another was handed before.
func (x *tampered) changeBefore() (change, message int) {
	had := map[string]bool{}
	for i := range x.events {
		e := &x.events[i]
		if e.Kind == Deliver {
			had[e.Text] = true
		}
		if e.Kind != Changed {
			continue
		}
		for next := i + 1; next < len(x.events); next++ {
			m := &x.events[next]
			if m.Kind == Changed && m.Node == e.Node && m.Text == e.Text {
				break
			}
			if m.Kind == Deliver && m.Node == e.Node && fmt.Sprintf("%s/%d", m.Sender, m.Writer) == e.Text {
				if had[m.Text] {
					return i, next
				}
				break
			}
		}
	}
	x.t.Fatal("no such event in the trace")
	return -1, -1
}

// second is the first decision on a view of several members that another has made before.
func (x *tampered) second(kind derecho.EventKind) int {
	before := map[place]bool{}
	return x.find(0, func(e *Event) bool {
		if !made(kind, 0)(e) || len(e.What.Members) < 2 {
			return false
		}
		at := place{e.What.Group, 0, e.What.Epoch}
		defer func() { before[at] = true }()
		return before[at]
	})
}

// crowded is the first message that a node delivers in an epoch of subgroup 1 in which several send.
func (x *tampered) crowded() int {
	size := map[uint32]int{}
	return x.find(0, func(e *Event) bool {
		if made(derecho.Installed, 1)(e) {
			size[e.What.Epoch] = len(e.What.Senders)
		}
		return delivers(1)(e) && size[e.Epoch] > 1
	})
}

// neighbors are two messages that a node delivers one after the other.
func (x *tampered) neighbors(like func(a, b *Event) bool) (i, j int) {
	i = x.find(0, func(e *Event) bool { return delivers(1)(e) && x.next(e) >= 0 && like(e, &x.events[x.next(e)]) })
	return i, x.next(&x.events[i])
}

// next is the delivery that follows right after one of the same node, -1 if something else does.
func (x *tampered) next(e *Event) int {
	for i := range x.events {
		if &x.events[i] == e && i+1 < len(x.events) {
			if n := &x.events[i+1]; n.Kind == Deliver && n.Node == e.Node && n.SG == e.SG && n.Epoch == e.Epoch {
				return i + 1
			}
		}
	}
	return -1
}

// calmly are edits of a run in which nothing fails.
var calmly = []tampering{
	{"members in another order", "M1", func(x *tampered) {
		slices.Reverse(x.what(x.second(derecho.Installed)).Members)
	}},
	{"a view twice", "M2", func(x *tampered) {
		i := x.find(0, made(derecho.Installed, 0))
		x.insert(i+1, x.events[i])
	}},
	{"a view without oneself", "M3", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return made(derecho.Installed, 0)(e) && len(e.What.Members) > 1 })
		x.events[i].Node = x.events[i].Node + 2
	}},
	{"a view of a minority", "M4", func(x *tampered) {
		size := map[uint32]int{}
		i := x.find(0, func(e *Event) bool {
			if !made(derecho.Installed, 0)(e) {
				return false
			}
			size[e.What.Epoch] = len(e.What.Members)
			return size[e.What.Epoch-1] > 1 && size[e.What.Epoch] > 1
		})
		// The first who installs it is alone in it.
		x.what(i).Members = []derecho.NodeID{x.events[i].Node}
	}},
	{"a delivery in an epoch of others", "M5", func(x *tampered) {
		i := x.crowded()
		d := x.events[i]
		x.dropAll(func(e *Event) bool {
			return made(derecho.Installed, 1)(e) && e.Node == d.Node && e.What.Epoch == d.Epoch
		})
	}},
	{"an accusation", "M6", func(x *tampered) {
		i := x.find(0, made(derecho.Decided, 0))
		j := x.last(func(e *Event) bool {
			return tells(0, func(r *derecho.Row) bool { return r.Epoch == x.events[i].What.Epoch })(e) && e.Node == x.events[i].Node
		})
		x.row(j).Accused |= 1
		x.dropAll(kind(Leave))
	}},
	{"a removal", "M6", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return made(derecho.Decided, 0)(e) && len(e.What.Members) > 1 })
		w := x.what(i)
		w.Members = w.Members[1:]
	}},
	{"a writer that can not write", "M7", func(x *tampered) {
		i := x.find(0, kind(Final))
		x.insert(i, Event{Kind: Muted, Node: x.events[i].Node, Channel: 1, Text: "no room"})
	}},
	{"a link to one that has ended", "M7", func(x *tampered) {
		x.insert(x.find(0, kind(Final)), Event{Kind: Crashed, Node: 77})
		e := &x.events[x.find(0, kind(Final))]
		state := *e.State
		state.Linked = append(slices.Clone(state.Linked), 77)
		e.State = &state
	}},
	{"what needs the last words of others to arrive", "M7", func(x *tampered) {
		rest := x.events[x.find(0, kind(AtRest))].At
		i := x.last(func(e *Event) bool {
			return e.Kind == Deliver && e.At <= rest && !slices.ContainsFunc(x.events, func(d Event) bool {
				return made(derecho.Drained, e.SG)(&d) && d.Node == e.Node && d.What.Epoch == e.Epoch
			})
		})
		late := x.events[i]
		x.insert(x.last(kind(AtRest))+1, late)
		x.drop(i)
	}},
	{"waiting for logs that are there", "M7", func(x *tampered) {
		i := x.last(kind(Back))
		x.insert(i+1, Event{Kind: Waits, Node: x.events[i].Node, Channel: x.events[i].Channel, Text: "why"})
	}},
	{"a message that nobody sent", "A1", func(x *tampered) { x.events[x.crowded()].Text += "y" }},
	{"a message twice", "A1", func(x *tampered) {
		i := x.crowded()
		x.insert(i+1, x.events[i])
	}},
	{"a message of another", "A1", func(x *tampered) { x.events[x.crowded()].Sender++ }},
	{"a message of a writer that is not known", "A1", func(x *tampered) { x.events[x.crowded()].Writer += 1000 }},
	{"the number of another sender", "A2", func(x *tampered) { x.events[x.crowded()].Seq++ }},
	{"two messages exchanged", "A3", func(x *tampered) {
		x.swap(x.neighbors(func(a, b *Event) bool { return a.Sender != b.Sender }))
	}},
	{"a message left out", "A3", func(x *tampered) {
		// By one of several who deliver it, and not the last.
		size := map[uint32]int{}
		i := x.find(0, func(e *Event) bool {
			if made(derecho.Installed, 1)(e) {
				size[e.What.Epoch] = len(e.What.Receivers)
			}
			return delivers(1)(e) && size[e.Epoch] > 1 && x.next(e) >= 0
		})
		x.drop(i)
	}},
	{"a message after the end of its epoch", "A4", func(x *tampered) {
		i := x.find(0, func(e *Event) bool {
			return made(derecho.Drained, 1)(e) && slices.ContainsFunc(x.events, func(d Event) bool { return delivers(1)(&d) && d.Node == e.Node && d.Epoch == e.What.Epoch })
		})
		drained := x.events[i]
		x.drop(i)
		x.insert(x.find(0, func(e *Event) bool { return delivers(1)(e) && e.Node == drained.Node && e.Epoch == drained.What.Epoch }), drained)
	}},
	{"two messages of a sender exchanged", "A5", func(x *tampered) {
		x.swap(x.neighbors(func(a, b *Event) bool { return a.Sender == b.Sender }))
	}},
	{"a message that a receiver does not hold", "A6", func(x *tampered) {
		i := x.crowded()
		node, epoch := x.events[i].Node, x.events[i].Epoch
		x.dropAll(func(e *Event) bool {
			return tells(1, func(r *derecho.Row) bool { return r.Epoch == epoch })(e) && e.Node != node
		})
	}},
	{"the end of an epoch not delivered", "A7", func(x *tampered) {
		receivers, ended := map[uint32]int{}, map[place]bool{}
		for _, e := range x.events {
			if made(derecho.Installed, 1)(&e) {
				receivers[e.What.Epoch] = len(e.What.Receivers)
			}
			if made(derecho.Drained, 1)(&e) {
				ended[place{uint64(e.Node), 1, e.What.Epoch}] = true
			}
		}
		x.drop(x.last(func(e *Event) bool {
			return delivers(1)(e) && receivers[e.Epoch] > 1 && ended[place{uint64(e.Node), 1, e.Epoch}]
		}))
	}},
	{"a message that nobody delivers", "A9", func(x *tampered) {
		text := x.events[x.last(delivers(1))].Text
		x.dropAll(func(e *Event) bool { return e.Kind == Deliver && e.Text == text })
	}},
	{"a message that one reader lacks", "A9", func(x *tampered) { x.drop(x.last(delivers(1))) }},
	{"an endpoint of one that is no member", "A9", func(x *tampered) {
		x.atEnd(func(e Event) Event {
			return Event{Kind: Known, Node: e.Node, Sender: 77, Text: derecho.NodeID(77).String() + "/1"}
		})
	}},
	{"an endpoint that is withdrawn", "A9", func(x *tampered) {
		x.events[x.find(0, func(e *Event) bool { return e.Kind == Final && e.Text != "" })].Text = ""
	}},
	{"half a state", "A10", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Load && len(strings.Fields(e.Text)) > 1 && !stored(e.Channel) })
		texts := strings.Fields(x.events[i].Text)
		x.events[i].Text = strings.Join(texts[len(texts)/2:], " ")
	}},
	{"an empty state", "A10", func(x *tampered) {
		x.events[x.find(0, func(e *Event) bool { return e.Kind == Load && e.Text != "" })].Text = ""
	}},
	{"another state in the end", "A10", func(x *tampered) {
		i := x.last(kind(Holds))
		h := x.events[i]
		h.Text += " more"
		x.insert(i, h)
	}},
	{"a state in another order", "A10", func(x *tampered) {
		x.stateAtEnd(func(texts []string) []string {
			slices.Reverse(texts)
			return texts
		})
	}},
	{"a state with something twice", "A10", func(x *tampered) {
		x.stateAtEnd(func(texts []string) []string { return append(texts, texts[len(texts)-1]) })
	}},
	{"a state with something that nobody sent", "A10", func(x *tampered) {
		x.stateAtEnd(func(texts []string) []string { return append(texts, "more") })
	}},
	{"a cell goes back", "A12", func(x *tampered) {
		i := x.find(0, tells(1, func(r *derecho.Row) bool { return r.Real > 0 }))
		e := x.events[i]
		x.insert(i+1, e)
		x.row(i+1).Real--
	}},
	{"the frontier goes back", "A12", func(x *tampered) {
		i := x.find(0, tells(channels[logged].ID, func(r *derecho.Row) bool { return r.Persisted > 0 }))
		x.insert(i+1, x.events[i])
		x.row(i+1).Persisted--
	}},
	{"decided and not accepted", "A12", func(x *tampered) {
		r := x.row(x.find(0, tells(0, func(r *derecho.Row) bool { return true })))
		r.Decided = r.Accepted + 1
	}},
	{"delivered and not held", "A13", func(x *tampered) {
		x.row(x.find(0, tells(1, func(r *derecho.Row) bool { return r.Delivered > 0 && r.Held[0] != forever }))).Delivered += 1000
	}},
	{"stored and not delivered", "A13", func(x *tampered) {
		r := x.row(x.find(0, tells(channels[logged].ID, func(r *derecho.Row) bool { return r.Delivered > 0 })))
		r.Persisted = r.Delivered + 1
	}},
	{"more than a ring", "A14", func(x *tampered) {
		i := x.crowded()
		r := x.row(x.last(func(e *Event) bool {
			return e.Node == x.events[i].Sender && tells(1, func(r *derecho.Row) bool { return r.Epoch == x.events[i].Epoch && r.Wedged == 0 })(e)
		}))
		r.Tail += 2 * r.Ring
	}},
	{"a promise without need", "A15", func(x *tampered) {
		x.row(x.find(0, tells(1, func(r *derecho.Row) bool { return r.Real > 0 && r.Next != forever }))).Next += 1000
	}},
	{"a change left out", "A18", func(x *tampered) {
		i := x.find(0, kind(Final))
		known := x.last(kind(Known))
		x.insert(i, Event{Kind: Changed, Node: x.events[known].Node, Text: x.events[known].Text, Seq: x.events[known].Seq + 7})
	}},
	{"a change told behind a message", "A19", func(x *tampered) {
		i, next := x.changeBefore()
		e := x.events[i]
		x.insert(next+1, e)
		x.drop(i)
	}},
	{"a message as before a change that was made", "A19", func(x *tampered) {
		i, next := x.changeBefore()
		e := x.events[i]
		sent := x.find(0, func(s *Event) bool { return s.Kind == Send && s.Text == x.events[next].Text })
		x.insert(sent, Event{Kind: Agreed, Node: x.events[next].Sender, Text: e.Text, Seq: e.Seq + 7})
	}},
	{"stored and not on disk", "P1", func(x *tampered) { x.drop(x.find(0, kind(Durable))) }},
	{"stored by a log that was given up", "P1", func(x *tampered) {
		i := x.find(0, kind(Durable))
		x.insert(i, Event{Kind: GivenUp, Node: x.events[i].Node})
	}},
	{"told to be stored, and not stored yet", "P1", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Send && stored(e.Channel) })
		e := x.events[i]
		n, err := strconv.ParseUint(strings.Split(e.Text, ":")[1], 10, 64)
		require.NoError(x.t, err)
		x.insert(i+1, Event{Kind: Confirmed, Node: e.Node, Channel: e.Channel, Writer: e.Writer, Seq: n})
	}},
	{"another log in the end", "P1", func(x *tampered) { x.events[x.last(kind(Kept))].Text += " more" }},
	{"something lost that was on disk", "P2", func(x *tampered) {
		i := x.last(kind(Durable))
		ch, text := x.events[i].Channel, x.events[i].Text
		for k := range x.events {
			if e := &x.events[k]; (e.Kind == Holds || e.Kind == Kept) && e.Channel == ch {
				e.Text = strings.Join(slices.DeleteFunc(strings.Fields(e.Text), func(s string) bool { return s == text }), " ")
			}
		}
	}},
	{"another history", "P3", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Begun && e.Written })
		x.insert(i+1, x.events[i])
		x.events[i+1].History++
	}},
	{"a minority of the logs", "P4", func(x *tampered) {
		i := x.find(0, kind(Found))
		x.events[i].Epoch, x.events[i].Logs, x.events[i].Openings = 5, []uint64{x.events[i].Log, 3, 5}, []uint32{1, 1, 1}
	}},
	{"positions exchanged", "P5", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Durable })
		j := x.find(i+1, func(e *Event) bool { return e.Kind == Durable && e.Log == x.events[i].Log })
		x.events[i].Seq, x.events[j].Seq = x.events[j].Seq, x.events[i].Seq
		x.events[i].Epoch, x.events[j].Epoch = x.events[j].Epoch, x.events[i].Epoch
	}},
	{"a copy that is written to", "P5", func(x *tampered) {
		i := x.find(0, kind(Durable))
		x.insert(i, Event{Kind: Refused, Node: x.events[i].Node, Log: x.events[i].Log})
	}},
	{"an acknowledgement after the wedge", "T4", func(x *tampered) {
		i := x.find(0, tells(0, func(r *derecho.Row) bool { return r.Wedged != 0 }))
		x.insert(i+1, x.events[i])
		x.row(i + 1).Tail += 8
	}},
}

// atEnd puts an event before the one that tells what a node knows in the end, for each.
func (x *tampered) atEnd(e func(final Event) Event) {
	for i := 0; i < len(x.events); i++ {
		if x.events[i].Kind == Final {
			x.insert(i, e(x.events[i]))
			i++
		}
	}
}

// stateAtEnd edits the state of the channel that is in memory, as all hold it in the end.
func (x *tampered) stateAtEnd(edit func(texts []string) []string) {
	for i := range x.events {
		if e := &x.events[i]; e.Kind == Holds && e.Channel == replicated {
			e.Text = strings.Join(edit(strings.Fields(e.Text)), " ")
		}
	}
}

// withCrashes are edits of a run in which processes crash.
var withCrashes = []tampering{
	{"a delivery after the end", "M5", func(x *tampered) {
		i := x.find(0, func(e *Event) bool {
			return e.Kind == Crashed && slices.ContainsFunc(x.events, func(d Event) bool { return delivers(1)(&d) && d.Node == e.Node })
		})
		d := x.last(func(e *Event) bool { return delivers(1)(e) && e.Node == x.events[i].Node })
		late := x.events[d]
		x.insert(i+1, late)
		x.drop(d)
	}},
	{"two ends of a view", "T1", func(x *tampered) {
		x.what(x.second(derecho.Decided)).Ends[0]--
	}},
	{"a decision that one has accepted", "M4", func(x *tampered) {
		knows := map[derecho.NodeID]uint32{} // the last view of which it has accepted an end
		i := x.find(0, func(e *Event) bool {
			if e.Kind == Told && e.Row.Accepted > 0 {
				knows[e.Node] = e.Row.Epoch
			}
			return made(derecho.Decided, 0)(e) && len(e.What.Members) > 1 && knows[e.Node] == e.What.Epoch
		})
		node, epoch := x.events[i].Node, x.events[i].What.Epoch
		for k := range i {
			if e := &x.events[k]; e.Kind == Told && e.Node != node && e.Row.Subgroup == 0 && e.Row.Epoch == epoch {
				r := x.row(k)
				r.Accepted, r.Decided = 0, 0
			}
		}
	}},
	{"an end before all have reported", "T2", func(x *tampered) {
		i := x.trim()
		w := x.events[i].What
		x.drop(x.last(func(e *Event) bool {
			return e.Kind == Decision && e.What.Kind == derecho.Reported && e.What.Subgroup == w.Subgroup && e.What.Epoch == w.Epoch && slices.Contains(x.goOn(i), e.Node)
		}))
	}},
	{"an end that nobody has reported", "T3", func(x *tampered) {
		w := x.what(x.trim())
		for rank, end := range w.Ends {
			if end != forever {
				w.Ends[rank]++
			}
		}
	}},
	{"a report on one that lives", "M8", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Decision && e.What.Kind == derecho.Reported })
		x.what(i).Senders = []derecho.NodeID{x.events[i].Node}
	}},
	{"two reports", "T4", func(x *tampered) {
		i := x.find(0, func(e *Event) bool { return e.Kind == Decision && e.What.Kind == derecho.Reported })
		x.insert(i+1, x.events[i])
		w := x.what(i + 1)
		for rank, end := range w.Ends {
			if end != forever {
				w.Ends[rank]++
			}
		}
	}},
}

// allHeard is an edit of a run in which a process crashes, and nothing else keeps any two from hearing each other.
var allHeard = []tampering{
	{"an accusation of one that lives", "M6", func(x *tampered) {
		is := tells(0, func(*derecho.Row) bool { return true })
		lives := func(n derecho.NodeID) bool {
			return !slices.ContainsFunc(x.events, func(e Event) bool { return e.Node == n && (e.Kind == Crashed || e.Kind == Leave) })
		}
		members := map[uint32][]derecho.NodeID{}
		for _, e := range x.events {
			if made(derecho.Installed, 0)(&e) {
				members[e.What.Epoch] = e.What.Members
			}
		}
		other := func(e *Event) int {
			return slices.IndexFunc(members[e.Row.Epoch], func(n derecho.NodeID) bool { return n != e.Node && lives(n) })
		}
		i := x.find(x.find(0, kind(Crashed)), func(e *Event) bool { return is(e) && other(e) >= 0 })
		x.row(i).Accused |= 1 << other(&x.events[i])
	}},
}

// acrossEpochs is an edit of a run in which a process that sends in two epochs crashes.
var acrossEpochs = []tampering{
	{"the last of an epoch left out, and not what follows", "A5", func(x *tampered) {
		of := func(e, d *Event) bool { return d.Kind == Deliver && d.SG == 1 && d.Sender == e.Sender }
		i := x.find(0, func(e *Event) bool {
			return delivers(1)(e) && slices.ContainsFunc(x.events, func(d Event) bool { return d.Kind == Crashed && d.Node == e.Sender }) &&
				slices.ContainsFunc(x.events, func(d Event) bool { return of(e, &d) && d.Node == e.Node && d.Epoch > e.Epoch }) &&
				!slices.ContainsFunc(x.events, func(d Event) bool { return of(e, &d) && d.Epoch == e.Epoch && d.Seq > e.Seq })
		})
		text := x.events[i].Text
		x.dropAll(func(e *Event) bool { return e.Kind == Deliver && e.Text == text })
	}},
}

// withLies is an edit of a run in which the disk of the last process that had the state of a channel loses what it called synced.
var withLies = []tampering{
	{"a disk that has it still", "P2", func(x *tampered) { x.dropAll(kind(Lost)) }},
}

// withoutLogs is an edit of a run in which a process begins to keep a stored channel in memory while no log of it is there.
var withoutLogs = []tampering{
	{"a log that is there", "P2", func(x *tampered) {
		log := x.events[x.find(0, func(e *Event) bool { return e.Kind == Begun && e.Channel == 6 })].Log
		installs := -1
		x.find(0, func(e *Event) bool {
			if e.Kind != Await || e.Channel != 6 || e.Epoch == 0 || e.Text != "" {
				return false
			}
			installs = x.last(func(i *Event) bool {
				return made(derecho.Installed, 4)(i) && i.Node == e.Node && i.What.Epoch == e.Epoch
			})
			return !slices.ContainsFunc(x.events[installs].What.Logs, func(l derecho.EventLogs) bool { return l.Channel == 6 })
		})
		w := x.what(installs)
		w.Logs = append(w.Logs, derecho.EventLogs{Channel: 6, Logs: []uint64{log}})
	}},
}

// trim is the first event that tells where a sender ends that failed.
func (x *tampered) trim() int {
	return x.find(0, func(e *Event) bool {
		return e.Kind == Decision && e.What.Kind == derecho.Trimmed && slices.ContainsFunc(e.What.Ends, func(end uint64) bool { return end != forever })
	})
}

// goOn are those who have installed a view by then and never crash.
func (x *tampered) goOn(at int) (nodes []derecho.NodeID) {
	for i := range at {
		if e := &x.events[i]; e.Kind == Joined && !slices.ContainsFunc(x.events, func(o Event) bool {
			return o.Node == e.Node && (o.Kind == Crashed || o.Kind == Excluded || o.Kind == GaveWay || o.Kind == Left)
		}) {
			nodes = append(nodes, e.Node)
		}
	}
	return nodes
}

// No checker is vacuous: each finds what it is for in the trace of a run in which nothing is violated, once that has been put in.
func TestCheckers(t *testing.T) {
	for _, of := range []struct {
		seed    uint64
		options Options
		edits   []tampering
	}{
		{1178, Options{MinNodes: 4, MaxNodes: 5}, calmly},
		{286, Options{Faults: CrashNode, MinNodes: 4, MaxNodes: 5}, withCrashes},
		{10, Options{Faults: CrashNode, MinNodes: 4, MaxNodes: 5}, allHeard},
		{13, Options{Faults: AllFaults, Storm: "outrun", MinNodes: 3, MaxNodes: 7}, acrossEpochs},
		{5007671, Options{Faults: AllFaults, MinNodes: 3, MaxNodes: 9}, withLies},
		{7010419, Options{Faults: AllFaults, MinNodes: 3, MaxNodes: 9}, withoutLogs},
	} {
		r := Run(of.seed, of.options)
		require.NoError(t, r.Err)
		for _, edit := range of.edits {
			t.Run(edit.name, func(t *testing.T) {
				x := &tampered{t, slices.Clone(r.Events)}
				edit.edit(x)
				err := check(r.Plan, x.events)
				require.Error(t, err)
				violated, _, _ := strings.Cut(err.Error(), ":")
				require.Equal(t, edit.violates, violated, "%v", err)
			})
		}
	}
}

// Who had withdrawn before a node began to wait for a state owes it none, also if the node begins to wait for another
// state in the same moment, whose source has not withdrawn. When the source of the first has failed, its history begins
// anew with nothing.
func TestStatesThatAreAwaitedTogether(t *testing.T) {
	const failed, withdrew, comes derecho.NodeID = 1, 2, 3
	c := newChecker(Plan{})
	awaits := func(node derecho.NodeID, ch derecho.ChannelID, text string) Event {
		return Event{Kind: Await, Node: node, Channel: ch, Epoch: 1, Text: text}
	}
	for i, e := range []Event{
		{Kind: Start, Node: failed}, {Kind: Start, Node: withdrew}, {Kind: Start, Node: comes},
		awaits(failed, 4, ""), awaits(withdrew, 4, ""), awaits(withdrew, 6, ""),
		{Kind: Known, Node: withdrew, Channel: 6, Text: withdrew.String() + "/1", Keeps: true}, {Kind: Known, Node: comes, Channel: 6, Text: withdrew.String() + "/1", Keeps: true},
		{Kind: Known, Node: withdrew, Channel: 4, Text: withdrew.String() + "/2"}, {Kind: Known, Node: comes, Channel: 4, Text: withdrew.String() + "/2"}, // it only follows
	} {
		c.event(i, e)
	}
	c.removed[comes][failed] = true
	for i, e := range []Event{awaits(comes, 4, "pending"), awaits(comes, 6, "pending"), {Kind: Load, Node: comes, Channel: 4, Epoch: 5}} {
		c.event(i, e)
	}
	require.NoError(t, c.err)
	require.Equal(t, []uint32{1, 1, 5}, c.since[begun{0, 4}])
	require.Equal(t, []uint32{1}, c.since[begun{0, 6}])
}

// A member that has not acknowledged all of a view is not missed by who learns that the view ended from one that died
// in the step in which it ended it; it is by who goes on before it, or without having learned it.
func TestWhoDiesWhileItEndsAViewIsBelieved(t *testing.T) {
	const ends, learns, behind derecho.NodeID = 1, 2, 3
	all := []derecho.NodeID{ends, learns, behind}
	act := func(node derecho.NodeID, what derecho.Event) Event {
		what.Group, what.Epoch = 1, 1
		return Event{Kind: Decision, Node: node, What: &what}
	}
	decides := act(ends, derecho.Event{Kind: derecho.Decided, Members: all, Ends: []uint64{forever, forever, forever}})
	executes := func(node derecho.NodeID) Event {
		return act(node, derecho.Event{Kind: derecho.Executed, Seq: 1, From: learns})
	}
	dies := Event{Kind: Crashed, Node: ends}
	for _, c := range []struct {
		name     string
		events   []Event
		violates bool
	}{
		{"it died", []Event{decides, executes(ends), dies, executes(learns)}, false},
		{"it has drained the view", []Event{decides, executes(ends), act(ends, derecho.Event{Kind: derecho.Drained}), executes(learns)}, false},
		{"it goes on", []Event{decides, executes(ends), executes(learns)}, true},
		{"it died before it had carried that out", []Event{decides, dies, executes(learns)}, true},
		{"it died and had decided nothing", []Event{dies, executes(learns)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newChecker(Plan{})
			k.faulty = true
			var events []Event
			for _, n := range all {
				events = append(events, Event{Kind: Start, Node: n})
			}
			for _, n := range all {
				events = append(events, act(n, derecho.Event{Kind: derecho.Installed, Members: all, Senders: all, Receivers: all}))
			}
			for i, e := range append(events, c.events...) {
				k.event(i, e)
			}
			if !c.violates {
				require.NoError(t, k.err)
				return
			}
			require.ErrorContains(t, k.err, "A6: ")
		})
	}
}
