package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// claim is something that the paper says, with what it takes to see whether it holds here. docs/spindle.md has the claims
// in the same order, and the verdicts.
type claim struct {
	says   string
	inputs []input
}

// input is a figure that decides on a claim.
type input struct {
	what  string
	print func(all collected) string
}

// worth is how many times more is delivered with something on than with it off.
func worth(experiment string, w workload, off string) input {
	return input{fmt.Sprintf("%v: on ÷ `%s`", w, off), func(all collected) string {
		return spread(all.ratios(key{experiment, w, ""}, key{experiment, w, off}, rate), times)
	}}
}

// against compares the rates of two workloads, with the same things off.
func against(experiment string, w, base workload, off string) input {
	which := "all on"
	if off != "" {
		which = "`" + off + "`"
	}
	return input{fmt.Sprintf("%v ÷ %v, %s", w, base, which), func(all collected) string {
		return spread(all.ratios(key{experiment, w, off}, key{experiment, base, off}, rate), times)
	}}
}

// batches is how many messages an upcall hands over.
func batches(experiment string, w workload) input {
	return input{fmt.Sprintf("%v: messages per upcall", w), func(all collected) string {
		return spread(all.of(key{experiment, w, ""}, batch), plain)
	}}
}

// waits is the latency with something on, and off.
func waits(experiment string, w workload, off string) input {
	return input{fmt.Sprintf("%v: p50 on, `%s`", w, off), func(all collected) string {
		return spread(all.of(key{experiment, w, ""}, p50), result.Micros) + ", " + spread(all.of(key{experiment, w, off}, p50), result.Micros)
	}}
}

// writing is how often something is written for each message, with something on, and off.
func writing(experiment string, w workload, off string) input {
	return input{fmt.Sprintf("%v: writes for each message on, `%s`", w, off), func(all collected) string {
		return spread(all.of(key{experiment, w, ""}, written), plain) + ", " + spread(all.of(key{experiment, w, off}, written), plain)
	}}
}

// triple are the messages that go together when they are sent, received and delivered. Over TCP they are sent by a
// write, to one of the others, and received by a read; over shared memory there is neither: a sender publishes each by
// itself, unless another thread is at it.
func triple(experiment string, w workload) input {
	return input{fmt.Sprintf("%v: messages per write, per read, per upcall", w), func(all collected) string {
		on := key{experiment, w, ""}
		together := func(calls func(figures) float64) string {
			return spread(all.of(on, func(f figures) float64 { return float64(w.Processes-1) / calls(f) }), plain)
		}
		return together(written) + ", " + together(func(f figures) float64 { return f.Reads }) + ", " + spread(all.of(on, batch), plain)
	}}
}

// memory is what a process maps, and by how much that is more than the paper's formula, n windows of messages and 8 bytes each.
func memory(experiment string, w workload) input {
	return input{fmt.Sprintf("%v: MB mapped, as a multiple of %d × %d × (%d + 8)", w, w.Processes, w.Window, w.Size), func(all collected) string {
		on, formula := key{experiment, w, ""}, float64(w.Processes*w.Window*(w.Size+8))
		return spread(all.of(on, func(f figures) float64 { return f.Mapped / 1e6 }), plain) + ", " +
			spread(all.of(on, func(f figures) float64 { return f.Mapped / formula }), times)
	}}
}

func claims() []claim {
	list := []claim{
		{says: "All together: 10 KB messages from 1 to 9.7 GB/s among 16 nodes"},
		{says: "Opportunistic batching alone: up to 16 times"},
		{says: "Batching does not cost latency: it falls, by nearly two orders of magnitude, under load"},
		{says: "The busier, the larger the batches: 35 messages per delivery with one active subgroup, 639 with 50"},
		{says: "Subgroups that are not active cost little: one active of 50 is about as fast as one of one"},
		{says: "Null-sends: a sender that is delayed, or never sends, does not slow the others down"},
		{says: "Null-sends cost nothing when all send"},
		{says: "Posting after the lock is released, and application threads that do not wait for each other"},
		{says: "A slow upcall stops everything: -9 %, -90 %, -99 % for 1 µs, 100 µs, 1 ms"},
		{says: "Copies lower it from 9.7 to 7.5 GB/s"},
		{says: "Fewer RDMA writes: from 18.2 to 1.1 million"},
		{says: "(ours) A silent sender is left out of the order until it speaks"},
		{says: "(ours) What lies in shared memory needs no acknowledgement"},
		{says: "The window: 5 messages bring 4.5 times the baseline already, and about 100 are best for 10 KB"},
		{says: "Batches when sending, receiving, delivering: 1.72, 22.18, 35.19 messages with one active subgroup; 50.45, 207.46, 638.57 with 50"},
		{says: "Memory of n × w × (m + 8) bytes: 16 MB for 16 members, 100 messages of 10 KB"},
		{says: "(ours) Smaller messages gain no less than those of 10 KB, of which the claims are"},
	}
	for _, transport := range []string{"shm", "tcp"} {
		every, delayed, groups := "each switch, "+transport, "delayed senders, "+transport, "subgroups, "+transport
		w := among(4, transport)
		for _, n := range []int{2, 4, 8} {
			list[0].add(worth(every, among(n, transport), all))
			list[1].add(worth(every, among(n, transport), batching))
			list[6].add(worth(every, among(n, transport), "-nulls"))
			list[7].add(worth(every, among(n, transport), "-late-post"))
		}
		list[2].add(waits(every, w, all), waits(every, w, batching))
		one := w.subgroups(1, 1)
		list[3].add(batches(groups, one), batches(groups, w.subgroups(10, 10)), batches(groups, w.subgroups(50, 50)))
		for _, off := range []string{"", all} {
			list[4].add(against(groups, w.subgroups(10, 1), one, off), against(groups, w.subgroups(50, 1), one, off))
		}
		windows, sizes := "windows, "+transport, "sizes, "+transport
		for _, n := range windowSizes(transport) {
			list[13].add(against(windows, w.window(n), w, ""), worth(windows, w.window(n), all))
		}
		for _, w := range []workload{w.size(16), w.size(128), w.size(1 << 10), w, w.size(100 << 10).window(10)} {
			list[16].add(worth(sizes, w, batching), worth(sizes, w, all))
		}
		for _, n := range []int{1, 2} {
			for _, d := range []time.Duration{time.Microsecond, 100 * time.Microsecond, forever} {
				list[5].add(worth(delayed, w.slow(n, d), "-nulls"))
				list[11].add(worth(delayed, w.slow(n, d), "-silence"))
			}
		}
	}
	few, many := among(2, "shm").size(1<<10), among(2, "shm").size(1<<10).threads(4)
	for _, w := range []workload{few, many, among(2, "tcp").size(1 << 10).threads(4)} {
		list[7].add(worth("threads", w, "-lock-free"), worth("threads", w, "-late-post"), worth("threads", w, "-lock-free,-late-post"))
	}
	w := among(4, "shm")
	for _, d := range []time.Duration{time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
		list[8].add(against("slow upcalls", w.upcall(d), w, ""))
	}
	list[9].add(against("copies", w.size(1<<10).copied(), w.size(1<<10), ""), against("copies", w.copied(), w, ""))
	for _, n := range []int{2, 4, 8} {
		list[10].add(writing("each switch, tcp", among(n, "tcp"), batching), writing("each switch, tcp", among(n, "tcp"), all))
	}
	tcp := among(4, "tcp")
	for _, n := range []int{1, 10, 50} {
		list[14].add(triple("subgroups, tcp", tcp.subgroups(n, n)))
	}
	for _, n := range []int{2, 4, 8} {
		list[15].add(memory("each switch, shm", among(n, "shm")))
	}
	for _, n := range windowSizes("shm") {
		list[15].add(memory("windows, shm", w.window(n)))
	}
	const lone = "latency of a lone sender"
	for _, n := range []int{2, 4} {
		list[11].add(waits(lone, among(n, "shm").size(128).rate(1000), "-silence"), waits(lone, among(n, "tcp").size(128).rate(1000), "-silence"))
		list[12].add(worth("each switch, shm", among(n, "shm"), "-shared-acks"), waits(lone, among(n, "shm").size(128).rate(1000), "-shared-acks"))
	}
	return list
}

func (c *claim) add(in ...input) { c.inputs = append(c.inputs, in...) }

func printVerdicts(b *strings.Builder, all collected) {
	b.WriteString("\n### What decides on the paper's claims\n")
	for i, cl := range claims() {
		fmt.Fprintf(b, "\n%d. %s\n", i+1, cl.says)
		for _, in := range cl.inputs {
			if text := in.print(all); strings.Trim(text, "–, ") != "" {
				fmt.Fprintf(b, "   - %s: %s\n", in.what, text)
			}
		}
	}
}
