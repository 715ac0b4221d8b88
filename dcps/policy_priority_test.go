package dcps

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// priorityOf asks what the core would be told of a subgroup.
func (n *node) priorityOf(t *testing.T, sg derecho.SubgroupID) (p int32) {
	t.Helper()
	require.NoError(t, n.p.core.Upcall(patiently(t), func() { p = n.p.hub.Priority(sg) }))
	return p
}

// A subgroup is as urgent as the most urgent of its writers, at every process of the domain, also after SetQos and when
// writers go.
//
// Clauses: 2.2.3.15
func TestDDS14_2_2_3_15_HighestOfTheWriters(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	urgent := func(p int32) qos.DataWriter {
		return writerQos(func(q *qos.DataWriter) { q.TransportPriority.Value = p })
	}
	w, w2 := a.writer(t, urgent(-3)), b.writer(t, urgent(10))
	sg := w.at.sg
	all := func(want int32) {
		t.Helper()
		d.bus.settle(t)
		for _, n := range d.nodes {
			require.Equal(t, want, n.priorityOf(t, sg))
		}
	}
	all(10)
	require.Zero(t, a.priorityOf(t, sg+100))
	require.NoError(t, w.SetQos(urgent(46)))
	all(46)
	require.NoError(t, w.SetQos(urgent(-3)))
	all(10)
	require.NoError(t, w2.Close())
	all(-3)
	require.NoError(t, w.Close())
	all(0)
}

// marks are the IP_TOS of this process's TCP connections.
func marks(t *testing.T) (tos []int) {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, f := range fds {
		fd, err := strconv.Atoi(f.Name())
		require.NoError(t, err)
		if kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil || kind != syscall.SOCK_STREAM {
			continue
		}
		switch peer, _ := syscall.Getpeername(fd); peer.(type) {
		case *syscall.SockaddrInet4, *syscall.SockaddrInet6:
			v, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS)
			require.NoError(t, err)
			tos = append(tos, v)
		}
	}
	return tos
}

// The connections of all processes of the domain carry the highest priority in use as their DSCP: those of readers, too, whose
// acknowledgements the delivery waits for.
//
// Clauses: 2.2.3.15
func TestDDS14_2_2_3_15_MarksConnections(t *testing.T) {
	d := onCore(t, Settings{Transport: "tcp"})
	a, b := d.node(t), d.node(t)
	both := func(want ...int) {
		t.Helper()
		for _, n := range d.nodes {
			require.NoError(t, n.p.core.Upcall(patiently(t), func() {})) // the core follows behind the upcall that told of the writer
		}
		require.Equal(t, want, marks(t), "IP_TOS of both ends")
	}
	both(0, 0)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.TransportPriority.Value = 46 }))
	r := b.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	require.NoError(t, r.WaitForMatch(patiently(t), 1))
	both(46<<2, 46<<2)
	require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.TransportPriority.Value = 1000 })))
	d.settle(t)
	both(63<<2, 63<<2)
	require.NoError(t, w.Close())
	d.settle(t)
	both(0, 0)
}
