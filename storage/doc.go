// Package storage is the log on disk: append-only, segmented, checksummed, synced in batches. The
// replicated core keeps one per subgroup and node.
//
//	log, recovery, err := storage.Open(dir, storage.Options{})
//	var b storage.Batch
//	err = b.Append(&storage.Record{Version: storage.Version{Epoch: 1, Seq: 7}, Payload: sample})
//	durable, err := log.Write(&b) // all of it is on the disk, up to durable
//	for r, err := range log.Records(storage.Version{}) { ... }
//	err = log.Close()
//
// # Ownership and concurrency
//
// A directory has one writing process, kept alone by a lock. Within it one goroutine appends to a
// Batch (the polling thread: a copy into memory and its checksum, no I/O, no allocation) while another
// one Writes the batch before it (the storage goroutine: one write from where the
// records lie, one fdatasync). What arrives meanwhile forms the next batch, so the batch grows with
// the latency of the disk. Log.Append and Log.Sync do the same with two batches of the Log's own.
// Records, Verify and Describe only read; they work in any process, beside the writer too, but not beside Trim.
//
// The next segment is made on a goroutine of its own while the second half of the current one
// fills; Close waits for it.
//
// # Invariants
//
//  1. Versions strictly increase along the log; the zero Version is below all.
//  2. What Write or Sync has acknowledged is found by every later Open, in order, with nothing
//     between.
//  3. A sector that holds what was acknowledged is never written again.
//  4. A failed write or sync is final. The kernel may drop the dirty pages of a failed sync and
//     report success to the next, so trying again would acknowledge what is not there. The log
//     answers every later call with the same error (ErrFailed); Open finds out what is there.
//  5. The segment with the last durable record is there, and all before it, but for what Trim has removed from the front.
//  6. Recovery deletes nothing but what a crash leaves behind: the torn batch at the end of the last
//     segment (reported in Recovery), a segment without records that was made ahead, files named
//     *.tmp. Trim deletes what its caller says that it has elsewhere.
//  7. Everything else that does not read as it was written is corruption: an error with file and
//     offset (CorruptError), and the files stay as they are.
//
// # Torn or corrupt
//
// A batch is one frame, and a frame is written when all before it has been synced. So a place that
// does not read as a frame is corrupt when a frame stands behind it, else it is the torn end: what
// a crash left of the last batch, of which a device may persist the sectors in any order. It counts
// wholly or not at all. What no later frame vouches for, the last batch after a crash, can not be
// told apart and counts as torn. Close writes a mark, a frame without contents, so that a log that
// was closed has no such batch.
//
// The layout is drawn in docs/formats.md; format.go has the offsets.
//
// # Limits
//
// Open reads and checks the whole log. There is no index: Records starts at the segment that
// holds the version asked for. A log grows until it is trimmed: what its records amount to is the business of the
// layer above. Sectors are written wholly or not at all.
//
// The split of recovery into a pure function and its caller, and the distinction between torn and
// corrupt, follow the record package of cockroachdb/pebble; checking size relations when compiling
// and describing segments as text follow tigerbeetle. The ideas, none of the code.
package storage
