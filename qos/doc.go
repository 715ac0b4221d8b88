// Package qos holds the QoS policies of DDS 1.4 (clause 2.2.3) and the two of XTypes 1.3 as plain values: their
// defaults, their consistency rules, request-offered (RxO) matching, and QoS profiles from files: DDS-XML 1.0 and the
// dialects of RTI Connext, Fast DDS, OpenDDS and Cyclone DDS, and YAML with package qosyaml. docs/qos.md describes it
// all for users.
//
// Start from the default of the standard, change fields, validate once:
//
//	q := qos.DefaultDataWriter()
//	q.Reliability = qos.Reliability{Kind: qos.ReliabilityReliable, MaxBlockingTime: time.Second}
//	q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 4}
//	if err := q.Validate(); err != nil { ... } // *qos.InconsistentPolicyError names all that is wrong
//
// or take it from a file:
//
//	p, err := qos.LoadFile("qos.xml")            // err is a qos.XMLErrors: every error of the file, with its place
//	q, err := p.DataWriter("Lib::Profile", "Square")
//
// Names are those of the standard without the suffix QosPolicy: DataWriter is its DataWriterQos, Reliability its
// ReliabilityQosPolicy, MaxBlockingTime its max_blocking_time.
//
// # Ownership and concurrency
//
// QoS values are copied like any struct; their slices (user data, partition names, representations) are shared
// by copies and never changed by this package. A Provider may be used by several goroutines at once, also
// while it loads another file.
//
// # Invariants
//
//  1. Kinds start at 1. Zero is "not set", which Validate reports; it never means "default".
//  2. Infinite is the only infinite duration, and zero never means "none": where nothing could come of it (DEADLINE,
//     LIFESPAN, the lease of LIVELINESS) Validate refuses it.
//  3. Compatible and PartitionsMatch depend on nothing but their arguments, so both ends of a match agree.
//  4. Nothing that stands in a file makes this package panic, and what it allocates is bounded by the file's size.
//  5. A file is loaded completely or not at all: after an error the Provider is as it was before.
//  6. Whatever its dialect, a file is brought into one tree, with the places of what its author wrote, before it is judged
//     (dialect.go). Nothing behind that knows dialects but by how freely they spell values.
//  7. What is written (WriteXML) reads as the same values, but for what was said to be lost.
//
// # Where the standard leaves room
//
// RESOURCE_LIMITS max_samples_per_instance LENGTH_UNLIMITED beside a limited max_samples is accepted: the
// second bounds the first. HISTORY depth is then compared with max_samples.
//
// PARTITION names are POSIX fnmatch patterns; "*" also matches the default partition, the empty name. Two
// names that both hold wildcards never match each other.
//
// An empty DATA_REPRESENTATION means XCDR1 (XTypes 1.3, 7.6.3.1.1); AUTO, of later schemas, stands for XCDR1 or XCDR2,
// whichever the peer takes.
//
// # What it does not do
//
// It gives no policy an effect, and changes none of a live entity: that is package dcps. It maps no settings of vendors
// that are not policies (transports, discovery, protocol): they are warned of. It has no clock: Watch takes its ticks.
package qos
