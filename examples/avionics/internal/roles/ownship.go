package roles

import (
	"context"
	"fmt"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
	"github.com/omg-dds-go/dds/examples/avionics/internal/igc"
	"github.com/omg-dds-go/dds/examples/avionics/internal/model"
	"github.com/omg-dds-go/dds/examples/avionics/internal/recording"
)

// ownState is own-ship at one moment.
type ownState struct {
	time         time.Time // of the flight
	quality      avionics.FixQuality
	place        geo.Point
	altitudeFt   float64 // pressure altitude
	gnssFt       float64
	speedKt      float64
	track        float64
	verticalRate float64
}

// ownShip is a flight, recorded or made up. Offsets are from its beginning, and ascend.
type ownShip interface {
	// at gives the state at an offset, for sensors that measure between the fixes.
	at(offset time.Duration) ownState
	// next gives the next fix of the navigation system; false at the end.
	next() (offset time.Duration, s ownState, ok bool)
	// input tells what was read; nil if the flight is made up.
	input() *control.Input
}

func newOwnShip(ctx context.Context, cfg control.Config) (ownShip, error) {
	if cfg.Flight == "" {
		s := &syntheticFlight{flight: model.NewFlight(cfg.Seed)}
		if cfg.Speed == 0 {
			s.limit = scenario
		}
		return s, nil
	}
	file, err := recording.Open(cfg.Flight)
	if err != nil {
		return nil, fmt.Errorf("opening flight: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	flight, err := igc.Parse(ctx, cfg.Flight, file)
	if err != nil {
		return nil, err
	}
	return newRecordedFlight(flight), nil
}

// scenario is how long a made-up flight is that is flown as fast as it goes.
const scenario = 20 * time.Minute

// fixPeriod is the time between two fixes of a made-up flight.
const fixPeriod = 100 * time.Millisecond

// syntheticFlight is the point mass of package model.
type syntheticFlight struct {
	flight *model.Flight
	fixes  time.Duration // how many were given
	limit  time.Duration // 0: none
}

func (f *syntheticFlight) at(offset time.Duration) ownState {
	f.flight.Advance(offset)
	s := f.flight.State()
	return ownState{
		time: model.Epoch.Add(offset), quality: avionics.FixQualityFix3d, place: s.Place, altitudeFt: s.AltitudeFt,
		gnssFt: s.AltitudeFt + 160, speedKt: s.SpeedKt, track: s.Track, verticalRate: s.VerticalRate,
	}
}

func (f *syntheticFlight) next() (time.Duration, ownState, bool) {
	offset := f.fixes * fixPeriod
	if f.limit > 0 && offset > f.limit {
		return 0, ownState{}, false
	}
	f.fixes++
	return offset, f.at(offset), true
}

func (f *syntheticFlight) input() *control.Input { return nil }

// recordedFlight replays a flight recorder's file. Speed, track and vertical rate are not recorded: they are what leads
// from the fix before to this one.
type recordedFlight struct {
	flight *igc.Flight
	given  int
	ended  bool // it was asked for a fix behind the last
	sought int  // index of the fix at or before the offset last asked for
}

func newRecordedFlight(f *igc.Flight) *recordedFlight { return &recordedFlight{flight: f} }

func (f *recordedFlight) offset(i int) time.Duration {
	return f.flight.Fixes[i].Time.Sub(f.flight.Fixes[0].Time)
}

// state gives fix i with what leads to it.
func (f *recordedFlight) state(i int) ownState {
	fix := &f.flight.Fixes[i]
	s := ownState{
		time: fix.Time, quality: avionics.FixQualityFix3d, place: geo.Point{Lat: fix.Lat, Lon: fix.Lon},
		altitudeFt: float64(fix.PressureAltM) / geo.MetresPerFoot, gnssFt: float64(fix.GNSSAltM) / geo.MetresPerFoot,
	}
	if !fix.Valid3D {
		s.quality = avionics.FixQualityFix2d
	}
	if i == 0 {
		return s
	}
	before := &f.flight.Fixes[i-1]
	dt := fix.Time.Sub(before.Time)
	if dt <= 0 {
		return s
	}
	from := geo.Point{Lat: before.Lat, Lon: before.Lon}
	s.speedKt = geo.Range(from, s.place) / dt.Hours()
	s.track = geo.Bearing(from, s.place)
	s.verticalRate = float64(fix.PressureAltM-before.PressureAltM) / geo.MetresPerFoot / dt.Minutes()
	return s
}

func (f *recordedFlight) at(offset time.Duration) ownState {
	last := len(f.flight.Fixes) - 1
	for f.sought < last && f.offset(f.sought+1) <= offset {
		f.sought++
	}
	s := f.state(f.sought)
	if f.sought < last && offset >= f.offset(f.sought) {
		after := f.state(f.sought + 1)
		part := float64(offset-f.offset(f.sought)) / float64(f.offset(f.sought+1)-f.offset(f.sought))
		s.time = f.flight.Fixes[0].Time.Add(offset)
		s.altitudeFt += part * (after.altitudeFt - s.altitudeFt)
		s.speedKt += part * (after.speedKt - s.speedKt)
	}
	return s
}

func (f *recordedFlight) next() (time.Duration, ownState, bool) {
	if f.given == len(f.flight.Fixes) {
		f.ended = true
		return 0, ownState{}, false
	}
	i := f.given
	f.given++
	return f.offset(i), f.state(i), true
}

func (f *recordedFlight) input() *control.Input {
	in := &control.Input{
		What: f.flight.Name, Read: f.flight.Lines, Used: len(f.flight.Fixes), Skipped: f.flight.Skipped,
		Malformed: f.flight.Malformed, Complete: f.ended,
	}
	for _, m := range f.flight.Named {
		in.Named = append(in.Named, m.String())
	}
	return in
}
