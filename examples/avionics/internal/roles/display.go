package roles

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
)

// display is a cockpit display: it takes everything, and sends what a pilot would see to the conductor, who owns the
// terminal.
type display struct {
	*process

	mu    sync.Mutex
	scene scene
}

func (d *display) setup(context.Context) error {
	d.scene = newScene()
	if _, err := subscribe[avionics.AirData](d.process, AirData, d.onAirData); err != nil {
		return err
	}
	if _, err := subscribe[avionics.Position](d.process, Position, d.onPosition); err != nil {
		return err
	}
	if _, err := subscribe[avionics.TrafficReport](d.process, TrafficReport, d.onTraffic); err != nil {
		return err
	}
	if _, err := subscribe[avionics.Advisory](d.process, Advisory, d.onAdvisory); err != nil {
		return err
	}
	_, err := subscribe[avionics.FlightLog](d.process, FlightLog, d.onLog)
	return err
}

func (d *display) start(ctx context.Context) {
	if d.cfg.Late {
		for _, s := range d.subscriptions {
			if s.topic == TrafficReport {
				d.note("joined late; the traffic picture has %d aircraft", s.picture())
			}
		}
	}
	if d.cfg.Frames > 0 {
		go d.show(ctx)
	}
}

func (d *display) command(ctx context.Context, c control.Command) {
	if c.Kind == control.Finish {
		go func() {
			d.finish(ctx, c, nil)
			d.sendFrame()
		}()
	}
}

// show sends frames until the process ends.
func (d *display) show(ctx context.Context) {
	tick := time.NewTicker(d.cfg.Frames)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.sendFrame()
		case <-ctx.Done():
			return
		}
	}
}

func (d *display) sendFrame() {
	if d.cfg.Frames == 0 {
		return
	}
	d.mu.Lock()
	var frame []string
	if d.cfg.Table {
		frame = d.scene.table()
	} else {
		frame = []string{d.scene.line()}
	}
	d.mu.Unlock()
	d.send(control.Event{Kind: control.Frame, Frame: frame})
}

func (d *display) onAirData(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewAirDataView(encoded)
	if err != nil {
		return identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &d.scene.air
	a.Computer, a.PressureAltitudeFt, a.IndicatedAirspeedKt = v.Computer(), v.PressureAltitudeFt(), v.IndicatedAirspeedKt()
	a.TrueAirspeedKt, a.Mach, a.StaticAirTemperatureC = v.TrueAirspeedKt(), v.Mach(), v.StaticAirTemperatureC()
	return identity{number: v.Number()}, nil
}

func (d *display) onPosition(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewPositionView(encoded)
	if err != nil {
		return identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.scene.own
	p.Number, p.FixedAt, p.Quality, p.Latitude, p.Longitude = v.Number(), v.FixedAt(), v.Quality(), v.Latitude(), v.Longitude()
	p.GroundSpeedKt, p.TrackDeg, p.VerticalRateFpm = v.GroundSpeedKt(), v.TrackDeg(), v.VerticalRateFpm()
	p.PressureAltitudeFt = v.PressureAltitudeFt()
	return identity{number: v.Number()}, nil
}

func (d *display) onTraffic(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewTrafficReportView(encoded)
	if err != nil {
		return identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.scene.traffic[v.Icao()]
	if t == nil {
		t = &target{icao: icaoText(v.Icao())}
		d.scene.traffic[v.Icao()] = t
	}
	t.reports++
	t.known, t.altitudeFt, t.speedKt, t.track = v.Known(), v.AltitudeFt(), v.GroundSpeedKt(), v.TrackDeg()
	t.latitude, t.longitude, t.heard = v.Latitude(), v.Longitude(), v.Heard()
	if c := v.Callsign(); c != t.callsign {
		t.callsign = strings.Clone(c)
	}
	return identity{number: v.Number(), icao: v.Icao()}, nil
}

func (d *display) onAdvisory(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewAdvisoryView(encoded)
	if err != nil {
		return identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scene.advise(avionics.Advisory{
		Icao: v.Icao(), Number: v.Number(), Level: v.Level(), RangeNm: v.RangeNm(), BearingDeg: v.BearingDeg(),
		RelativeBearingDeg: v.RelativeBearingDeg(), RelativeAltitudeFt: v.RelativeAltitudeFt(), ClosureKt: v.ClosureKt(),
	})
	return identity{number: v.Number(), icao: v.Icao()}, nil
}

func (d *display) onLog(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewFlightLogView(encoded)
	if err != nil {
		return identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scene.logged++
	if text := v.Text(); text != "" {
		d.scene.lastEvent = strings.Clone(text)
	}
	return identity{number: v.Number()}, nil
}

// sortedKeys lists the keys of a map in ascending order.
func sortedKeys[V any](m map[uint32]V) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
