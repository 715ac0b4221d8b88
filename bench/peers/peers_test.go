package peers_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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
			t.Run("throughput", func(t *testing.T) { throughput(ctx, t, v) })
			t.Run("round trip", func(t *testing.T) { roundTrip(ctx, t, v) })
		})
	}
}

// throughput sends for a second to two readers.
func throughput(ctx context.Context, t *testing.T, v peers.Variant) {
	const readers, size = 2, 1024
	options := []string{"--size", strconv.Itoa(size), "--duration", "1", "--warmup", "0.3", "--timeout", "20"}
	if v.Stalls { // what is checked is how it counts, so it stays below
		options = append(options, "--rate", "2000")
	}
	pub := start(t, v.Command(ctx, "pub", peers.Throughput, append(options, "--readers", strconv.Itoa(readers))...))
	var subs []*process
	for range readers {
		subs = append(subs, start(t, v.Command(ctx, "sub", peers.Throughput, options...)))
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
func roundTrip(ctx context.Context, t *testing.T, v peers.Variant) {
	options := []string{"--warmup", "0.3", "--timeout", "20"}
	pong := start(t, v.Command(ctx, "pong", peers.Latency, options...))
	ping := start(t, v.Command(ctx, "ping", peers.Latency, append(options, "--count", "200", "--rate", "200")...))
	for _, p := range []*process{ping, pong} {
		got := p.result(t)
		assert.Equal(t, int64(200), got.Count, got.Role)
		assert.Zero(t, got.Lost, got.Role)
		ordered(t, got)
	}
}

func ordered(t *testing.T, r result.Result) {
	t.Helper()
	assert.Positive(t, r.P50)
	assert.IsNonDecreasing(t, []int64{r.P50, r.P90, r.P99, r.P999, r.P9999, r.Max})
}

type process struct {
	cmd         *exec.Cmd
	out, errors bytes.Buffer
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &p.out, &p.errors
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()
	})
	return p
}

func (p *process) result(t *testing.T) result.Result {
	t.Helper()
	err := p.cmd.Wait()
	said := p.errors.String()
	require.NoError(t, err, "%v: ...%s", p.cmd.Args, said[max(0, len(said)-500):])
	list, err := result.Parse(p.out.Bytes())
	require.NoError(t, err)
	require.Len(t, list, 1, "%v printed %s", p.cmd.Args, p.out.String())
	return list[0]
}
