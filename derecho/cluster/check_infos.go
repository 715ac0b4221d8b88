package cluster

import (
	"fmt"

	"github.com/omg-dds-go/dds/derecho"
)

// knownAt is an endpoint as a node knows it.
type knownAt struct {
	node     derecho.NodeID
	endpoint string
}

// changed: a node is told of each change of an endpoint that it knows, one after the other.
func (c *checker) changed(e Event) {
	at := knownAt{e.Node, e.Text}
	before, known := c.infos[at]
	switch {
	case !known:
		c.failf("A18: %s is told of a change of the endpoint %s, which it does not know", e.Node, e.Text)
	case e.Seq != before+1:
		c.failf("A18: %s is told of change %d of the endpoint %s after change %d", e.Node, e.Seq, e.Text, before)
	}
	c.infos[at] = e.Seq
}

// sentAs: a message is sent when its writer has been told of changes of itself.
func (c *checker) sentAs(e *Event) {
	if n := c.settled[fmt.Sprintf("%s/%d", e.Node, e.Writer)]; n > 0 {
		c.sentWith[e.Text] = n
	}
}

// readAs: a message is handed over. All that are handed it know the same of its writer, and no less than that one was told when
// it sent it.
func (c *checker) readAs(e *Event) {
	endpoint := fmt.Sprintf("%s/%d", e.Sender, e.Writer)
	has := c.infos[knownAt{e.Node, endpoint}]
	if least := c.sentWith[e.Text]; has < least {
		c.failf("A19: %s knows the writer %s as after change %d, which had been told of change %d when it sent this", e.Node, endpoint, has, least)
	}
	if as, is := c.readWith[e.Text]; !is {
		c.readWith[e.Text] = has
	} else if as != has {
		c.failf("A19: %s knows the writer %s as after change %d, and another node that was handed this as after change %d", e.Node, endpoint, has, as)
	}
}

// upToDate: in the end a node knows what the owners of all endpoints asked for last.
func (c *checker) upToDate(node derecho.NodeID) {
	for _, endpoint := range c.known[node] {
		if has, asked := c.infos[knownAt{node, endpoint}], c.asked[endpoint]; has != asked {
			c.failf("A18: %s knows the endpoint %s as after change %d, and its owner has asked for %d", node, endpoint, has, asked)
		}
	}
}
