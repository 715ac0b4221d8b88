// Package chaos kills, stops, cuts off and restarts processes of the middleware while they write and read, and checks what
// each of them was handed. The processes are this test binary, started again; they use the public API only.
//
//	go test ./internal/chaos                                           # some faults of each kind, under 20 s
//	go test ./internal/chaos -run Storm -chaos.steps 1000 -timeout 1h  # the long run, about 20 minutes for each transport
//	go test ./internal/chaos -run Storm -chaos.seed 7                  # one run again
//	go test ./internal/chaos -run Time -v -chaos.times 50 -timeout 1h  # how long things take
//
// Every process has writers and readers of an atomic topic, a transient-local one and a logged one. It puts down each
// delivery in a file of its own before it does anything else with it, so that a process that is killed has told what it had.
// A storm is cut into rounds: a domain of its own, some tens of faults, then all who live must agree and deliver again
// within a bound, then everything is closed and the records are compared (checker in check_test.go):
//
//  1. The readers of a topic see one order, whoever wrote.
//  2. No reader misses or doubles a sample of a writer that lives; of a writer that died all survivors have the same.
//  3. What a process that died was handed, the survivors were handed too.
//  4. The log of a process is what its readers were handed, and has what its writers were told is durable.
//  5. What a writer was told has arrived was handed to every reader that was there meanwhile, also if the writer's process was
//     excluded.
//  6. Who joins late, or again after an exclusion, is given the history of the transient-local topic that it lacks.
//  7. No writer or reader is told an error but that its process was excluded, or hears no majority.
//  8. When all have ended, those that ended last come back, at once and in any order, and are given what was kept of the logged topic:
//     neither less nor more.
//  9. Nothing is left: no process, descriptor, mapping, socket or file.
//
// The choice of faults follows from the seed, which each round prints; what the processes make of them does not.
// The part with network namespaces needs root and the ip command, and skips with a reason without them. It is no part of
// the product; docs/failures.md has the figures.
package chaos

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . chaos.idl
