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
	Isolated                 // too few members are heard; Text is empty when that is over
	Send                     // a message was accepted
	Deliver                  // a message was handed over
	Known                    // an endpoint was announced to the layer above; Forgotten: withdrawn
	Forgotten
	Await    // the state of a channel is to come, if Text is "pending"
	Load     // it has come; Text is what it is
	Holds    // at the end: the state of a channel, Text
	Decision // see derecho.Event
	Final    // at the end: what the node knows of the group
	Durable  // what this node sent up to then is durable everywhere
	Fault_   // a fault begins or ends
)

var kindNames = []string{"?", "start", "joined", "leaves", "left", "crashed", "excluded", "isolated", "send", "deliver",
	"known", "forgotten", "await", "load", "holds", "decision", "final", "durable", "fault"}

// Event is one line of a trace.
type Event struct {
	At      time.Duration
	Kind    Kind
	Node    derecho.NodeID
	Host    uint64
	Group   uint64
	SG      derecho.SubgroupID
	Channel derecho.ChannelID
	Epoch   uint32
	Seq     uint64
	Sender  derecho.NodeID
	Text    string
	What    derecho.Event // of Decision
	State   derecho.State // of Final
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
	case Await, Load, Holds:
		fmt.Fprintf(&b, " sg %d ch %d e %d", e.SG, e.Channel, e.Epoch)
	case Decision:
		w := e.What
		fmt.Fprintf(&b, " %v sg %d e %d", w.Kind, w.Subgroup, w.Epoch)
		if w.Members != nil {
			fmt.Fprintf(&b, " members %v senders %v", w.Members, w.Senders)
		}
		if w.Ends != nil {
			fmt.Fprintf(&b, " ends %v", w.Ends)
		}
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
