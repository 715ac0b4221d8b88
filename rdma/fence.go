package rdma

import "sync/atomic"

// Fence lets nodes that share this node's memory make it look at theirs before it acts on what it
// had seen. It stands in for the acknowledgement round that shared memory saves: what lies in a
// row is held by everybody on the host, so a member delivers it at once; when members are removed,
// the others must know how far each of them, even one that hangs, can have got.
//
// Layout: one word of memory that this node and its peers on the host write, on a cache line of its
// own. Raise adds one; nothing ever lowers it. The node keeps the value that it has answered.
//
// The invariant, of two sides that each act first and look second, all atomics sequentially
// consistent:
//
//	the node   loads counters of rows        a peer   publishes, in its own row, why it raises
//	           loads the word: not Raised             raises the word
//	           acts on those counters                 loads the counters of the rows
//
// If the node did not see the word raised, the peer's load comes after the node's, so the peer sees
// at least what the node acts on, however long either of them is stopped in between. If it did see
// it, it looks at the peer's row before it acts (and then calls Lower).
//
// What leaves the host passes it too: a link that copies captures, then looks, then sends (package
// tcp). So nothing is visible on another host that a peer on this host does not see after Raise.
type Fence struct {
	word *atomic.Uint32
	// seen is the value that the node has answered; stored by its poller, loaded by its links.
	seen atomic.Uint32
}

// NewFence makes the fence of a node over a word of (shared) memory.
func NewFence(word *atomic.Uint32) *Fence {
	f := &Fence{word: word}
	f.seen.Store(word.Load())
	return f
}

// Raised reports whether a peer raised the fence since the value that was lowered last.
func (f *Fence) Raised() bool { return f.word.Load() != f.seen.Load() }

// Value is what the caller passes to Lower when it has looked at all rows; it is taken before.
func (f *Fence) Value() uint32 { return f.word.Load() }

// Lower says that the node has looked, and acts accordingly from now on.
func (f *Fence) Lower(value uint32) { f.seen.Store(value) }
