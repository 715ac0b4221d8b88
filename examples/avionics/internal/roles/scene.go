package roles

import (
	"fmt"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
)

// scene is what a display shows: the latest of everything.
type scene struct {
	air       avionics.AirData
	own       avionics.Position
	traffic   map[uint32]*target
	advisory  map[uint32]avionics.Advisory // those above CLEAR
	logged    int
	lastEvent string
}

// target is another aircraft.
type target struct {
	icao, callsign      string
	reports             int
	known               uint16
	altitudeFt          int32
	speedKt, track      float32
	latitude, longitude float64
	heard               int64
}

func newScene() scene {
	return scene{traffic: make(map[uint32]*target), advisory: make(map[uint32]avionics.Advisory)}
}

func (s *scene) advise(a avionics.Advisory) {
	if a.Level == avionics.AdvisoryLevelClear {
		delete(s.advisory, a.Icao)
		return
	}
	s.advisory[a.Icao] = a
}

// line is the scene in one line.
func (s *scene) line() string {
	var b strings.Builder
	if s.own.Number == 0 {
		b.WriteString("no position yet")
	} else {
		fmt.Fprintf(&b, "%s %s %5.0f ft %3.0f kt %03.0f°", clock(s.own.FixedAt), place(s.own.Latitude, s.own.Longitude),
			s.own.PressureAltitudeFt, s.own.GroundSpeedKt, s.own.TrackDeg)
	}
	if s.air.Computer != 0 {
		fmt.Fprintf(&b, " | ADC%d %3.0f KIAS M%.2f", s.air.Computer, s.air.IndicatedAirspeedKt, s.air.Mach)
	}
	fmt.Fprintf(&b, " | %d aircraft", len(s.traffic))
	for _, icao := range sortedKeys(s.advisory) {
		a := s.advisory[icao]
		fmt.Fprintf(&b, " | %v %s %.1f NM %s %+.0f ft", a.Level, s.name(icao), a.RangeNm, oClock(a.RelativeBearingDeg), a.RelativeAltitudeFt)
	}
	return b.String()
}

// maxRows bounds the traffic table, so that two displays fit a terminal.
const maxRows = 12

// table is the scene as lines of a table.
func (s *scene) table() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.own.Number == 0 {
		add("own-ship  no position yet")
	} else {
		add("own-ship  %s  %s  %6.0f ft  %+5.0f fpm  GS %3.0f  TRK %03.0f  %v  fix %d", clock(s.own.FixedAt),
			place(s.own.Latitude, s.own.Longitude), s.own.PressureAltitudeFt, s.own.VerticalRateFpm, s.own.GroundSpeedKt,
			s.own.TrackDeg, s.own.Quality, s.own.Number)
	}
	if s.air.Computer == 0 {
		add("air data  none")
	} else {
		add("air data  computer %d  %6.0f ft  %3.0f KIAS  %3.0f KTAS  M %.3f  SAT %+.1f °C", s.air.Computer,
			s.air.PressureAltitudeFt, s.air.IndicatedAirspeedKt, s.air.TrueAirspeedKt, s.air.Mach, s.air.StaticAirTemperatureC)
	}
	add("%-7s %-8s %7s %5s %4s %8s %5s %-10s %7s", "ICAO", "callsign", "alt ft", "kt", "trk", "range NM", "brg", "advisory", "reports")
	keys := sortedKeys(s.traffic)
	for i, icao := range keys {
		if i == maxRows {
			add("... and %d more", len(keys)-maxRows)
			break
		}
		out = append(out, s.row(icao))
	}
	add("flight log %d records  %s", s.logged, s.lastEvent)
	return out
}

func (s *scene) row(icao uint32) string {
	t := s.traffic[icao]
	known := func(bit uint16, format string, args ...any) string {
		if t.known&bit == 0 {
			return "-"
		}
		return fmt.Sprintf(format, args...)
	}
	rng, bearing := "-", "-"
	if t.known&avionics.TrafficPosition != 0 && s.own.Number != 0 {
		own, there := geo.Point{Lat: s.own.Latitude, Lon: s.own.Longitude}, geo.Point{Lat: t.latitude, Lon: t.longitude}
		rng, bearing = fmt.Sprintf("%.1f", geo.Range(own, there)), fmt.Sprintf("%03.0f", geo.Bearing(own, there))
	}
	level := ""
	if a, ok := s.advisory[icao]; ok {
		level = a.Level.String()
	}
	return fmt.Sprintf("%-7s %-8s %7s %5s %4s %8s %5s %-10s %7d", t.icao, t.callsign,
		known(avionics.TrafficAltitude, "%d", t.altitudeFt), known(avionics.TrafficGroundSpeed, "%.0f", t.speedKt),
		known(avionics.TrafficTrack, "%03.0f", t.track), rng, bearing, level, t.reports)
}

// name is how the crew calls an aircraft.
func (s *scene) name(icao uint32) string {
	if t := s.traffic[icao]; t != nil && t.callsign != "" {
		return t.callsign
	}
	return icaoText(icao)
}

func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05") }

// place writes a position in degrees and minutes.
func place(lat, lon float64) string {
	part := func(v float64, width int, plus, minus string) string {
		letter := plus
		if v < 0 {
			v, letter = -v, minus
		}
		minutes := int(v*6000 + 0.5) // hundredths of a minute
		return fmt.Sprintf("%0*d°%05.2f'%s", width, minutes/6000, float64(minutes%6000)/100, letter)
	}
	return part(lat, 2, "N", "S") + " " + part(lon, 3, "E", "W")
}

// oClock gives a relative bearing as pilots say it.
func oClock(relative float32) string {
	hour := int((geo.Wrap360(float64(relative)) + 15) / 30)
	if hour%12 == 0 {
		hour = 12
	} else {
		hour %= 12
	}
	return fmt.Sprintf("%d o'clock", hour)
}
