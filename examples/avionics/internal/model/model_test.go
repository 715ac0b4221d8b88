package model

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
	"github.com/omg-dds-go/dds/examples/avionics/internal/sbs1"
)

func TestSameSeedSameFlight(t *testing.T) {
	a, b, other := NewFlight(7), NewFlight(7), NewFlight(8)
	a.Advance(10 * time.Minute)
	for at := time.Duration(0); at <= 10*time.Minute; at += 333 * time.Millisecond {
		b.Advance(at)
	}
	b.Advance(10 * time.Minute)
	other.Advance(10 * time.Minute)
	assert.Equal(t, a.State(), b.State(), "portions do not matter")
	assert.NotEqual(t, a.State(), other.State())
}

func TestFlightKeepsItsLimits(t *testing.T) {
	f := NewFlight(3)
	last := f.State()
	for at := time.Second; at < 30*time.Minute; at += time.Second {
		f.Advance(at)
		s := f.State()
		assert.Equal(t, at, s.At)
		assert.InDelta(t, (last.SpeedKt+s.SpeedKt)/2/3600, geo.Range(last.Place, s.Place), 1e-3)
		assert.LessOrEqual(t, math.Abs(s.VerticalRate), maxClimb+1e-6)
		assert.LessOrEqual(t, math.Abs(geo.Wrap180(s.Track-last.Track)), 3.0, "about twice a standard turn at most")
		assert.True(t, s.AltitudeFt >= 5000 && s.AltitudeFt <= 24_000)
		last = s
	}
}

// The table of ISO 2533.
func TestStandardAtmosphere(t *testing.T) {
	for _, c := range []struct{ ft, hPa, celsius float64 }{
		{0, 1013.25, 15}, {10_000, 696.82, -4.81}, {18_000, 506.0, -20.66}, {36_089.24, 226.32, -56.5}, {45_000, 226.32, -56.5},
	} {
		a := AirAt(c.ft, 250)
		assert.InDelta(t, c.hPa, a.StaticPressureHPa, 0.1)
		assert.InDelta(t, c.celsius, a.StaticTemperatureC, 0.01)
	}
	sea := AirAt(0, 250)
	assert.InDelta(t, 250, sea.IndicatedKt, 1e-6, "at sea level true is indicated")
	assert.InDelta(t, 250/661.4788, sea.Mach, 1e-9)
	// At 20,000 ft a true airspeed of 340 kt is about 252 kt calibrated and Mach 0.553.
	high := AirAt(20_000, 340)
	assert.InDelta(t, 253, high.IndicatedKt, 2)
	assert.InDelta(t, 0.553, high.Mach, 0.001)
}

func TestSensorsDiffer(t *testing.T) {
	one, again, two := NewSensor(5, 1), NewSensor(5, 1), NewSensor(5, 2)
	a := one.Measure(10_000, 250)
	assert.Equal(t, a, again.Measure(10_000, 250))
	b := two.Measure(10_000, 250)
	assert.NotEqual(t, a, b)
	assert.InDelta(t, a.PressureAltitudeFt, b.PressureAltitudeFt, 50)
}

func TestTraffic(t *testing.T) {
	a, b := NewTraffic(7, 12), NewTraffic(7, 12)
	var table sbs1.Table
	last := time.Duration(0)
	for range 20_000 {
		at, m := a.Next()
		atB, mB := b.Next()
		require.Equal(t, at, atB)
		require.Equal(t, *m, *mB)
		require.GreaterOrEqual(t, at, last)
		require.Equal(t, Epoch.Add(at), m.Generated)
		last = at
		table.Apply(m)
	}
	require.Equal(t, 12, table.Len())
	for _, tr := range table.All() {
		const all = sbs1.HasCallsign | sbs1.HasAltitude | sbs1.HasGroundSpeed | sbs1.HasTrack | sbs1.HasPosition | sbs1.HasSquawk
		assert.Equal(t, all, tr.Has&all, "%06X", tr.ICAO)
	}
	assert.Greater(t, last, 5*time.Minute)
}

func TestTrafficComesClose(t *testing.T) {
	flight, traffic := NewFlight(7), NewTraffic(7, 12)
	close := map[uint32]float64{}
	for {
		at, m := traffic.Next()
		if at > 21*time.Minute {
			break
		}
		if m.Has&sbs1.HasPosition == 0 {
			continue
		}
		flight.Advance(at)
		own := flight.State()
		r := geo.Range(own.Place, geo.Point{Lat: m.Lat, Lon: m.Lon})
		if best, ok := close[m.ICAO]; (!ok || r < best) && math.Abs(own.AltitudeFt-float64(m.AltitudeFt)) < 800 {
			close[m.ICAO] = r
		}
	}
	near := 0
	for _, r := range close {
		if r < 2 {
			near++
		}
	}
	assert.GreaterOrEqual(t, near, 4)
}
