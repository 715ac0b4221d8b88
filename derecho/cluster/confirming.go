package cluster

import (
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// confirming is a wait until what a writer has sent is stored, as of dcps.DataWriter.WaitForDurable.
type confirming struct {
	*derecho.Confirmation
	channel derecho.ChannelID
	writer  derecho.EndpointID
	upTo    int
}

// confirm begins to wait for what each writer of a stored channel has sent, unless many do already. Who knows of a member
// whose log has failed is not told that anything is stored.
func (p *process) confirm() {
	const most = 8
	if len(p.failedLogs) > 0 && slices.ContainsFunc(p.d.State().Members, func(n derecho.NodeID) bool { return p.failedLogs[n] }) {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(p.ready)) {
		ep := p.ready[id]
		if p.gone || ep.Writes.ID == 0 || !stored(ep.Channel) || len(p.confirming) == most {
			continue
		}
		if c, err := p.d.Confirm(ep.Writes.ID, ep.Channel); err == nil {
			p.confirming = append(p.confirming, confirming{c, ep.Channel, id, p.nextMsg})
		}
	}
}

// confirmed tells of the waits that have come to a good end.
func (p *process) confirmed() {
	p.confirming = slices.DeleteFunc(p.confirming, func(c confirming) bool {
		over, err := c.Over()
		if over && err == nil {
			p.run.emit(Event{Kind: Confirmed, Node: p.id, Channel: c.channel, Writer: c.writer, Seq: uint64(c.upTo)})
		}
		return over
	})
}

// unconfirmed: who waits for a writer is told that some of it was left out, or that it is withdrawn.
func (p *process) unconfirmed(writer derecho.EndpointID) {
	p.confirming = slices.DeleteFunc(p.confirming, func(c confirming) bool { return c.writer == writer })
}
