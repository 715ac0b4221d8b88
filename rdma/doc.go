// Package rdma is one-sided memory: regions that one node writes and others read.
//
// A node registers a Region; a peer opens it over a Link and from then on has it in its own address
// space: the very memory of the owner where both run on one host (package shm), a copy that the
// owner keeps up to date where they do not (package tcp). The owner stores, then posts; nobody asks
// for anything. Link.Post is the counterpart of posting an RDMA write and ringing the peer's
// doorbell is Link.Ring.
//
// # A region
//
// A region has the shape of a row of the shared state table: a block of 8-byte cells, and behind it
// a ring of bytes (which may be empty). Cell TailCell counts the bytes ever published in the ring.
//
//	byte 0                  Cells*8, rounded up to CellAlign      Size()
//	| cell 0 | cell 1 | ... | padding |  ring ...                 |
//
// # What every provider guarantees
//
//  1. A cell is never torn: it is read and written as one aligned 8-byte atomic.
//  2. Who sees a value of the tail cell sees the ring bytes below it.
//  3. If the owner stores cell a, then cell b, and a < b, who sees the new b sees the new a. In
//     the other direction (a > b) nothing is promised: of cells that are posted together, the one
//     with the higher index becomes visible last.
//  4. A value that was overwritten before it was sent may never be seen. So cells carry state whose
//     newest value says everything (monotonic counters mostly), never events.
//  5. Nothing is promised across links.
//
// Rule 4 is what lets a provider keep dirty state instead of a queue: a slow peer costs the ring it
// already has, and nothing more. Rule 3 is the order in which tcp captures cells (last to first)
// and applies them (first to last); aliased memory gives it, and more, because Go's atomics are
// sequentially consistent and the hardware keeps their order between processes.
//
// # The Go memory model
//
// It speaks of goroutines in one process. Bytes that another process stores lie outside of it; what
// we rely on there is that sync/atomic compiles to the same instructions whoever shares the cache
// line (amd64, arm64), and that plain ring bytes are only read after an atomic load of the tail
// that covers them. Package mem runs the same code on ordinary heap memory so that the race
// detector can watch it.
package rdma
