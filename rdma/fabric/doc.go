// Package fabric finds the other nodes of a domain and keeps one link to each.
//
// On one host nodes find each other without configuration: each binds the first free of a fixed row
// of abstract Unix sockets, named by user, domain and slot, then greets whoever answers on the other
// slots. Binding is atomic and the kernel frees a slot with its process, so there is no daemon, no
// file and nothing to clean up. Between hosts a node dials the addresses it was given (DDS_PEERS),
// again and again, and nodes of which its peers tell.
//
// Every link is initiated by the node with the smaller ID, unless the other one can not be dialled. A node with the larger
// one that finds a peer asks to be called back. So two nodes that find each other at the same moment still get one
// link, and both know of it when the greeting is over.
//
// On a host the link is a Unix socket over which memory is shared (package shm), unless one of the
// two nodes wants tcp: then the Unix socket only tells the address to dial (package tcp). It is never
// tcp between nodes that share memory, whichever way they found each other: what the layers above conclude
// from ShmDomain holds for the link. Who is dialled over tcp by such a node sends it to the slot.
//
// A tcp link lasts longer than its connections: the node that made the first makes the next, until the
// peer is gone for certain or somebody gives the link up. A link over shared memory that is lost while
// both processes live is made anew.
package fabric
