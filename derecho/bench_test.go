package derecho

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The benchmarks of the core run readers as processes of their own: this test binary, started again
// with a role. What they print is a rate at the slowest reader.

const (
	envRole = "DERECHO_BENCH_ROLE"
	benchSG = 5
	benchCh = 7
)

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		if err := benchRole(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func benchConfig() Config {
	d, _ := strconv.ParseUint(os.Getenv("DERECHO_BENCH_DOMAIN"), 10, 32)
	return Config{Domain: uint32(d), Transport: Transport(os.Getenv("DERECHO_BENCH_TRANSPORT"))}
}

// benchRole is a reader: it reads what comes, and answers each "n" on its standard input with a line
// when it has had n messages more. An echo sends everything back.
func benchRole(role string) error {
	ctx := context.Background()
	h := &counter{news: make(chan struct{}, 1)}
	var n *Node
	n, err := Join(ctx, benchConfig(), h)
	if err != nil {
		return err
	}
	if err := n.AddEndpoint(ctx, Endpoint{ID: 1, Channel: benchCh, Reads: []Subgroup{{benchSG, Ordered}}}); err != nil {
		return err
	}
	if role == "echo" {
		back := Subgroup{benchSG + 1, Ordered}
		if err := n.AddEndpoint(ctx, Endpoint{ID: 2, Channel: benchCh, Writes: back}); err != nil {
			return err
		}
		h.each = func(m *Message) {
			s, err := n.Reserve(ctx, back.ID, benchCh, len(m.Payload), time.Time{})
			if err == nil {
				copy(s.Bytes(), m.Payload)
				s.Commit(Header{Writer: 2}, len(m.Payload))
			}
		}
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	total := int64(0)
	for in.Scan() {
		k, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			return err
		}
		total += k
		for h.n.Load() < total {
			<-h.news
		}
		fmt.Println("done")
	}
	return n.Leave(ctx)
}

type benchProc struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startProc(b testing.TB, role string) *benchProc {
	b.Helper()
	p := &benchProc{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), envRole+"="+role)
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(b, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(b, err)
	p.out = bufio.NewScanner(out)
	require.NoError(b, p.cmd.Start())
	require.True(b, p.out.Scan(), "process of role %s died", role)
	b.Cleanup(func() {
		p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return p
}

func BenchmarkThroughput(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, size := range []int{128, 10 << 10} {
			for _, readers := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("%s/%dB/readers=%d", transport, size, readers), func(b *testing.B) {
					benchThroughput(b, transport, size, readers)
				})
			}
		}
	}
}

func benchThroughput(b *testing.B, transport string, size, readers int) {
	b.Setenv("DERECHO_BENCH_DOMAIN", fmt.Sprint(rand.Uint32()))
	b.Setenv("DERECHO_BENCH_TRANSPORT", transport)
	ctx := context.Background()
	n, err := Join(ctx, benchConfig(), &counter{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, n.Leave(ctx)) })
	var procs []*benchProc
	for range readers {
		procs = append(procs, startProc(b, "read"))
	}
	require.NoError(b, n.AddEndpoint(ctx, Endpoint{ID: 1, Channel: benchCh, Writes: Subgroup{benchSG, Ordered}}))
	payload := make([]byte, size)
	b.SetBytes(int64(size))
	b.ResetTimer()
	for _, p := range procs {
		fmt.Fprintln(p.in, b.N)
	}
	for range b.N {
		s, err := n.Reserve(ctx, benchSG, benchCh, size, time.Time{})
		if err != nil {
			b.Fatal(err)
		}
		copy(s.Bytes(), payload)
		s.Commit(Header{Writer: 1}, size)
	}
	for _, p := range procs {
		require.True(b, p.out.Scan())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.StopTimer()
}

// BenchmarkRoundTrip sends 128 bytes to another process and back, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		b.Run(transport, func(b *testing.B) {
			b.Setenv("DERECHO_BENCH_DOMAIN", fmt.Sprint(rand.Uint32()))
			b.Setenv("DERECHO_BENCH_TRANSPORT", transport)
			ctx := context.Background()
			h := &counter{news: make(chan struct{}, 1)}
			n, err := Join(ctx, benchConfig(), h)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, n.Leave(ctx)) })
			require.NoError(b, n.AddEndpoint(ctx, Endpoint{ID: 2, Channel: benchCh, Reads: []Subgroup{{benchSG + 1, Ordered}}}))
			startProc(b, "echo")
			require.NoError(b, n.AddEndpoint(ctx, Endpoint{ID: 1, Channel: benchCh, Writes: Subgroup{benchSG, Ordered}}))
			times := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				start := time.Now()
				s, err := n.Reserve(ctx, benchSG, benchCh, 128, time.Time{})
				if err != nil {
					b.Fatal(err)
				}
				s.Commit(Header{Writer: 1}, 128)
				for h.n.Load() <= int64(i) {
					<-h.news
				}
				times = append(times, time.Since(start))
			}
			b.StopTimer()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
}
