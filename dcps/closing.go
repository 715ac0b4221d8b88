package dcps

import "context"

// What waits ends when what it waits at is closed.

// until is a context that ends with another one, too. Call end when it is not needed any more.
func until(ctx, lifetime context.Context) (merged context.Context, end func()) {
	merged, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(lifetime, cancel)
	return merged, func() {
		stop()
		cancel()
	}
}

// whileOpen is until for who has a writer's turn, and mostly waits for nothing: it costs nothing then.
type whileOpen struct {
	context.Context
	lifetime context.Context
	merged   context.Context // nil: nobody has waited yet
	cancel   func()
}

func (c *whileOpen) Done() <-chan struct{} {
	if c.merged == nil {
		c.merged, c.cancel = until(c.Context, c.lifetime)
	}
	return c.merged.Done()
}

func (c *whileOpen) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return c.lifetime.Err()
}

// begin makes it the caller's.
func (c *whileOpen) begin(ctx, lifetime context.Context) context.Context {
	c.Context, c.lifetime = ctx, lifetime
	return c
}

func (c *whileOpen) end() {
	if c.cancel != nil {
		c.cancel()
	}
	*c = whileOpen{}
}
