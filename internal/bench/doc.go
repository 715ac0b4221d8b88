// Package bench measures the middleware through its public API. One process plays one role, and gives one Result:
//
//	pub   writes samples: a warm-up, then the samples that count, then a mark of the end
//	sub   reads them: samples per second, loss, and latency from the writer
//	ping  writes a sample and waits until every pong has written it back: round trips
//	pong  writes back what it reads
//	peer  a pub and a sub in one process; or one that only has the endpoints, and reads
//
//	result, err := bench.Run(ctx, bench.Sub, options, bench.Hooks{})
//
// Package experiment starts such processes and gathers their Results; package report runs many experiments. The command
// dds perf is made of the three.
//
// # What is counted
//
//  1. A sub counts by its own clock, from the first sample after the warm-up to the last. A pub counts what it has written.
//  2. Numbers of samples are without gap per writer, so a gap is loss, wherever it came from: dropped, rejected, or
//     replaced in the reader by KEEP_LAST. The mark of the end tells how many there were, so loss at the end counts too.
//  3. Latency runs from the call that writes (Latency), and with a rate also from the moment when the sample was due (Due):
//     a sample that is written late because the one before took long is late. This is what avoids coordinated omission.
//  4. Both clocks are CLOCK_MONOTONIC of one host. A sub that has writers of another host measures no latency.
//  5. At the maximum rate a pub reads the clock for every 16th sample only, so latency there is a little too high.
//  6. A reader reads the clock once for each batch that it takes, when it has it.
//  7. Size is that of the encoded sample without its encapsulation header of 4 bytes; Mbps counts no other header.
//
// # Concurrency
//
// Run uses the goroutine of its caller for the samples; a peer writes on another one, with nothing in common but the
// participant; and with a listener they are read on that of the listener, under a lock. The counters of progress are atomic.
//
// # What it does not do
//
// It does not start processes, and measures no other implementation: programs over Cyclone DDS and Fast DDS that write
// a Result of the same form can be compared with it.
package bench

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . bench.idl
