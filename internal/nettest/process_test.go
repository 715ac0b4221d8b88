package nettest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// What a process of the test is told.
const (
	envName    = "DDS_NETTEST_NAME"    // set: this is such a process; its name, and key of what it writes
	envMembers = "DDS_NETTEST_MEMBERS" // how many processes there are
	envBeats   = "DDS_NETTEST_BEATS"   // how many samples each writes
)

const limit = 4 * time.Minute // for everything; nothing waits that long unless it fails

func TestMain(m *testing.M) {
	var role func() error
	switch {
	case os.Getenv(envName) != "":
		role = member
	case os.Getenv(envNode) != "":
		role = bareNode
	}
	if role == nil {
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Getenv(envName), err)
		os.Exit(1)
	}
}

// member writes its beats when all processes are there, reads everybody's, and prints a digest of what it read, in the
// order in which it was delivered. It says "joined" first, and stays until its input ends.
func member() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	members, err := strconv.Atoi(os.Getenv(envMembers))
	if err != nil {
		return err
	}
	beats, err := strconv.Atoi(os.Getenv(envBeats))
	if err != nil {
		return err
	}
	p, err := dcps.NewDomainParticipant(ctx, 77, dcps.WithName(os.Getenv(envName)))
	if err != nil {
		return err
	}
	defer func() {
		if closing := p.Close(); err == nil {
			err = closing
		}
	}()
	fmt.Println("joined")
	topic, err := dcps.NewTopic[Beat](p, "Beat")
	if err != nil {
		return err
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		return err
	}
	rq := qos.DefaultDataReader()
	rq.Reliability.Kind, rq.History.Kind = qos.ReliabilityReliable, qos.HistoryKeepAll
	r, err := dcps.NewDataReader(sub, topic, dcps.WithReaderQos(rq))
	if err != nil {
		return err
	}
	pub, err := p.NewPublisher()
	if err != nil {
		return err
	}
	wq := qos.DefaultDataWriter()
	wq.History.Kind, wq.Reliability.MaxBlockingTime = qos.HistoryKeepAll, limit
	w, err := dcps.NewDataWriter(pub, topic, dcps.WithWriterQos(wq))
	if err != nil {
		return err
	}
	if err := w.WaitForMatch(ctx, members); err != nil {
		return err
	}
	if err := r.WaitForMatch(ctx, members); err != nil {
		return err
	}
	wrote := make(chan error, 1)
	go func() { wrote <- write(ctx, w, beats) }()
	digest, err := collect(ctx, r, members*beats)
	if err != nil {
		return err
	}
	if err := <-wrote; err != nil {
		return err
	}
	fmt.Println(digest)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func write(ctx context.Context, w *dcps.DataWriter[Beat], beats int) error {
	b := Beat{Host: os.Getenv(envName)}
	for range beats {
		b.Number++
		if err := w.Write(ctx, &b); err != nil {
			return err
		}
	}
	return w.WaitForAcknowledgments(ctx)
}

// collect reads n beats and digests them. The beats of each process must come in its order, without gap or duplicate.
func collect(ctx context.Context, r *dcps.DataReader[Beat], n int) (string, error) {
	h := sha256.New()
	last := map[string]uint32{}
	for s, err := range r.Stream(ctx) {
		if err != nil {
			return "", err
		}
		b := s.Data()
		if b == nil {
			continue
		}
		if b.Number != last[b.Host]+1 {
			return "", fmt.Errorf("beat %d of %s after beat %d", b.Number, b.Host, last[b.Host])
		}
		last[b.Host] = b.Number
		fmt.Fprintf(h, "%s %d\n", b.Host, b.Number)
		if n--; n == 0 {
			return fmt.Sprintf("digest %x", h.Sum(nil)), nil
		}
	}
	return "", fmt.Errorf("%d beats did not come: %w", n, ctx.Err())
}

// process is a started member.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	said  *strings.Builder // on standard error
}

func start(t *testing.T, h host, name string, members, beats int, listen string, peers ...string) *process {
	t.Helper()
	c := h.command(
		envName+"="+name, fmt.Sprintf("%s=%d", envMembers, members), fmt.Sprintf("%s=%d", envBeats, beats),
		"DDS_LISTEN="+listen, "DDS_PEERS="+strings.Join(peers, ","), "DDS_TRANSPORT=shm", "DDS_DIR=", "DDS_LEASE=20s", // a busy machine may not run a process for longer than the usual lease
	)
	return run(t, c, name)
}

// run starts a process that ends with the test.
func run(t *testing.T, c *exec.Cmd, name string) *process {
	t.Helper()
	p := &process{name: name, cmd: c, said: new(strings.Builder)}
	c.Stderr = p.said
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if t.Failed() {
			t.Logf("%s: %v: %s", name, c.ProcessState, p.said)
		}
	})
	return p
}

// line is what the process says next.
func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		_ = p.cmd.Wait()
		t.Fatalf("%s ended early: %v: %s", p.name, p.cmd.ProcessState, p.said)
	}
	return p.lines.Text()
}

// leave ends the process's input and waits for it.
func (p *process) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, p.stdin.Close())
	require.NoError(t, p.cmd.Wait(), "%s: %s", p.name, p.said)
}
