package proximity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
)

var (
	start   = time.Date(2030, 6, 1, 9, 0, 0, 0, time.UTC)
	ownShip = Aircraft{At: start, Place: geo.Point{Lat: 47, Lon: 8}, AltitudeFt: 10_000, Velocity: geo.Velocity{Speed: 240, Track: 90}}
)

// target is seen from own-ship at that range and relative bearing.
func target(nm, relative, feet float64, v geo.Velocity) Aircraft {
	return Aircraft{
		At:         start,
		Place:      geo.Destination(ownShip.Place, ownShip.Velocity.Track+relative, nm),
		AltitudeFt: ownShip.AltitudeFt + feet, Velocity: v,
	}
}

func TestLevels(t *testing.T) {
	towards, along, away := geo.Velocity{Speed: 240, Track: 270}, ownShip.Velocity, geo.Velocity{Speed: 400, Track: 90}
	for _, c := range []struct {
		name string
		a    Aircraft
		want Level
	}{
		{"far", target(20, 0, 0, along), Clear},
		{"near", target(5, 30, 500, along), Proximate},
		{"near, but high above", target(5, 30, 1300, along), Clear},
		{"head on, 36 s away", target(4.8, 0, 0, towards), Traffic},
		{"head on, 36 s away, 1000 ft below", target(4.8, 0, -1000, towards), Proximate},
		{"head on, 75 s away", target(10, 0, 0, towards), Clear},
		{"close, and flying away", target(2.5, 0, 0, away), Proximate},
		{"very close, and flying away", target(1, 0, 0, away), Traffic},
		{"close behind, overtaking", target(2.5, 180, -300, away), Traffic},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m Monitor
			m.Own(ownShip)
			adv, due := m.Traffic(1, c.a)
			assert.Equal(t, c.want, adv.Level)
			assert.Equal(t, c.want != Clear, due)
		})
	}
}

func TestFigures(t *testing.T) {
	var m Monitor
	m.Own(ownShip)
	adv, due := m.Traffic(0xABC, target(2, -45, 400, geo.Velocity{Speed: 240, Track: 270}))
	require.True(t, due)
	assert.InDelta(t, 2, adv.RangeNM, 1e-6)
	assert.InDelta(t, 45, adv.Bearing, 0.05)
	assert.InDelta(t, -45, adv.RelativeBearing, 0.05)
	assert.InDelta(t, 400, adv.RelativeFt, 1e-6)
	assert.InDelta(t, 339.4, adv.ClosureKt, 0.5) // 2 * 240 * cos 45
	assert.True(t, adv.Changed)
}

func TestNothingWithoutOwnShip(t *testing.T) {
	var m Monitor
	_, due := m.Traffic(1, target(1, 0, 0, geo.Velocity{}))
	assert.False(t, due)
}

func TestRepeatsAndHysteresis(t *testing.T) {
	var m Monitor
	m.Own(ownShip)
	say := func(nm float64, after time.Duration) (Level, bool, bool) {
		a := target(nm, 90, 0, ownShip.Velocity)
		a.At = start.Add(after)
		adv, due := m.Traffic(1, a)
		return adv.Level, due, adv.Changed
	}
	type row struct {
		nm      float64
		after   time.Duration
		level   Level
		due     bool
		changed bool
	}
	for i, r := range []row{
		{6.1, 0, Clear, false, false},
		{5.9, 1 * time.Second, Proximate, true, true},
		{5.9, 1500 * time.Millisecond, Proximate, false, false},
		{6.5, 2 * time.Second, Proximate, true, false}, // beyond, but not a fifth beyond
		{7.3, 2100 * time.Millisecond, Clear, true, true},
		{6.5, 4 * time.Second, Clear, false, false}, // that distance does not begin it
	} {
		level, due, changed := say(r.nm, r.after)
		assert.Equal(t, r, row{r.nm, r.after, level, due, changed}, "row %d", i)
	}
}

func TestExpire(t *testing.T) {
	var m Monitor
	m.Own(ownShip)
	m.Traffic(9, target(5, 0, 0, ownShip.Velocity))
	m.Traffic(4, target(4, 0, 0, ownShip.Velocity))
	m.Traffic(7, target(50, 0, 0, ownShip.Velocity))
	assert.Empty(t, m.Expire(start.Add(StaleAfter-1)))
	gone := m.Expire(start.Add(StaleAfter))
	require.Len(t, gone, 2, "the one that was clear goes without a word")
	assert.Equal(t, []any{uint32(4), Clear, true}, []any{gone[0].ICAO, gone[0].Level, gone[0].Changed})
	assert.Empty(t, m.levels)
}
