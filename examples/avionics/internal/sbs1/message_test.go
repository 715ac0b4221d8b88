package sbs1

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	positionLine = "MSG,3,111,11111,789252,111111,2022/01/08,22:42:15.605,2022/01/08,22:42:15.566,,28000,,,34.43697,136.04449,,,,,,0"
	velocityLine = "MSG,4,111,11111,789252,111111,2022/01/08,22:42:16.244,2022/01/08,22:42:16.220,,,387.5,248,,,-64,,,,,0"
	callsignLine = "MSG,1,111,11111,789252,111111,2022/01/08,22:42:16.984,2022/01/08,22:42:16.942,AHK209  ,,,,,,,,,,,0"
	squawkLine   = "MSG,6,111,11111,789252,111111,2022/01/08,22:42:17.110,2022/01/08,22:42:17.073,,,,,,,,3276,-1,0,1,0"
)

func TestParse(t *testing.T) {
	m, err := parse([]byte(positionLine))
	require.NoError(t, err)
	assert.Equal(t, Message{
		Type: 3, ICAO: 0x789252,
		Generated: time.Date(2022, 1, 8, 22, 42, 15, 605e6, time.UTC),
		Logged:    time.Date(2022, 1, 8, 22, 42, 15, 566e6, time.UTC),
		Has:       HasAltitude | HasPosition | HasOnGround, AltitudeFt: 28000, Lat: 34.43697, Lon: 136.04449,
	}, m)

	m, err = parse([]byte(velocityLine))
	require.NoError(t, err)
	assert.Equal(t, HasGroundSpeed|HasTrack|HasVerticalRate|HasOnGround, m.Has)
	assert.Equal(t, []any{387.5, 248.0, -64}, []any{m.GroundSpeed, m.Track, m.VerticalRate})

	m, err = parse([]byte(callsignLine))
	require.NoError(t, err)
	assert.Equal(t, "AHK209", m.Callsign)

	m, err = parse([]byte(squawkLine))
	require.NoError(t, err)
	assert.Equal(t, []any{uint16(0o3276), true, false, true, false}, []any{m.Squawk, m.Alert, m.Emergency, m.SPI, m.OnGround})
}

func TestMalformedLines(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(positionLine, old, new, 1) }
	for _, c := range []struct{ line, want string }{
		{"hello", `it begins with "hello", which is no kind of line`},
		{"MSG,3,111", "3 fields, where a MSG line has 22"},
		{positionLine + ",", "23 fields, where a MSG line has 22"},
		{replace("MSG,3", "MSG,9"), "transmission type 9 is not between 1 and 8"},
		{replace("MSG,3", "MSG,"), `transmission type "" is not a number`},
		{replace("789252", "78925"), `ICAO address "78925" is not six hexadecimal digits`},
		{replace("789252", "78925G"), `ICAO address "78925G" is not six hexadecimal digits`},
		{replace("22:42:15.605", "25:42:15.605"), `date generated "2022/01/08" "25:42:15.605" is not YYYY/MM/DD hh:mm:ss.mmm`},
		{replace("28000", "FL280"), `altitude "FL280" is not a number`},
		{replace("28000", "NaN"), `altitude "NaN" is not a number`},
		{replace("28000", "1e9"), "altitude 1e9 is not between -2000 and 150000"},
		{replace("34.43697", "91"), "latitude 91 is not between -90 and 90"},
		{replace("34.43697", ""), `a position with latitude "" and longitude "136.04449"`},
		{strings.Replace(squawkLine, "3276", "3286", 1), `squawk "3286" is not four octal digits`},
		{strings.Replace(squawkLine, ",-1,", ",yes,", 1), `alert "yes" is neither 0 nor 1`},
		{strings.Replace(callsignLine, "AHK209  ", "AHK209XYZ", 1), `callsign "AHK209XYZ" is longer than 8 characters`},
		{strings.Replace(callsignLine, "AHK209  ", "AHK\x1b209", 1), `callsign "AHK\x1b209" is not printable`},
	} {
		_, err := parse([]byte(c.line))
		require.Error(t, err, c.line)
		assert.Equal(t, c.want, err.Error())
	}
}

func TestRecordingIsReadToItsEnd(t *testing.T) {
	text := positionLine + "\r\n" + "SEL,,496,2286,4CA4E5,27215,2010/02/19,18:06:07.710,,,RYR1427\n" + "\n" +
		"garbage\n" + strings.Repeat("x", 10_000) + "\n" + velocityLine // no newline at the end
	s := newFileSource("x", io.NopCloser(strings.NewReader(text)))
	var types []int
	for {
		m, err := s.Next(context.Background())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		types = append(types, m.Type)
	}
	assert.Equal(t, []int{3, 4}, types)
	st := s.Stats()
	assert.Equal(t, []int{6, 2, 2, 2}, []int{st.Lines, st.Messages, st.Other, st.Malformed})
	assert.Equal(t, `line 4: it begins with "garbage", which is no kind of line`, st.Named[0].String())
	assert.Equal(t, "line 5: longer than 1024 bytes", st.Named[1].String())
	_, err := s.Next(context.Background())
	assert.Equal(t, io.EOF, err)

	_, err = Open("/does/not/exist")
	assert.Error(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = newFileSource("x", io.NopCloser(strings.NewReader(text))).Next(ctx)
	assert.True(t, errors.Is(err, context.Canceled))
}

// endless is a line without an end, and ends a context after a while.
type endless struct {
	reads  int
	cancel context.CancelFunc
}

func (e *endless) Read(b []byte) (int, error) {
	if e.reads++; e.reads == 100 {
		e.cancel()
	}
	return len(b), nil
}

func (e *endless) Close() error { return nil }

func TestEndlessLineIsLeftWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := newFileSource("x", &endless{cancel: cancel}).Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTracksAccumulate(t *testing.T) {
	var table Table
	var last *Track
	for _, line := range []string{positionLine, velocityLine, callsignLine, squawkLine, strings.Replace(velocityLine, "789252", "0000FF", 1)} {
		m, err := parse([]byte(line))
		require.NoError(t, err)
		tr := table.Apply(&m)
		if m.ICAO == 0x789252 {
			last = tr
		}
	}
	assert.Equal(t, 4, last.Messages)
	assert.Equal(t, 6, last.Type)
	assert.Equal(t, HasSquawk|HasAlert|HasEmergency|HasSPI|HasOnGround, last.Updated)
	assert.Equal(t, []any{"AHK209", 28000, 34.43697, 387.5, 248.0, uint16(0o3276)},
		[]any{last.Callsign, last.AltitudeFt, last.Lat, last.GroundSpeed, last.Message.Track, last.Squawk})
	assert.Equal(t, "22:42:15.605", last.PositionAt.Format("15:04:05.000"))
	assert.Equal(t, 2, table.Len())
	assert.Equal(t, uint32(0xFF), table.All()[0].ICAO)
}

func drawMessage(t *rapid.T) Message {
	stamp := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "stamp")).UTC()
	m := Message{
		Type: rapid.IntRange(1, 8).Draw(t, "type"), ICAO: uint32(rapid.IntRange(0, 1<<24-1).Draw(t, "icao")),
		Generated: stamp, Logged: stamp, Has: Fields(rapid.IntRange(0, 1<<11-1).Draw(t, "has")),
	}
	has := func(f Fields) bool { return m.Has&f != 0 }
	if has(HasCallsign) {
		m.Callsign = rapid.StringMatching(`[A-Z0-9]{1,8}`).Draw(t, "callsign")
	}
	if has(HasAltitude) {
		m.AltitudeFt = rapid.IntRange(-2000, 60_000).Draw(t, "altitude")
	}
	if has(HasGroundSpeed) {
		m.GroundSpeed = rapid.Float64Range(0, 5000).Draw(t, "speed")
	}
	if has(HasTrack) {
		m.Track = rapid.Float64Range(0, 360).Draw(t, "track")
	}
	if has(HasPosition) {
		m.Lat, m.Lon = rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")
	}
	if has(HasVerticalRate) {
		m.VerticalRate = rapid.IntRange(-6000, 6000).Draw(t, "rate")
	}
	if has(HasSquawk) {
		m.Squawk = uint16(rapid.IntRange(0, 0o7777).Draw(t, "squawk"))
	}
	m.Alert = has(HasAlert) && rapid.Bool().Draw(t, "alert")
	m.Emergency = has(HasEmergency) && rapid.Bool().Draw(t, "emergency")
	m.SPI = has(HasSPI) && rapid.Bool().Draw(t, "spi")
	m.OnGround = has(HasOnGround) && rapid.Bool().Draw(t, "ground")
	return m
}

func TestAppendLineAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		got, err := parse(m.AppendLine(nil))
		require.NoError(t, err)
		require.Equal(t, m, got)
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{positionLine, velocityLine, callsignLine, squawkLine, "SEL,x", "MSG,,,"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			return
		}
		again, err := parse(m.AppendLine(nil))
		if err != nil {
			t.Fatalf("%q was read, but not what it was written as, %q: %v", line, m.AppendLine(nil), err)
		}
		if again.ICAO != m.ICAO || again.Has != m.Has {
			t.Fatalf("%q: %+v, then %+v", line, m, again)
		}
	})
}
