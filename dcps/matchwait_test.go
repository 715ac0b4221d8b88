package dcps

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Who waits for a match in vain is told what there is.
func TestWaitForMatchSaysWhatIsMissing(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithName("tower"))
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	wait := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := w.WaitForMatch(ctx, 2)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err.Error()
	}
	require.Contains(t, wait(), "0 of 2 readers are matched; none was refused for its QoS or type, so the others are not there, or in another domain or partition")
	n.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := n.reader(t, readerQos())
	d.settle(t)
	require.Contains(t, wait(), "1 of 2 readers are matched; refused were 1, the latest for RELIABILITY: offered BEST_EFFORT, requested RELIABLE; peer tower")
	require.NoError(t, w.WaitForMatch(patiently(t), 1))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.WaitForMatch(ctx, 1), "0 of 1 writers are matched; refused were 1, the latest for RELIABILITY")
}

// A peer that was not reached is no failure. Who waits for it in vain is told of it, and why: the address may be mistyped.
func TestWaitForMatchTellsOfUnreachedPeers(t *testing.T) {
	ssh, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ssh.Close()
	go func() {
		for {
			c, err := ssh.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n"))
			defer c.Close()
		}
	}()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	nobody, other := gone.Addr().String(), ssh.Addr().String()

	n := onCore(t, Settings{Peers: []string{nobody, other}}).node(t)
	unreached := []string{nobody + ": connection refused: nobody listens there", other + ": what answers there is no participant of this middleware"}
	require.Equal(t, unreached, n.p.UnreachedPeers())
	require.NoError(t, n.p.Err())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorContains(t, n.writer(t, writerQos()).WaitForMatch(ctx, 1), "or in another domain or partition; of the peers in Settings.Peers or DDS_PEERS "+
		"these are not reached, see whether they are right and up: "+unreached[0]+"; "+unreached[1]+": context deadline exceeded")

	require.NoError(t, n.p.Close())
	require.Empty(t, (*DomainParticipant)(nil).UnreachedPeers())
	require.Empty(t, onBus(t).node(t).p.UnreachedPeers())
}
