package cluster

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// knownReaders are the readers of a channel that a node knows.
type knownReaders struct {
	node    derecho.NodeID
	channel derecho.ChannelID
}

// shown: a node is told of an endpoint.
func (c *checker) shown(e Event) {
	c.known[e.Node] = append(c.known[e.Node], e.Text)
	if strings.HasPrefix(e.Text, e.Node.String()+"/") {
		c.own[e.Text] = e.Channel
		c.keep[e.Text] = e.Keeps
	}
	c.infos[knownAt{e.Node, e.Text}] = e.Seq
	c.asked[e.Text] = max(c.asked[e.Text], e.Seq)
	if e.SG != 0 {
		k := knownReaders{e.Node, e.Channel}
		c.readers[k] = append(c.readers[k], e.Text)
	}
}

func (c *checker) forgotten(e Event) {
	is := func(s string) bool { return s == e.Text }
	c.known[e.Node] = slices.DeleteFunc(c.known[e.Node], is)
	if strings.HasPrefix(e.Text, e.Node.String()+"/") {
		c.gives(e.Node, c.own[e.Text])
	}
	delete(c.infos, knownAt{e.Node, e.Text})
	for ch := range channels {
		k := knownReaders{e.Node, ch}
		c.readers[k] = slices.DeleteFunc(c.readers[k], is)
		if strings.HasPrefix(e.Text, e.Node.String()+"/") {
			c.ready[ch] = slices.DeleteFunc(c.ready[ch], is)
		}
	}
}

// addressed: a message is written, to the readers that its sender knows, and to those that were ready before, whether
// it knows them or not.
func (c *checker) addressed(e Event) {
	for _, reader := range c.ready[e.Channel] {
		c.due[reader] = append(c.due[reader], e.Text)
	}
	for _, reader := range c.readers[knownReaders{e.Node, e.Channel}] {
		c.due[reader] = append(c.due[reader], e.Text)
	}
}

// reached: a node whose readers were known to those who wrote, and that are there still, has what was written.
func (c *checker) reached(node derecho.NodeID) {
	for _, reader := range c.known[node] {
		if !strings.HasPrefix(reader, node.String()+"/") {
			continue
		}
		for _, text := range c.due[reader] {
			if s := c.sent[text]; c.group[s.node] == c.group[node] && !c.got[node][text] && !c.lost(s.node) {
				c.failf("A9: %.40s of %s, which knew the reader %s, or wrote when that was ready, and lives, did not reach it", text, s.node, reader)
			}
		}
	}
}
