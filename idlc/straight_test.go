package idlc

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/stretchr/testify/require"
)

// straightView makes a view of a sample as its constructor does, in one that was of another sample before, and by the
// walk of the decoder alone.
type straightView func(sample []byte) (made, opened, walked any, errMade, errOpened, errWalked error)

func straightViewOf[V any, PV interface {
	*V
	OpenCDR(sample []byte) error
	ScanCDR(d *cdr.Decoder)
}](t *cdr.TypeInfo, newView func([]byte) (V, error)) straightView {
	var opened V
	return func(sample []byte) (any, any, any, error, error, error) {
		made, errMade := newView(sample)
		errOpened := PV(&opened).OpenCDR(sample)
		var walked V
		var d cdr.Decoder
		err := d.Open(sample, t)
		if err == nil {
			PV(&walked).ScanCDR(&d)
			err = d.Close(t)
		}
		if err != nil {
			walked = *new(V)
		}
		return made, opened, walked, errMade, errOpened, err
	}
}

// TestStraight: what is found without a decoder is what the decoder finds, and nothing else is accepted: samples of all
// lengths, in all encodings, with each byte changed, have the same view, or the same error.
func TestStraight(t *testing.T) {
	for _, c := range []struct {
		m    cdr.Message
		view straightView
	}{
		{new(tt.Primitives), straightViewOf((*tt.Primitives)(nil).CDRType(), tt.NewPrimitivesView)},
		{new(tt.Point), straightViewOf((*tt.Point)(nil).CDRType(), tt.NewPointView)},
		{new(tt.Base), straightViewOf((*tt.Base)(nil).CDRType(), tt.NewBaseView)},
		{new(tt.Derived), straightViewOf((*tt.Derived)(nil).CDRType(), tt.NewDerivedView)},
		{new(tt.Version1), straightViewOf((*tt.Version1)(nil).CDRType(), tt.NewVersion1View)},
		{new(tt.Hashed), straightViewOf((*tt.Hashed)(nil).CDRType(), tt.NewHashedView)},
		{new(tt.Bulk), straightViewOf((*tt.Bulk)(nil).CDRType(), tt.NewBulkView)},
		{new(tt.AppendedBulk), straightViewOf((*tt.AppendedBulk)(nil).CDRType(), tt.NewAppendedBulkView)},
		{new(ct.Defaulted), straightViewOf((*ct.Defaulted)(nil).CDRType(), ct.NewDefaultedView)},
		{new(ct.StrictSent), straightViewOf((*ct.StrictSent)(nil).CDRType(), ct.NewStrictSentView)},
	} {
		info := c.m.CDRType()
		t.Run(info.Name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			good, bad := 0, 0
			look := func(sample []byte) {
				made, opened, walked, errMade, errOpened, errWalked := c.view(sample)
				require.Equal(t, errWalked, errMade, "% x", sample)
				require.Equal(t, walked, made, "% x", sample)
				require.Equal(t, errWalked, errOpened, "% x", sample)
				require.Equal(t, walked, opened, "% x", sample)
				if errMade == nil {
					good++
				} else {
					bad++
				}
			}
			for range 20 {
				m := reflect.ValueOf(c.m).Elem()
				m.SetZero()
				fill(rnd, m, 0)
				for _, enc := range encapsulations(info) {
					sample, err := cdr.Marshal(c.m, enc)
					require.NoError(t, err)
					look(sample)
					for n := range sample {
						look(sample[:n])
						b := sample[n]
						for _, x := range []byte{b + 1, b - 1, b ^ 0x80, 0, 0xff, byte(rnd.Uint32())} {
							sample[n] = x
							look(sample)
						}
						sample[n] = b
					}
					look(append(sample, make([]byte, 9)...))
				}
			}
			require.NotZero(t, good)
			require.NotZero(t, bad)
		})
	}
}
