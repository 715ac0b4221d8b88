//go:build race

package derecho

// raceEnabled: the race detector makes what loads and stores much up to ten times slower.
const raceEnabled = true
