package conformance

import (
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// DDS 1.4 Annex B, a test for each production of the grammar, on this sample.
func sampleOfLocation(t *testing.T) (*xtypes.Type, []byte) {
	t.Helper()
	build := func(d xtypes.TypeDescriptor) *xtypes.Type { return xtypes.Must(xtypes.Build(d)) }
	level := build(xtypes.TypeDescriptor{Kind: xtypes.TKEnum, Name: "flight::Level", Literals: []xtypes.Literal{{Name: "LOW", Value: 0}, {Name: "HIGH", Value: 1}}})
	position := build(xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: "flight::Position", Members: []xtypes.Member{
		{Name: "x", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
		{Name: "y", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
	}})
	location := build(xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: "flight::Location", Members: []xtypes.Member{
		{Name: "flight_id", AutoID: true, Type: xtypes.NewString(0), Key: true},
		{Name: "at", AutoID: true, Type: position},
		{Name: "height", AutoID: true, Type: xtypes.Primitive(xtypes.TKFloat64)},
		{Name: "level", AutoID: true, Type: level},
		{Name: "airborne", AutoID: true, Type: xtypes.Primitive(xtypes.TKBoolean)},
		{Name: "class", AutoID: true, Type: xtypes.Primitive(xtypes.TKChar8)},
		{Name: "route", AutoID: true, Type: xtypes.Must(xtypes.NewArray(position, 2))},
	}})
	d, err := xtypes.NewData(location)
	require.NoError(t, err)
	for path, v := range map[string]any{
		"flight_id": "BA117", "at.x": 3, "at.y": -4, "height": 950.5, "level": "HIGH", "airborne": true, "class": "J", "route[1].x": 7,
	} {
		require.NoError(t, d.Set(path, v), path)
	}
	b, err := d.Encode(cdr.CDR2LE)
	require.NoError(t, err)
	return location, b
}

// check has expressions that hold, and such that do not.
func check(t *testing.T, hold, fail []string, params ...string) {
	t.Helper()
	typ, sample := sampleOfLocation(t)
	for want, list := range map[bool][]string{true: hold, false: fail} {
		for _, expression := range list {
			f, err := filter.New(typ, expression, params...)
			if assert.NoError(t, err, expression) {
				assert.Equal(t, want, f.Match(sample), expression)
			}
		}
	}
}

// refuse has expressions that are no FilterExpression for the type.
func refuse(t *testing.T, expressions ...string) {
	t.Helper()
	typ, _ := sampleOfLocation(t)
	for _, expression := range expressions {
		_, err := filter.New(typ, expression, "1")
		assert.Error(t, err, expression)
	}
}

// Clauses: B.Condition
func TestDDS14_AnnexB_Condition(t *testing.T) {
	check(t,
		[]string{"at.x = 3 AND at.y = -4", "at.x = 0 OR at.y = -4", "NOT at.x = 0", "(at.x = 0 OR at.x = 3) AND at.y < 0", "at.x = 3 OR at.x = 0 AND at.y = 0"},
		[]string{"at.x = 3 AND at.y = 0", "at.x = 0 OR at.y = 0", "NOT at.x = 3", "NOT (at.x = 0 OR at.x = 3)", "NOT at.x = 0 AND at.x = 0"})
	refuse(t, "", "AND", "at.x = 3 AND", "at.x", "(at.x = 3", "at.x = 3)")
}

// Clauses: B.ComparisonPredicate, B.RelOp
func TestDDS14_AnnexB_ComparisonPredicate(t *testing.T) {
	check(t,
		[]string{"at.x = 3", "3 = at.x", "at.x <> at.y", "at.x > at.y", "at.x >= 3", "at.y < at.x", "at.y <= -4", "-5 < at.y"},
		[]string{"at.x <> 3", "3 <> at.x", "at.x = at.y", "at.x > 3", "at.x < at.y", "at.x <= 2", "at.x >= 4", "-4 < at.y"})
	refuse(t, "3 = 3", "%0 = 1", "at.x == 3", "at = 3")
}

// Clauses: B.LIKE
func TestDDS14_AnnexB_Like(t *testing.T) {
	check(t,
		[]string{"flight_id LIKE 'BA%'", "flight_id like '%1_7'", "flight_id LIKE '%'", "flight_id LIKE 'BA117'", "flight_id LIKE %0"},
		[]string{"flight_id LIKE 'BA_'", "flight_id LIKE 'ba%'", "flight_id LIKE ''"}, "'B%7'")
	refuse(t, "height LIKE '9%'", "flight_id LIKE 7")
}

// Clauses: B.BetweenPredicate, B.Range
func TestDDS14_AnnexB_BetweenPredicate(t *testing.T) {
	check(t,
		[]string{"at.x BETWEEN 3 AND 5", "at.x BETWEEN 1 AND %0", "at.x NOT BETWEEN 4 AND 5", "flight_id BETWEEN 'A' AND 'C'", "height BETWEEN 950 AND 951 AND at.x = 3"},
		[]string{"at.x BETWEEN 4 AND 5", "at.x BETWEEN 3 AND 2", "at.x NOT BETWEEN 3 AND 3"}, "3")
	refuse(t, "at.x BETWEEN at.y AND 3", "3 BETWEEN at.y AND at.x")
}

// Clauses: B.FIELDNAME
func TestDDS14_AnnexB_FieldName(t *testing.T) {
	check(t, []string{"at.x = 3", "route[1].x = 7", "route[0].x = 0", "route[1].x > at.x"}, []string{"route[0].x = 7"})
	refuse(t, "at.z = 3", "flight_id.x = 3", "route[2].x = 7", "route.x = 7", "at[0] = 3")
}

// Clauses: B.INTEGERVALUE, B.FLOATVALUE, B.CHARVALUE, B.STRING, B.ENUMERATEDVALUE, B.BOOLEANVALUE
func TestDDS14_AnnexB_Values(t *testing.T) {
	check(t,
		[]string{"at.x = +3", "at.y = -4", "at.x = 0x3", "at.x = 3.0", "height = 950.5", "height = 9.505e2", "height > 950", "class = 'J'", "flight_id = 'BA117'",
			"flight_id = `BA117'", "level = 'HIGH'", "level > 'LOW'", "level = 1", "airborne = TRUE", "airborne <> false"},
		[]string{"at.x = 0X4", "height = 950", "class = 'K'", "flight_id = 'ba117'", "level = 'LOW'", "airborne = False"})
	refuse(t, "at.x = 'three'", "height = 'high'", "flight_id = 117", "level = 'MIDDLE'", "airborne = 1", "class = 74", "level = flight_id", "airborne = at.x", "at.x = 0xG", "flight_id = 'a\nb'")
}

// Clauses: B.PARAMETER
func TestDDS14_AnnexB_Parameter(t *testing.T) {
	check(t, []string{"at.x = %0", "at.x = %0 AND flight_id = %1", "level = %2", "%0 = at.x"}, []string{"at.y = %0"}, "3", "'BA117'", "'HIGH'")
	many := make([]string, 100)
	many[99] = "3"
	check(t, []string{"at.x = %99"}, nil, many...)
	refuse(t, "at.x = %1", "at.x = %100", "at.x = %")
}

// Clauses: B.QueryExpression
func TestDDS14_AnnexB_QueryExpression(t *testing.T) {
	typ, sample := sampleOfLocation(t)
	d, err := xtypes.Decode(typ, sample)
	require.NoError(t, err)
	require.NoError(t, d.Set("height", 10.0))
	low, err := d.Encode(cdr.CDR2LE)
	require.NoError(t, err)
	for expression, c := range map[string]struct {
		match bool
		order int // of low beside sample
	}{
		"":                                    {true, 0},
		"at.x = 3":                            {true, 0},
		"height > 100 ORDER BY height":        {false, -1},
		"ORDER BY flight_id, height":          {true, -1},
		"height < 100 order by at.x, level":   {true, 0},
		"NOT height < 100 ORDER BY flight_id": {false, 0},
	} {
		q, err := filter.NewQuery(typ, expression)
		require.NoError(t, err, expression)
		assert.Equal(t, c.match, q.Match(low), expression)
		assert.Equal(t, c.order, q.Compare(low, sample), expression)
	}
	for _, expression := range []string{"ORDER BY", "at.x = 3 ORDER height", "ORDER BY at", "ORDER BY speed", "ORDER BY height,"} {
		_, err := filter.NewQuery(typ, expression)
		assert.Error(t, err, expression)
	}
}
