package invariant

// Check panics when cond is false. msg is a constant, so that a check that holds costs a branch.
func Check(cond bool, msg string) {
	if !cond {
		panic("invariant violated: " + msg)
	}
}
