// Package mutant puts known defects into the protocol, to see whether the simulator's checkers notice them.
//
//	if !mutant.Is("no-fence") {
//		e.raiseFences()
//	}
//
// Is is constant false, and the compiler drops what stands under it, unless the build has the tag "mutants"; then it is
// true for the one defect that is switched on. List names them all; docs/simulation.md says what caught each.
//
//	go test -tags mutants ./derecho/cluster -run TestMutants -timeout 60m
//
// One goroutine calls Set, before it starts what asks Is.
package mutant
