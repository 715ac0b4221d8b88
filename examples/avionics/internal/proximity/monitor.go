package proximity

import (
	"math"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
)

// Level is how urgent an aircraft is.
type Level int

// The levels, in ascending order.
const (
	Clear Level = iota
	Proximate
	Traffic
)

const (
	proximateNM = 6.0
	proximateFt = 1200.0
	trafficNM   = 3.0
	trafficFt   = 850.0
	closeNM     = 1.2
	tauLimit    = 40.0 // seconds
	hysteresis  = 1.2

	// RepeatEvery is how often a standing advisory is issued again with new figures.
	RepeatEvery = time.Second
	// StaleAfter is how long an aircraft may be silent.
	StaleAfter = 30 * time.Second
)

// Aircraft is what is known of one aircraft, own-ship included.
type Aircraft struct {
	At         time.Time
	Place      geo.Point
	AltitudeFt float64
	Velocity   geo.Velocity
}

// Advisory tells about one aircraft relative to own-ship.
type Advisory struct {
	ICAO            uint32
	Level           Level
	RangeNM         float64
	Bearing         float64 // degrees true
	RelativeBearing float64 // from own-ship's track
	RelativeFt      float64 // positive: it is above
	ClosureKt       float64 // positive: it comes closer
	Changed         bool    // the level is another than before
}

// Monitor keeps the level of each aircraft. The zero value is ready to use.
type Monitor struct {
	own    Aircraft
	hasOwn bool
	levels map[uint32]*standing
}

type standing struct {
	level  Level
	heard  time.Time
	issued time.Time
	last   Advisory
}

// Own takes own-ship's state.
func (m *Monitor) Own(a Aircraft) { m.own, m.hasOwn = a, true }

// Traffic takes another aircraft's state, and gives an advisory if one is due.
func (m *Monitor) Traffic(icao uint32, a Aircraft) (Advisory, bool) {
	if !m.hasOwn {
		return Advisory{}, false
	}
	s := m.levels[icao]
	if s == nil {
		s = &standing{}
		if m.levels == nil {
			m.levels = make(map[uint32]*standing)
		}
		m.levels[icao] = s
	}
	s.heard = a.At
	adv := m.assess(icao, a, s.level)
	adv.Changed = adv.Level != s.level
	due := adv.Changed || adv.Level != Clear && a.At.Sub(s.issued) >= RepeatEvery
	if due {
		s.issued = a.At
	}
	s.level, s.last = adv.Level, adv
	return adv, due
}

func (m *Monitor) assess(icao uint32, a Aircraft, before Level) Advisory {
	own := &m.own
	adv := Advisory{
		ICAO:       icao,
		RangeNM:    geo.Range(own.Place, a.Place),
		Bearing:    geo.Bearing(own.Place, a.Place),
		RelativeFt: a.AltitudeFt - own.AltitudeFt,
		ClosureKt:  geo.Closure(own.Place, own.Velocity, a.Place, a.Velocity),
	}
	adv.RelativeBearing = geo.Relative(adv.Bearing, own.Velocity.Track)
	// What an aircraft has already is left later than it is entered.
	wider := func(l Level) float64 {
		if before >= l {
			return hysteresis
		}
		return 1
	}
	vertical := math.Abs(adv.RelativeFt)
	tau := math.Inf(1)
	if adv.ClosureKt > 0 {
		tau = adv.RangeNM / adv.ClosureKt * 3600
	}
	switch w := wider(Traffic); {
	case vertical <= trafficFt*w && (adv.RangeNM <= closeNM*w || adv.RangeNM <= trafficNM*w && adv.ClosureKt > 0 || tau <= tauLimit*w):
		adv.Level = Traffic
	case adv.RangeNM <= proximateNM*wider(Proximate) && vertical <= proximateFt*wider(Proximate):
		adv.Level = Proximate
	}
	return adv
}

// Expire gives a Clear, with the figures last known, for each aircraft that stood above Clear and has not been heard
// for StaleAfter, by address. It forgets these, and those that stood at Clear.
func (m *Monitor) Expire(now time.Time) []Advisory {
	var due []Advisory
	for icao, s := range m.levels {
		if now.Sub(s.heard) < StaleAfter {
			continue
		}
		delete(m.levels, icao)
		if s.level != Clear {
			adv := s.last
			adv.Level, adv.Changed = Clear, true
			due = append(due, adv)
		}
	}
	slices.SortFunc(due, func(a, b Advisory) int { return int(a.ICAO) - int(b.ICAO) })
	return due
}
