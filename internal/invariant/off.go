//go:build !invariant && !race

package invariant

// Enabled says that expensive checks run in this build.
const Enabled = false
