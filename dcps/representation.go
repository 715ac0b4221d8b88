package dcps

import (
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
)

// representationsFor is what DATA_REPRESENTATION p says of topics of a type: what @data_representation does not allow
// is left out, and AUTO stands for what is left of XCDR1 and XCDR2. A list that says nothing is that of the first one
// that is allowed, XCDR1, XCDR2 or XML, which comes last because nobody writes it; where both XCDR1 and XCDR2 are
// allowed it stays what it is for types without the annotation.
func representationsFor(t *cdr.TypeInfo, p qos.DataRepresentation) qos.DataRepresentation {
	const binary = cdr.RepresentationXCDR1 | cdr.RepresentationXCDR2
	said, allowed := p.Value, t.Representations
	switch {
	case allowed == 0 || len(said) == 0 && allowed&binary == binary:
		return p
	case len(said) == 0:
		return qos.DataRepresentation{Value: allowedOf(allowed)[:1]}
	}
	var out []qos.DataRepresentationKind
	for _, k := range said {
		switch {
		case k != qos.DataRepresentationAuto:
			if slices.Contains(allowedOf(allowed), k) {
				out = append(out, k)
			}
		case allowed&binary == binary:
			out = append(out, k)
		default:
			out = append(out, allowedOf(allowed&binary)...)
		}
	}
	return qos.DataRepresentation{Value: out}
}

// allowedOf lists a set.
func allowedOf(set cdr.Representations) (list []qos.DataRepresentationKind) {
	for _, k := range []struct {
		bit  cdr.Representations
		kind qos.DataRepresentationKind
	}{
		{cdr.RepresentationXCDR1, qos.DataRepresentationXCDR1},
		{cdr.RepresentationXCDR2, qos.DataRepresentationXCDR2},
		{cdr.RepresentationXML, qos.DataRepresentationXML},
	} {
		if set&k.bit != 0 {
			list = append(list, k.kind)
		}
	}
	return list
}

// checkRepresentations refuses a QoS that has nothing of what the type allows.
func checkRepresentations(op, entity string, t *cdr.TypeInfo, p qos.DataRepresentation) error {
	if len(p.Value) == 0 || len(representationsFor(t, p).Value) > 0 {
		return nil
	}
	return &Error{Op: op, Entity: entity, Code: ErrInconsistentPolicy,
		Detail: fmt.Sprintf("%v %v has none of %v, which is what @data_representation allows for type %s",
			qos.PolicyDataRepresentation, p, qos.DataRepresentation{Value: allowedOf(t.Representations)}, t.Name)}
}
