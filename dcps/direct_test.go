package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Which writers take the short way: those whose QoS asks for nothing that it leaves out.
func TestWhoGoesDirectly(t *testing.T) {
	d := onCore(t, Settings{Dir: t.TempDir()})
	n := d.node(t)
	for _, c := range []struct {
		name string
		pub  func(*qos.Publisher)
		w    func(*qos.DataWriter)
		want bool
	}{
		{"defaults", nil, nil, true},
		{"KEEP_ALL", nil, func(q *qos.DataWriter) { q.History.Kind = qos.HistoryKeepAll }, true},
		{"best effort", nil, func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }, false},
		{"TRANSIENT_LOCAL", nil, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }, false},
		{"PERSISTENT", nil, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent }, false},
		{"by source timestamp", nil, func(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }, false},
		{"coherent", func(q *qos.Publisher) { q.Presentation.CoherentAccess = true }, nil, false},
		{"GROUP order", func(q *qos.Publisher) {
			q.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, OrderedAccess: true}
		}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pq, wq := qos.DefaultPublisher(), qos.DefaultDataWriter()
			if c.pub != nil {
				c.pub(&pq)
			}
			if c.w != nil {
				c.w(&wq)
			}
			w := n.writerOf(t, pq, wq)
			require.Equal(t, c.want, w.untyped().direct != nil)
			write(t, w, 1, 1)
			require.Equal(t, uint64(1), w.untyped().turn.number())
			require.NoError(t, w.Close())
		})
	}
}

// Who lends one at a time always lends the same lease, which keeps no ring mapped in between; who lends several at once
// gets others. All count as out until they end.
func TestLeasesOfWhoGoesDirectly(t *testing.T) {
	d := onCore(t, Settings{})
	n := d.node(t)
	w, r := n.writer(t, writerQos(blocking(patience))), n.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	first := &w.loans.first
	publish := func(l *Loan, value int32) {
		size, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1, Value: value}, w.enc)
		require.NoError(t, err)
		require.NoError(t, l.Publish(size))
	}
	for round := range int32(3) {
		a, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		require.Same(t, first, a.of)
		b, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		require.NotSame(t, first, b.of)
		require.Equal(t, 2, w.loans.out())
		publish(&b, 2*round+1)
		require.Equal(t, 1, w.loans.out())
		publish(&a, 2*round)
		require.Zero(t, w.loans.out())
		require.Zero(t, first.r.slot)
		require.Equal(t, uint64(leaseFree), first.state())
		gone, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		require.Same(t, first, gone.of)
		require.NoError(t, gone.Discard())
	}
	require.Equal(t, "1:0 1:1 1:2 1:3 1:4 1:5", values(t, r, 6))
	require.Equal(t, uint64(9), w.turn.number())
}

// Of a writer whose samples had one size for long enough the next one gets as much room unseen. It may be larger or
// smaller, or be none that can be encoded: what is sent is the same as ever, in its order, and what a writer says is,
// too.
func TestSamplesOfTheUsualSizeAndOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		keepAll := qos.History{Kind: qos.HistoryKeepAll}
		tp, err := NewTopic[note](a.p, "Note")
		require.NoError(t, err)
		there, err := NewTopic[note](b.p, "Note")
		require.NoError(t, err)
		w, err := NewDataWriter(a.pub, tp, WithWriterQos(writerQos(blocking(patience), func(q *qos.DataWriter) { q.History = keepAll })))
		require.NoError(t, err)
		r, err := NewDataReader(b.sub, there, WithReaderQos(readerQos(func(q *qos.DataReader) { q.History = keepAll })))
		require.NoError(t, err)
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, r.WaitForMatch(patiently(t), 1))
		var want []string
		send := func(text string) {
			require.NoError(t, w.Write(patiently(t), &note{Text: text}))
			want = append(want, text)
		}
		same := func(text string) {
			for range usualAfter {
				send(text)
			}
			if w.direct != nil {
				require.Positive(t, w.usual.get())
			}
		}
		const short, long, invalid = "abc", "abcdefgh", "abcdefghi" // of 13 bytes with a header, of 17, and longer than the type lets it be
		errorOf := func() string {
			err := w.Write(patiently(t), &note{Text: invalid})
			require.ErrorIs(t, err, ErrBadParameter)
			return err.Error()
		}
		unseen := errorOf()
		same(short)
		require.Equal(t, unseen, errorOf())
		send(long)
		require.Zero(t, w.usual.get())
		require.Equal(t, unseen, errorOf())
		same(long)
		send(short)
		require.Zero(t, w.usual.get())
		send(long)
		same(short)
		require.Equal(t, unseen, errorOf())
		send(short)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		var got []string
		for s, err := range r.Stream(patiently(t)) {
			require.NoError(t, err)
			if got = append(got, s.Data().Text); len(got) == len(want) {
				break
			}
		}
		require.Equal(t, want, got)
	})
}

// The usual size is that of so many samples without another one.
func TestUsualSize(t *testing.T) {
	var u usualSize
	for _, size := range []int{100, 1 << 30} {
		for i := range 2 * usualAfter {
			if i < usualAfter {
				require.Zero(t, u.get())
			} else {
				require.Equal(t, size, u.get())
			}
			u.note(size)
		}
		u.note(size - 1)
		require.Zero(t, u.get())
	}
}
