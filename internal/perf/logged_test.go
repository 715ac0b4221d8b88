package perf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
)

// BenchmarkLogged writes samples of a PERSISTENT topic until they are durable, and then as many bytes to a plain file with
// as many syncs. Its figures are bytes of samples per second, and the share of the plain writer's that the topic reaches.
func BenchmarkLogged(b *testing.B) {
	for _, size := range []int{128, 1024, 10_000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) { logged(b, size) })
	}
}

func logged(b *testing.B, size int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir := b.TempDir()
	p, err := dcps.NewDomainParticipant(ctx, dcps.DomainID(rand.Uint32N(1<<30)), dcps.WithSettings(dcps.Settings{Dir: dir}))
	require.NoError(b, err)
	t, err := dcps.NewTopic[Payload](p, "Payload")
	require.NoError(b, err)
	pub, err := p.NewPublisher()
	require.NoError(b, err)
	q := qos.DefaultDataWriter()
	q.Durability.Kind = qos.DurabilityPersistent
	q.Reliability.MaxBlockingTime = qos.Infinite
	w, err := dcps.NewDataWriter(pub, t, dcps.WithWriterQos(q))
	require.NoError(b, err)
	payload := make([]byte, size-16) // number and time beside it
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		l, err := w.Loan(ctx, size+64)
		if err != nil {
			b.Fatal(err)
		}
		s := NewPayloadBuilder(l.Bytes())
		s.SetNumber(uint64(i))
		s.SetSent(0)
		s.SetBytes(payload)
		n, err := s.Finish()
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Publish(n); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.WaitForAcknowledgments(ctx))
	b.StopTimer()
	took := b.Elapsed()
	require.NoError(b, p.Close())

	logs, err := filepath.Glob(filepath.Join(dir, "domain-*.epochs"))
	require.NoError(b, err)
	require.Len(b, logs, 1)
	found, err := storage.Verify(logs[0][:len(logs[0])-len(".epochs")], storage.Options{})
	require.NoError(b, err)
	require.GreaterOrEqual(b, found.Records, uint64(b.N))
	batch := max(1, int(found.PayloadBytes)/found.Batches)
	plain := max(plainRate(b, 0, b.N*size, batch), plainRate(b, syscall.O_DIRECT, b.N*size, batch))
	rate := float64(b.N*size) / took.Seconds()
	b.ReportMetric(rate/1e6, "MB/s")
	b.ReportMetric(float64(b.N)/took.Seconds(), "samples/s")
	b.ReportMetric(float64(batch)/1e3, "batch-KB")
	b.ReportMetric(plain/1e6, "plain-MB/s")
	b.ReportMetric(100*rate/plain, "%-of-plain")
}

// plainRate writes bytes to a new file in batches, each synced, and says how many a second.
func plainRate(b *testing.B, flag, bytes, batch int) float64 {
	pages, err := syscall.Mmap(-1, 0, (batch+4095)&^4095, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(b, err)
	defer func() { require.NoError(b, syscall.Munmap(pages)) }()
	buf := pages // of a sector's alignment, as O_DIRECT needs it
	for i := range buf {
		buf[i] = byte(i)
	}
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "plain"), os.O_CREATE|os.O_WRONLY|flag, 0o600)
	require.NoError(b, err)
	defer f.Close()
	if flag == 0 {
		buf = pages[:batch]
	}
	start := time.Now()
	for off := 0; off < bytes; off += batch {
		n, err := f.WriteAt(buf, int64(off/batch*len(buf)))
		require.NoError(b, err)
		require.Equal(b, len(buf), n)
		require.NoError(b, syscall.Fdatasync(int(f.Fd())))
	}
	return float64(bytes) / time.Since(start).Seconds()
}
