// Package vfs is the part of a file system that the log needs, with three implementations.
//
//	fs := vfs.OS{}                  // the operating system
//	mem := vfs.NewMem()             // in memory, can lose what was not synced
//	faulty := vfs.NewFaulty(mem)    // any FS, failing where a test says
//	faulty.FailAt(7, vfs.ErrCrashed)
//	... run until it fails ...
//	after := mem.Crash(rng)         // what a power failure left on the disk
//
// # What a file system promises
//
//  1. Bytes written are safe once File.Sync has returned nil, and not before.
//  2. A name made, moved or removed is safe once SyncDir of its directory has returned nil.
//  3. A sector (SectorBytes, aligned) is written wholly or not at all. Of the sectors not yet
//     synced any subset may survive a power failure, in any order. Writing one does not harm others.
//  4. Rename is atomic: after a power failure the new name stands for the old file or the new one.
//  5. A lock ends with the process that holds it.
//
// Mem does the least that these sentences allow, choosing by a seeded generator, so that code that
// relies on more fails in a test.
//
// An FS and its Files may be used by several goroutines.
//
// Mem and its Crash follow the crashable in-memory file system of cockroachdb/pebble (vfs),
// Faulty its errorfs: the ideas, none of the code.
//
// Not here: directories within directories being listed, permissions, links, memory mapping.
package vfs
