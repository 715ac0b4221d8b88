package dcps

import "context"

// mutex is a lock like sync.Mutex, for what may be held while its holder waits for the domain: who wants it can give up
// waiting. It goes from who lets go to who has waited longest.
type mutex struct{ held chan struct{} } // capacity 1: full while somebody has it

func newMutex() mutex { return mutex{make(chan struct{}, 1)} }

func (m mutex) Lock() { m.held <- struct{}{} }

func (m mutex) Unlock() { <-m.held }

// lockUntil waits until ctx ends, whose error it gives then. If nobody has the lock it does not look at ctx.
func (m mutex) lockUntil(ctx context.Context) error {
	select {
	case m.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case m.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
