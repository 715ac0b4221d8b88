package sbs1

import (
	"slices"
	"time"
)

// Track is all that the messages so far told about one aircraft.
type Track struct {
	Message           // Type and Generated are those of the latest message, the rest the latest value of each member
	Messages   int    // how many there were
	Updated    Fields // what the latest message brought
	PositionAt time.Time
}

// Table accumulates tracks by ICAO address. The zero value is empty.
type Table struct {
	tracks map[uint32]*Track
}

// Apply adds what a message tells, and gives the aircraft's track, which belongs to the table.
func (t *Table) Apply(m *Message) *Track {
	if t.tracks == nil {
		t.tracks = make(map[uint32]*Track)
	}
	tr := t.tracks[m.ICAO]
	if tr == nil {
		tr = &Track{}
		tr.ICAO = m.ICAO
		t.tracks[m.ICAO] = tr
	}
	tr.Messages++
	tr.Updated = m.Has
	tr.Type = m.Type
	tr.merge(m)
	return tr
}

func (tr *Track) merge(m *Message) {
	if !m.Generated.IsZero() {
		tr.Generated = m.Generated
	}
	if !m.Logged.IsZero() {
		tr.Logged = m.Logged
	}
	tr.Has |= m.Has
	has := func(f Fields) bool { return m.Has&f != 0 }
	if has(HasCallsign) {
		tr.Callsign = m.Callsign
	}
	if has(HasAltitude) {
		tr.AltitudeFt = m.AltitudeFt
	}
	if has(HasGroundSpeed) {
		tr.GroundSpeed = m.GroundSpeed
	}
	if has(HasTrack) {
		tr.Message.Track = m.Track
	}
	if has(HasPosition) {
		tr.Lat, tr.Lon = m.Lat, m.Lon
		tr.PositionAt = tr.Generated
	}
	if has(HasVerticalRate) {
		tr.VerticalRate = m.VerticalRate
	}
	if has(HasSquawk) {
		tr.Squawk = m.Squawk
	}
	if has(HasAlert) {
		tr.Alert = m.Alert
	}
	if has(HasEmergency) {
		tr.Emergency = m.Emergency
	}
	if has(HasSPI) {
		tr.SPI = m.SPI
	}
	if has(HasOnGround) {
		tr.OnGround = m.OnGround
	}
}

// Len is how many aircraft there are.
func (t *Table) Len() int { return len(t.tracks) }

// All lists the tracks by address.
func (t *Table) All() []*Track {
	list := make([]*Track, 0, len(t.tracks))
	for _, tr := range t.tracks {
		list = append(list, tr)
	}
	slices.SortFunc(list, func(a, b *Track) int { return int(a.ICAO) - int(b.ICAO) })
	return list
}
