package bench

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
	o := DefaultOptions()
	o.Domain, o.Level, o.Size, o.Dir = 1+rand.Uint32N(1<<30), Logged, size, b.TempDir()
	o.KeepLog = true // as the plain file is
	p, err := participant(ctx, Pub, &o)
	require.NoError(b, err)
	w, err := newWriter(p, "DDSPerfData", &o)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	for h := (header{payload: size - MinSize}); h.number < uint64(b.N); h.number++ {
		if err := w.write(ctx, &h); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.waitForAcknowledgments(ctx))
	b.StopTimer()
	took := b.Elapsed()
	require.NoError(b, p.Close())

	logs, err := filepath.Glob(filepath.Join(o.Dir, "domain-*.epochs"))
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
