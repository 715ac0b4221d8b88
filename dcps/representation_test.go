package dcps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/allowed"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/qos"
)

// TestRepresentationsFor goes through what a QoS can say of types that allow some representations only.
func TestRepresentationsFor(t *testing.T) {
	const one, two, xml, auto = qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2, qos.DataRepresentationXML, qos.DataRepresentationAuto
	first, text := (*allowed.First)(nil).CDRType(), (*allowed.Text)(nil).CDRType()
	second, either := (*allowed.NewOnesSecond)(nil).CDRType(), (*allowed.NewOnesEither)(nil).CDRType()
	type list = []qos.DataRepresentationKind
	for _, c := range []struct {
		typ        *cdr.TypeInfo
		said, want list
	}{
		{(*older.Track)(nil).CDRType(), nil, nil}, {(*older.Track)(nil).CDRType(), list{xml, auto}, list{xml, auto}},
		{first, nil, list{one}}, {second, nil, list{two}}, {either, nil, nil}, {text, nil, list{xml}},
		{first, list{two, one}, list{one}}, {second, list{one, xml, two}, list{two}}, {either, list{two, xml, one}, list{two, one}},
		{first, list{auto}, list{one}}, {second, list{xml, auto}, list{two}}, {either, list{auto}, list{auto}}, {text, list{auto, xml}, list{xml}},
		{first, list{two}, nil}, {second, list{one, xml}, nil}, {either, list{xml}, nil}, {text, list{auto}, nil},
	} {
		require.Equal(t, c.want, representationsFor(c.typ, qos.DataRepresentation{Value: c.said}).Value, "%s %v", c.typ.Name, c.said)
	}
}

// TestXTypes13_7_6_3_1_RepresentationOfType has writers and readers of types with @data_representation send and take
// what the types allow.
// Clauses: X7.6.3.1
func TestXTypes13_7_6_3_1_RepresentationOfType(t *testing.T) {
	const one, two, xml, auto = qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2, qos.DataRepresentationXML, qos.DataRepresentationAuto
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	offers := func(list ...qos.DataRepresentationKind) qos.DataWriter {
		return writerQos(func(q *qos.DataWriter) { q.DataRepresentation.Value = list })
	}
	takes := func(list ...qos.DataRepresentationKind) qos.DataReader {
		return readerQos(func(q *qos.DataReader) { q.DataRepresentation.Value = list })
	}

	// What is said of nothing is the first that is allowed, what is not allowed is left out.
	w1, r1 := writerOf[allowed.First](t, a, "First", offers()), readerOf[allowed.First](t, b, "First", takes(two, one))
	w2, r2 := writerOf[allowed.NewOnesSecond](t, a, "Second", offers(one, two)), readerOf[allowed.NewOnesSecond](t, b, "Second", takes())
	w3, r3 := writerOf[allowed.NewOnesEither](t, a, "Either", offers()), readerOf[allowed.NewOnesEither](t, b, "Either", takes(auto))
	d.settle(t)
	for _, n := range []int32{r1.SubscriptionMatchedStatus().CurrentCount, r2.SubscriptionMatchedStatus().CurrentCount, r3.SubscriptionMatchedStatus().CurrentCount} {
		require.Equal(t, int32(1), n)
	}
	require.Equal(t, cdr.CDRLE, w1.untyped().enc)
	require.Equal(t, cdr.CDR2LE, w2.untyped().enc)
	require.Equal(t, cdr.CDR2LE, w3.untyped().enc)
	require.NoError(t, w1.Write(t.Context(), &allowed.First{ID: 1, Value: 2}))
	require.NoError(t, w2.Write(t.Context(), &allowed.NewOnesSecond{ID: 3, Value: 4}))
	v1, _ := next(t, r1)
	v2, _ := next(t, r2)
	require.Equal(t, allowed.First{ID: 1, Value: 2}, v1)
	require.Equal(t, allowed.NewOnesSecond{ID: 3, Value: 4}, v2)

	// An offer of what a type does not allow is refused, and names both.
	_, err := NewDataWriter(a.pub, w2.Topic(), WithWriterQos(offers(one)))
	require.ErrorIs(t, err, ErrInconsistentPolicy)
	require.EqualError(t, err, `dcps: NewDataWriter (writer of topic "Second"): inconsistent policy: DATA_REPRESENTATION [XCDR] has none of [XCDR2], which is what @data_representation allows for type allowed::new_ones::Second`)
	_, err = NewDataReader(b.sub, r1.Topic(), WithReaderQos(takes(two, xml)))
	require.ErrorIs(t, err, ErrInconsistentPolicy)
	require.ErrorContains(t, err, "DATA_REPRESENTATION [XCDR2 XML] has none of [XCDR]")

	// Nobody writes XML.
	text, err := NewTopic[allowed.Text](a.p, "") // its type says which
	require.NoError(t, err)
	require.Equal(t, "Texts", text.Name())
	_, err = NewDataWriter(a.pub, text)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = NewDataReader(a.sub, text)
	require.ErrorIs(t, err, ErrUnsupported)
}

// A reader that asks for XML alone would never match, as no writer sends it: it is refused wherever its QoS is set. XML beside
// others does no harm.
func TestReaderOfXML(t *testing.T) {
	const one, xml = qos.DataRepresentationXCDR1, qos.DataRepresentationXML
	asks := func(list ...qos.DataRepresentationKind) qos.DataReader {
		return readerQos(func(q *qos.DataReader) { q.DataRepresentation.Value = list })
	}
	d := onBus(t)
	n := d.node(t)
	_, err := NewDataReader(n.sub, n.topic(t), WithReaderQos(asks(xml)))
	require.EqualError(t, err, `dcps: NewDataReader (reader of topic "Track"): unsupported: DATA_REPRESENTATION [XML] has no effect in this version, so it is refused`)
	require.ErrorIs(t, n.sub.SetDefaultDataReaderQos(asks(xml)), ErrUnsupported)
	file, err := qos.Load("asks.xml", strings.NewReader(`<dds><qos_library name="L"><qos_profile name="P"><datareader_qos><data_representation><value>`+
		`<element>XML_DATA_REPRESENTATION</element></value></data_representation></datareader_qos></qos_profile></qos_library></dds>`))
	require.NoError(t, err)
	q, err := file.DataReader("L::P", "Track")
	require.NoError(t, err)
	_, err = NewDataReader(n.sub, n.topic(t), WithReaderQos(q))
	require.ErrorIs(t, err, ErrUnsupported)
	r := n.reader(t, asks(xml, one))
	require.ErrorIs(t, r.SetQos(asks(xml)), ErrUnsupported)
	w := n.writer(t, writerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
}
