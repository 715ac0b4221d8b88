package cluster

import (
	"os"
	"runtime/debug"
)

// A run is milliseconds long, and nothing of it is needed afterwards. With the usual setting the garbage collector
// takes half as long as the runs do, for a heap of a few megabytes.
const (
	gcPercent   = 1600
	memoryLimit = 2 << 30 // a collection comes sooner when a long run's trace gets near to it
)

// TuneGC lets the garbage of runs pile up in this process, unless the environment says how much may (GOGC,
// GOMEMLIMIT): for programs that do nothing else.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
