package main

import (
	"encoding/binary"
	"sync"
)

// ownMessages are those of one writer that are on their way through a common order, which keeps the order of each writer: the
// first of them to be delivered is the first that was written.
type ownMessages struct {
	replica int
	dones   chan func(error)

	mu     sync.Mutex // guards failed
	failed error      // since when no message is waited for
}

func newOwnMessages(c config) *ownMessages {
	// A few messages are written beyond inflight: those that end a phase.
	return &ownMessages{replica: c.replica, dones: make(chan func(error), c.inflight+int(phases))}
}

// written is called before a message is handed over.
func (o *ownMessages) written(done func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		done(o.failed)
		return
	}
	o.dones <- done // there is room
}

// delivered is called for each message, on one goroutine.
func (o *ownMessages) delivered(message []byte) {
	if len(message) < headerBytes || binary.LittleEndian.Uint64(message[8:]) != uint64(o.replica) {
		return
	}
	select {
	case done := <-o.dones:
		done(nil)
	default: // it has failed meanwhile
	}
}

// fail ends what is on its way, and what comes later.
func (o *ownMessages) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = err
	for {
		select {
		case done := <-o.dones:
			done(err)
		default:
			return
		}
	}
}
