package geo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestRangeAndBearing(t *testing.T) {
	const degree = 60.0404 // nautical miles of a degree on the mean sphere
	for _, c := range []struct {
		name          string
		a, b          Point
		rng, bearing  float64
		tolNM, tolDeg float64
	}{
		{"a degree of longitude on the equator", Point{0, 0}, Point{0, 1}, degree, 90, 0.001, 1e-9},
		{"a degree of latitude", Point{10, 20}, Point{11, 20}, degree, 0, 0.001, 1e-9},
		{"southward over the equator", Point{1, 5}, Point{-1, 5}, 2 * degree, 180, 0.002, 1e-9},
		{"over the date line", Point{0, 179.5}, Point{0, -179.5}, degree, 90, 0.001, 1e-9},
		{"pole to pole", Point{90, 0}, Point{-90, 0}, 180 * degree, 180, 0.2, 1e-9},
		{"same place", Point{52, 5}, Point{52, 5}, 0, 0, 0, 0},
		// London Heathrow to New York JFK: 2,991 NM on the ellipsoid, initial course 288.
		{"LHR-JFK", Point{51.4775, -0.4614}, Point{40.6398, -73.7789}, 2991, 288, 2991 * 0.0056, 0.2},
		// A quarter of the parallel of 35 degrees: by the cosine rule acos(sin²35) = 70.793 degrees of arc, and by
		// the sine rule the textbook's initial bearing of 60 degrees.
		{"Baghdad-Osaka", Point{35, 45}, Point{35, 135}, 70.793 * degree, 60.16, 0.1, 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.InDelta(t, c.rng, Range(c.a, c.b), c.tolNM, "range")
			assert.InDelta(t, c.bearing, Bearing(c.a, c.b), c.tolDeg, "bearing")
		})
	}
}

func TestClosure(t *testing.T) {
	a, b := Point{52, 5}, Point{52.1, 5} // b is due north of a
	for _, c := range []struct {
		name   string
		va, vb Velocity
		want   float64
	}{
		{"head on", Velocity{250, 0}, Velocity{200, 180}, 450},
		{"overtaking", Velocity{250, 0}, Velocity{200, 0}, 50},
		{"falling behind", Velocity{200, 0}, Velocity{250, 0}, -50},
		{"abeam", Velocity{250, 90}, Velocity{200, 270}, 0},
		{"at 60 degrees", Velocity{200, 60}, Velocity{0, 0}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.InDelta(t, c.want, Closure(a, c.va, b, c.vb), 0.01)
		})
	}
}

// Closure is the derivative of range: move both for a moment, forth and back, and measure. (Forth alone is not enough:
// who pass each other at a mile change their closure by a knot in that time.)
func TestClosureIsTheRateOfRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Point{rapid.Float64Range(-70, 70).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")}
		b := Destination(a, rapid.Float64Range(0, 360).Draw(t, "to"), rapid.Float64Range(1, 40).Draw(t, "nm"))
		va := Velocity{rapid.Float64Range(0, 500).Draw(t, "va"), rapid.Float64Range(0, 360).Draw(t, "ta")}
		vb := Velocity{rapid.Float64Range(0, 500).Draw(t, "vb"), rapid.Float64Range(0, 360).Draw(t, "tb")}
		const hours = 0.01 / 3600
		after := func(h float64) float64 {
			return Range(Destination(a, va.Track, va.Speed*h), Destination(b, vb.Track, vb.Speed*h))
		}
		assert.InDelta(t, (after(-hours)-after(hours))/(2*hours), Closure(a, va, b, vb), 0.02)
	})
}

func TestDestinationInvertsRangeAndBearing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Point{rapid.Float64Range(-80, 80).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")}
		course, nm := rapid.Float64Range(0, 359.9).Draw(t, "course"), rapid.Float64Range(0.01, 500).Draw(t, "nm")
		q := Destination(p, course, nm)
		assert.InDelta(t, nm, Range(p, q), 1e-5)
		assert.InDelta(t, 0, Wrap180(Bearing(p, q)-course), 1e-3)
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, to360, to180 float64 }{
		{0, 0, 0}, {360, 0, 0}, {-90, 270, -90}, {180, 180, 180}, {-180, 180, 180}, {540, 180, 180}, {725, 5, 5},
		{-1e-20, 0, 0},
	} {
		assert.InDelta(t, c.to360, Wrap360(c.in), 1e-9, "%v", c.in)
		assert.InDelta(t, c.to180, Wrap180(c.in), 1e-9, "%v", c.in)
		assert.Less(t, Wrap360(c.in), 360.0)
	}
	assert.InDelta(t, -30, Relative(340, 10), 1e-9)
	assert.False(t, math.IsNaN(Range(Point{90, 0}, Point{-90, 180})))
}
