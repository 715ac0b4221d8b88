package dcps

import (
	"context"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/stretchr/testify/require"
)

// BenchmarkDeliver is one sample from the core's upcall to the return of its loan.
func BenchmarkDeliver(b *testing.B) {
	d := onBus(b)
	n := d.node(b)
	w, r := n.writer(b, writerQos()), n.reader(b, readerQos())
	d.bus.settle(b)
	batch := batchFrom(b, w.writer, 64)
	seq := uint64(0)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(batch) {
		for j := range batch {
			seq++
			batch[j].WriterSeq, batch[j].Seq = seq, seq
		}
		n.p.hub.Deliver(w.at.sg, batch)
		l, err := r.TakeLoan()
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}

// BenchmarkCoreWriteTake is one sample from Loan to TakeLoan over shared memory, two nodes in one process.
func BenchmarkCoreWriteTake(b *testing.B) {
	d := onCore(b, Settings{})
	m, n := d.node(b), d.node(b)
	w, r := m.writer(b, writerQos(blocking(patience))), n.reader(b, readerQos())
	ctx := context.Background()
	require.NoError(b, w.WaitForMatch(ctx, 1))
	encoded, err := cdr.Marshal(&track{ID: 1, Text: "steady"}, w.enc)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for range b.N {
			l, err := w.Loan(ctx, len(encoded))
			if err != nil {
				b.Error(err)
				return
			}
			_ = l.Publish(copy(l.Bytes(), encoded))
		}
	}()
	c := r.NewReadCondition(0, 0, 0)
	for got := 0; got < b.N; {
		<-c.Ready()
		if l, err := r.TakeLoan(InOrder()); err == nil {
			got += l.Len()
			l.Close()
		}
	}
}
