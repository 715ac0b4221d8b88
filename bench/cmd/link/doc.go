// Command link measures one link of rdma/tcp by itself, between two hosts (network namespaces on a bridge): what a byte
// costs the processors and how many system calls it takes, and the latency of single messages, with Nagle's algorithm,
// delayed acknowledgments and the buffers of sockets as they are by default and otherwise.
//
//	go run ./bench/cmd/link [-rounds 5] [-duration 500ms] [-warmup 200ms] [-sizes 1024,10240,1048576] [-rate 0|1000] [-ring 1048576]
//	    [-window 0] [-tell 0] [-sockets default,nagle,quickack,64k,256k,1m,4m] [-against FILE,...] [-isolate=false]
//
// The writer has a ring, the reader a copy of it, and tells in a row of its own how far it has read. With -rate 0 the
// writer posts a message as soon as there is room, otherwise so many a second. With -window no more than so many bytes
// are on their way, so that a window of one message makes frames of one message. With -tell the reader answers only
// after so many bytes. -against names other builds of this program, which then have their turns beside this one.
//
// Variants are interleaved: in each round each has its turn. What is printed is the median of the rounds, with the
// least and the greatest.
package main
