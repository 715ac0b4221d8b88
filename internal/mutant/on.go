//go:build mutants

package mutant

var active string

// Is reports whether a defect is switched on.
func Is(name string) bool { return name == active }

// Set switches a defect of List on, and all others off; "" is none.
func Set(name string) { active = name }
