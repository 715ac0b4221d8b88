package dcps

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/stretchr/testify/require"
)

// partingCore counts the calls of RemoveEndpoint with a context that is over.
type partingCore struct {
	core
	late atomic.Int32
}

func (c *partingCore) RemoveEndpoint(ctx context.Context, id derecho.EndpointID) error {
	if ctx.Err() != nil {
		c.late.Add(1)
	}
	return c.core.RemoveEndpoint(ctx, id)
}

// A writer whose last message is not acknowledged in time is withdrawn all the same.
func TestFarewellThatIsNotAcknowledged(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		c := new(partingCore)
		n := d.node(t, wrapCore(func(inner core) core {
			c.core = inner
			return c
		}))
		w, lender := n.writer(t, writerQos()), n.writer(t, writerQos())
		l, err := lender.Loan(context.Background(), 100)
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, w.Close())
		require.Equal(t, operationTimeout, time.Since(begin))
		require.NoError(t, l.Discard())
		require.Zero(t, c.late.Load())
	})
}

// Close does not wait for a loan that it is itself about to discard.
func TestCloseBehindOwnLoan(t *testing.T) {
	for name, closeIt := range map[string]func(n *node) error{
		"DomainParticipant": func(n *node) error { return n.p.Close() },
		"Publisher":         func(n *node) error { return n.pub.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				n := d.node(t)
				for range 3 {
					n.writer(t, writerQos())
				}
				if name == "DomainParticipant" { // whose loans may be of another Publisher
					pub, err := n.p.NewPublisher()
					require.NoError(t, err)
					n = &node{p: n.p, pub: pub, sub: n.sub}
				}
				lender := n.writer(t, writerQos())
				l, err := lender.Loan(context.Background(), 100)
				require.NoError(t, err)
				begin := time.Now()
				require.NoError(t, closeIt(n))
				require.Less(t, time.Since(begin), time.Second)
				require.ErrorIs(t, l.Publish(100), ErrAlreadyDeleted)
			})
		})
	}
}

// A writer or reader that is closed with what contains it, while it is made, does not take the Topic along.
func TestTopicOutlivesWhatWasMadeOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(n *node, tp *Topic[track]) error
		made  func(n *node) bool
		close func(n *node) error
	}{
		"writer": {
			func(n *node, tp *Topic[track]) error { _, err := NewDataWriter(n.pub, tp); return err },
			func(n *node) bool { return len(n.pub.list()) > 0 },
			func(n *node) error { return n.pub.Close() },
		},
		"reader": {
			func(n *node, tp *Topic[track]) error { _, err := NewDataReader(n.sub, tp); return err },
			func(n *node) bool { return len(n.sub.list()) > 0 },
			func(n *node) error { return n.sub.Close() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := onBus(t).node(t)
			tp := n.topic(t)
			n.p.listening.Lock() // whoever is made stands still where it finds out who listens
			opened := make(chan error)
			go func() { opened <- c.open(n, tp) }()
			for !c.made(n) {
				runtime.Gosched()
			}
			require.NoError(t, c.close(n))
			n.p.listening.Unlock()
			require.ErrorIs(t, <-opened, ErrAlreadyDeleted)
			require.ErrorIs(t, c.open(n, tp), ErrAlreadyDeleted, "and one that is refused does not either")
			require.NoError(t, tp.SetQos(tp.Qos()))
			require.Same(t, tp.topicEntity, n.topic(t).topicEntity)
		})
	}
}

// A writer that is closed has nothing to wait for any more; the others have.
func TestPublisherAcksPastAWriterThatIsClosed(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, lender := n.writer(t, writerQos()), n.writer(t, writerQos())
		l, err := lender.Loan(context.Background(), 100)
		require.NoError(t, err)
		write(t, w, 1, 1)
		result := make(chan error, 1)
		go func() { result <- n.pub.WaitForAcknowledgments(context.Background()) }()
		pass(time.Second)
		closed := make(chan error, 1)
		go func() { closed <- w.Close() }()
		pass(time.Second)
		require.Empty(t, result, "the loan of the other writer is out")
		require.NoError(t, l.Discard())
		require.NoError(t, <-result)
		require.NoError(t, <-closed)
	})
}

// When the Publisher itself is closed, who waits for its writers hears of that.
func TestPublisherAcksAsItIsClosed(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		lender := n.writer(t, writerQos())
		other, err := n.p.NewPublisher()
		require.NoError(t, err)
		w, err := NewDataWriter(other, n.topic(t))
		require.NoError(t, err)
		l, err := lender.Loan(context.Background(), 100)
		require.NoError(t, err)
		write(t, w, 1, 1)
		result := make(chan error, 1)
		go func() { result <- other.WaitForAcknowledgments(context.Background()) }()
		pass(time.Second)
		closed := make(chan error, 1)
		go func() { closed <- other.Close() }()
		require.ErrorIs(t, <-result, ErrAlreadyDeleted)
		require.NoError(t, l.Discard())
		require.NoError(t, <-closed)
	})
}
