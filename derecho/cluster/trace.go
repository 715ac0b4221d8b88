package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// Kind is what a trace event tells.
type Kind uint8

// The kinds of events. What a machine decides comes as Decision.
const (
	Start    Kind = iota + 1 // a process starts as a node
	Joined                   // it has become a member
	Leave                    // it begins to leave
	Left                     // it has left
	Crashed                  // it ends
	Excluded                 // the group went on without it
	GaveWay                  // it goes over to another group that it has met
	Isolated                 // too few members are heard; Text is empty when that is over
	Send                     // a message was accepted
	Deliver                  // a message was handed over
	Known                    // an endpoint was announced to the layer above; Forgotten: withdrawn
	Forgotten
	Await     // the state of a channel is to come, if Text is "pending"
	Load      // it has come; Text is what it is
	Holds     // at the end: the state of a channel, Text
	Kept      // and what its log has of it, Text
	Decision  // see derecho.Event
	Final     // at the end: what the node knows of the group; Text lists its endpoints that are not withdrawn
	Fault_    // a fault begins or ends
	Told      // a node has changed its row of an epoch, or holds more
	Durable   // a log has a message on disk
	Begun     // a log has the beginning of an epoch on disk, with a channel that it has from then on
	Lost      // a log has not what it was told to have: Durable was a lie
	Unbegun   // and so was Begun
	Found     // a node announces what a log holds of a channel: the last epoch that it has of it
	Refused   // a log is refused, for it holds another history of a channel, or is the copy of one
	Asked     // the application gives an endpoint another Info, number Seq
	Changed   // the layer above is told of it
	Agreed    // and the application that it is so: what it writes from now on comes behind the change
	Ready     // a reader is announced: what is written from now on reaches it
	Back      // at the end: a process that lives has announced its log of a channel
	Waits     // at the end: a node waits for logs of a channel; Text says which
	Muted     // at the end: a writer can not write what it has to write last; Text says why
	LeftOut   // a node is told that messages of a writer of it, the last with number Seq, are not in the history with which a channel goes on
	Confirmed // a node is told that all that a writer of it has sent, up to number Seq, is stored
	AtRest    // at the end, before anybody writes once more
	GivenUp   // a node writes nothing more to its log, whose disk does not answer; Text says why
)

var kindNames = []string{"?", "start", "joined", "leaves", "left", "crashed", "excluded", "gives way", "isolated", "send", "deliver",
	"known", "forgotten", "await", "load", "holds", "kept", "decision", "final", "fault", "told", "durable", "begun", "lost",
	"unbegun", "found", "refused", "asked", "changed", "agreed", "ready", "back", "waits", "muted", "left out", "confirmed", "at rest", "gives up its log:"}

// The Texts of a Fault_ when a process begins to stand still: between two steps, and in one.
const paused, stalled = "pause", "stands still in a step"

// Event is one line of a trace.
type Event struct {
	At       time.Duration
	Kind     Kind
	Node     derecho.NodeID
	Host     uint64
	Group    uint64
	SG       derecho.SubgroupID
	Channel  derecho.ChannelID
	Epoch    uint32
	Seq      uint64             // also: which Info of its endpoint
	Sender   derecho.NodeID     // also: whose endpoint Known is of
	Writer   derecho.EndpointID // of Send, Deliver, LeftOut and Confirmed
	Text     string
	What     *derecho.Event    // of Decision
	State    *derecho.State    // of Final
	Row      *derecho.Row      // of Told
	Log      uint64            // of Durable, Begun, Lost, Unbegun, Found and Back; of Refused if it is a copy
	Logs     []uint64          // of Begun and Found: those that have the channel in the epoch
	Openings []uint32          // of these: how often each had been opened
	Past     []derecho.Opening // the same of those that had it before
	Opened   uint32            // of Found: how often the log has been opened
	History  uint64            // of Begun
	Written  bool              // of Begun
	Keeps    bool              // of Known: the endpoint keeps the state of its channel
	Since    uint32            // of Begun: the first epoch of which what came counts; 0 if a state came, which has all before
}

func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%14v  %s", e.At, kindNames[e.Kind])
	if e.Node != 0 {
		fmt.Fprintf(&b, " %s", e.Node)
	}
	switch e.Kind {
	case Start:
		fmt.Fprintf(&b, " on host %d", e.Host)
	case Send:
		fmt.Fprintf(&b, " sg %d e %d ch %d", e.SG, e.Epoch, e.Channel)
	case Deliver:
		fmt.Fprintf(&b, " sg %d e %d seq %d ch %d from %s", e.SG, e.Epoch, e.Seq, e.Channel, e.Sender)
	case LeftOut, Confirmed:
		fmt.Fprintf(&b, " ch %d writer %d up to %d", e.Channel, e.Writer, e.Seq)
	case Back:
		fmt.Fprintf(&b, " log %016x ch %d", e.Log, e.Channel)
	case Await, Load, Holds, Kept, Waits, Muted:
		fmt.Fprintf(&b, " sg %d ch %d e %d", e.SG, e.Channel, e.Epoch)
	case Durable, Lost:
		fmt.Fprintf(&b, " log %016x ch %d e %d seq %d", e.Log, e.Channel, e.Epoch, e.Seq)
	case Begun, Unbegun, Found:
		fmt.Fprintf(&b, " log %016x ch %d e %d logs %x %d past %x history %x %v", e.Log, e.Channel, e.Epoch, e.Logs, e.Openings,
			e.Past, e.History, e.Written)
	case Decision:
		w := e.What
		fmt.Fprintf(&b, " %v sg %d e %d", w.Kind, w.Subgroup, w.Epoch)
		if w.Kind == derecho.Executed {
			fmt.Fprintf(&b, " seq %d from %s: %x", w.Seq, w.From, w.Command)
		}
		if w.Members != nil {
			fmt.Fprintf(&b, " members %v senders %v", w.Members, w.Senders)
		}
		if w.Ends != nil {
			fmt.Fprintf(&b, " ends %v", w.Ends)
		}
	case Told:
		c := e.Row.RowCells
		fmt.Fprintf(&b, " sg %d e %d", c.Subgroup, c.Epoch)
		for _, f := range []struct {
			name  string
			value uint64
		}{{"tail", c.Tail}, {"real", c.Real}, {"next", c.Next}, {"delivered", c.Delivered}, {"opened", c.Opened},
			{"accused", c.Accused}, {"certain", c.Certain},
			{"wedged", c.Wedged}, {"promised", c.Promised}, {"accepted", c.Accepted}, {"decided", c.Decided}} {
			if f.value != 0 {
				fmt.Fprintf(&b, " %s %d", f.name, int64(f.value))
			}
		}
		fmt.Fprintf(&b, " received %v handed %v freed %v held %v", signed(e.Row.Received), signed(e.Row.Handed),
			signed(e.Row.Freed), signed(e.Row.Held))
	case Final:
		fmt.Fprintf(&b, " view %d of %016x members %v epochs %v", e.State.View, e.State.Group, e.State.Members, e.State.Epochs)
	}
	if e.Text != "" {
		text := e.Text
		if len(text) > 60 {
			text = text[:60] + "..."
		}
		fmt.Fprintf(&b, " %s", text)
	}
	return b.String()
}

// signed shows what is forever as -1.
func signed(list []uint64) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}
