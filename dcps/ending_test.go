package dcps

import (
	"context"
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
