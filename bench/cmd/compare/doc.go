// Command compare runs implementations side by side and prints tables of medians with their spread.
//
//	go run ./bench/cmd/compare [-suite NAME] [-impl NAME,...] [-rounds 5] [-duration 2s] [-warmup 500ms] [-json FILE]
//	    [-beside 0] [-within 0] [-patience 20s] [-mode throughput|latency|roundtrip] [-rate 1000] [-sizes N,...] [-readers N,...] [-topics N,...] [-processes N,...]
//
// Runs are interleaved: in each round every implementation has its turn in every cell, so that what else the machine
// does falls on all of them alike. -beside N has that many processes compute meanwhile. -within D begins no round that
// would not end in that time. A run has a bounded time; one that fails is counted, and not part of the medians. Of
// several readers the slowest one is the figure. All run in a network namespace of their own (bench/internal/isolate).
//
//	dds        ours ("dds perf") and others' (bench/peers)
//	order      ours and others with total order, on three hosts (bench/order)
//	unordered  ours on one host: what total order costs, in the core without loss; through DDS best effort drops
//	subgroups  ours: one active topic among others that are idle
//	growth     ours: memory and throughput by processes and topics, and a formula for the memory
//	lend       ours: samples that readers are lent, and samples copied out for them; a bare ring and a bare pool of chunks
//	logged     a PERSISTENT topic, and a plain file that is synced as often
//	slow       ours: what a slow reader does to another topic, and to another reader of its topic
//	wake       ours: readers that look for samples and readers that sleep; a cache line and a futex by themselves
//	baseline   the limits of the machine (bench/baseline)
//
// Where a figure should have some size, by itself or as a share of another one, this is a goal: it is computed within each round,
// and the report says whether the median reaches it.
//
// What is not installed is left out, and the output says so.
package main
