// Package conductor starts the processes of the avionics example, leads them through a run, and tells how it went.
//
// The processes are this program again, each with a role as its argument. They talk to each other through the
// middleware only; to the conductor through pipes (package control).
//
// A run: start the processes; wait until all are Ready; Start; wait until the sources are Done, or stop them when the
// duration is over or on Ctrl-C; Drain the fms; Finish; collect the reports; Leave; read the logs back from disk; judge
// (package report).
//
// # No orphans
//
// Every process is in a process group of its own, so that Ctrl-C reaches the conductor alone, which ends the run in
// order. A process whose standard input ends leaves by itself; the kernel kills it with the conductor (parent-death
// signal, Linux). A process that does not leave in time is killed.
//
// # Deaths
//
// A process that says that it failed ends the run. One that dies is a finding, and the others go on without it. With -chaos
// (chaos.go) the conductor kills them itself, one at a time, and starts each again: the role is played by the next member, with
// a life of its own in the book (package ledger).
//
// # No files
//
// The directory of the logs is removed at the end, after all processes have gone. A conductor that is killed leaves it; the
// next one sweeps it, as rundir.go tells.
//
// # Concurrency
//
// One goroutine conducts. Each process has one that reads its events and then waits for its end, and two that pass its
// output on; they end with the process.
package conductor
