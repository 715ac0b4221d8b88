// Command compare runs implementations side by side and prints tables of medians with their spread.
//
//	go run ./bench/cmd/compare [-suite dds|order|baseline] [-mode throughput|latency|roundtrip] [-impl NAME,...]
//	    [-sizes 128,1024,10240,1048576] [-readers 1,2,4,8] [-rounds 5] [-duration 2s] [-warmup 500ms] [-json FILE]
//
// Runs are interleaved: in each round every implementation has its turn in every cell, so that what else the machine does falls on
// all of them alike. A run has a bounded time; one that fails is counted, and not part of the medians. Of several readers the
// slowest one is the figure. The suite dds compares ours ("dds perf") with bench/peers; order compares implementations of total
// order (bench/order); baseline measures the limits (bench/baseline). All run in a network namespace of their own (bench/internal/isolate).
//
// What is not installed is left out, and the output says so.
package main
