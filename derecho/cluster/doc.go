// Package cluster simulates whole groups in one process: the production machines of package derecho over
// the virtual network of package rdma/sim, with an application that joins, leaves, writes and reads,
// and with failures. Everything follows from a seed; the same seed gives the same trace, byte for byte.
//
//	r := cluster.Run(seed, cluster.Options{})
//	if r.Err != nil { fmt.Print(r.Trace()) }
//
// A run draws its plan from the seed first: how many nodes and hosts, which kinds of faults, how fast
// everything is. Then comes a safety phase, in which the faults happen, and a liveness phase: faults
// stop, what was cut is whole again, and everything accepted must be delivered, the members must agree,
// and traffic must end. The checkers (check.go) look at the trace alone.
package cluster
