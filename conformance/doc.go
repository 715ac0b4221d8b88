// Package conformance holds tests of this implementation against the text of the standards, one test for a
// normative statement, named after its clause: TestDDS14_2_2_3_RxO_Reliability stands for DDS 1.4, clause 2.2.3.
// Expectations are written out from the standard, never computed by the code under test.
//
// Covered:
//
//	DDS 1.4  2.2.3            default value of every policy of every entity
//	DDS 1.4  2.2.3            RxO and Changeable columns of the table of policies
//	DDS 1.4  2.2.3            RxO compatibility, every pair of kinds: DURABILITY, PRESENTATION, DEADLINE, LATENCY_BUDGET,
//	                          OWNERSHIP, LIVELINESS, RELIABILITY, DESTINATION_ORDER
//	                          and DATA_REPRESENTATION: every value of each against every other
//	DDS 1.4  2.2.3.7, .12     DEADLINE against TIME_BASED_FILTER
//	DDS 1.4  2.2.3.13         PARTITION names and patterns
//	DDS 1.4  2.2.3.18, .19    HISTORY against RESOURCE_LIMITS
//	DDS 1.4  2.3.3            numbers of the policies (QosPolicyId_t)
//	XTypes 1.3  7.3.4         TypeIdentifiers, type objects, hashes, TypeInformation: against those of Cyclone DDS, if its idlc is installed
//	XTypes 1.3  7.6.3.1       DATA_REPRESENTATION: default and matching
//	XTypes 1.3  7.6.3.4       TYPE_CONSISTENCY_ENFORCEMENT: default
//
// Deviating: RESOURCE_LIMITS max_samples_per_instance LENGTH_UNLIMITED beside a limited max_samples is accepted, as
// bounded by it; 2.2.3.19 read to the letter forbids it.
//
// Missing here: the effect of policies on samples and statuses, which is tested in package dcps.
package conformance
