package qos

import (
	"fmt"
	"strings"
)

// EntityKind says whose QoS is meant. Its text is the name of the element in XML.
type EntityKind uint8

const (
	EntityDomainParticipant EntityKind = iota + 1
	EntityTopic
	EntityPublisher
	EntitySubscriber
	EntityDataWriter
	EntityDataReader
)

// EntityKinds lists all of them, in this order.
func EntityKinds() []EntityKind {
	out := make([]EntityKind, 0, entityKinds)
	for k := range entityKinds {
		out = append(out, k.public())
	}
	return out
}

func (k EntityKind) String() string {
	if inner, err := k.check(); err == nil {
		return inner.String()
	}
	return fmt.Sprintf("INVALID_%d", uint8(k))
}

// ParseEntityKind reads the name of an element ("datawriter_qos"), of an entity ("DataWriter"), or the end of one ("writer").
func ParseEntityKind(s string) (EntityKind, error) {
	folded := strings.TrimSuffix(foldName(s), "qos")
	var known []string
	for k := range entityKinds {
		name := strings.TrimSuffix(foldName(k.String()), "qos")
		short := strings.TrimPrefix(strings.TrimPrefix(name, "data"), "domain")
		short = strings.TrimPrefix(short, "domain")
		if folded == name || folded == short {
			return k.public(), nil
		}
		known = append(known, short)
	}
	return 0, fmt.Errorf("qos: no entity is called %q; %s", s, didYouMean(s, known))
}

func (k EntityKind) check() (entityKind, error) {
	if k == 0 || k > EntityKind(entityKinds) {
		return 0, fmt.Errorf("qos: entity kind %d is none; use EntityDomainParticipant to EntityDataReader", uint8(k))
	}
	return entityKind(k - 1), nil
}

func (k entityKind) public() EntityKind { return EntityKind(k + 1) }
