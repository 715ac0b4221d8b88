// Command ddssim runs whole groups in virtual time and checks what they do (package derecho/cluster).
//
//	ddssim [-seeds N] [-from S] [-nodes MIN..MAX] [-faults LIST] [-large] [-duration D] [-workers N] [-v] [-trace] [-html FILE]
//	ddssim -sweep N [-changes LIST] [-pairs K] [-stored K] [-together] [-part I/N] [-workers N]
//	ddssim -scenario "1,1,2 crash 0 2@17"
//
// Each seed is a group of nodes with an application and failures; the same seed of the same version runs in the same
// way. What one seed, or with -v each, has drawn is printed before it runs.
// A sweep ends a node at every push, store or operation of a disk in one change of the view. At the first violation
// ddssim prints what the seed had planned, the invariant (docs/simulation.md), a smaller run that still fails with the
// command that replays it, and the trace around the violation.
//
// A run of more than ten seconds says on stderr how far it is. Unless GOGC is set, the garbage collector works seldom:
// that is half as many runs again in the same time, for some hundred megabytes.
//
// Exit status: 0 nothing was violated, 1 something was, 2 wrong use.
package main
