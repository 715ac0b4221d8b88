//go:build !race

package derecho

const raceEnabled = false
