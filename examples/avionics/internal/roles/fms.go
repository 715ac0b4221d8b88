package roles

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
	"github.com/omg-dds-go/dds/examples/avionics/internal/proximity"
)

// flightManagement takes what the sensors publish, warns of traffic that comes near, and logs the flight.
//
// Its three inputs are taken on three goroutines and come together under mu. Writing under it is on purpose: the
// numbers of what is written ascend, and an input that comes faster than the log is written waits, and makes its writer
// wait.
type flightManagement struct {
	*process
	ctx context.Context // of the process: looks have none

	mu         sync.Mutex
	advisories *writer[avionics.Advisory]
	log        *writer[avionics.FlightLog]
	monitor    proximity.Monitor
	position   avionics.FlightLog // where own-ship is, as the log tells it
	airSpeed   float32
	computer   byte // whose air data are in command; 0: none yet
}

func (f *flightManagement) setup(ctx context.Context) error {
	var err error
	f.ctx = ctx
	if f.advisories, err = publish[avionics.Advisory](f.process, Advisory, "Avionics::Advisory"); err != nil {
		return err
	}
	if f.log, err = publish[avionics.FlightLog](f.process, FlightLog, "Avionics::FlightLog"); err != nil {
		return err
	}
	if _, err = subscribe[avionics.AirData](f.process, AirData, f.onAirData); err != nil {
		return err
	}
	if _, err = subscribe[avionics.Position](f.process, Position, f.onPosition); err != nil {
		return err
	}
	if _, err = subscribe[avionics.TrafficReport](f.process, TrafficReport, f.onTraffic); err != nil {
		return err
	}
	// It reads its own log back as well, so that what is on its disk can be compared with what was delivered to it.
	_, err = subscribe[avionics.FlightLog](f.process, FlightLog, numberOfLog)
	return err
}

func (f *flightManagement) start(context.Context) {} // it does what its inputs make it do

func (f *flightManagement) command(ctx context.Context, c control.Command) {
	switch c.Kind {
	case control.Drain:
		go f.drain(ctx, c)
	case control.Finish:
		go f.finish(ctx, c, nil)
	}
}

// drain waits until all that the sensors published has been dealt with.
func (f *flightManagement) drain(ctx context.Context, c control.Command) {
	back := f.nextBack()
	for _, s := range f.subscriptions {
		f.expect(ctx, s, c.Expect[s.topic], back)
	}
	if err := f.acknowledge(ctx); err != nil {
		f.fail(cause(ctx, err))
		return
	}
	f.send(control.Event{Kind: control.Done, Published: f.published()})
}

func (f *flightManagement) onAirData(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewAirDataView(encoded)
	if err != nil {
		return identity{}, err
	}
	id := identity{number: v.Number()}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.airSpeed = v.TrueAirspeedKt()
	if computer := v.Computer(); computer != f.computer {
		before := f.computer
		f.computer = computer
		text := fmt.Sprintf("air data from computer %d", computer)
		if before != 0 {
			text = fmt.Sprintf("air data from computer %d, no longer from computer %d", computer, before)
			f.note("%s", text)
		}
		f.writeLog(v.Measured(), avionics.FlightEventLogAirDataSource, id.number, text)
	}
	return id, nil
}

func (f *flightManagement) onPosition(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewPositionView(encoded)
	if err != nil {
		return identity{}, err
	}
	id := identity{number: v.Number()}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := time.Unix(0, v.FixedAt())
	f.monitor.Own(proximity.Aircraft{
		At: at, Place: geo.Point{Lat: v.Latitude(), Lon: v.Longitude()}, AltitudeFt: float64(v.PressureAltitudeFt()),
		Velocity: geo.Velocity{Speed: float64(v.GroundSpeedKt()), Track: float64(v.TrackDeg())},
	})
	f.position.Latitude, f.position.Longitude = v.Latitude(), v.Longitude()
	f.position.PressureAltitudeFt = v.PressureAltitudeFt()
	f.writeLog(v.FixedAt(), avionics.FlightEventLogFix, id.number, "")
	for _, gone := range f.monitor.Expire(at) {
		f.writeAdvisory(at, gone, "")
	}
	return id, nil
}

func (f *flightManagement) onTraffic(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewTrafficReportView(encoded)
	if err != nil {
		return identity{}, err
	}
	id := identity{number: v.Number(), icao: v.Icao()}
	const needed = avionics.TrafficPosition | avionics.TrafficAltitude
	if v.Known()&needed != needed || v.Updated()&avionics.TrafficPosition == 0 {
		return id, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := time.Unix(0, v.PositionHeard())
	advisory, due := f.monitor.Traffic(v.Icao(), proximity.Aircraft{
		At: at, Place: geo.Point{Lat: v.Latitude(), Lon: v.Longitude()}, AltitudeFt: float64(v.AltitudeFt()),
		Velocity: geo.Velocity{Speed: float64(v.GroundSpeedKt()), Track: float64(v.TrackDeg())},
	})
	if due {
		f.writeAdvisory(at, advisory, v.Callsign())
	}
	return id, nil
}

// writeAdvisory publishes an advisory, and logs it if the level is a new one. Called with mu held.
func (f *flightManagement) writeAdvisory(at time.Time, a proximity.Advisory, callsign string) {
	number := f.advisories.next()
	level := avionics.AdvisoryLevel(a.Level) // the levels have the same numbers; a test holds them together
	err := f.advisories.put(f.ctx, &avionics.Advisory{
		Icao: a.ICAO, Number: number, Issued: at.UnixNano(), Level: level,
		RangeNm: float32(a.RangeNM), BearingDeg: float32(a.Bearing), RelativeBearingDeg: float32(a.RelativeBearing),
		RelativeAltitudeFt: float32(a.RelativeFt), ClosureKt: float32(a.ClosureKt), Callsign: callsign,
	})
	if err != nil {
		f.fail(cause(f.ctx, err))
		return
	}
	if a.Changed {
		text := fmt.Sprintf("%s %s %.1f NM bearing %03.0f, %+.0f ft, closing %.0f kt",
			level, icaoText(a.ICAO), a.RangeNM, a.Bearing, a.RelativeFt, a.ClosureKt)
		f.writeLog(at.UnixNano(), avionics.FlightEventLogAdvisory, number, text)
	}
}

// writeLog logs one event. Called with mu held.
func (f *flightManagement) writeLog(at int64, event avionics.FlightEvent, subject uint64, text string) {
	entry := f.position
	entry.Aircraft, entry.Number, entry.At, entry.Event, entry.Subject = f.cfg.Aircraft, f.log.next(), at, event, subject
	entry.TrueAirspeedKt, entry.Text = f.airSpeed, text
	if err := f.log.put(f.ctx, &entry); err != nil {
		f.fail(cause(f.ctx, err))
	}
}

func numberOfLog(_ *dcps.SampleInfo, encoded []byte) (identity, error) {
	v, err := avionics.NewFlightLogView(encoded)
	if err != nil {
		return identity{}, err
	}
	return identity{number: v.Number()}, nil
}

// icaoText writes an address as it is painted on nothing but printed everywhere.
func icaoText(icao uint32) string { return fmt.Sprintf("%06X", icao) }
