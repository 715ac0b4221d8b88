// Package lint holds the rules of this repository as ordinary tests: go test ./internal/lint.
//
//	layers_test.go     imports point down only; what each package may import, external modules included
//	code_test.go       unsafe, atomics, clocks, goroutines and sleeps only where they are listed
//	text_test.go       package comments, file sizes, nothing of one machine or of unfinished work in the tree
//	generated_test.go  generated files carry their header and are what idlgen writes today
//	docs_test.go       links, file names and Go programs in documents are right
//
// A rule that fails says what to do. Each list of exceptions gives a reason for every entry, and an entry that is not
// needed any more fails too, so the lists are what the tree is. The idea of rules as tests is that of pebble's
// internal/lint and TigerBeetle's tidy.zig.
//
// Not here: formatting, vet and staticcheck, which .ci/run calls.
package lint
