package model

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
)

// Epoch is the time at which every synthetic flight begins.
var Epoch = time.Date(2030, time.June, 1, 9, 0, 0, 0, time.UTC)

// step is how finely the flight is integrated. It is fixed, so that whoever advances in other portions gets the same
// flight to the last bit.
const step = 10 * time.Millisecond

const (
	gravity      = 9.80665 // m/s²
	maxBank      = 25.0    // degrees
	maxClimb     = 1800.0  // feet a minute
	acceleration = 1.5     // knots a second
	metresPerSec = geo.MetresPerNM / 3600
)

// State is where own-ship is and how it moves.
type State struct {
	At           time.Duration // since Epoch
	Place        geo.Point
	AltitudeFt   float64 // pressure altitude
	SpeedKt      float64 // over ground, and through the air: there is no wind
	Track        float64 // degrees true
	VerticalRate float64 // feet a minute
}

// Flight is own-ship's flight.
type Flight struct {
	state State
	rng   *rand.Rand
	// What the state is steered to, until when.
	track, altitude, speed float64
	until                  time.Duration
}

// NewFlight makes the flight of a seed, at its beginning.
func NewFlight(seed uint64) *Flight {
	f := &Flight{rng: rand.New(rand.NewPCG(seed, 1))}
	f.state = State{
		Place:      geo.Point{Lat: 47.2 + f.rng.Float64(), Lon: 7.5 + f.rng.Float64()},
		AltitudeFt: 9000 + 1000*float64(f.rng.IntN(12)),
		SpeedKt:    220 + 60*f.rng.Float64(),
		Track:      360 * f.rng.Float64(),
	}
	f.track, f.altitude, f.speed = f.state.Track, f.state.AltitudeFt, f.state.SpeedKt
	f.until = 40 * time.Second // straight ahead at first
	return f
}

// State is where own-ship is now.
func (f *Flight) State() State { return f.state }

// Advance flies on to the last step at or before the time.
func (f *Flight) Advance(to time.Duration) {
	for f.state.At+step <= to {
		f.stepOnce()
	}
}

func (f *Flight) stepOnce() {
	s := &f.state
	if s.At >= f.until {
		f.command()
	}
	dt := step.Seconds()
	turnRate := gravity * math.Tan(maxBank*math.Pi/180) / (s.SpeedKt * metresPerSec) * 180 / math.Pi
	s.Track = geo.Wrap360(s.Track + clamp(geo.Wrap180(f.track-s.Track), turnRate*dt))
	s.SpeedKt += clamp(f.speed-s.SpeedKt, acceleration*dt)
	climb := clamp(f.altitude-s.AltitudeFt, maxClimb/60*dt)
	s.AltitudeFt += climb
	s.VerticalRate = climb / dt * 60
	s.Place = geo.Destination(s.Place, s.Track, s.SpeedKt*dt/3600)
	s.At += step
}

// command draws what to do next.
func (f *Flight) command() {
	f.until = f.state.At + time.Duration(20+f.rng.IntN(60))*time.Second
	switch f.rng.IntN(3) {
	case 0:
		f.track = geo.Wrap360(f.track + float64(f.rng.IntN(241)-120))
	case 1:
		f.altitude = math.Max(5000, math.Min(24_000, f.altitude+1000*float64(f.rng.IntN(9)-4)))
	case 2:
		f.speed = 200 + 90*f.rng.Float64()
	}
}

func clamp(x, limit float64) float64 { return math.Max(-limit, math.Min(limit, x)) }
