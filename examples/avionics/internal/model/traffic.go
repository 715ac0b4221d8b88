package model

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/geo"
	"github.com/omg-dds-go/dds/examples/avionics/internal/sbs1"
)

// Traffic is what a receiver on board hears of the aircraft around own-ship.
type Traffic struct {
	queue   queue
	message sbs1.Message
}

// aircraft flies straight and level.
type aircraft struct {
	icao     uint32
	callsign string
	squawk   uint16
	start    geo.Point // where it is at Epoch
	altitude float64
	velocity geo.Velocity
	rng      *rand.Rand
	turn     int // of the cycle of messages

	at time.Duration // of its next message
}

// NewTraffic makes n aircraft. The first comes towards own-ship from 6.9 NM ahead as the flight begins; every third one
// passes close to it some time within the first twenty minutes.
func NewTraffic(seed uint64, n int) *Traffic {
	rng := rand.New(rand.NewPCG(seed, 2))
	own := NewFlight(seed).State()
	meetings := meetingStates(seed, rng, n/3+1)
	t := &Traffic{}
	for i := range n {
		a := &aircraft{
			icao:     0x4B0000 | uint32(i)<<8 | uint32(rng.IntN(256)), // i keeps them apart
			callsign: fmt.Sprintf("SYN%03d", i+1),
			squawk:   uint16(rng.IntN(0o7000) + 0o1000),
			velocity: geo.Velocity{Speed: 180 + 280*rng.Float64(), Track: 360 * rng.Float64()},
			rng:      rand.New(rand.NewPCG(seed, 1000+uint64(i))),
		}
		switch {
		case i == 0:
			a.start = geo.Destination(own.Place, own.Track, 6.9)
			a.altitude = own.AltitudeFt + 500
			a.velocity = geo.Velocity{Speed: 300, Track: geo.Wrap360(own.Track + 182)}
		case i%3 == 0:
			a.meet(meetings[i/3-1], rng)
		default:
			a.start = geo.Destination(own.Place, 360*rng.Float64(), 8+50*rng.Float64())
			a.altitude = 5000 + 500*float64(rng.IntN(70))
		}
		a.at = time.Duration(rng.IntN(400)) * time.Millisecond
		t.queue = append(t.queue, a)
	}
	heap.Init(&t.queue)
	return t
}

// meetingStates gives states of own-ship at n times within the first twenty minutes.
func meetingStates(seed uint64, rng *rand.Rand, n int) []State {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = time.Duration(30+rng.IntN(1170)) * time.Second
	}
	slices.Sort(times)
	flight := NewFlight(seed)
	states := make([]State, n)
	for i, at := range times {
		flight.Advance(at)
		states[i] = flight.State()
	}
	return states
}

// meet places the aircraft so that it passes within 1.5 NM and 600 feet of that state of own-ship.
func (a *aircraft) meet(own State, rng *rand.Rand) {
	there := geo.Destination(own.Place, 360*rng.Float64(), 1.5*rng.Float64())
	a.start = geo.Destination(there, a.velocity.Track+180, a.velocity.Speed*own.At.Hours())
	a.altitude = own.AltitudeFt + 1200*rng.Float64() - 600
}

// Next gives the next message and its time since Epoch. The message is valid until the next call.
func (t *Traffic) Next() (time.Duration, *sbs1.Message) {
	a := t.queue[0]
	at := a.at
	t.message = a.speak()
	a.at += time.Duration(120+a.rng.IntN(160)) * time.Millisecond
	heap.Fix(&t.queue, 0)
	return at, &t.message
}

// speak makes the aircraft's next message. A transponder sends position and velocity twice a second, and the rest now
// and then; like those of a real receiver, most messages say little.
func (a *aircraft) speak() sbs1.Message {
	stamp := Epoch.Add(a.at)
	m := sbs1.Message{ICAO: a.icao, Generated: stamp, Logged: stamp, Has: sbs1.HasOnGround}
	turn := a.turn % 20
	a.turn++
	switch {
	case turn == 0:
		m.Type, m.Callsign = 1, a.callsign
		m.Has |= sbs1.HasCallsign
	case turn == 10:
		m.Type, m.Squawk, m.AltitudeFt = 6, a.squawk, a.altitudeNow()
		m.Has |= sbs1.HasSquawk | sbs1.HasAltitude | sbs1.HasAlert | sbs1.HasEmergency | sbs1.HasSPI
	case turn%5 == 3:
		m.Type, m.AltitudeFt = 5, a.altitudeNow()
		m.Has |= sbs1.HasAltitude
	case turn%2 == 1:
		p := geo.Destination(a.start, a.velocity.Track, a.velocity.Speed*a.at.Hours())
		m.Type, m.Lat, m.Lon, m.AltitudeFt = 3, round(p.Lat), round(p.Lon), a.altitudeNow()
		m.Has |= sbs1.HasPosition | sbs1.HasAltitude
	default:
		m.Type, m.GroundSpeed, m.Track = 4, float64(int(a.velocity.Speed)), float64(int(a.velocity.Track))
		m.Has |= sbs1.HasGroundSpeed | sbs1.HasTrack | sbs1.HasVerticalRate
	}
	return m
}

// altitudeNow is in steps of 25 feet, as transponders report it.
func (a *aircraft) altitudeNow() int { return 25 * int(a.altitude/25) }

// round keeps five decimals, as receivers print positions.
func round(degrees float64) float64 { return float64(int(degrees*1e5)) / 1e5 }

// queue orders aircraft by the time of their next message, and then by address, so that the order is the same
// everywhere.
type queue []*aircraft

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].icao < q[j].icao
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*aircraft)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
