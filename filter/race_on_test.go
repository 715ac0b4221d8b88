//go:build race

package filter

// raceEnabled: a sync.Pool forgets at random then, so that allocations tell nothing.
const raceEnabled = true
