package main

import (
	"slices"
	"strings"
	"time"
)

// experiment is a set of workloads with the same things switched off in turn.
type experiment struct {
	name  string
	off   []string // what derecho.ParseSpindle reads; everything on comes by itself
	loads []workload
}

const (
	batching = "-batch-send,-batch-receive,-batch-deliver" // what the paper calls opportunistic batching
	all      = "-all"
)

var each = []string{
	"-batch-send", "-batch-receive", "-batch-deliver", "-batch-upcall", batching, "-late-post", "-lock-free", "-coalesce",
	"-batch-send,-coalesce", "-shared-acks", "-nulls", "-silence", all,
}

// windowSizes are around what the paper finds to be best for 10 KB, 100, and the 5 that it says do much already. Over
// TCP 500 messages to each of three others would not be there by the end of the warm-up.
func windowSizes(transport string) []int {
	if transport == "tcp" {
		return []int{5, 10, 50, paperWindow}
	}
	return []int{5, 10, 50, paperWindow, 500}
}

// matrix is what is measured. With the defaults it takes 10 to 15 minutes on two cores.
func matrix() []experiment {
	var m []experiment
	for _, transport := range []string{"shm", "tcp"} {
		var every, delays, subgroups []workload
		for _, n := range []int{2, 4, 8} {
			every = append(every, among(n, transport))
		}
		off := slices.Clone(each)
		if transport == "shm" { // where there is nothing to write
			off = slices.DeleteFunc(off, func(s string) bool { return strings.Contains(s, "-coalesce") })
		}
		m = append(m, experiment{"each switch, " + transport, off, every})

		for _, n := range []int{1, 2} {
			for _, d := range []time.Duration{time.Microsecond, 100 * time.Microsecond, forever} {
				delays = append(delays, among(4, transport).slow(n, d))
			}
		}
		m = append(m, experiment{"delayed senders, " + transport, []string{"-nulls", "-silence", all}, delays})

		for _, n := range []int{1, 10, 50} {
			subgroups = append(subgroups, among(4, transport).subgroups(n, 1))
			if n > 1 {
				subgroups = append(subgroups, among(4, transport).subgroups(n, n))
			}
		}
		m = append(m, experiment{"subgroups, " + transport, []string{batching, all}, subgroups})

		w := among(4, transport)
		m = append(m, experiment{"sizes, " + transport, []string{batching, all},
			[]workload{w.size(16), w.size(128), w.size(1 << 10), w, w.size(100 << 10).window(10)}})

		var windows []workload
		for _, n := range windowSizes(transport) {
			windows = append(windows, w.window(n))
		}
		m = append(m, experiment{"windows, " + transport, []string{batching, all}, windows})
	}
	w := among(4, "shm")
	return append(m,
		experiment{"threads", []string{"-lock-free", "-late-post", "-lock-free,-late-post", all}, []workload{
			among(2, "shm").size(1 << 10), among(2, "shm").size(1 << 10).threads(4), among(2, "tcp").size(1 << 10).threads(4),
		}},
		experiment{"slow upcalls", []string{"-batch-upcall"}, []workload{
			w, w.upcall(time.Microsecond), w.upcall(100 * time.Microsecond), w.upcall(time.Millisecond),
		}},
		experiment{"copies", nil, []workload{w.size(1 << 10), w.size(1 << 10).copied(), w, w.copied()}},
		experiment{"lending", []string{"-lend"}, []workload{w.size(1 << 10).kept(), w.kept()}},
		experiment{"latency of a lone sender", []string{"-silence", "-shared-acks", "-silence,-shared-acks"}, []workload{
			among(2, "shm").size(128).rate(1000), w.size(128).rate(1000), among(2, "tcp").size(128).rate(1000), among(4, "tcp").size(128).rate(1000),
		}},
	)
}
