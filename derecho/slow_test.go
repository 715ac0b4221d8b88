package derecho

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// stopReading is a control message on which a deafEnd stops reading its socket.
const stopReading = "read no more"

// deafEnd are the events of a node whose links do not read from stopReading on until gate is closed: they are told by
// the goroutine that reads.
type deafEnd struct {
	rdma.Events
	gate <-chan struct{}
	deaf chan<- struct{} // told when one has stopped
}

func (d *deafEnd) Message(l rdma.Link, msg []byte) {
	switch string(msg[:min(len(msg), len(stopReading))]) {
	case stopReading:
		d.deaf <- struct{}{}
		<-d.gate
	case "filler......":
	default:
		d.Events.Message(l, msg)
	}
}

// socketBuffers is how much may lie in the buffers of both ends of a connection.
func socketBuffers(t *testing.T) int {
	t.Helper()
	sum := 0
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		b, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
		require.NoError(t, err)
		var least, usual, most int
		_, err = fmt.Sscan(string(b), &least, &usual, &most)
		require.NoError(t, err)
		sum += most
	}
	return sum
}

// keepConnections has no connection of this process break though nothing of what was sent is taken, which it does after
// a second otherwise: then nobody would wait for it any more.
func keepConnections(t *testing.T) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range fds {
		fd, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 0) // not all are sockets of that kind
	}
}

// Of three nodes over tcp one reads its socket no more, whose buffers are full. Nothing waits for it but what has to:
// the other receiver is handed many rings of a subgroup that the slow one is not in; of one where it is, exactly the
// window, a ring: unordered at once, ordered only with the slow one, since all or none of the receivers are.
func TestSlowPeerSlowsNobodyBeyondTheWindow(t *testing.T) {
	const ring, size, fit = 1 << 16, 1024 - 40, 1 << 16 / 1024
	shared, alone, loose := Subgroup{ID: 5, Mode: Ordered}, Subgroup{ID: 8, Mode: Ordered}, Subgroup{ID: 9, Mode: Unordered}
	gate, deaf := make(chan struct{}), make(chan struct{}, 1)
	hear := sync.OnceFunc(func() { close(gate) })
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), Transport: TransportTCP, RingBytes: ring, Lease: time.Hour}}
	w, _ := c.join()
	r, rr := c.join()
	c.cfg.fabric = func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
		return realFabric(cfg, id, bell, &deafEnd{ev, gate, deaf})
	}
	s, rs := c.join()
	t.Cleanup(hear)
	r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{shared}})
	r.mustAdd(t, Endpoint{ID: 2, Channel: 8, Reads: []Subgroup{alone}})
	r.mustAdd(t, Endpoint{ID: 3, Channel: 9, Reads: []Subgroup{loose}})
	s.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{shared}})
	s.mustAdd(t, Endpoint{ID: 3, Channel: 9, Reads: []Subgroup{loose}})
	w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: shared})
	w.mustAdd(t, Endpoint{ID: 2, Channel: 8, Writes: alone})
	w.mustAdd(t, Endpoint{ID: 3, Channel: 9, Writes: loose})
	c.settle(8)
	number := 0
	send := func(sg Subgroup, ch ChannelID, deadline time.Time) error {
		slot, err := w.Reserve(ctxFor(t), sg.ID, ch, size, deadline)
		if err != nil {
			return err
		}
		clear(slot.Bytes()[copy(slot.Bytes(), fmt.Sprintf("%d ", number)):])
		number++
		slot.Commit(Header{Writer: EndpointID(ch - 6)}, size)
		return nil
	}
	got := func(rec *recorder, ch ChannelID) int {
		n := 0
		for _, g := range rec.got {
			if g.channel == ch {
				n++
			}
		}
		return n
	}
	for _, x := range []struct {
		sg Subgroup
		ch ChannelID
	}{{shared, 7}, {loose, 9}} { // once while it still reads
		require.NoError(t, send(x.sg, x.ch, time.Time{}))
		for _, rec := range []*recorder{rr, rs} {
			rec.wait(t, "the first", func() bool { return got(rec, x.ch) == 1 })
		}
		e, err := w.sendingEpoch(x.sg.ID, x.ch)
		require.NoError(t, err)
		for e.freed() < e.sender.Sent() { // the answers are on their way
			runtime.Gosched()
		}
	}

	keepConnections(t)
	require.NoError(t, w.await(ctxFor(t), func(m *machine, done func(error)) {
		l := m.links[s.ID()]
		l.Send([]byte(stopReading))
		filler := []byte(strings.Repeat("filler......", rdma.MaxMessage/12))
		for n := 0; n <= socketBuffers(t); n += len(filler) {
			l.Send(filler) // more than the socket takes: who writes to it waits
		}
		done(nil)
	}))
	<-deaf
	late := time.AfterFunc(time.Minute, hear) // if something waits for it, so that this ends
	window := func(sg Subgroup, ch ChannelID, full error) {
		sent := 0
		var err error
		for ; sent <= 2*fit && err == nil; sent++ {
			err = send(sg, ch, time.Now().Add(5*time.Millisecond))
		}
		require.ErrorIs(t, err, full)
		require.Equal(t, fit, sent-1, "a ring is taken")
	}
	window(loose, 9, ErrWouldBlock)
	rr.wait(t, "the window", func() bool { return got(rr, 9) == 1+fit })
	window(shared, 7, ErrTimeout)
	const rings = 10
	for range rings * fit {
		require.NoError(t, send(alone, 8, time.Time{}))
	}
	rr.wait(t, "what the slow one has no part in", func() bool { return got(rr, 8) == rings*fit })
	ctx, cancel := context.WithTimeout(ctxFor(t), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.WaitAcked(ctx, shared.ID), ErrTimeout)
	rr.note(func() { require.Equal(t, 1, got(rr, 7), "all are handed it, or none") })
	rs.note(func() { require.Len(t, rs.got, 2, "it has read nothing") })

	require.True(t, late.Stop(), "nothing has waited for it")
	hear()
	for _, rec := range []*recorder{rr, rs} {
		rec.wait(t, "the rest", func() bool { return got(rec, 7) == 1+fit && got(rec, 9) == 1+fit })
	}
	of := func(rec *recorder, ch ChannelID) (all []string) {
		for _, g := range rec.snapshot() {
			if g.channel == ch {
				all = append(all, g.text)
			}
		}
		return all
	}
	for _, ch := range []ChannelID{7, 9} {
		require.Equal(t, of(rr, ch), of(rs, ch))
	}
}
