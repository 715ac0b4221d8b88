package cluster

import "github.com/omg-dds-go/dds/derecho"

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

// upToDate: in the end a node knows what the owners of all endpoints asked for last.
func (c *checker) upToDate(node derecho.NodeID) {
	for _, endpoint := range c.known[node] {
		if has, asked := c.infos[knownAt{node, endpoint}], c.asked[endpoint]; has != asked {
			c.failf("A18: %s knows the endpoint %s as after change %d, and its owner has asked for %d", node, endpoint, has, asked)
		}
	}
}
