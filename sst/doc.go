// Package sst is the shared state table: one row per member, every row readable by all members,
// each written by its owner only (Derecho, SST paper).
//
// A row is an rdma.Region. Its cells are 8 bytes, aligned, never torn; with the exceptions named in
// columns.go they only grow, so that whatever a reader sees is a safe lower bound. Behind the cells
// of a sender lies its ring (package smc).
//
//	t := sst.NewTable(layout, members, me, region, push)
//	t.Row(i).Set(opened)                           // member i's row, once it is open
//	t.Store(t.Handed(2), pos)                      // store into the own row, then push it
//	t.Push()                                       // to all members
//
//	var p sst.Predicates
//	p.Add(sst.Recurrent, func() bool { return news() }, handle)
//	for p.Evaluate() { }                           // on the polling goroutine
//
// All counters are counts (half-open): a row "has received" the indices below its received cell,
// and zero means none. Derecho's C++ code names what we call received "num_received", and starts it
// at -1.
//
// Rows reach the other members in two modes, both of the SST paper: by writes (Push: the owner
// sends, package rdma decides what that costs) and by reads (aliased memory: the reader loads the
// owner's cell).
//
// Invariants:
//
//  1. Only the owner stores into its row.
//  2. A cell of higher index is published after the cells of lower index that were stored before it
//     (rdma, rule 3): columns.go orders columns so that a guard comes behind what it guards.
//  3. After Freeze a row reads as it was at that moment, whatever its owner still does.
//
// Not here: what the columns mean together (package derecho) and the slots (package smc).
package sst
