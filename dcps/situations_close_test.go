package dcps

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/stretchr/testify/require"
)

// While another goroutine closes the participant, and waits for the others, every call returns no later than that is
// done, and is told what it may know.
func TestCallsWhileClosing(t *testing.T) {
	for _, c := range callsInSituations() {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, onBus(t), &situation{})
			g := &gatedCore{core: s.ill.core, waiting: make(chan struct{}), gate: make(chan struct{})}
			s.ill.core = g
			closed, called := make(chan error, 1), make(chan error, 1)
			go func() { closed <- s.n.p.Close() }()
			<-g.waiting
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			defer cancel()
			go func() { called <- c.call(s, ctx) }()
			<-ctx.Done()
			close(g.gate)
			checkTold(t, <-called)
			require.ErrorIs(t, <-closed, errGate)
		})
	}
}

// An Enable that waits for the domain gives up when the participant is closed.
func TestCloseEndsEnable(t *testing.T) {
	virtually(t, func(t *testing.T, _ *domain) {
		f := NewDomainParticipantFactory(func(c *participantConfig) {
			c.core = func(_ handler, c participantConfig) (core, error) {
				<-c.ctx.Done()
				return nil, derecho.ErrTimeout
			}
		})
		require.NoError(t, f.SetQos(createdDisabled))
		p, err := f.NewDomainParticipant(t.Context(), 0)
		require.NoError(t, err)
		enabled := make(chan error, 1)
		go func() { enabled <- p.Enable(context.Background()) }()
		synctest.Wait()
		require.NoError(t, p.Close())
		err = <-enabled
		require.ErrorIs(t, err, ErrAlreadyDeleted)
		checkTold(t, err)
	})
}

// What waits at a writer or reader, however long it may, ends when that is closed.
func TestCloseEndsWaits(t *testing.T) {
	full := func(s *scene) {
		s.d.bus.mu.Lock()
		defer s.d.bus.mu.Unlock()
		s.d.bus.capacity = 0
	}
	for name, c := range map[string]struct {
		enter, wait, close func(s *scene) error
	}{
		"Write": {
			func(s *scene) error { full(s); return nil },
			func(s *scene) error { return s.w.Write(context.Background(), &track{}) },
			func(s *scene) error { return s.w.Close() },
		},
		"WaitForAcknowledgments": {
			func(s *scene) (err error) {
				s.ill.waits = true
				return nil
			},
			func(s *scene) error { return s.w.WaitForAcknowledgments(context.Background()) },
			func(s *scene) error {
				s.w.untyped().ended.Store(true)
				s.w.untyped().die()
				return nil
			},
		},
		"WaitForMatch": {
			nil,
			func(s *scene) error { return s.r.WaitForMatch(context.Background(), 9) },
			func(s *scene) error { return s.r.Close() },
		},
		"NewDataWriter": {
			func(s *scene) error { s.ill.recovering = derecho.ErrRecovering; return nil },
			func(s *scene) error {
				_, err := NewDataWriter(s.n.pub, s.tp, WithWriterQos(s.w.Qos()))
				return err
			},
			func(s *scene) error { return s.n.pub.Close() },
		},
		"NewDataReader": {
			func(s *scene) error { s.ill.recovering = derecho.ErrRecovering; return nil },
			func(s *scene) error {
				_, err := NewDataReader(s.n.sub, s.tp, WithReaderQos(s.r.Qos()))
				return err
			},
			func(s *scene) error { return s.n.sub.Close() },
		},
		"DomainParticipant.SetQos": {
			func(s *scene) error { s.ill.waits = true; return nil },
			func(s *scene) error {
				q := s.n.p.Qos()
				q.UserData = otherData()
				return s.n.p.SetQos(q)
			},
			func(s *scene) error { s.n.p.die(); return nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				s := newScene(t, d, &situation{})
				if c.enter != nil {
					require.NoError(t, c.enter(s))
				}
				q := s.w.untyped()
				q.blocking = time.Hour
				waited := make(chan error, 1)
				go func() { waited <- c.wait(s) }()
				synctest.Wait()
				begun := time.Now()
				require.NoError(t, c.close(s))
				err := <-waited
				require.ErrorIs(t, err, ErrAlreadyDeleted)
				checkTold(t, err)
				require.Less(t, time.Since(begun), operationTimeout)
				_ = s.n.p.Close()
			})
		})
	}
}

// Err forgets what is over: a log of a process that has left, and what one announced.
func TestProblemsEnd(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t, WithName("here")), d.node(t, WithName("there"))
	d.bus.settle(t)
	tell := func(f func(h *hub)) { require.NoError(t, a.p.core.Upcall(patiently(t), func() { f(a.p.hub) })) }
	lasting := errors.New("this does not end")
	strange := derecho.Endpoint{Node: b.p.core.ID(), ID: 77, Info: []byte("what is this")}

	tell(func(h *hub) { h.EndpointAdded(strange) })
	require.ErrorContains(t, a.p.Err(), "there")
	checkTold(t, a.p.Err())
	tell(func(h *hub) { h.LogFailed(1, b.p.core.ID(), derecho.ErrLog) })
	require.ErrorIs(t, a.p.Err(), derecho.ErrLog)
	tell(func(h *hub) { h.EndpointRemoved(strange) })
	require.ErrorIs(t, a.p.Err(), derecho.ErrLog, "that is not over")
	tell(func(h *hub) { h.EndpointAdded(strange) })
	require.NoError(t, b.p.Close())
	d.bus.settle(t)
	require.ErrorContains(t, a.p.Err(), "announcement")
	tell(func(h *hub) { h.EndpointRemoved(strange) })
	require.NoError(t, a.p.Err())
	a.p.problem(lasting)
	require.Equal(t, lasting, a.p.Err())
}
