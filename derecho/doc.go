// Package derecho is the replicated core: membership, subgroups with epochs of their own, and
// atomic multicast (after Derecho: Jha et al., TOCS 2019; Spindle, ICDCS 2022).
//
// A Node is one member of the top-level group of a domain. What its applications write and read is
// announced as endpoints; from the endpoints every member derives, by the same function of the same
// ordered list, which subgroups exist and who sends and receives in them.
//
//	node, err := derecho.Join(ctx, derecho.Config{Domain: 7}, handler)
//	err = node.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: ch, Writes: sg})
//	slot, err := node.Reserve(ctx, sg.ID, ch, size, deadline)
//	copy(slot.Bytes(), payload)
//	slot.Commit(header, size)
//
// # Structure
//
//	Node       the shell: API calls, waiting                        node.go  slot.go  wait.go
//	life       one incarnation of a node, its goroutines            life.go
//	Driven     the same machine without any of these, for cluster   driven.go
//	poller     one polling goroutine per process drives all nodes   poller.go
//	machine    the protocol: Step(now), no goroutine, clock or I/O  machine.go  control.go
//	view       who is a member: joining, two groups, leaving        view.go  join.go  meet.go  leave.go
//	catalogue  endpoints -> descriptors of subgroups, pure          catalogue.go  members.go  roster.go
//	subgroup   the sequence of epochs of one subgroup               subgroup.go
//	reach      who is told of endpoints that senders reach late     reach.go
//	epoch      table, rings and predicates of one epoch             epoch.go  deliver.go
//	agreement  how a view ends when members fail                    agreement.go  quorum.go
//	trim       how an epoch ends when members fail                  cut.go
//	logger     the log of a subgroup, beside the polling goroutine  persist.go
//	LogIndex   what a log has of each channel                       logindex.go
//	recovery   whose log counts when all, or all who had it, failed recovery.go  bereft.go
//
// # The control subgroup
//
// Subgroup 0 has every member as sender and receiver and is Ordered. Joins, leaves and endpoints
// travel in it, so all members see them in one order. An endpoint that changes who writes or reads
// what in a data subgroup starts a new epoch of that subgroup, and of no other.
//
// # Epochs
//
// A change without failure does not stop the stream: each sender goes on in epoch e until all members
// can read the rows of e+1 (docs/adr/0031), then closes its ring of e and writes on in that of e+1;
// receivers deliver e to its end, then e+1 (docs/adr/0003). An epoch is released when every member has
// told that it drained it.
//
// # Failures
//
// Members watch each other's heartbeats, and the kernel certifies deaths on the own host. When a member
// has failed, a majority of the view agrees who stays and how far the commands of the control subgroup
// are executed (agreement.go, docs/adr/0011). All else follows from the order of the commands: the
// endpoints of the failed go, their subgroups get new epochs, and the receivers of an old one report, in
// the control subgroup, how much they have of a sender that failed; the least of it is where it ends
// (cut.go, docs/adr/0012). Senders that live are not stopped and not cut. Subgroups without the failed
// member notice nothing but a short pause.
//
// A node that hears too few members stops delivering and says why. If the others went on without it,
// it joins again as a new incarnation.
//
// # Numbers
//
// Sender of rank r among s gives its message k the sequence number k*s + r; sequence numbers are
// the delivery order. A message may be delivered when it is stable: every receiver holds it and all
// before it. A receiver that reads the sender's own memory holds what is published; the others tell
// through their received cell.
//
// # Invariants
//
//  1. The table of an epoch is written by the owner of each row only (package sst).
//  2. Machine state is touched by the goroutine that holds life.baton only.
//  3. Delivered <= min over receivers of received, for every message that is handed up (Ordered).
//  4. Ring bytes are reused only after every receiver's handed cell passed them.
//  5. Upcalls are made by the holder of the baton, one at a time, and never wait for an application.
//  6. What anybody delivered of an Ordered epoch, everybody who stays delivers, in the same order.
package derecho
