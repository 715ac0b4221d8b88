package dcps

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be a process of its own that tests start: a publisher, or what attend says.
func TestMain(m *testing.M) {
	if domain := os.Getenv("DCPS_TEST_PUBLISHER"); domain != "" {
		if err := publish(domain); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if domain := os.Getenv("DCPS_TEST_MEMBER"); domain != "" {
		if err := attend(domain); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// publish writes 100 samples of 10 instances, says so, and leaves when its input ends.
func publish(domain string) error {
	id, err := strconv.Atoi(domain)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := NewDomainParticipant(ctx, DomainID(id), WithName("publisher"))
	if err != nil {
		return err
	}
	tp, err := NewTopic[track](p, "Track")
	if err != nil {
		return err
	}
	pub, err := p.NewPublisher()
	if err != nil {
		return err
	}
	w, err := NewDataWriter(pub, tp, WithWriterQos(writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransientLocal
	}, blocking(patience))))
	if err != nil {
		return err
	}
	for i := range int32(100) {
		if err := w.Write(ctx, &track{ID: i % 10, Value: i}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return p.Close()
}

// Processes of their own find each other, hand over history, and leave cleanly.
func TestCoreProcesses(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			d := onCore(t, Settings{Transport: transport})
			child := exec.CommandContext(patiently(t), os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("DCPS_TEST_PUBLISHER=%d", d.id), "DDS_TRANSPORT="+transport)
			child.Stderr = os.Stderr
			in, err := child.StdinPipe()
			require.NoError(t, err)
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "ready\n", line)

			n := d.node(t, WithName("reader"))
			r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
			require.NoError(t, r.WaitForHistoricalData(patiently(t)))
			require.Equal(t, "0:90 1:91 2:92 3:93 4:94 5:95 6:96 7:97 8:98 9:99", values(t, r, 10))
			peers := r.MatchedPublications()
			require.Len(t, peers, 1)
			require.Equal(t, child.Process.Pid, peers[0].PID)
			require.Equal(t, "publisher", peers[0].Name)

			require.NoError(t, in.Close())
			require.NoError(t, child.Wait())
			gone := r.StatusCondition()
			for r.LivelinessChangedStatus().AliveCount > 0 {
				gone.SetEnabledStatuses(LivelinessChangedStatusBit)
				<-gone.Ready()
			}
			s, err := r.Take()
			require.NoError(t, err)
			require.Equal(t, 10, s.Len())
			require.Equal(t, InstanceNotAliveDisposed, s.At(0).Info.InstanceState)
			s.Close()
		})
	}
}
