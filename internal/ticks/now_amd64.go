package ticks

import (
	"bytes"
	"os"
)

// Now reads the counter.
func Now() uint64

// Steady tells whether the counter runs at one rate and is the same on all processors: the kernel has found it so,
// since it tells the time by it. It may change its mind later.
func Steady() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && string(bytes.TrimSpace(source)) == "tsc"
}
