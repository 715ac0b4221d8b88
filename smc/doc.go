// Package smc multicasts small messages through rings in memory (Derecho's SMC, with the Spindle
// optimizations).
//
// Each sender of an epoch has one ring behind its row of the table. A message takes as many
// contiguous 64-byte slots as it needs: a 40-byte header, then the payload, built in place.
//
//	0       4        8       16          24         32   33    34     35  36      40
//	| length | writer | index | timestamp | writerSeq | rec | kind | flags | 0 | slots | payload ...
//
// Little endian. length counts payload bytes, slots the 64-byte slots of the record. rec tells a
// message from padding at the end of the ring and from a record that was given up.
//
// # Sending
//
// Any number of goroutines Reserve, fill and Commit; none of them waits for another. Reserve takes slots with one
// compare-and-swap. Commit marks the record as done, and Flush publishes all that is done, in order, up to the first
// record that is not: it gives each message the next index and stores the tail. One goroutine flushes at a time; the
// others leave it to that one (flat combining), so that several commits are one publication, and nobody blocks. Publish
// is both in one, and leaves the mark out where the record is the next one.
//
// # Nulls
//
// A sender that has nothing to say lets the others go on by promising: "all indices below Next are
// messages that you see, or nothing". A promise takes no slot. Because Flush assigns indices and
// raises Next under the same baton, no message can get an index that was promised away.
//
// # Ownership
//
//	reserved  .. committed   the goroutine that reserved
//	committed .. published   whoever holds the baton (stores the index, nothing else)
//	published .. handed over the receivers, read only
//	handed over by all       free
//
// Reading: a Receiver loads Next, then Tail, then ring bytes below that tail, and nothing else.
package smc
