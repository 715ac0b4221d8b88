package derecho

import "github.com/omg-dds-go/dds/sst"

// FullError is an ErrTimeout of Reserve: for which members there was no room. They have numbers only, since the machine, which
// knows their names, may be the one that is slow.
type FullError struct {
	// Held: the channel is held at them, as a reader there is full. Otherwise they have the ring full of messages that they have
	// not handed over, or have lent.
	Held    bool
	Members []NodeID
	Err     error // ErrTimeout, and the end of the context if that was it
}

// Error does not list the numbers, which say nothing to people: who knows the names tells them.
func (e *FullError) Error() string { return e.Err.Error() }

// Unwrap gives ErrTimeout and what ended the wait.
func (e *FullError) Unwrap() error { return e.Err }

// full adds to an error of a wait for room whom it waited for; not if there is room by now. Any goroutine: it only loads cells.
func (e *epoch) full(ch ChannelID, err error) error {
	full := &FullError{Err: err}
	if bit, ok := e.bit(ch); ok {
		for _, i := range *e.receivers.Load() {
			if e.table.Row(i).Load(sst.Hold)&(1<<bit) != 0 {
				full.Held, full.Members = true, append(full.Members, e.node(i))
			}
		}
	}
	if least := e.freed(); !full.Held && least < e.sender.Sent() {
		for _, i := range e.readers {
			if e.table.Row(i).Load(e.table.Freed(e.myRank)) == least {
				full.Members = append(full.Members, e.node(i))
			}
		}
	}
	if full.Members == nil {
		return err
	}
	return full
}
