package igc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Fix is one B record.
type Fix struct {
	Line int // of the file, from 1
	Time time.Time
	Lat  float64 // degrees, north positive
	Lon  float64 // degrees, east positive
	// Valid3D is the A of the record: the altitude by GNSS is good. V means a fix in two dimensions, or none.
	Valid3D      bool
	PressureAltM int // above the 1013.25 hPa level, metres
	GNSSAltM     int // above the WGS-84 ellipsoid, metres
}

// Malformed names a line that could not be read.
type Malformed struct {
	Line   int
	Reason string
}

func (m Malformed) String() string { return fmt.Sprintf("line %d: %s", m.Line, m.Reason) }

// Flight is the content of a file.
type Flight struct {
	Name      string
	Fixes     []Fix
	Lines     int
	Skipped   int // lines of other records
	Malformed int
	Named     []Malformed // the first of the malformed lines; see maxNamed
	Backwards int         // fixes whose time is before that of the one before, on the same day
	Undated   bool        // no DTE record: fixes begin on 1 January 1970
}

// ErrNoFix means that a file holds no B record that can be read.
var ErrNoFix = errors.New("no fix")

const (
	maxLine  = 4096 // the format allows 76 characters, and recorders exceed it a little
	maxNamed = 100  // what is no flight at all must not fill the memory
)

// Parse reads a whole file, or until ctx ends; name stands for it in errors.
func Parse(ctx context.Context, name string, r io.Reader) (*Flight, error) {
	p := parser{flight: &Flight{Name: name}, day: time.Unix(0, 0).UTC()}
	p.flight.Undated = true
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		tooLong := false
		for errors.Is(err, bufio.ErrBufferFull) && ctx.Err() == nil {
			tooLong = true
			_, err = in.ReadSlice('\n')
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("igc: reading %s: %w", name, err)
		}
		if len(line) > 0 {
			p.flight.Lines++
			if tooLong {
				p.malformed(fmt.Sprintf("longer than %d bytes", maxLine))
			} else {
				p.line(bytes.TrimRight(line, "\r\n"))
			}
		}
		if err == io.EOF {
			break
		}
	}
	if len(p.flight.Fixes) == 0 {
		return nil, fmt.Errorf("igc: %s: %w: none of %d lines is a B record that can be read; is this an IGC file?",
			name, ErrNoFix, p.flight.Lines)
	}
	return p.flight, nil
}

type parser struct {
	flight *Flight
	day    time.Time
	last   time.Duration // time of day of the last fix
}

func (p *parser) malformed(reason string) {
	p.flight.Malformed++
	if len(p.flight.Named) < maxNamed {
		p.flight.Named = append(p.flight.Named, Malformed{p.flight.Lines, reason})
	}
}

func (p *parser) line(line []byte) {
	switch {
	case len(line) == 0:
		p.flight.Skipped++
	case line[0] == 'B':
		fix, sinceMidnight, reason := parseB(line)
		if reason != "" {
			p.malformed(reason)
			return
		}
		p.add(fix, sinceMidnight)
	case bytes.HasPrefix(line, []byte("HFDTE")):
		if day, ok := parseDate(line); ok {
			p.setDay(day)
			p.flight.Skipped++
		} else {
			p.malformed(fmt.Sprintf("date %q is not HFDTEddmmyy or HFDTEDATE:ddmmyy", line))
		}
	default:
		p.flight.Skipped++
	}
}

// setDay takes the date of an H record. Recorders repeat it, in the old spelling and the new; one that comes after
// fixes belongs to the rollover that the fixes tell already.
func (p *parser) setDay(day time.Time) {
	if len(p.flight.Fixes) == 0 {
		p.day = day
		p.flight.Undated = false
	}
}

func (p *parser) add(fix Fix, sinceMidnight time.Duration) {
	if len(p.flight.Fixes) > 0 && sinceMidnight < p.last {
		if p.last-sinceMidnight > 12*time.Hour {
			p.day = p.day.AddDate(0, 0, 1)
		} else {
			p.flight.Backwards++
		}
	}
	p.last = sinceMidnight
	fix.Line = p.flight.Lines
	fix.Time = p.day.Add(sinceMidnight)
	p.flight.Fixes = append(p.flight.Fixes, fix)
}

// parseB reads "BHHMMSSDDMMmmmNDDDMMmmmEAPPPPPGGGGG"; what extensions of the I record append is left alone.
func parseB(b []byte) (fix Fix, sinceMidnight time.Duration, reason string) {
	const size = 35
	if len(b) < size {
		return fix, 0, fmt.Sprintf("B record of %d characters, which needs %d", len(b), size)
	}
	f := fields{line: b}
	hour, minute, second := f.number(1, 2, 23, "hour"), f.number(3, 2, 59, "minute"), f.number(5, 2, 59, "second")
	fix.Lat = f.angle(7, 2, 90, 'N', 'S', "latitude")
	fix.Lon = f.angle(15, 3, 180, 'E', 'W', "longitude")
	switch b[24] {
	case 'A':
		fix.Valid3D = true
	case 'V':
	default:
		f.fail("validity %q is neither A nor V", b[24])
	}
	fix.PressureAltM = f.altitude(25, "pressure altitude")
	fix.GNSSAltM = f.altitude(30, "GNSS altitude")
	sinceMidnight = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return fix, sinceMidnight, f.reason
}

// fields reads parts of a line and keeps the first thing that is wrong.
type fields struct {
	line   []byte
	reason string
}

func (f *fields) fail(format string, args ...any) {
	if f.reason == "" {
		f.reason = fmt.Sprintf(format, args...)
	}
}

func (f *fields) number(at, digits, most int, what string) int {
	n := 0
	for _, c := range f.line[at : at+digits] {
		if c < '0' || c > '9' {
			f.fail("%s %q is not a number", what, f.line[at:at+digits])
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if n > most {
		f.fail("%s %d is above %d", what, n, most)
		return 0
	}
	return n
}

// angle reads degrees, minutes in thousandths, and the hemisphere.
func (f *fields) angle(at, digits, most int, plus, minus byte, what string) float64 {
	degrees := f.number(at, digits, most, what+" degrees")
	minutes := f.number(at+digits, 5, 59_999, what+" minutes")
	a := float64(degrees) + float64(minutes)/60_000
	if a > float64(most) {
		f.fail("%s is beyond %d degrees", what, most)
	}
	switch c := f.line[at+digits+5]; c {
	case plus:
		return a
	case minus:
		return -a
	default:
		f.fail("%s hemisphere %q is neither %c nor %c", what, c, plus, minus)
		return 0
	}
}

// altitude reads five characters, the first of which may be a minus.
func (f *fields) altitude(at int, what string) int {
	if f.line[at] == '-' {
		return -f.number(at+1, 4, 9999, what)
	}
	return f.number(at, 5, 99_999, what)
}

// parseDate reads HFDTEddmmyy, and the newer HFDTEDATE:ddmmyy,nn. Years from 70 are of the last century.
func parseDate(line []byte) (time.Time, bool) {
	rest := bytes.TrimPrefix(line, []byte("HFDTE"))
	rest = bytes.TrimSpace(bytes.TrimPrefix(rest, []byte("DATE:")))
	if len(rest) < 6 {
		return time.Time{}, false
	}
	day, err := time.Parse("020106", string(rest[:6]))
	return day, err == nil
}
