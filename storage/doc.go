// Package storage is the log on disk: append-only, segmented, checksummed, synced in batches. The
// replicated core keeps one per subgroup and node.
//
//	log, recovery, err := storage.Open(dir, storage.Options{})
//	err = log.Append(&storage.Record{Version: storage.Version{Epoch: 1, Seq: 7}, Payload: sample})
//	durable, err := log.Sync() // everything appended before is on the disk up to durable
//	for r, err := range log.Records(storage.Version{}) { ... }
//	err = log.Close()
//
// # Ownership and concurrency
//
// A directory has one writing process, kept alone by a lock. Within it one goroutine may Append
// (the polling thread: a copy into memory, no I/O, no allocation, no checksum) while another one
// Syncs (the storage goroutine: checksums, one write, one fdatasync). Append copies the payload; the
// caller keeps its slice. What arrives while a Sync is busy forms the next batch, so the batch grows
// with the latency of the disk. Records, Verify and Describe only read; they work in any process,
// beside the writer too.
//
// # Invariants
//
//  1. Versions strictly increase along the log; the zero Version is below all.
//  2. What Sync has acknowledged is found by every later Open, in order, with nothing between.
//  3. A failed write or sync is final. The kernel may drop the dirty pages of a failed sync and
//     report success to the next, so trying again would acknowledge what is not there. The log
//     answers every later call with the same error (ErrFailed); Open finds out what is there.
//  4. Recovery deletes nothing but what a crash in the middle of a Sync leaves behind: the torn
//     batch at the end of the last segment (reported in Recovery), a segment without records that
//     was about to be begun, files named *.tmp.
//  5. Everything else that does not read as it was written is corruption: an error with file and
//     offset (CorruptError), and the files stay as they are.
//
// # Torn or corrupt
//
// A device may persist the sectors of an unfinished batch in any order, so an invalid frame with
// valid ones behind it can be the trace of a crash. Every frame therefore says up to which offset the
// segment had been synced when it was written. An invalid frame at x is corruption when a valid
// frame behind it says that x had been synced, else the torn end. What no later frame vouches for,
// the last batch after a crash, can not be told apart and counts as torn. Close writes a
// mark, a frame without contents, so that a log that was closed has no such batch.
//
// The layout is drawn in docs/formats.md; format.go has the offsets.
//
// # Limits
//
// Open reads and checks the whole log. There is no index: Records starts at the segment that
// holds the version asked for. Nothing is ever trimmed. Sectors are written wholly or not at all.
//
// The split of recovery into a pure function and its caller, and the distinction between torn and
// corrupt, follow the record package of cockroachdb/pebble; checking size relations when compiling
// and describing segments as text follow tigerbeetle. The ideas, none of the code.
package storage
