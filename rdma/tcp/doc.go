// Package tcp emulates one-sided writes over a TCP connection.
//
// The peer's copy of a region lives in its heap; frames are applied straight into it. The sending
// side keeps dirty state, not a queue: Post marks a region dirty, and the link's writer, when the
// socket takes more, captures the newest cells, then sends the ring bytes that they cover, then the
// cells, one writev over all dirty regions. A value overwritten meanwhile is never sent; a slow peer
// delays itself and costs no memory beyond the rings.
//
// Order (package rdma, rule 3): cells are captured from the last to the first and applied from the
// first to the last. If the owner stores a before b and a < b, then a capture that has the new b
// loaded a later still, so it has the new a, and the peer stores a first. The tail is cell 0: it is
// captured last, after every cell that speaks of ring contents, and applied after the bytes.
//
// Framing, little endian:
//
//	length u32 (of what follows) | type u8 | ...
//	control  1: bytes
//	open     2: subgroup u32, epoch u32, cells u32, ring u32
//	openfail 3: subgroup, epoch, text
//	opened   4: subgroup, epoch
//	write    5: subgroup, epoch, ring position u64, ring bytes u32, cells u32, cells * (index u32, value u64), bytes
package tcp
