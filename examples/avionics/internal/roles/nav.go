package roles

import (
	"context"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
)

// navigation publishes own-ship's Position: one sample for every fix.
type navigation struct {
	*process
	writer *writer[avionics.Position]
	source ownShip
	stop   chan struct{}
}

func (n *navigation) setup(ctx context.Context) error {
	var err error
	if n.source, err = newOwnShip(ctx, n.cfg); err != nil {
		return err
	}
	n.stop = make(chan struct{})
	n.writer, err = publish[avionics.Position](n.process, Position, "Avionics::Position")
	return err
}

func (n *navigation) start(ctx context.Context) {
	go func() {
		err := n.fly(ctx)
		if err == nil {
			err = n.acknowledge(ctx)
		}
		if err != nil {
			n.fail(cause(ctx, err))
			return
		}
		n.send(control.Event{Kind: control.Done, Published: n.published()})
	}()
}

func (n *navigation) command(ctx context.Context, c control.Command) {
	switch c.Kind {
	case control.Stop:
		closeOnce(n.stop)
	case control.Finish:
		go n.finish(ctx, c, n.source.input())
	}
}

func (n *navigation) fly(ctx context.Context) error {
	clock, from := newPacer(n.cfg.Speed), n.resumeAt()
	var p avionics.Position
	for {
		offset, s, ok := n.source.next()
		if ok && offset < from {
			continue
		}
		if !ok || !clock.wait(ctx, n.stop, offset-from) {
			return nil
		}
		p = avionics.Position{
			Aircraft: n.cfg.Aircraft, Number: n.writer.next(), FixedAt: s.time.UnixNano(), Quality: s.quality,
			Latitude: s.place.Lat, Longitude: s.place.Lon,
			PressureAltitudeFt: float32(s.altitudeFt), GnssAltitudeFt: float32(s.gnssFt),
			GroundSpeedKt: float32(s.speedKt), TrackDeg: float32(s.track), VerticalRateFpm: float32(s.verticalRate),
		}
		if err := n.writer.put(ctx, &p); err != nil {
			return err
		}
	}
}
