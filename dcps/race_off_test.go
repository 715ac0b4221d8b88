//go:build !race

package dcps

const raceEnabled = false
