package derecho

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma/shm"
)

// A peer has taken the name from this process's bell, and is killed, or stopped, before it wakes who was named: until a
// heartbeat nobody is woken by any ring, but no longer. Sleeper.Cancel stores what such a peer leaves.

func TestNameTakenFromThePoller(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Lease = time.Second
		w, _, rec := c.pair(nil)
		const n = 3 * maxBatch
		for round := 1; round <= 3; round++ {
			require.Eventually(t, thePoller.run.Named, patience, time.Millisecond, "the poller sleeps")
			thePoller.run.Cancel()
			begin := time.Now()
			for range n {
				w.mustSend(t, ordered, 7, 1, "x")
			}
			rec.wait(t, "what was sent", func() bool { return len(rec.got) == round*n })
			require.Less(t, time.Since(begin), sweepTime)
		}
	})
}

func TestNameTakenFromALender(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Lease = time.Second
		c.pair(nil)
		var ready atomic.Bool
		over := make(chan struct{})
		go func() {
			defer close(over)
			for !ready.Load() {
				Lend(ready.Load)
			}
		}()
		require.Eventually(t, thePoller.lender.Named, patience, time.Millisecond, "the lender sleeps")
		thePoller.lender.Cancel()
		ready.Store(true)
		Nudge() // what a wait relies on at the end of its context
		select {
		case <-over:
		case <-time.After(patience):
			thePoller.lender.Wake()
			require.Fail(t, "it sleeps on")
		}
	})
}

// That a process ends is heard at once also if it took the name.
func TestNameTakenByWhoEnds(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: uint32(time.Now().UnixNano())}}
	c.unswept()
	n, _ := c.join()
	require.Eventually(t, thePoller.run.Named, patience, time.Millisecond, "the poller sleeps")
	thePoller.run.Cancel()
	heard := make(chan struct{})
	l := n.life.Load()
	poster{func(func(*machine)) { l.post(func(*machine) { close(heard) }) }, thePoller.rouse}.Dying(nil)
	select {
	case <-heard:
	case <-time.After(patience):
		require.Fail(t, "nobody hears it")
	}
}

// A peer may have the page of the bell for longer than this process has a node over shared memory: it rings, and who is named
// by then is woken in the way in which that peer can.
func TestPeerRingsWhenOnlyTCPIsLeft(t *testing.T) {
	shared := &cluster{t: t, cfg: Config{Domain: uint32(time.Now().UnixNano())}}
	shared.unswept()
	n, err := Join(ctxFor(t), shared.cfg, newRecorder())
	require.NoError(t, err)
	peers := peersBell(t, thePoller.bell)
	c := &cluster{t: t, cfg: Config{Domain: shared.cfg.Domain + 1, Transport: TransportTCP}}
	c.unswept()
	w, _, rec := c.pair(nil)
	require.NoError(t, n.Leave(ctxFor(t)))
	for round := 1; round <= 20; round++ {
		require.Eventually(t, thePoller.run.Named, patience, time.Millisecond, "the poller sleeps")
		peers.Ring()
		w.mustSend(t, ordered, 7, 1, "x")
		rec.wait(t, "what was sent", func() bool { return len(rec.got) == round })
	}
}

// peersBell is a bell as a peer has it that it was handed to.
func peersBell(t *testing.T, b *shm.BellMemory) *shm.BellMemory {
	t.Helper()
	rights, err := unix.ParseSocketControlMessage(b.Rights())
	require.NoError(t, err)
	fds, err := unix.ParseUnixRights(&rights[0])
	require.NoError(t, err)
	fd, err := unix.Dup(fds[0])
	require.NoError(t, err)
	peers, err := shm.MapBell(fd)
	require.NoError(t, err)
	return peers
}
