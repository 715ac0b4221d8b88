// Package experiment measures with several processes: it starts them, lets them begin together, gathers their Results and
// leaves none behind.
//
//	e := experiment.Experiment{Options: bench.DefaultOptions(), Writers: 1, Readers: 4}
//	outcome, err := e.Run(ctx, []string{"dds", "perf", "child"})
//
// The command is a program that calls bench.Serve. The processes are told what to do, and when to start, over their
// standard input. It is also what ends them: when this process ends, in whichever way, the kernel closes it. Readers are
// started first, so that no epoch of the group begins while samples flow.
//
// Run may be called by several goroutines at once; who measures does not want that.
//
// # What it does not do
//
// All processes are on this host. It pins nothing to a core.
package experiment
