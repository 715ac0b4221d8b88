package peers_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/bench/peers"
)

var exchange = flag.Bool("peers.exchange", false, "build the peers that are installed, and let them exchange samples")

func TestMain(m *testing.M) {
	if err := isolate.Possible(); err != nil {
		fmt.Println("SKIP:", err)
		return
	}
	os.Exit(isolate.Main(m.Run))
}

// The programs are measured elsewhere; here is checked that each of them counts right.
func TestPeersExchangeSamples(t *testing.T) {
	if !*exchange {
		t.Skip("builds programs in C++ and runs each of them, a minute and a half in all: ask for it with -peers.exchange")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	p, err := peers.Build(ctx, t.TempDir())
	require.NoError(t, err)
	for _, missing := range p.Missing {
		t.Run("missing", func(t *testing.T) { t.Skip(missing) })
	}
	for _, v := range p.Variants {
		t.Run(v.Name, func(t *testing.T) {
			stop, err := v.StartDaemon(ctx)
			require.NoError(t, err)
			defer stop()
			t.Run("throughput", func(t *testing.T) { again(t, func(t require.TestingT) { throughput(ctx, t, v) }) })
			t.Run("round trip", func(t *testing.T) { again(t, func(t require.TestingT) { roundTrip(ctx, t, v) }) })
		})
	}
}

// attempt is a run of programs, and what was wrong with it.
type attempt struct{ wrong []string }

func (a *attempt) Errorf(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}
func (a *attempt) FailNow() { runtime.Goexit() }

// again runs programs a few times at most: those of others may not find each other in time, or lose something, on a
// machine that has much else to do.
func again(t *testing.T, run func(t require.TestingT)) {
	for try := 1; ; try++ {
		a, ended := new(attempt), make(chan struct{})
		go func() {
			defer close(ended)
			run(a)
		}()
		<-ended
		if len(a.wrong) == 0 {
			return
		}
		if try == 3 {
			t.Fatal(strings.Join(a.wrong, "\n"))
		}
		t.Logf("once more: %s", strings.Join(a.wrong, "\n"))
	}
}

// throughput sends for a second to two readers.
func throughput(ctx context.Context, t require.TestingT, v peers.Variant) {
	const readers, size = 2, 1024
	options := []string{"--size", strconv.Itoa(size), "--duration", "1", "--warmup", "0.3", "--timeout", "40"}
	if v.Stalls { // what is checked is how it counts, so it stays below
		options = append(options, "--rate", "2000")
	}
	pub := start(t, v.Command(ctx, "pub", peers.Throughput, append(options, "--readers", strconv.Itoa(readers))...))
	defer pub.end()
	var subs []*process
	for range readers {
		sub := start(t, v.Command(ctx, "sub", peers.Throughput, options...))
		defer sub.end()
		subs = append(subs, sub)
	}
	sent := pub.result(t)
	assert.Equal(t, "pub", sent.Role)
	assert.Equal(t, v.Name, sent.Impl)
	assert.Positive(t, sent.Count)
	assert.Positive(t, sent.Rate)
	for _, s := range subs {
		got := s.result(t)
		assert.Equal(t, "sub", got.Role)
		assert.Equal(t, v.Name, got.Impl)
		assert.Equal(t, size, got.Size)
		assert.Positive(t, got.Count)
		assert.Equal(t, sent.Count, got.Count+got.Lost, "every sample is counted, or is lost")
		assert.GreaterOrEqual(t, got.Lost, int64(0))
		if !v.MayLose {
			assert.Zero(t, got.Lost)
		}
		ordered(t, got)
	}
}

// roundTrip sends 200 samples in a second and gets them back.
func roundTrip(ctx context.Context, t require.TestingT, v peers.Variant) {
	options := []string{"--warmup", "0.3", "--timeout", "40"}
	pong := start(t, v.Command(ctx, "pong", peers.Latency, options...))
	defer pong.end()
	ping := start(t, v.Command(ctx, "ping", peers.Latency, append(options, "--count", "200", "--rate", "200")...))
	defer ping.end()
	for _, p := range []*process{ping, pong} {
		got := p.result(t)
		assert.Equal(t, int64(200), got.Count, got.Role)
		assert.Zero(t, got.Lost, got.Role)
		ordered(t, got)
	}
}

func ordered(t require.TestingT, r result.Result) {
	assert.Positive(t, r.P50)
	assert.IsNonDecreasing(t, []int64{r.P50, r.P90, r.P99, r.P999, r.P9999, r.Max})
}

type process struct {
	cmd         *exec.Cmd
	out, errors bytes.Buffer
}

func start(t require.TestingT, cmd *exec.Cmd) *process {
	p := &process{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &p.out, &p.errors
	require.NoError(t, cmd.Start())
	return p
}

func (p *process) end() {
	_ = p.cmd.Process.Kill() // unless it has ended
	_ = p.cmd.Wait()
}

func (p *process) result(t require.TestingT) result.Result {
	err := p.cmd.Wait()
	said := p.errors.String()
	require.NoError(t, err, "%v: ...%s", p.cmd.Args, said[max(0, len(said)-500):])
	list, err := result.Parse(p.out.Bytes())
	require.NoError(t, err)
	require.Len(t, list, 1, "%v printed %s", p.cmd.Args, p.out.String())
	return list[0]
}
