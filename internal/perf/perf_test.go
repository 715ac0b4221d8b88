package perf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

const (
	envDomain    = "DDS_PERF_DOMAIN" // set: this process is a reader
	envTransport = "DDS_PERF_TRANSPORT"
)

func TestMain(m *testing.M) {
	if os.Getenv(envDomain) != "" && os.Getenv("DDS_PERF_READER") != "" {
		if err := read(); err != nil {
			fmt.Fprintln(os.Stderr, "reader:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func join(ctx context.Context) (*dcps.DomainParticipant, *dcps.Topic[Payload], error) {
	id, err := strconv.ParseUint(os.Getenv(envDomain), 10, 32)
	if err != nil {
		return nil, nil, err
	}
	p, err := dcps.NewDomainParticipant(ctx, dcps.DomainID(id), dcps.WithSettings(dcps.Settings{Transport: os.Getenv(envTransport)}))
	if err != nil {
		return nil, nil, err
	}
	t, err := dcps.NewTopic[Payload](p, "Payload")
	return p, t, err
}

// report is what a reader tells: how many samples it had, and how late they were.
type report struct {
	Samples       int64
	P50, P99, Max float64 // µs
}

// read is a reader process: for each number n on its standard input it reads n samples more and
// answers with a report.
func read() error {
	ctx := context.Background()
	p, t, err := join(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	sub, err := p.NewSubscriber()
	if err != nil {
		return err
	}
	q := qos.DefaultDataReader()
	q.Reliability.Kind = qos.ReliabilityReliable
	q.History.Kind = qos.HistoryKeepAll
	q.ResourceLimits.MaxSamples = 10000
	r, err := dcps.NewDataReader(sub, t, dcps.WithReaderQos(q))
	if err != nil {
		return err
	}
	some := dcps.NewWaitSet(r.NewReadCondition(0, 0, 0))
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	next := uint64(0)
	for in.Scan() {
		n, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			return err
		}
		h := hdrhistogram.New(1, 60e9, 3)
		for got := int64(0); got < n; {
			loan, err := r.TakeLoan()
			if errors.Is(err, dcps.ErrNoData) {
				if _, err := some.Wait(ctx); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			now := time.Now().UnixNano()
			for info, b := range loan.All() {
				if !info.ValidData {
					continue
				}
				v, err := NewPayloadView(b)
				if err != nil {
					return err
				}
				if v.Number() != next {
					return fmt.Errorf("sample %d where %d was due", v.Number(), next)
				}
				next++
				got++
				if sent := v.Sent(); sent != 0 { // else only the rate is measured
					_ = h.RecordValue(now - sent)
				}
			}
			loan.Close()
		}
		us := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
		b, _ := json.Marshal(report{n, us(50), us(99), float64(h.Max()) / 1e3})
		fmt.Println(string(b))
	}
	return nil
}

type process struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startReader(b *testing.B) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DDS_PERF_READER=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	p := &process{in, bufio.NewScanner(out)}
	require.NoError(b, cmd.Start())
	require.True(b, p.out.Scan(), "the reader did not start")
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return p
}

func (p *process) ask(n int) { fmt.Fprintln(p.in, n) }

func (p *process) report(b *testing.B) (r report) {
	b.Helper()
	require.True(b, p.out.Scan(), "the reader died")
	require.NoError(b, json.Unmarshal(p.out.Bytes(), &r))
	return r
}

// setUp starts the readers and a writer that is matched with all of them.
func setUp(b *testing.B, transport string, readers int) (*dcps.DataWriter[Payload], []*process) {
	b.Helper()
	b.Setenv(envDomain, fmt.Sprint(rand.Uint32N(1<<30)))
	b.Setenv(envTransport, transport)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p, t, err := join(ctx)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.Close()) })
	var procs []*process
	for range readers {
		procs = append(procs, startReader(b))
	}
	pub, err := p.NewPublisher()
	require.NoError(b, err)
	q := qos.DefaultDataWriter()
	q.Reliability.MaxBlockingTime = qos.Infinite
	q.History.Kind = qos.HistoryKeepAll
	w, err := dcps.NewDataWriter(pub, t, dcps.WithWriterQos(q))
	require.NoError(b, err)
	require.NoError(b, w.WaitForMatch(ctx, readers))
	return w, procs
}

func BenchmarkThroughput(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, size := range []int{128, 10 << 10} {
			for _, readers := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("%s/size=%d/readers=%d", transport, size, readers), func(b *testing.B) {
					throughput(b, transport, size, readers)
				})
			}
		}
	}
}

func throughput(b *testing.B, transport string, size, readers int) {
	w, procs := setUp(b, transport, readers)
	ctx := context.Background()
	payload := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for _, p := range procs {
		p.ask(b.N)
	}
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
	for _, p := range procs {
		p.report(b)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkLatency is paced: it takes a millisecond for each iteration.
func BenchmarkLatency(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, readers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/readers=%d", transport, readers), func(b *testing.B) {
				latency(b, transport, readers)
			})
		}
	}
}

func latency(b *testing.B, transport string, readers int) {
	w, procs := setUp(b, transport, readers)
	ctx := context.Background()
	sample := &Payload{Bytes: make([]byte, 128-16)}
	b.ResetTimer()
	for _, p := range procs {
		p.ask(b.N)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range b.N {
		<-tick.C
		sample.Number, sample.Sent = uint64(i), time.Now().UnixNano()
		if err := w.Write(ctx, sample); err != nil {
			b.Fatal(err)
		}
	}
	var worst report
	for _, p := range procs {
		r := p.report(b)
		worst.P50, worst.P99, worst.Max = max(worst.P50, r.P50), max(worst.P99, r.P99), max(worst.Max, r.Max)
	}
	b.StopTimer()
	b.ReportMetric(worst.P50, "p50-µs")
	b.ReportMetric(worst.P99, "p99-µs")
	b.ReportMetric(worst.Max, "max-µs")
}
