package experiment

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/bench"
)

// forBenchmark is an experiment of b.N samples that count. It has no warm-up: a benchmark that is too short begins again
// with a larger b.N.
func forBenchmark(b *testing.B, transport string, readers int) Experiment {
	b.Setenv("DDS_BENCH_CHILD", "1")
	e := Experiment{Options: bench.DefaultOptions(), Writers: 1, Readers: readers, Timeout: 5 * time.Minute}
	e.Transport, e.WarmUp, e.Duration, e.Count = transport, 0, 0, uint64(b.N)
	return e
}

// run makes the experiment. Starting processes is not what is measured, so what the readers tell is reported, not the time
// that all of it took.
func (e *Experiment) run(b *testing.B) Summary {
	b.Helper()
	o, err := e.Run(context.Background(), []string{os.Args[0]})
	require.NoError(b, err)
	require.Zero(b, o.Summary.Lost)
	b.ReportMetric(0, "ns/op")
	return o.Summary
}

// BenchmarkThroughput writes as fast as the slowest reader takes. Nothing may be lost.
func BenchmarkThroughput(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, size := range []int{128, 10 << 10} {
			for _, readers := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("%s/size=%d/readers=%d", transport, size, readers), func(b *testing.B) {
					e := forBenchmark(b, transport, readers)
					e.Size = size
					s := e.run(b)
					b.ReportMetric(s.Rate, "samples/s")
					b.ReportMetric(s.Mbps/8, "MB/s")
				})
			}
		}
	}
}

// BenchmarkLatency writes 128 bytes a thousand times a second, and reports the latency one way at the slowest reader.
func BenchmarkLatency(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, readers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/readers=%d", transport, readers), func(b *testing.B) {
				e := forBenchmark(b, transport, readers)
				e.Size, e.Rate = 128, 1000
				l := e.run(b).Latency
				b.ReportMetric(float64(l.P50)/1e3, "p50-µs")
				b.ReportMetric(float64(l.P99)/1e3, "p99-µs")
				b.ReportMetric(float64(l.Max)/1e3, "max-µs")
			})
		}
	}
}
