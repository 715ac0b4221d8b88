// Package shm shares regions between the processes of one host.
//
// Every node owns its memory: an anonymous memfd that it maps writable and, once mapped, seals
// against resizing and against any further writable mapping. Peers get the descriptor over a Unix
// socket (SCM_RIGHTS) and map it read-only. So nobody but the owner can write a row, no peer can be
// killed by a file that shrinks under it, and nothing is left in any file system when processes
// die, however they die: the kernel frees the memory with its last mapping. A row outlives its
// writer for whoever has it mapped.
//
// Because the peer's mapping is the owner's memory, Link.Post does nothing. What remains of a push
// is to wake peers that sleep: their doorbell is one futex word in a page of its own, the only
// memory here that several processes write (see rdma.Bell).
//
// The kernel certifies the death of a peer's process: each link holds a pidfd of it. A connection that
// ends without a good-bye is looked at this way before the link is reported down. If the process lives the link keeps the
// pidfd until nobody refers to it any more, and can be asked (Link.Died). A pidfd of its canary, a
// thread, tells earlier that it is about to die (rdma.Canary).
//
// Guarantees 1 to 5 of package rdma hold trivially: loads and stores go to the same cache lines, on
// amd64 and arm64 sync/atomic is the same instruction sequence in every process.
package shm
