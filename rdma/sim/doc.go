// Package sim is a fabric in virtual time, from a seed: the same contract as shm and tcp, with every
// freedom that the contract leaves taken at random, and with the failures that processes, hosts and
// networks have.
//
// A World owns the clock, the randomness and all events. Nothing runs by itself: Run takes the next
// event, and everything else happens inside of it, on the caller's goroutine, so the same seed gives
// the same run, event for event. Nodes are attached to hosts; nodes of one host share memory, others
// get copies.
//
// What a copying link does to a posted region: it captures the newest cells at some later time, last
// to first, and the ring bytes that they cover; the capture travels, in order with everything else on
// that link, with a delay of its own; and it is applied in steps (the bytes, then each cell), between
// which anything else may happen. Nothing is promised across links. What a sharing link does: stores
// are visible at once; opening and messages take their time.
//
// Failures:
//
//	Crash     the node ends, at any push or store. What it had on the wire arrives up to some cell.
//	          Its memory stays readable to the nodes of its host, and the kernel certifies its
//	          death to them; others find its address closed.
//	          So it does if their link had ended before: the link tells (rdma.Link.Died).
//	Pause     the node stands still, and goes on later. Its memory is read and its fence raised
//	          meanwhile; nothing is applied to its copies.
//	Block     nothing passes from one node to another, in one direction; when it is unblocked the
//	          links go on where they were.
//	Unlink    a link ends from one side, and both nodes live.
package sim
