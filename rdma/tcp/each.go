package tcp

import "sync"

// each lets posts wait until they are written (Config.EachPost). What is in it changes under mu.
type each struct {
	mu   sync.Mutex
	cond *sync.Cond // of mu: something of the following changed
	busy bool       // a turn is being put together, or written
	live bool       // turns come when they are asked for: there is a connection, and the fence does not hold data back
}

func newEach() *each {
	w := &each{}
	w.cond = sync.NewCond(&w.mu)
	return w
}

// wait returns when what was posted of e before has been written, or nobody knows when that will be.
func (w *each) wait(e *export) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// What is posted is taken by a turn, while it is busy. Behind the last state of a region nothing is taken any more.
	for w.live && !e.closing.Load() && (w.busy || e.posted.Load() != 0) {
		w.cond.Wait()
	}
}

// begin says that a turn begins. The writer's, as end is; both with nil for a link whose posts do not wait.
func (w *each) begin() { w.set(true, true) }

// end says that the turn is over. more: another one follows at once, and takes what this one had no room for.
func (w *each) end(more, live bool) { w.set(more, live) }

func (w *each) set(busy, live bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.live = busy, live
	w.cond.Broadcast()
}
