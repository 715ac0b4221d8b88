// Package invariant states what only a bug in this module can break.
//
//	invariant.Check(next > last, "version order")
//	if invariant.Enabled {
//		invariant.Check(isSorted(rows), "rows sorted") // costs a pass over rows
//	}
//
// Check is always on, so its condition is cheap. Expensive conditions stand under Enabled, a
// constant that is true with the build tag "invariant" and under the race detector, and costs
// nothing otherwise.
//
// Not here: bytes from a peer, a file or a user are never a bug. They are answered with an error.
package invariant
