package dcps

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/stretchr/testify/require"
)

// gatedCore is a core that does not let anything go before its gate is open, and then fails.
type gatedCore struct {
	core
	reached sync.Once
	waiting chan struct{} // closed when somebody is at the gate
	gate    chan struct{}
}

var errGate = errors.New("behind the gate")

func (c *gatedCore) pass() error {
	c.reached.Do(func() { close(c.waiting) })
	<-c.gate
	return errGate
}

func (c *gatedCore) RemoveEndpoint(ctx context.Context, id derecho.EndpointID) error {
	return errors.Join(c.core.RemoveEndpoint(ctx, id), c.pass())
}

func (c *gatedCore) Leave(ctx context.Context) error {
	return errors.Join(c.core.Leave(ctx), c.pass())
}

// Whoever closes an entity that is being closed waits for the end of it, and gets the same result.
func TestConcurrentClose(t *testing.T) {
	for name, entity := range map[string]func(n *node, w *DataWriter[track], r *DataReader[track]) func() error{
		"DomainParticipant": func(n *node, _ *DataWriter[track], _ *DataReader[track]) func() error { return n.p.Close },
		"Publisher":         func(n *node, _ *DataWriter[track], _ *DataReader[track]) func() error { return n.pub.Close },
		"Subscriber":        func(n *node, _ *DataWriter[track], _ *DataReader[track]) func() error { return n.sub.Close },
		"DataWriter":        func(_ *node, w *DataWriter[track], _ *DataReader[track]) func() error { return w.Close },
		"DataReader":        func(_ *node, _ *DataWriter[track], r *DataReader[track]) func() error { return r.Close },
	} {
		t.Run(name, func(t *testing.T) {
			d := onBus(t)
			g := &gatedCore{waiting: make(chan struct{}), gate: make(chan struct{})}
			n := d.node(t, wrapCore(func(c core) core {
				g.core = c
				return g
			}))
			closeIt := entity(n, n.writer(t, writerQos()), n.reader(t, readerQos()))
			var open atomic.Bool
			results := make(chan error, 3)
			attempt := func() {
				err := closeIt()
				if !open.Load() {
					t.Error("Close returned before it was done")
				}
				results <- err
			}
			go attempt()
			<-g.waiting
			started := make(chan struct{}, 2)
			for range 2 {
				go func() {
					started <- struct{}{}
					attempt()
				}()
			}
			<-started
			<-started
			open.Store(true)
			close(g.gate)
			first := <-results
			require.ErrorIs(t, first, errGate)
			require.Equal(t, first, <-results)
			require.Equal(t, first, <-results)
			require.Equal(t, first, closeIt())
		})
	}
}

// wrapCore puts a core of the test's own around that of the bus.
func wrapCore(wrap func(core) core) ParticipantOption {
	return func(c *participantConfig) {
		join := c.core
		c.core = func(h handler, c participantConfig) (core, error) {
			inner, err := join(h, c)
			return wrap(inner), err
		}
	}
}

// slowCore announces nothing before it may.
type slowCore struct {
	core
	asked, may chan struct{}
}

func (c *slowCore) AddEndpoint(ctx context.Context, ep derecho.Endpoint) error {
	c.asked <- struct{}{}
	<-c.may
	return c.core.AddEndpoint(ctx, ep)
}

// What is made while its parent is closed does not outlive it.
func TestCloseDuringAnnouncement(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(n *node) error
		close func(n *node) error
	}{
		"writer": {func(n *node) error { _, err := NewDataWriter(n.pub, n.topic(t)); return err }, func(n *node) error { return n.pub.Close() }},
		"reader": {func(n *node) error { _, err := NewDataReader(n.sub, n.topic(t)); return err }, func(n *node) error { return n.sub.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			d := onBus(t)
			slow := &slowCore{asked: make(chan struct{}), may: make(chan struct{})}
			n := d.node(t, wrapCore(func(c core) core {
				slow.core = c
				return slow
			}))
			opened, closed := make(chan error), make(chan error)
			go func() { opened <- c.open(n) }()
			<-slow.asked
			closing := make(chan struct{})
			go func() {
				close(closing)
				closed <- c.close(n)
			}()
			<-closing
			close(slow.may)
			if err := <-opened; err != nil { // it was closed before it was announced
				require.ErrorIs(t, err, ErrAlreadyDeleted)
			}
			require.NoError(t, <-closed)
			node := slow.core.(*busNode)
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			require.Empty(t, node.endpoints)
		})
	}
}
