package topic

import (
	"fmt"

	"github.com/omg-dds-go/dds/qos"
)

// Path is the delivery path that the samples of a writer take.
type Path uint8

const (
	// Unordered is best effort: delivered on receipt, not kept.
	Unordered Path = iota
	// Ordered is reliable and volatile: one total order, all or none, discarded after delivery.
	Ordered
	// Stored is Ordered, and kept in the memory of the receiving nodes for late joiners.
	Stored
	// Logged is Ordered, and appended to the log at every storing node.
	Logged

	// Paths is how many there are.
	Paths = 4
)

// String gives the name that users read in tables.
func (p Path) String() string {
	switch p {
	case Unordered:
		return "unordered"
	case Ordered:
		return "atomic"
	case Stored:
		return "volatile storage"
	case Logged:
		return "logged"
	}
	return fmt.Sprintf("path %d", uint8(p))
}

// Keeps tells whether samples on the path are kept for late joiners.
func (p Path) Keeps() bool { return p == Stored || p == Logged }

// PathOf selects the delivery path of a writer. DURABILITY above VOLATILE needs RELIABILITY RELIABLE: what is not
// delivered to all is not kept by all.
func PathOf(q qos.DataWriter) (Path, error) {
	if q.Reliability.Kind != qos.ReliabilityReliable {
		if q.Durability.Kind > qos.DurabilityVolatile {
			return 0, &UnsupportedError{
				Policy: qos.PolicyDurability,
				Detail: fmt.Sprintf("DURABILITY %v of a writer with RELIABILITY %v: samples are kept for late joiners on reliable paths only; set RELIABILITY RELIABLE or DURABILITY VOLATILE",
					q.Durability.Kind, q.Reliability.Kind),
			}
		}
		return Unordered, nil
	}
	return pathOfDurability(q.Durability.Kind), nil
}

func pathOfDurability(k qos.DurabilityKind) Path {
	switch k {
	case qos.DurabilityTransientLocal, qos.DurabilityTransient:
		return Stored
	case qos.DurabilityPersistent:
		return Logged
	}
	return Ordered
}

// PathsFor lists the paths that writers compatible with a reader may use: what is offered must be at least what is
// requested.
func PathsFor(q qos.DataReader) []Path {
	lowest := pathOfDurability(q.Durability.Kind)
	if lowest == Ordered && q.Reliability.Kind != qos.ReliabilityReliable {
		lowest = Unordered
	}
	var paths []Path
	for p := lowest; p < Paths; p++ {
		paths = append(paths, p)
	}
	return paths
}

// UnsupportedError names a policy value that has no effect here, so that it is refused rather than ignored.
type UnsupportedError struct {
	Policy qos.PolicyID
	Detail string
}

func (e *UnsupportedError) Error() string { return e.Detail }
