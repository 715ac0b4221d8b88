// Command codec measures what it costs to turn values into bytes and back: the code that idlgen writes beside Fast-CDR
// in C++ and the serializer of Cyclone DDS in C, and in Go beside protobuf, encoding/gob and encoding/binary.
//
//	cd bench/codec && go run . [-o table|markdown|json] [-case Flat,Text,Blob,Route,Status] [-rounds 10] [-each 20ms] [-build DIR]
//
// All take turns in one run, in rounds, and a row is the best of its rounds: what an operation takes when nothing
// disturbs it. Time is that of the CPU, of all threads of the process, so garbage collection counts and other programs'
// work does not.
//
// The C and C++ programs are in peers, and are built with -O2 if the Debian packages are there; what is missing is
// said. They hold the same values (values.go, peers/agent/agent.h), and before anything is measured their samples are
// compared byte by byte with ours. Everybody encodes into memory that is there already and decodes into a value that is
// used again. Allocations are counted for everybody: by the Go runtime, and in C and C++ by a malloc of the program's
// own.
//
// It is a module of its own so that the product inherits none of what it needs.
package main
