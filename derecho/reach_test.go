package derecho

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// told notes what the layer above is told of.
type told struct {
	Handler
	what []string
}

func (h *told) EndpointAdded(ep Endpoint)   { h.what = append(h.what, "added "+string(ep.Info)) }
func (h *told) EndpointRemoved(ep Endpoint) { h.what = append(h.what, "removed "+string(ep.Info)) }

// An endpoint that was withdrawn before it was told of is another than one with its ID that came later.
func TestWithdrawnBeforeKnown(t *testing.T) {
	h := &told{}
	m := newMachine(&Config{}, 1, h, nil)
	g := &subgroup{m: m, id: 1, newest: &descriptor{Subgroup: 1, Epoch: 2}}
	m.groups[1] = g
	m.order = append(m.order, g)
	before, after := &epoch{g: g, desc: &descriptor{Epoch: 1}}, &epoch{g: g, desc: g.newest}
	g.sending.Store(before)

	ep := func(info string) Endpoint {
		return Endpoint{Node: 2, ID: 1, Reads: []Subgroup{{ID: 1, Mode: Ordered}}, Channel: 1, Info: []byte(info)}
	}
	m.introduce(ep("first"))
	m.gone(ep("first"), nil)
	m.introduce(ep("second"))
	m.gone(ep("second"), nil)
	m.introduce(ep("third"))
	require.Empty(t, h.what, "what this node writes does not reach them yet")

	g.sending.Store(after)
	require.True(t, m.showReached())
	require.Equal(t, []string{"added first", "removed first", "added second", "removed second", "added third"}, h.what)
}
