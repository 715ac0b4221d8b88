package sbs1

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Fields tells which members of a Message or Track hold a value.
type Fields uint16

// The members that may be missing.
const (
	HasCallsign Fields = 1 << iota
	HasAltitude
	HasGroundSpeed
	HasTrack
	HasPosition
	HasVerticalRate
	HasSquawk
	HasAlert
	HasEmergency
	HasSPI
	HasOnGround
)

// Message is one MSG line.
type Message struct {
	Type      int    // transmission type, 1 to 8
	ICAO      uint32 // 24-bit address
	Generated time.Time
	Logged    time.Time

	Has          Fields
	Callsign     string
	AltitudeFt   int
	GroundSpeed  float64 // knots
	Track        float64 // degrees true
	Lat, Lon     float64 // degrees
	VerticalRate int     // feet a minute
	Squawk       uint16  // the four octal digits as a number in base 8
	Alert        bool
	Emergency    bool
	SPI          bool // ident
	OnGround     bool
}

// errOther means that a line is of a kind that carries no message.
var errOther = errors.New("not a MSG line")

const fieldCount = 22

// The fields of a line, by position.
const (
	fieldKind = iota
	fieldType
	_ // session
	_ // aircraft of the session
	fieldICAO
	_ // flight of the session
	fieldDateGenerated
	fieldTimeGenerated
	fieldDateLogged
	fieldTimeLogged
	fieldCallsign
	fieldAltitude
	fieldGroundSpeed
	fieldTrack
	fieldLat
	fieldLon
	fieldVerticalRate
	fieldSquawk
	fieldAlert
	fieldEmergency
	fieldSPI
	fieldOnGround
)

// kinds are the kinds of lines that receivers send.
var kinds = [...]string{"MSG", "SEL", "ID", "AIR", "STA", "CLK"}

// beginsLine tells whether text can be the beginning of a line, as opposed to the rest of one.
func beginsLine(text []byte) bool {
	for _, k := range kinds {
		if len(text) > len(k) && string(text[:len(k)]) == k && text[len(k)] == ',' {
			return true
		}
	}
	return false
}

// parse reads one line, without its end.
func parse(line []byte) (Message, error) {
	var fields [fieldCount][]byte
	n := bytes.Count(line, []byte{','}) + 1
	rest := line
	for i := range fields {
		fields[i], rest, _ = bytes.Cut(rest, []byte{','})
		fields[i] = bytes.TrimSpace(fields[i])
	}
	if string(fields[fieldKind]) != "MSG" {
		if beginsLine(line) {
			return Message{}, errOther
		}
		return Message{}, fmt.Errorf("it begins with %q, which is no kind of line", clip(fields[fieldKind]))
	}
	if n != fieldCount {
		return Message{}, fmt.Errorf("%d fields, where a MSG line has %d", n, fieldCount)
	}
	p := lineParser{fields: &fields}
	p.read()
	return p.m, p.err
}

// lineParser reads fields and keeps the first thing that is wrong.
type lineParser struct {
	fields *[fieldCount][]byte
	m      Message
	err    error
}

func (p *lineParser) read() {
	m := &p.m
	m.Type = int(p.number(fieldType, 1, 8, "transmission type"))
	m.ICAO = p.icao()
	m.Generated = p.stamp(fieldDateGenerated, fieldTimeGenerated, "generated")
	m.Logged = p.stamp(fieldDateLogged, fieldTimeLogged, "logged")
	if p.has(fieldCallsign, HasCallsign) {
		m.Callsign = p.callsign()
	}
	if p.has(fieldAltitude, HasAltitude) {
		m.AltitudeFt = int(p.number(fieldAltitude, -2000, 150_000, "altitude"))
	}
	if p.has(fieldGroundSpeed, HasGroundSpeed) {
		m.GroundSpeed = p.number(fieldGroundSpeed, 0, 5000, "ground speed")
	}
	if p.has(fieldTrack, HasTrack) {
		m.Track = p.number(fieldTrack, 0, 360, "track")
	}
	if lat, lon := p.has(fieldLat, 0), p.has(fieldLon, 0); lat != lon {
		p.fail("a position with latitude %q and longitude %q", p.fields[fieldLat], p.fields[fieldLon])
	} else if lat {
		m.Has |= HasPosition
		m.Lat = p.number(fieldLat, -90, 90, "latitude")
		m.Lon = p.number(fieldLon, -180, 180, "longitude")
	}
	if p.has(fieldVerticalRate, HasVerticalRate) {
		m.VerticalRate = int(p.number(fieldVerticalRate, -60_000, 60_000, "vertical rate"))
	}
	if p.has(fieldSquawk, HasSquawk) {
		m.Squawk = p.squawk()
	}
	m.Alert = p.flag(fieldAlert, HasAlert, "alert")
	m.Emergency = p.flag(fieldEmergency, HasEmergency, "emergency")
	m.SPI = p.flag(fieldSPI, HasSPI, "SPI")
	m.OnGround = p.flag(fieldOnGround, HasOnGround, "on ground")
}

func (p *lineParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// has tells whether a field holds something, and notes it in the message.
func (p *lineParser) has(field int, mark Fields) bool {
	if len(p.fields[field]) == 0 {
		return false
	}
	p.m.Has |= mark
	return true
}

// number reads a decimal number; receivers write whole numbers with and without a fraction.
func (p *lineParser) number(field int, least, most float64, what string) float64 {
	text := p.fields[field]
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) {
		p.fail("%s %q is not a number", what, clip(text))
		return 0
	}
	if v < least || v > most {
		p.fail("%s %s is not between %v and %v", what, clip(text), least, most)
		return 0
	}
	return v
}

func (p *lineParser) icao() uint32 {
	text := p.fields[fieldICAO]
	v, err := strconv.ParseUint(string(text), 16, 24)
	if err != nil || len(text) != 6 {
		p.fail("ICAO address %q is not six hexadecimal digits", clip(text))
		return 0
	}
	return uint32(v)
}

func (p *lineParser) squawk() uint16 {
	text := p.fields[fieldSquawk]
	v, err := strconv.ParseUint(string(text), 8, 12)
	if err != nil || len(text) > 4 {
		p.fail("squawk %q is not four octal digits", clip(text))
		return 0
	}
	return uint16(v)
}

func (p *lineParser) callsign() string {
	text := p.fields[fieldCallsign]
	if len(text) > 8 {
		p.fail("callsign %q is longer than 8 characters", clip(text))
		return ""
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			p.fail("callsign %q is not printable", text)
			return ""
		}
	}
	return string(text)
}

// flag reads 0, 1, or the -1 that some receivers write for true.
func (p *lineParser) flag(field int, mark Fields, what string) bool {
	if !p.has(field, mark) {
		return false
	}
	switch text := p.fields[field]; string(text) {
	case "0":
		return false
	case "1", "-1":
		return true
	default:
		p.fail("%s %q is neither 0 nor 1", what, clip(text))
		return false
	}
}

// stamp reads a date and a time of day, which are both there or both missing. Receivers do not tell the zone; it is
// taken as UTC.
func (p *lineParser) stamp(date, clock int, what string) time.Time {
	d, c := p.fields[date], p.fields[clock]
	if len(d) == 0 && len(c) == 0 {
		return time.Time{}
	}
	t, err := time.Parse("2006/01/02 15:04:05.999999999", string(d)+" "+string(c))
	if err != nil {
		p.fail("date %s %q %q is not YYYY/MM/DD hh:mm:ss.mmm", what, clip(d), clip(c))
		return time.Time{}
	}
	return t
}

// clip keeps messages about a bad field short.
func clip(text []byte) []byte {
	const most = 24
	if len(text) > most {
		return append(append([]byte(nil), text[:most]...), "..."...)
	}
	return text
}

// AppendLine appends the message as a line without its end. Parsing it gives the message again.
func (m *Message) AppendLine(b []byte) []byte {
	b = fmt.Appendf(b, "MSG,%d,1,1,%06X,1,", m.Type, m.ICAO)
	b = appendStamp(b, m.Generated)
	b = appendStamp(b, m.Logged)
	field := func(mark Fields, format string, args ...any) {
		if m.Has&mark != 0 {
			b = fmt.Appendf(b, format, args...)
		}
		b = append(b, ',')
	}
	field(HasCallsign, "%s", m.Callsign)
	field(HasAltitude, "%d", m.AltitudeFt)
	field(HasGroundSpeed, "%v", m.GroundSpeed)
	field(HasTrack, "%v", m.Track)
	field(HasPosition, "%v", m.Lat)
	field(HasPosition, "%v", m.Lon)
	field(HasVerticalRate, "%d", m.VerticalRate)
	field(HasSquawk, "%04o", m.Squawk)
	field(HasAlert, "%d", bit(m.Alert))
	field(HasEmergency, "%d", bit(m.Emergency))
	field(HasSPI, "%d", bit(m.SPI))
	field(HasOnGround, "%d", bit(m.OnGround))
	return b[:len(b)-1]
}

func appendStamp(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, ",,"...)
	}
	return t.AppendFormat(b, "2006/01/02,15:04:05.000,")
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}
