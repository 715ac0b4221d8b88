package dcps

import (
	"context"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// nodeCore is the multicast core as this package uses it.
type nodeCore struct{ *derecho.Node }

// joinCore joins the group of a domain.
func joinCore(h handler, c participantConfig) (core, error) {
	spindle, err := derecho.ParseSpindle(c.settings.Spindle)
	if err != nil {
		return nil, err
	}
	n, err := derecho.Join(c.ctx, derecho.Config{
		Domain:      uint32(c.domain),
		Name:        c.name,
		Fingerprint: c.settings.fingerprint(),
		RingBytes:   c.settings.RingBytes,
		MaxRing:     c.settings.MaxRingBytes,
		Transport:   derecho.Transport(c.settings.Transport),
		Peers:       c.settings.Peers,
		Listen:      c.settings.Listen,
		Lease:       c.settings.Lease,
		Witness:     c.settings.Witness,
		Spin:        c.settings.Spin,
		Slice:       c.settings.Slice,
		Spindle:     spindle,
		OpenLog:     c.openLog,
		LogState:    c.logState,
	}, h)
	if err != nil {
		return nil, err
	}
	return nodeCore{n}, nil
}

func (n nodeCore) reserve(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID, size int, deadline time.Time) (slot, error) {
	s, err := n.Reserve(ctx, sg, ch, size, deadline)
	if err != nil {
		return slot{}, err
	}
	return slot{node: s}, nil
}
