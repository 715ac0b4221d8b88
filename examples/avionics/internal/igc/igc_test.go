package igc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "AXXX001\r\nHFDTEDATE:230719,01\r\nHFDTE230719\r\nI013638FXA\r\n"

func TestParse(t *testing.T) {
	flight, err := Parse(t.Context(), "x.igc", strings.NewReader(head+
		"B0834374533430N00558757EA002370034500406\r\n"+
		"LXXX a comment\r\n"+
		"B1201004533430S00558757WV-0123-0045\n"+
		"B1200594533430S00558757WA0000000000")) // no newline at the end, and a second back
	require.NoError(t, err)
	require.Len(t, flight.Fixes, 3)
	assert.Equal(t, 8, flight.Lines)
	assert.Equal(t, 5, flight.Skipped)
	assert.Zero(t, flight.Malformed)
	assert.Equal(t, 1, flight.Backwards)
	assert.False(t, flight.Undated)

	a := flight.Fixes[0]
	assert.Equal(t, 5, a.Line)
	assert.Equal(t, time.Date(2019, 7, 23, 8, 34, 37, 0, time.UTC), a.Time)
	assert.InDelta(t, 45+33.430/60, a.Lat, 1e-9)
	assert.InDelta(t, 5+58.757/60, a.Lon, 1e-9)
	assert.True(t, a.Valid3D)
	assert.Equal(t, 237, a.PressureAltM)
	assert.Equal(t, 345, a.GNSSAltM)

	b := flight.Fixes[1]
	assert.Equal(t, []any{-123, -45, false}, []any{b.PressureAltM, b.GNSSAltM, b.Valid3D})
	assert.Negative(t, b.Lat)
	assert.Negative(t, b.Lon)
}

func TestDayRollsOverAtMidnightOnly(t *testing.T) {
	const place = "4533430N00558757EA0023700345\n"
	flight, err := Parse(t.Context(), "x", strings.NewReader(head+
		"B235958"+place+"B000002"+place+"B000001"+place+"HFDTE240719\n"+"B120000"+place))
	require.NoError(t, err)
	var got []string
	for _, f := range flight.Fixes {
		got = append(got, f.Time.Format("02 15:04:05"))
	}
	assert.Equal(t, []string{"23 23:59:58", "24 00:00:02", "24 00:00:01", "24 12:00:00"}, got)
	assert.Equal(t, 1, flight.Backwards)
}

func TestMalformedLinesAreNamed(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"B0834374533430N00558757EA002370034", "B record of 34 characters, which needs 35"},
		{"B2434374533430N00558757EA0023700345", "hour 24 is above 23"},
		{"B0860374533430N00558757EA0023700345", "minute 60 is above 59"},
		{"B08343x4533430N00558757EA0023700345", `second "3x" is not a number`},
		{"B0834379133430N00558757EA0023700345", "latitude degrees 91 is above 90"},
		{"B0834379000001N00558757EA0023700345", "latitude is beyond 90 degrees"},
		{"B0834374560000N00558757EA0023700345", "latitude minutes 60000 is above 59999"},
		{"B0834374533430X00558757EA0023700345", "latitude hemisphere 'X' is neither N nor S"},
		{"B0834374533430N18158757EA0023700345", "longitude degrees 181 is above 180"},
		{"B0834374533430N00558757EX0023700345", "validity 'X' is neither A nor V"},
		{"B0834374533430N00558757EA00-3700345", `pressure altitude "00-37" is not a number`},
		{"HFDTE330719", `date "HFDTE330719" is not HFDTEddmmyy or HFDTEDATE:ddmmyy`},
		{strings.Repeat("B", 10_000), "longer than 4096 bytes"},
	} {
		flight, err := Parse(t.Context(), "x", strings.NewReader(head+c.line+"\nB0834374533430N00558757EA0023700345\n"))
		require.NoError(t, err, c.line)
		require.Equal(t, 1, flight.Malformed, c.line)
		assert.Equal(t, "line 5: "+c.want, flight.Named[0].String())
		assert.Len(t, flight.Fixes, 1, "the line after it is read")
	}
}

func TestNoFixIsAnError(t *testing.T) {
	_, err := Parse(t.Context(), "photo.jpg", strings.NewReader("\xff\xd8\xff\xe0 no flight\n"))
	require.ErrorIs(t, err, ErrNoFix)
	assert.Equal(t, "igc: photo.jpg: no fix: none of 1 lines is a B record that can be read; is this an IGC file?", err.Error())

	_, err = Parse(t.Context(), "x", errReader{})
	assert.ErrorIs(t, err, errRead)
}

var errRead = errors.New("disk on fire")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errRead }

// Cut anywhere, a file gives the fixes before the cut and at most one malformed line.
func TestCutAtEveryByte(t *testing.T) {
	text := head + strings.Repeat("B0834374533430N00558757EA0023700345\r\n", 3)
	for n := range len(text) {
		flight, err := Parse(t.Context(), "x", strings.NewReader(text[:n]))
		if err != nil {
			require.ErrorIs(t, err, ErrNoFix)
			continue
		}
		assert.LessOrEqual(t, flight.Malformed, 1)
	}
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

func TestEndlessLineIsLeftWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Parse(ctx, "x", &endless{cancel: cancel})
	require.ErrorIs(t, err, context.Canceled)
}

func TestOnlyTheFirstMalformedLinesAreNamed(t *testing.T) {
	flight, err := Parse(t.Context(), "x", strings.NewReader(head+strings.Repeat("B junk\n", 2*maxNamed)+"B0834374533430N00558757EA0023700345\n"))
	require.NoError(t, err)
	assert.Equal(t, 2*maxNamed, flight.Malformed)
	assert.Len(t, flight.Named, maxNamed)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "B0834374533430N00558757EA0023700345\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		flight, err := Parse(t.Context(), "x", strings.NewReader(string(data)))
		if err != nil {
			return
		}
		if flight.Lines != flight.Skipped+len(flight.Fixes)+flight.Malformed {
			t.Fatalf("%d lines, but %d skipped, %d fixes, %d malformed", flight.Lines, flight.Skipped, len(flight.Fixes), flight.Malformed)
		}
		for _, fix := range flight.Fixes {
			if fix.Lat < -90 || fix.Lat > 90 || fix.Lon < -180 || fix.Lon > 180 {
				t.Fatalf("fix off the Earth: %+v", fix)
			}
		}
	})
}

func TestRecording(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "..", "shared", "data", "glider-flight.igc")
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("the recorded flight is not beside this repository: %v", err)
	}
	defer file.Close()
	flight, err := Parse(t.Context(), path, file)
	require.NoError(t, err)
	assert.Len(t, flight.Fixes, 8154)
	assert.Zero(t, flight.Malformed)
	assert.Zero(t, flight.Backwards)
	valid := 0
	for _, f := range flight.Fixes {
		if f.Valid3D {
			valid++
		}
	}
	assert.Equal(t, 7883, valid)
	first, last := flight.Fixes[0].Time, flight.Fixes[8153].Time
	assert.Equal(t, "2019-07-23 08:34:37", first.Format(time.DateTime))
	assert.Equal(t, "2019-07-23 17:41:19", last.Format(time.DateTime))
}
