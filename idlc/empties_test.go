package idlc

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/idlc/internal/testtypes/empties"
	"github.com/omg-dds-go/dds/xtypes"
)

// TestEmptyStructsTakeTheirHeadersOnly wants what the rules of XTypes 1.3 §7.4 give for no members: nothing, a DHEADER,
// the end of a list.
func TestEmptyStructsTakeTheirHeadersOnly(t *testing.T) {
	for _, c := range []struct {
		m    cdr.Message
		enc  cdr.Encapsulation
		want string
	}{
		{&empties.Nought{}, cdr.CDRLE, "\x00\x01\x00\x00"},
		{&empties.Nought{}, cdr.CDR2LE, "\x00\x07\x00\x00"},
		{&empties.Open{}, cdr.CDRLE, "\x00\x01\x00\x00"},
		{&empties.Open{}, cdr.DCDR2LE, "\x00\x09\x00\x00\x00\x00\x00\x00"},
		{&empties.Loose{}, cdr.PLCDRLE, "\x00\x03\x00\x00\x02\x7f\x00\x00"},
		{&empties.Loose{}, cdr.PLCDR2LE, "\x00\x0b\x00\x00\x00\x00\x00\x00"},
	} {
		got, err := cdr.Marshal(c.m, c.enc)
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s %s", c.m.CDRType().Name, c.enc)
		require.NoError(t, cdr.Unmarshal(got, c.m))
	}
}

// A few bytes that announce very many values without bytes are refused, by all that reads them.
func TestManyEmptyStructsAreRefused(t *testing.T) {
	few := empties.Holder{Nothings: make([]empties.Nought, cdr.MaxBodiless)}
	sample, err := cdr.Marshal(&few, cdr.CDR2LE)
	require.NoError(t, err)
	typ, _, _, err := xtypes.ParseDescription([]byte(few.CDRType().TypeObject))
	require.NoError(t, err)
	var m empties.Holder
	require.NoError(t, cdr.Unmarshal(sample, &m))
	require.Len(t, m.Nothings, cdr.MaxBodiless)
	_, err = empties.NewHolderView(sample)
	require.NoError(t, err)
	d, err := xtypes.Decode(typ, sample)
	require.NoError(t, err)

	const what = "nothings: sequence of 16385 elements exceeds its bound of 16384"
	few.Nothings = append(few.Nothings, empties.Nought{})
	_, err = cdr.Marshal(&few, cdr.CDR2LE)
	require.ErrorIs(t, err, cdr.ErrBound)
	require.ErrorContains(t, err, what)
	elem, err := xtypes.NewData(typ.MemberByName("before").Type)
	require.NoError(t, err)
	many := make([]*xtypes.Data, cdr.MaxBodiless+1)
	for i := range many {
		many[i] = elem
	}
	require.ErrorContains(t, d.Set("nothings", many), "exceeds its bound of 16384")

	at := strings.Index(string(sample), string(binary.LittleEndian.AppendUint32(nil, cdr.MaxBodiless)))
	binary.LittleEndian.PutUint32(sample[at:], cdr.MaxBodiless+1)
	_, errView := empties.NewHolderView(sample)
	_, errDynamic := xtypes.Decode(typ, sample)
	for _, err := range []error{cdr.Unmarshal(sample, &m), errView, errDynamic} {
		require.ErrorIs(t, err, cdr.ErrBound)
		require.ErrorContains(t, err, what)
	}
}
