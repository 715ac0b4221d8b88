//go:build race

package dcps

// raceEnabled: under the race detector sync.Pool forgets at random, so that allocations can not be counted.
const raceEnabled = true
