package bench

import (
	"context"
	"errors"
)

// peer writes and reads. Its result is that of its reader. A silent one only reads.
func (r *run) peer(ctx context.Context) error {
	if r.Writers == 0 {
		return errors.New("a peer's own writer stays until the peer ends, so it has to know for how many writers to wait: --writers 1, or more")
	}
	if r.Silent {
		return r.subscribe(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &run{Options: r.Options, clock: r.clock, hooks: Hooks{Ready: r.hooks.Ready}, out: r.out}
	wrote := make(chan error, 1)
	go func() {
		err := out.publish(ctx)
		if err != nil {
			cancel() // its reader would wait for what does not come
		}
		wrote <- err
	}()
	r.hooks.Ready = nil // the writer is ready last, and says so
	err := r.subscribe(ctx)
	if err != nil {
		cancel()
	}
	return errors.Join(<-wrote, err)
}
