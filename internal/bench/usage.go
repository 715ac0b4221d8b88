package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// usage is what this process has used of the machine, and when that was.
type usage struct {
	at        int64 // ns
	user, sys float64
	voluntary int64 // context switches: it waited
	forced    int64 // it was made to wait
	allocs    uint64
	gcs       uint64
}

func usageAt(now int64) usage {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return usage{at: now}
	}
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(heap)
	return usage{now, float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9, u.Nvcsw, u.Nivcsw, heap[0].Value.Uint64(), heap[1].Value.Uint64()}
}

// residentKB is the memory of this process that is in RAM, what it shares with others included.
func residentKB() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize()) / 1024
}

// mappedKB is the memory that this process shares with others, or could, touched or not: what is mapped as such.
func mappedKB() int64 {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	return sharedBytes(b) / 1024
}

// sharedBytes adds up the shared mappings of a process, each of which has a line such as
//
//	7f1c8e600000-7f1c8e700000 rw-s 00000000 00:01 2071 /memfd:ring (deleted)
func sharedBytes(maps []byte) (total int64) {
	for line := range bytes.Lines(maps) {
		var from, to uint64
		var access string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &access); n == 3 && strings.HasSuffix(access, "s") {
			total += int64(to - from)
		}
	}
	return total
}

// fill puts what was used between two moments into a result.
func (r *Result) fill(from, to usage) {
	r.CPUUser = to.user - from.user
	r.CPUSys = to.sys - from.sys
	r.Voluntary = to.voluntary - from.voluntary
	r.Involuntary = to.forced - from.forced
	r.Allocs = to.allocs - from.allocs
	r.GCs = to.gcs - from.gcs
	r.RSS, r.Mapped = residentKB(), mappedKB()
	if wall := float64(to.at-from.at) / 1e9; wall > 0 {
		r.CPU = 100 * (r.CPUUser + r.CPUSys) / wall
	}
}
