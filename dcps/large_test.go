package dcps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// largeSizes are those of samples that are larger and smaller than half of a ring of the default size.
var largeSizes = []int{10, 600_000, 20, 1 << 20, 8 << 20, 30, 700_000, 8 << 20, 40}

func largeText(i, size int) string { return strings.Repeat(string(rune('a'+i)), size) }

// Samples that are larger than half a ring arrive with default settings, in their place among the others, written and
// built in place, for readers that are there, that come late, and after everybody was gone.
func TestLargeSamples(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, kind := range []qos.DurabilityKind{qos.DurabilityVolatile, qos.DurabilityTransientLocal, qos.DurabilityPersistent} {
			t.Run(fmt.Sprintf("%s %v", transport, kind), func(t *testing.T) {
				d := onCore(t, Settings{Transport: transport, LogSegmentBytes: defaultSegment}) // or node makes them small
				dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir(), "c": t.TempDir()}
				start := func(name string) *node {
					s := d.settings
					s.Dir = dirs[name]
					return (&domain{id: d.id, settings: s}).node(t, WithName(name))
				}
				wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = kind })
				a, b := start("a"), start("b")
				w := a.writer(t, writerQos(func(q *qos.DataWriter) {
					q.Durability.Kind = kind
					q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
				}, blocking(patience)))
				r := b.reader(t, wants)
				require.NoError(t, w.WaitForMatch(patiently(t), 1))
				require.NoError(t, r.WaitForMatch(patiently(t), 1))
				for i, size := range largeSizes {
					sample := &track{ID: int32(i), Value: int32(i), Text: largeText(i, size)}
					if i%2 == 0 {
						require.NoError(t, w.Write(patiently(t), sample))
						continue
					}
					encoded, err := cdr.Marshal(sample, w.enc)
					require.NoError(t, err)
					l, err := w.Loan(patiently(t), len(encoded))
					require.NoError(t, err)
					require.NoError(t, l.Publish(copy(l.Bytes(), encoded)))
				}
				requireLarge(t, r)
				require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
				if kind == qos.DurabilityVolatile {
					return
				}
				late := start("c")
				r = late.reader(t, wants)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				requireLarge(t, r)
				if kind != qos.DurabilityPersistent {
					return
				}
				for _, n := range []*node{a, b, late} {
					require.NoError(t, n.p.Close())
				}
				r = start("c").reader(t, wants)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				requireLarge(t, r)
			})
		}
	}
}

// requireLarge reads what was written of largeSizes, in its order.
func requireLarge(t *testing.T, r *DataReader[track]) {
	t.Helper()
	i := 0
	for sample, err := range r.Stream(patiently(t)) {
		require.NoError(t, err)
		data := sample.Data()
		if data == nil {
			continue
		}
		require.Equal(t, int32(i), data.ID)
		require.True(t, data.Text == largeText(i, largeSizes[i]), "sample %d of %d bytes came with %d", i, largeSizes[i], len(data.Text))
		if i++; i == len(largeSizes) {
			return
		}
	}
	t.Fatalf("only %d samples came", i)
}

// A best-effort writer does not wait until its ring has grown: what it writes until then is lost, and counted.
func TestLargeBestEffortSamples(t *testing.T) {
	d := onCore(t, Settings{})
	a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	require.Equal(t, topic.Unordered, w.DeliveryPath())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	ctx := patiently(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	dropped := uint64(0)
	for i := int32(0); ; i++ {
		before := w.Dropped()
		require.NoError(t, w.Write(ctx, &track{ID: 1, Value: i, Text: largeText(1, 1<<20)}))
		if dropped = w.Dropped(); dropped == before {
			require.Positive(t, dropped)
			require.Equal(t, fmt.Sprintf("1:%d", i), values(t, r, 1))
			break
		}
		<-tick.C
	}
}

// Who does not want rings to grow says so; and what is stored has to fit a file of the log.
func TestTooLargeSamples(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		w        func(*qos.DataWriter)
		limit    string
		largest  int
	}{
		"rings that do not grow": {Settings{MaxRingBytes: 1 << 20}, func(*qos.DataWriter) {}, "Settings.MaxRingBytes (1048576)", 1<<19 - 40},
		"log": {Settings{LogSegmentBytes: 1 << 20}, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent },
			"Settings.LogSegmentBytes (1048576)", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.settings.Dir = t.TempDir()
			d := onCore(t, c.settings)
			n := d.node(t, WithName("a"))
			w, r := n.writer(t, writerQos(c.w, blocking(patience))), n.reader(t, readerQos())
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			most := w.MaxSampleSize()
			if c.largest != 0 {
				require.Equal(t, c.largest, most)
			}
			const least, beside = 12, 24 // what a sample takes besides its text, at least and at most
			sample := &track{ID: 1, Text: largeText(0, most-least)}
			encoded, err := cdr.Marshal(sample, w.enc)
			require.NoError(t, err)
			require.Greater(t, len(encoded), most)
			err = w.Write(patiently(t), sample)
			require.ErrorIs(t, err, ErrOutOfResources)
			require.ErrorContains(t, err, fmt.Sprintf("the sample has %d bytes, the largest that can be written has %d, by %s", len(encoded), most, c.limit))
			_, err = w.Loan(patiently(t), most+1)
			require.ErrorIs(t, err, ErrOutOfResources)
			require.NoError(t, w.Write(patiently(t), &track{ID: 1, Text: largeText(0, most-beside)}))
			require.Equal(t, "1:0", values(t, r, 1))
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		})
	}
}
