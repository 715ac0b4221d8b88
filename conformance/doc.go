// Package conformance holds tests of this implementation against the text of the standards, one test for a
// normative statement, named after its clause: TestDDS14_2_2_3_RxO_Reliability stands for DDS 1.4, clause 2.2.3.
// Expectations are written out from the standard, never computed by the code under test.
//
// docs/conformance.md is the table of operations and policies with the tests that name their clauses, in all packages, and with
// the deviations. It is made of matrix.txt and of the tests: go test ./conformance -run TestMatrix -rewrite.
package conformance
