// Command order measures what people would pick in Go for the same order of messages everywhere: three replicas, three writers, all
// messages in one order at every replica, all in memory.
//
//	cd bench/order && go run . -impl nats|raft|etcd [-size 1024] [-inflight 1000] [-duration 2s] [-warmup 500ms]
//
// nats and raft run as three processes over TCP on the loopback interface; etcd is three nodes in one process without a network,
// which is a bound on what a real one could do, and its report says so. Every replica is also the place of one writer.
//
// One JSON object for each replica (role "replica": messages delivered there per second, first to last after the warm-up, by
// its own clock; cpu of its process) and one for the latency of a writer that has one message in flight at a time (role
// "one-at-a-time": from handing it over until it is known to be ordered). inflight is shared by the writers. The fields are
// those of bench/internal/result; size is that of the message, headers of the protocol not counted.
//
// It is a module of its own so that the product inherits none of what it needs.
package main
