package qos

import "strconv"

// Kinds print as the standard's literal without its family suffix: RELIABLE for RELIABLE_RELIABILITY_QOS.
// Their order is the order that RxO matching compares by, so a stronger guarantee has a greater value.

// ReliabilityKind: BEST_EFFORT < RELIABLE.
type ReliabilityKind uint8

const (
	ReliabilityBestEffort ReliabilityKind = iota + 1
	ReliabilityReliable
)

// DurabilityKind: VOLATILE < TRANSIENT_LOCAL < TRANSIENT < PERSISTENT.
type DurabilityKind uint8

const (
	DurabilityVolatile DurabilityKind = iota + 1
	DurabilityTransientLocal
	DurabilityTransient
	DurabilityPersistent
)

// PresentationAccessScopeKind: INSTANCE < TOPIC < GROUP.
type PresentationAccessScopeKind uint8

const (
	PresentationInstance PresentationAccessScopeKind = iota + 1
	PresentationTopic
	PresentationGroup
)

// OwnershipKind has no order: offered and requested kinds must be equal.
type OwnershipKind uint8

const (
	OwnershipShared OwnershipKind = iota + 1
	OwnershipExclusive
)

// LivelinessKind: AUTOMATIC < MANUAL_BY_PARTICIPANT < MANUAL_BY_TOPIC.
type LivelinessKind uint8

const (
	LivelinessAutomatic LivelinessKind = iota + 1
	LivelinessManualByParticipant
	LivelinessManualByTopic
)

// DestinationOrderKind: BY_RECEPTION_TIMESTAMP < BY_SOURCE_TIMESTAMP.
type DestinationOrderKind uint8

const (
	DestinationOrderByReceptionTimestamp DestinationOrderKind = iota + 1
	DestinationOrderBySourceTimestamp
)

// HistoryKind is not matched.
type HistoryKind uint8

const (
	HistoryKeepLast HistoryKind = iota + 1
	HistoryKeepAll
)

// DataRepresentationKind names a data representation. Its values are not those of the wire, where XCDR1 is
// zero; see ID.
type DataRepresentationKind uint8

const (
	DataRepresentationXCDR1 DataRepresentationKind = iota + 1
	DataRepresentationXML
	DataRepresentationXCDR2
	// DataRepresentationAuto stands for XCDR1 or XCDR2, whichever the peer takes.
	DataRepresentationAuto
)

// ID is the DataRepresentationId_t of XTypes 1.3, 7.6.3.1.1; false for AUTO, which never travels.
func (k DataRepresentationKind) ID() (int16, bool) {
	switch k {
	case DataRepresentationXCDR1, DataRepresentationXML, DataRepresentationXCDR2:
		return int16(k) - 1, true
	}
	return 0, false
}

// TypeConsistencyKind is compared by no one: it says how the reader compares types.
type TypeConsistencyKind uint8

const (
	TypeConsistencyDisallowTypeCoercion TypeConsistencyKind = iota + 1
	TypeConsistencyAllowTypeCoercion
	// TypeConsistencyAutoTypeCoercion, of later schemas, leaves the choice to the implementation: it allows.
	TypeConsistencyAutoTypeCoercion
)

// ConsistencyKind: PER_WRITER < TOTAL_ORDER < TOTAL_ORDER_DURABLE; AUTO stands for one of them. See Consistency.
type ConsistencyKind uint8

const (
	// ConsistencyAuto leaves the choice to RELIABILITY and DURABILITY.
	ConsistencyAuto ConsistencyKind = iota + 1
	// ConsistencyPerWriter: the samples of each writer come in its order.
	ConsistencyPerWriter
	// ConsistencyTotalOrder: all readers see the samples of all writers in one order, all or none of them.
	ConsistencyTotalOrder
	// ConsistencyTotalOrderDurable: that, and what was delivered outlives the processes.
	ConsistencyTotalOrderDurable
)

// kindFamily names the values 1, 2, ... of a kind, and the suffix of their literals in IDL and XML.
type kindFamily struct {
	names  []string
	suffix string
}

var (
	reliabilityKinds      = kindFamily{[]string{"BEST_EFFORT", "RELIABLE"}, "_RELIABILITY_QOS"}
	durabilityKinds       = kindFamily{[]string{"VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT"}, "_DURABILITY_QOS"}
	presentationKinds     = kindFamily{[]string{"INSTANCE", "TOPIC", "GROUP"}, "_PRESENTATION_QOS"}
	ownershipKinds        = kindFamily{[]string{"SHARED", "EXCLUSIVE"}, "_OWNERSHIP_QOS"}
	livelinessKinds       = kindFamily{[]string{"AUTOMATIC", "MANUAL_BY_PARTICIPANT", "MANUAL_BY_TOPIC"}, "_LIVELINESS_QOS"}
	destinationOrderKinds = kindFamily{[]string{"BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"}, "_DESTINATIONORDER_QOS"}
	historyKinds          = kindFamily{[]string{"KEEP_LAST", "KEEP_ALL"}, "_HISTORY_QOS"}
	representationKinds   = kindFamily{[]string{"XCDR", "XML", "XCDR2", "AUTO"}, "_DATA_REPRESENTATION"}
	consistencyKinds      = kindFamily{[]string{"AUTO", "PER_WRITER", "TOTAL_ORDER", "TOTAL_ORDER_DURABLE"}, "_CONSISTENCY_QOS"}
	typeConsistencyKinds  = kindFamily{[]string{"DISALLOW", "ALLOW", "AUTO"}, "_TYPE_COERCION"}
)

func (f kindFamily) name(k uint8) string {
	switch {
	case k == 0:
		return "NOT_SET"
	case int(k) > len(f.names):
		return "INVALID_" + strconv.Itoa(int(k))
	}
	return f.names[k-1]
}

// literals are the spellings of IDL and XML; literals()[i] is kind i+1.
func (f kindFamily) literals() []string {
	out := make([]string, len(f.names))
	for i, n := range f.names {
		out[i] = n + f.suffix
	}
	return out
}

func (f kindFamily) valid(k uint8) bool { return k > 0 && int(k) <= len(f.names) }

func (k ReliabilityKind) String() string             { return reliabilityKinds.name(uint8(k)) }
func (k DurabilityKind) String() string              { return durabilityKinds.name(uint8(k)) }
func (k PresentationAccessScopeKind) String() string { return presentationKinds.name(uint8(k)) }
func (k OwnershipKind) String() string               { return ownershipKinds.name(uint8(k)) }
func (k LivelinessKind) String() string              { return livelinessKinds.name(uint8(k)) }
func (k DestinationOrderKind) String() string        { return destinationOrderKinds.name(uint8(k)) }
func (k HistoryKind) String() string                 { return historyKinds.name(uint8(k)) }
func (k DataRepresentationKind) String() string      { return representationKinds.name(uint8(k)) }
func (k ConsistencyKind) String() string             { return consistencyKinds.name(uint8(k)) }
func (k TypeConsistencyKind) String() string         { return typeConsistencyKinds.name(uint8(k)) }
