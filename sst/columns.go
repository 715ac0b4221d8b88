package sst

// Columns of the row of a subgroup epoch with a given number of senders. The layout is a wire
// format: rdma.ProtocolVersion rises when it changes. One cache line (8 cells) has one writer.
//
//	line 0      the owner's send path          Tail, Real, Next
//	line 1      application threads that wait  Wants
//	line 2      the owner's readers            Hold
//	line 3...   the owner's poller             Received[senders], Handed[senders], Freed[senders],
//	last line   the owner's poller             Delivered, Persisted, LogFailed, Drained, Opened
//	            the owner's poller             of the control subgroup only: the columns of control.go
const (
	// Tail counts the bytes ever published in the ring (rdma.TailCell).
	Tail = 0
	// Real is one above the index of the last message that was published.
	Real = 1
	// Next says: every index below it is a message that was published before (Tail covers it),
	// or a null. Forever after the epoch was closed. Real <= Next, but between the stores of the two: Real comes first.
	Next = 2
	// Wants is non-zero while a thread of the owner waits for room: 1 at first, and one more for each
	// while that it has waited. It goes up and down: a hint for receivers to ring the owner's bell, and, above 1, to
	// get back what they have lent of its ring. Only the newest value matters.
	Wants = 8
	// Hold has bits for the channels of which a reader at the owner is full. With more than 64 channels some share
	// one. It goes up and down: only the newest value matters.
	Hold = 16

	firstPerSender = 24
	lineCells      = 8
)

// Forever is the value of Next when no message will ever come again.
const Forever = ^uint64(0)

// Values of Drained.
const (
	// DrainedWhole: the owner has delivered the epoch to its end, with all that any sender sent.
	DrainedWhole = 1
	// DrainedCut: the owner has delivered all of the epoch that the members agreed on when some of
	// them failed.
	DrainedCut = 2
)

// Layout locates the columns that depend on the number of senders and, in the control subgroup only,
// on the number of members (0 in all others).
type Layout struct{ Senders, Members int }

func align(cells int) int { return (cells + lineCells - 1) &^ (lineCells - 1) }

func (l Layout) perSender() int { return align(l.Senders) }

// Received is the column: indices of sender s below it are known to the owner.
func (l Layout) Received(s int) int { return firstPerSender + s }

// Handed is the column: what lies in the ring of sender s below it was handed over at the owner.
func (l Layout) Handed(s int) int { return firstPerSender + l.perSender() + s }

// Freed is the column: ring bytes of sender s below it are not needed by the owner any more. Freed <= Handed: what was
// handed over may be lent where it lies.
func (l Layout) Freed(s int) int { return firstPerSender + 2*l.perSender() + s }

func (l Layout) last() int { return firstPerSender + 3*l.perSender() }

// Delivered is the column: sequence numbers below it were delivered at the owner.
func (l Layout) Delivered() int { return l.last() }

// Persisted is the column: what was delivered below it is durable at the owner.
func (l Layout) Persisted() int { return l.last() + 1 }

// LogFailed is the column: non-zero when the owner can not log any more.
func (l Layout) LogFailed() int { return l.last() + 2 }

// Drained is the column: non-zero when the owner has delivered all of the epoch.
func (l Layout) Drained() int { return l.last() + 3 }

// Opened is the column of what the owner tells of the beginning of the epoch: whether it can read the rows of all members, and
// whether it sends there. Bits come, and do not go.
func (l Layout) Opened() int { return l.last() + 4 }

// Cells is the number of cells of a row.
func (l Layout) Cells() int {
	n := l.last() + lineCells
	if l.Members > 0 {
		n = align(l.Decided() + 1)
	}
	return n
}
