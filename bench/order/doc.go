// Command order measures what people would pick in Go for the same order of messages everywhere: three replicas, three
// writers, all messages in one order at every replica, all in memory.
//
//	cd bench/order && go run . -impl dds-go|nats|raft|etcd|etcd-in-process|tcp [-size 1024] [-inflight 1000]
//	    [-duration 2s] [-warmup 500ms] [-cpuprofile DIR] [-hosts a=10.0.0.1,b=10.0.0.2,c=10.0.0.3]
//
// Replicas are processes over TCP, each in a network namespace of its own if there are -hosts, otherwise on the
// loopback interface. Every replica is also the place of one writer. Two things are no replicated systems:
// etcd-in-process is three nodes in one process without a network, a bound on what one over a network could do; and tcp
// is what a bare stream between two of the hosts carries.
//
// One JSON object for each replica (role "replica": messages delivered there per second, first to last after the
// warm-up, by its own clock, which is read for each 16th of them; cpu of its process) and one for the latency of a
// writer that has one message in flight at a time (role "one-at-a-time": from handing it over until it is known to be
// ordered). inflight is shared by the writers. The fields are those of bench/internal/result; size is that of the
// message, headers of the protocol not counted.
//
// It is a module of its own so that the product inherits none of what it needs.
package main
