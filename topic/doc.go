// Package topic says what a topic is to the layers between the DDS API and the multicast core: its type,
// the handles of its instances, and where its samples travel.
//
//	path, err := topic.PathOf(writerQos)         // design: best effort is unordered, reliable is atomic, ...
//	place := topic.Placement{Subgroups: 8}
//	sg := place.Subgroup(path, "Track")          // the same at every process
//	ch := topic.ChannelOf("Track")               // the topic inside its subgroup
//	h, err := keys.OfSample(encodedSample)       // which instance a sample belongs to
//
// # Concurrency
//
// Everything here is a value or a pure function, but Keys and Names, which have one owner each.
//
// # Invariants
//
//  1. Placement and ChannelOf depend on their arguments only: all processes of a domain that agree on
//     Placement.Subgroups agree on every topic's subgroup and channel. The hashes are part of the wire format.
//  2. Changing Subgroups from n to n+1 moves about one topic in n+1 (rendezvous hashing).
//  3. A handle of an instance of a keyed topic is never HandleNil.
//  4. Two names that hash to one channel are refused where the second one appears (Names.Add).
//
// # What it does not do
//
// It does not compare types, and it knows no content filter.
//
// Clauses: DDS 1.4 §2.2.2.3 (topics), XTypes 1.3 §7.6.8 (key hash). Rendezvous hashing follows Thaler and
// Ravishankar, "Using name-based mappings to increase hit rates" (1998).
package topic
