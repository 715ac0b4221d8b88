//go:build !race

package release

import "sync/atomic"

// Store stores a word: who loads it sees what was stored, and has been done with what was loaded, before the call.
// Unlike with the word's own Store what is loaded after the call may be older than the store is; where that matters an
// atomic store or swap, of any word, has to come between.
//
//go:noescape
func Store(word *atomic.Uint64, value uint64)
