//go:build !amd64 || race

package release

import "sync/atomic"

// Store stores a word: who loads it sees what was stored, and has been done with what was loaded, before the call.
func Store(word *atomic.Uint64, value uint64) { word.Store(value) }
