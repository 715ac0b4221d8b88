package dcps

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/omg-dds-go/dds/dcps/internal/evolved/newer"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

var historyPiece = flag.Int("history.piece", historyAtOnce, "how many samples of a history are taken, or given, between two passes")

// TestMain lets the test binary be a process of its own that tests start: a publisher, or what attend says.
func TestMain(m *testing.M) {
	if domain := os.Getenv("DCPS_TEST_PUBLISHER"); domain != "" {
		if err := publish(domain); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if domain := os.Getenv("DCPS_TEST_COHERENT"); domain != "" {
		if err := publishSets(domain); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if domain := os.Getenv("DCPS_TEST_OLDER"); domain != "" {
		if err := beOlder(domain); err != nil {
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
	flag.Parse()
	historyAtOnce = *historyPiece
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

// beOlder is a program that was built with the older types: it writes Tracks, tells of the first Ship that it reads,
// and leaves when its input ends.
func beOlder(domain string) error {
	id, err := strconv.Atoi(domain)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := NewDomainParticipant(ctx, DomainID(id), WithName("older"))
	if err != nil {
		return err
	}
	tracks, err := NewTopic[older.Track](p, "Track")
	if err != nil {
		return err
	}
	ships, err := NewTopic[older.Ship](p, "Ship")
	if err != nil {
		return err
	}
	pub, err := p.NewPublisher()
	if err != nil {
		return err
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		return err
	}
	w, err := NewDataWriter(pub, tracks, WithWriterQos(writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransientLocal
	}, blocking(patience))))
	if err != nil {
		return err
	}
	for i := range int32(10) {
		if err := w.Write(ctx, &older.Track{ID: i, Altitude: 10 * i, Text: "old"}); err != nil {
			return err
		}
	}
	r, err := NewDataReader(sub, ships, WithReaderQos(readerQos()))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for s, err := range r.Stream(ctx) {
		if err != nil {
			return err
		}
		if d := s.Data(); d != nil {
			fmt.Println(d.ID, d.Name)
			break
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return p.Close()
}

// Programs that were built with two versions of the types understand each other, both ways, and hand over history.
//
// Clauses: X7.6.3.4
func TestCoreProcessesOfTwoVersions(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			d := onCore(t, Settings{Transport: transport, Lease: noLease})
			child := exec.CommandContext(patiently(t), os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("DCPS_TEST_OLDER=%d", d.id), "DDS_TRANSPORT="+transport, "DDS_LEASE="+noLease.String())
			child.Stderr = os.Stderr
			in, err := child.StdinPipe()
			require.NoError(t, err)
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			said := bufio.NewReader(out)
			line, err := said.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "ready\n", line)

			n := d.node(t, WithName("newer"))
			r := readerOf[newer.Track](t, n, "Track", readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
			require.NoError(t, r.WaitForHistoricalData(patiently(t)))
			for i := range int32(10) {
				got, _ := next(t, r)
				require.Equal(t, newer.Track{ID: i, Altitude: 10 * i, Text: "old", Speed: 7}, got)
			}
			w := writerOf[newer.Ship](t, n, "Ship", writerQos())
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			require.NoError(t, w.Write(patiently(t), &newer.Ship{ID: 5, Name: "Aurora", Heading: 3}))
			line, err = said.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "5 Aurora\n", line)
			require.NoError(t, in.Close())
			require.NoError(t, child.Wait())
		})
	}
}

// Processes of their own find each other, hand over history, and leave cleanly.
func TestCoreProcesses(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			d := onCore(t, Settings{Transport: transport, Lease: noLease})
			child := exec.CommandContext(patiently(t), os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("DCPS_TEST_PUBLISHER=%d", d.id), "DDS_TRANSPORT="+transport, "DDS_LEASE="+noLease.String())
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
