package main

import (
	"os"
	"runtime/debug"
)

// A run is milliseconds long, and nothing of it is needed afterwards. With the usual setting the garbage collector
// takes as long as the runs do, for a heap of a few megabytes.
const (
	gcPercent   = 1600
	memoryLimit = 2 << 30 // a collection comes sooner when a long run's trace gets near to it
)

// tuneGC lets garbage pile up, unless the environment says how much may.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
