package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/stretchr/testify/require"
)

// named has a key that no handle holds: its MD5 is the handle.
//
//	@final struct Named { @key string name; long value; };
type named struct {
	Name  string
	Value int32
}

var namedType = cdr.Define(cdr.TypeInfo{
	Name: "test::Named", Keyed: true, MaxSize: -1, MaxKeySize: -1, Text: "@final struct test::Named { @key string name; long value; };",
})

func (*named) CDRType() *cdr.TypeInfo { return namedType }
func (m *named) MarshalCDR(e *cdr.Encoder) {
	e.String("name", m.Name, 0)
	e.Int32(m.Value)
}
func (m *named) UnmarshalCDR(d *cdr.Decoder)    { m.Name, m.Value = d.String("name", 0), d.Int32("value") }
func (m *named) MarshalKeyCDR(e *cdr.Encoder)   { e.String("name", m.Name, 0) }
func (m *named) UnmarshalKeyCDR(d *cdr.Decoder) { m.Name = d.String("name", 0) }
func (*named) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {
	e.String("name", d.String("name", 0), 0)
}

// The key of an instance is to be had as long as the instance is known, also when it has no samples any more.
//
// Clauses: 2.2.2.4.2.9, 2.2.2.4.2.10, 2.2.2.5.3.29, 2.2.2.5.3.30
func TestKeyValue(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	ctx := patiently(t)

	// A key that the handle holds.
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	for _, id := range []int32{0, 1, -7} {
		write(t, w, id, 10)
		d.bus.settle(t)
		h, err := w.LookupInstance(&track{ID: id})
		require.NoError(t, err)
		same, err := r.LookupInstance(&track{ID: id})
		require.NoError(t, err)
		require.Equal(t, h, same)
		for _, keyValue := range []func(InstanceHandle) (*track, error){w.KeyValue, r.KeyValue} {
			key, err := keyValue(h)
			require.NoError(t, err)
			require.Equal(t, &track{ID: id}, key)
		}
	}
	unknown, err := w.LookupInstance(&track{ID: 99})
	require.NoError(t, err)
	_, err = r.KeyValue(unknown)
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = w.KeyValue(HandleNil)
	require.ErrorIs(t, err, ErrBadParameter)

	// One that it does not hold.
	tp, err := NewTopic[named](n.p, "Named")
	require.NoError(t, err)
	nw, err := NewDataWriter(n.pub, tp)
	require.NoError(t, err)
	nr, err := NewDataReader(n.sub, tp)
	require.NoError(t, err)
	long := &named{Name: "a name of more than sixteen bytes", Value: 3}
	h, err := nw.Register(ctx, long)
	require.NoError(t, err)
	key, err := nw.KeyValue(h)
	require.NoError(t, err)
	require.Equal(t, &named{Name: long.Name}, key)
	require.NoError(t, nw.Write(ctx, long))
	require.NoError(t, nw.Dispose(ctx, long))
	d.bus.settle(t)
	samples, err := nr.Take()
	require.NoError(t, err)
	require.Equal(t, h, samples.At(0).Info.InstanceHandle)
	samples.Close()
	key, err = nr.KeyValue(h)
	require.NoError(t, err, "nothing is left of it but that it was disposed of")
	require.Equal(t, &named{Name: long.Name}, key)
	require.NoError(t, nw.Unregister(ctx, long))
	_, err = nw.KeyValue(h)
	require.ErrorIs(t, err, ErrBadParameter)

	// None at all.
	unkeyed, err := NewTopic[note](n.p, "Note")
	require.NoError(t, err)
	uw, err := NewDataWriter(n.pub, unkeyed)
	require.NoError(t, err)
	_, err = uw.KeyValue(HandleNil)
	require.ErrorIs(t, err, ErrBadParameter)
}

// Clauses: 2.2.2.5.8.2-4, 2.2.2.5.3.5, 2.2.2.5.3.7
func TestReadConditionStates(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	r := n.reader(t, readerQos())
	c := r.NewReadCondition(SampleNotRead, 0, InstanceNotAlive)
	s, v, i := c.States()
	require.Equal(t, SampleNotRead, s)
	require.Equal(t, AnyViewState, v)
	require.Equal(t, InstanceNotAlive, i)
	w := n.writer(t, writerQos())
	write(t, w, 1, 1)
	d.bus.settle(t)
	require.False(t, c.TriggerValue())
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	d.bus.settle(t)
	require.True(t, c.TriggerValue())
	require.NoError(t, c.Close())
	require.False(t, c.TriggerValue())
}
