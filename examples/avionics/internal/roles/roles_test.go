package roles

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/igc"
	"github.com/omg-dds-go/dds/examples/avionics/internal/proximity"
	"github.com/omg-dds-go/dds/examples/avionics/internal/sbs1"
)

// Numbers that two packages share.
func TestSameNumbers(t *testing.T) {
	for bit, field := range map[uint16]sbs1.Fields{
		avionics.TrafficCallsign: sbs1.HasCallsign, avionics.TrafficAltitude: sbs1.HasAltitude,
		avionics.TrafficGroundSpeed: sbs1.HasGroundSpeed, avionics.TrafficTrack: sbs1.HasTrack,
		avionics.TrafficPosition: sbs1.HasPosition, avionics.TrafficVerticalRate: sbs1.HasVerticalRate,
		avionics.TrafficSquawk: sbs1.HasSquawk, avionics.TrafficAlert: sbs1.HasAlert,
		avionics.TrafficEmergency: sbs1.HasEmergency, avionics.TrafficIdent: sbs1.HasSPI, avionics.TrafficOnGround: sbs1.HasOnGround,
	} {
		assert.Equal(t, bit, uint16(field))
	}
	assert.Equal(t, avionics.AdvisoryLevelClear, avionics.AdvisoryLevel(proximity.Clear))
	assert.Equal(t, avionics.AdvisoryLevelProximate, avionics.AdvisoryLevel(proximity.Proximate))
	assert.Equal(t, avionics.AdvisoryLevelTraffic, avionics.AdvisoryLevel(proximity.Traffic))
}

func TestRecordedFlightBetweenFixes(t *testing.T) {
	file, err := igc.Parse(t.Context(), "x", strings.NewReader("HFDTE230719\n"+
		"B1000004730000N00800000EA0100001100\n"+
		"B1000104730000N00801000EA0110001200\n"+
		"B1000104730000N00801000EV0110001200\n"))
	require.NoError(t, err)
	f := newRecordedFlight(file)
	half := f.at(5 * time.Second)
	assert.Equal(t, "10:00:05", half.time.Format("15:04:05"))
	assert.InDelta(t, 1050/0.3048, half.altitudeFt, 0.01)
	assert.InDelta(t, 1100/0.3048, f.at(time.Hour).altitudeFt, 0.01, "the last fix holds")

	var offsets []time.Duration
	var last ownState
	for {
		at, s, ok := f.next()
		if !ok {
			break
		}
		offsets = append(offsets, at)
		last = s
		if len(offsets) == 2 {
			assert.InDelta(t, 90, s.track, 0.1)
			assert.InDelta(t, 0.6755*360, s.speedKt, 1) // a minute of longitude at 47.5 degrees, in ten seconds
			assert.InDelta(t, 100/0.3048*6, s.verticalRate, 0.1)
		}
	}
	assert.Equal(t, []time.Duration{0, 10 * time.Second, 10 * time.Second}, offsets)
	assert.Equal(t, avionics.FixQualityFix2d, last.quality)
	assert.Zero(t, last.speedKt, "two fixes at one time tell no speed")
	assert.True(t, f.input().Complete)
}

func TestSyntheticFlightEndsAsFastAsItGoes(t *testing.T) {
	s, err := newOwnShip(t.Context(), control.Config{Seed: 1})
	require.NoError(t, err)
	n := 0
	for {
		if _, _, ok := s.next(); !ok {
			break
		}
		n++
	}
	assert.Equal(t, 12_001, n, "twenty minutes at ten a second")
	_, err = newOwnShip(t.Context(), control.Config{Flight: "/does/not/exist.igc"})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestPacer(t *testing.T) {
	stop := make(chan struct{})
	began := time.Now()
	assert.True(t, newPacer(100).wait(context.Background(), stop, time.Second))
	assert.GreaterOrEqual(t, time.Since(began), 10*time.Millisecond)
	assert.True(t, newPacer(0).wait(context.Background(), stop, time.Hour), "as fast as it goes")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.False(t, newPacer(1).wait(ctx, stop, time.Hour))
	closeOnce(stop)
	closeOnce(stop)
	assert.False(t, newPacer(0).wait(context.Background(), stop, 0))
}

func TestIsAddress(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd:name")
	require.NoError(t, os.WriteFile(odd, nil, 0o600))
	for name, want := range map[string]bool{
		"localhost:30003": true, "[::1]:30003": true, ":30003": true, "feed.sbs1": false, "/a/b.sbs1": false, "localhost": false, odd: false,
	} {
		assert.Equal(t, want, IsAddress(name), name)
	}
}

func TestScene(t *testing.T) {
	s := newScene()
	assert.Equal(t, "no position yet | 0 aircraft", s.line())
	s.own = avionics.Position{Number: 1, Latitude: 47.5, Longitude: -8.999999, PressureAltitudeFt: 9000, GroundSpeedKt: 250, TrackDeg: 7}
	s.traffic[0x4B0001] = &target{icao: "4B0001", callsign: "SYN001", known: avionics.TrafficPosition, latitude: 47.6, longitude: -9}
	s.advise(avionics.Advisory{Icao: 0x4B0001, Level: avionics.AdvisoryLevelTraffic, RangeNm: 6, RelativeBearingDeg: -10, RelativeAltitudeFt: -200})
	assert.Equal(t, "00:00:00 47°30.00'N 009°00.00'W  9000 ft 250 kt 007° | 1 aircraft | TRAFFIC SYN001 6.0 NM 12 o'clock -200 ft", s.line())
	table := strings.Join(s.table(), "\n")
	assert.Contains(t, table, "4B0001  SYN001         -     -    -      6.0   360 TRAFFIC          0")
	s.advise(avionics.Advisory{Icao: 0x4B0001, Level: avionics.AdvisoryLevelClear})
	assert.Empty(t, s.advisory)
	for i := range uint32(20) {
		s.traffic[i] = &target{}
	}
	assert.LessOrEqual(t, len(s.table()), maxRows+5)
}

func TestOClock(t *testing.T) {
	for degrees, want := range map[float32]string{0: "12 o'clock", 14: "12 o'clock", 16: "1 o'clock", 90: "3 o'clock", -90: "9 o'clock", 180: "6 o'clock", -16: "11 o'clock", -10: "12 o'clock"} {
		assert.Equal(t, want, oClock(degrees), degrees)
	}
}

// A process was away when it stood still, and when the others went on without it though it did not.
func TestPresence(t *testing.T) {
	at := time.Unix(1000, 0)
	after := func(d time.Duration) time.Time { at = at.Add(d); return at }
	p := presence{last: at}
	assert.False(t, p.look(after(tellEvery), false))
	assert.False(t, p.look(after(stillness), false))
	assert.True(t, p.look(after(stillness+1), false))
	assert.False(t, p.returns(), "nobody has missed it")
	assert.False(t, p.look(after(tellEvery), false))
	assert.True(t, p.look(after(tellEvery), true))
	assert.False(t, p.look(after(tellEvery), false))
	assert.True(t, p.returns())
	assert.False(t, p.returns())
}
