package sst

// Columns of the control subgroup: by them the members watch each other and agree on the end of a
// view. All are written by the owner's poller. Sets of members are bit masks of Words cells.
//
//	Beat        grows while the owner's poller runs
//	Accused     set of members that the owner does not hear; goes up and down
//	Certain     set of members that are gone for certain; grows
//	Wedging     non-zero: the view is to end; nothing more is sent in it
//	Propose     block: what the owner proposes, by ballot
//	Accept      two blocks, written in turn: what the owner has accepted last, by ballot. An owner
//	            that dies while it writes one of them leaves the other.
//	Wedged      non-zero: the owner's Received cells are final
//	Promised    the highest ballot that the owner takes part in; after Wedged
//	Decided     non-zero: Accept is what was agreed on

// Words is the number of cells of a set of members.
func (l Layout) Words() int { return (l.Members + 63) / 64 }

func (l Layout) control() int { return l.last() + lineCells }

// Beat is the column of the heartbeat.
func (l Layout) Beat() int { return l.control() }

// Accused is the first column of the set.
func (l Layout) Accused() int { return l.control() + 1 }

// Certain is the first column of the set.
func (l Layout) Certain() int { return l.Accused() + l.Words() }

// Wedging is the column.
func (l Layout) Wedging() int { return l.Certain() + l.Words() }

// proposal is the size of what is agreed on: three sets, and a number for each sender.
func (l Layout) proposal() int { return 3*l.Words() + l.Senders }

// Propose is the block of the owner's own proposal.
func (l Layout) Propose() Block { return Block{l.Wedging() + 1, l.proposal()} }

// Accept are the blocks of proposals that the owner has accepted: the one with the higher version counts.
func (l Layout) Accept(turn int) Block {
	b := Block{l.Propose().end() + 1, l.proposal()}
	if turn%2 != 0 {
		b.first = b.end() + 1
	}
	return b
}

// Wedged is the column.
func (l Layout) Wedged() int { return l.Accept(1).end() + 1 }

// Promised is the column.
func (l Layout) Promised() int { return l.Wedged() + 1 }

// Decided is the column.
func (l Layout) Decided() int { return l.Wedged() + 2 }
