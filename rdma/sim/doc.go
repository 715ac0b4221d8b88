// Package sim is a fabric in virtual time, from a seed: the same contract as shm and tcp, with every
// freedom that the contract leaves taken at random.
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
package sim
