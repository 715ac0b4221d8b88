package filter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The topics that the tests of joins by example use.
var (
	flightType = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKStructure, Name: "air::Flight", Extensibility: cdr.Final, Members: []xtypes.Member{
			{Name: "flight", AutoID: true, Type: xtypes.NewString(0), Key: true},
			{Name: "airplane", AutoID: true, Type: xtypes.NewString(0)},
			{Name: "order", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
		},
	}))
	airplaneType = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKStructure, Name: "air::Airplane", Extensibility: cdr.Appendable, Members: []xtypes.Member{
			{Name: "airplane", AutoID: true, Type: xtypes.NewString(0), Key: true},
			{Name: "at", AutoID: true, Type: pointType},
			{Name: "altitude", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
			{Name: "route", AutoID: true, Type: xtypes.Must(xtypes.NewSequence(pointType, 0))},
			{Name: "callsign", AutoID: true, Type: xtypes.NewString(8), Optional: true},
		},
	}))
	weatherType = structure("air::Weather", cdr.Final, "at", pointType)
	planType    = structure("air::Plan", cdr.Final, "flight", xtypes.Primitive(xtypes.TKInt32))
)

func airTypes(name string) (*xtypes.Type, error) {
	types := map[string]*xtypes.Type{"Flight": flightType, "Airplane": airplaneType, "Weather": weatherType, "Plan": planType, "rt/Flight": flightType, "Color": colorType}
	if t := types[name]; t != nil {
		return t, nil
	}
	return nil, errors.New("there is no topic " + name)
}

// fields lists the members of a type: "flight@ string".
func fields(t *xtypes.Type) string {
	s := ""
	for m := range t.Members() {
		mark := ""
		if m.Key {
			mark = "@"
		}
		if m.Optional {
			mark += "?"
		}
		s += fmt.Sprintf("%s%s %s; ", m.Name, mark, m.Type)
	}
	return s
}

// What the result of an expression has: names, keys and types.
func TestJoinType(t *testing.T) {
	for expression, want := range map[string]string{
		"SELECT * FROM Flight NATURAL JOIN Airplane;":                                                                      "flight@ string; airplane@ string; order int32; at geo::Point; altitude int32; route sequence<geo::Point>; callsign? string<8>; ",
		"select flight, at.x lon, at.y AS lat, callsign FROM Flight NATURAL INNER JOIN Airplane":                           "flight@ string; lon double; lat double; callsign? string<8>; ",
		"SELECT route[0].x as first, \"order\" FROM (Airplane INNER NATURAL JOIN Flight)":                                  "first? double; order int32; ",
		"SELECT airplane FROM Flight WHERE \"order\" > %0":                                                                 "airplane string; ",
		"SELECT airplane FROM 'rt/Flight'":                                                                                 "airplane string; ",
		"SELECT flight, altitude FROM Flight NATURAL JOIN (Airplane) WHERE altitude BETWEEN 1 AND %0 AND flight LIKE 'A%'": "flight@ string; altitude int32; ",
	} {
		j, err := NewJoin(expression, airTypes, nil, "air::Result", "5")
		if assert.NoError(t, err, expression) {
			assert.Equal(t, want, fields(j.Type()), expression)
			assert.Equal(t, "air::Result", j.Type().Name())
			assert.Equal(t, expression, j.Expression())
			assert.Equal(t, []string{"5"}, j.Parameters())
		}
	}
}

// Errors point at what is wrong.
func TestJoinErrors(t *testing.T) {
	result := structure("air::Seen", cdr.Final, "flight", xtypes.NewString(4), "altitude", xtypes.Primitive(xtypes.TKInt32))
	for _, c := range []struct {
		expression string
		typ        *xtypes.Type
		want       string
	}{
		{"SELECT * FROM Flight JOIN Airplane", nil, "unexpected key word JOIN; for a member of that name write \"JOIN\" with double quotes|JOIN"},
		{"SELECT * FROM Flight INNER JOIN Airplane", nil, "unexpected key word JOIN; for a member of that name write \"JOIN\" with double quotes|JOIN"},
		{"SELECT FROM Flight", nil, "unexpected key word FROM; for a member of that name write \"FROM\" with double quotes|FROM"},
		{"SELECT * FROM Flight WHERE", nil, "the expression ends too early|"},
		{"SELECT * FROM Boat", nil, "there is no topic Boat|Boat"},
		{"SELECT * FROM Flight NATURAL JOIN Flight", nil, "topic Flight is named twice|Flight"},
		{"SELECT * FROM Color", nil, "topic Color has type paint::Color, and only structures are joined|Color"},
		{"SELECT * FROM Airplane NATURAL JOIN Weather", nil, "topics have at in common, which in Airplane has type geo::Point, whose values are not compared; a natural join is on all members of equal names|Airplane"},
		{"SELECT * FROM Flight NATURAL JOIN Plan", nil, "topics have flight in common, of types string and int32, which can not be compared; a natural join is on all members of equal names|Plan"},
		{"SELECT flight, altitud FROM Flight NATURAL JOIN Airplane", nil, "altitud is no member of air::Flight or air::Airplane; did you mean altitude?|altitud"},
		{"SELECT at.z FROM Airplane", nil, "z is no member of geo::Point; it has x, y|z"},
		{"SELECT at.x, route[0].x FROM Airplane", nil, "the result has two members x; name one of them otherwise with AS|route[0].x"},
		{"SELECT route[0] FROM Airplane", nil, "an element has no name; name it with AS|route[0]"},
		{"SELECT at AS a.b FROM Airplane", nil, "a.b can not be the name of a member|a.b"},
		{"SELECT flight FROM Flight WHERE altitude > 3", nil, "altitude is no member of air::Flight; it has flight, airplane, order|altitude"},
		{"SELECT flight FROM Flight WHERE flight > 3", nil, "3 does not go with flight, which has type string; write a string in single quotes|3"},
		{"SELECT flight FROM Flight WHERE flight = %1", nil, "%1 has no value: 1 parameters are given|%1"},
		{"SELECT order FROM Flight", result, "the result, air::Seen, has no order; it has flight, altitude|order"},
		{"SELECT order AS altitude FROM Flight", result, "nothing is selected for flight of the result, air::Seen; select it, or make it @optional|SELECT"},
		{"SELECT flight, altitude FROM Flight NATURAL JOIN Airplane", result, "flight has type string, and flight of the result has string<4>|flight"},
		{"SELECT callsign AS flight FROM Airplane", structure("air::Named", cdr.Final, "flight", xtypes.NewString(8)), "samples may lack callsign, and flight of the result is not optional; make it @optional in air::Named|callsign"},
	} {
		_, err := NewJoin(c.expression, airTypes, c.typ, "air::Result", "5")
		var e *Error
		if !assert.ErrorAs(t, err, &e, c.expression) {
			continue
		}
		got := e.Detail
		if e.Hint != "" {
			got += "; " + e.Hint
		}
		assert.Equal(t, c.want, got+"|"+c.expression[e.Offset:e.Offset+e.Length], c.expression)
	}
	_, err := (*Join)(nil).With()
	require.Error(t, err)
	require.Nil(t, (*Join)(nil).Topics())
}

func flight(name, airplane string, order int64) []byte {
	return encode(flightType, []any{name, airplane, order}, cdr.CDR2LE)
}

// plane leaves the callsign out.
func plane(t *testing.T, name string, x float64, altitude int32) []byte {
	d, err := xtypes.NewData(airplaneType)
	require.NoError(t, err)
	require.NoError(t, d.Set("airplane", name))
	require.NoError(t, d.Set("at.x", x))
	require.NoError(t, d.Set("altitude", altitude))
	sample, err := d.Encode(airplaneType.Encapsulation(true, false))
	require.NoError(t, err)
	return sample
}

// changes tells what became of rows: "+{...}" for a sample, "-" for an end, "x" for one by disposal.
func changes(t *testing.T, j *Join, list []Change, err error) string {
	t.Helper()
	require.NoError(t, err)
	s := ""
	for _, c := range list {
		switch {
		case c.Sample != nil:
			d, err := xtypes.Decode(j.Type(), c.Sample)
			require.NoError(t, err)
			text, err := d.MarshalJSON()
			require.NoError(t, err)
			s += fmt.Sprintf("+%s@%d ", text, c.At)
		case c.Disposed:
			s += "x "
		default:
			s += "- "
		}
	}
	return s
}

// A row begins when all of its topics have their part, follows each of them, and ends with the first.
func TestTableFollows(t *testing.T) {
	j, err := NewJoin("SELECT flight, at, altitude FROM Flight NATURAL JOIN Airplane WHERE altitude > %0", airTypes, nil, "air::Seen", "100")
	require.NoError(t, err)
	require.Equal(t, []string{"Flight", "Airplane"}, j.Topics())
	tab := j.NewTable()
	put := func(topic int, in byte, sample []byte, at int64) string {
		list, err := tab.Put(topic, Instance{in}, sample, at)
		return changes(t, j, list, err)
	}
	require.Empty(t, put(0, 1, flight("LH1", "D-A", 1), 1))
	require.Empty(t, put(0, 2, flight("LH2", "D-A", 1), 2))
	require.Empty(t, put(1, 1, plane(t, "D-B", 1, 500), 3))
	require.Equal(t, `+{"flight":"LH1","at":{"x":2,"y":0},"altitude":500}@4 +{"flight":"LH2","at":{"x":2,"y":0},"altitude":500}@4 `, put(1, 2, plane(t, "D-A", 2, 500), 4))
	require.Equal(t, `+{"flight":"LH2","at":{"x":1,"y":0},"altitude":500}@3 - `, put(0, 2, flight("LH2", "D-B", 1), 3), "another airplane: another row")
	require.Equal(t, 2, tab.Len())
	require.Equal(t, "- ", put(1, 2, plane(t, "D-A", 2, 50), 5))
	require.Equal(t, `+{"flight":"LH1","at":{"x":2,"y":0},"altitude":101}@6 `, put(1, 2, plane(t, "D-A", 2, 101), 6))
	k, err := j.With("200")
	require.NoError(t, err)
	list, err := tab.Follow(k)
	require.Equal(t, "- ", changes(t, k, list, err))
	k, err = j.With("0")
	require.NoError(t, err)
	list, err = tab.Follow(k)
	require.Equal(t, `+{"flight":"LH1","at":{"x":2,"y":0},"altitude":101}@6 `, changes(t, k, list, err), "the other row is not news")
	require.Equal(t, "x ", changes(t, k, tab.Remove(1, Instance{2}, 7, true), nil))
	require.Empty(t, tab.Remove(1, Instance{2}, 7, true))
	require.Equal(t, "- ", changes(t, k, tab.Remove(0, Instance{2}, 7, false), nil))
	require.Zero(t, tab.Len())
	_, err = tab.Put(0, Instance{9}, []byte{1, 2, 3}, 0)
	require.Error(t, err)
}

// A result type of its own may describe the structures within it anew.
func TestJoinIntoType(t *testing.T) {
	point := structure("geo::Point", cdr.Final, "x", xtypes.Primitive(xtypes.TKFloat64), "y", xtypes.Primitive(xtypes.TKFloat64))
	result := structure("air::Seen", cdr.Mutable, "place", point, "path", xtypes.Must(xtypes.NewSequence(point, 0)), "flight", xtypes.NewString(0))
	j, err := NewJoin("SELECT flight, at AS place, route AS path FROM Airplane NATURAL JOIN Flight", airTypes, result, "")
	require.NoError(t, err)
	tab := j.NewTable()
	_, err = tab.Put(1, Instance{1}, flight("LH1", "D-A", 1), 1)
	require.NoError(t, err)
	d, err := xtypes.NewData(airplaneType)
	require.NoError(t, err)
	require.NoError(t, d.UnmarshalJSON([]byte(`{"airplane":"D-A","at":{"x":3,"y":4},"route":[{"x":1,"y":2}]}`)))
	sample, err := d.Encode(cdr.DCDR2LE)
	require.NoError(t, err)
	list, err := tab.Put(0, Instance{1}, sample, 2)
	require.Equal(t, `+{"place":{"x":3,"y":4},"path":[{"x":1,"y":2}],"flight":"LH1"}@2 `, changes(t, j, list, err))
}
