// Package report sums up a run of the avionics example: one table, and a verdict with reasons.
//
//	s := report.Assemble(run)   // figures per topic and subscriber, findings
//	s.WriteTable(os.Stdout)     // for people
//	s.WriteJSON(os.Stdout)      // for programs
//	s.OK()                      // exit status
//
// # The verdict
//
// It is "ok" unless there is a finding. Findings are:
//
//   - a sample of a reliable topic that a reader is missing, got twice, or got out of order, or could not read, or that
//     the reader reports as lost or rejected;
//   - two readers of a reliable topic whose order digests differ;
//   - a reader that came late whose picture of a topic's instances, or whose part of the stream, differs from that of
//     one that was there;
//   - a log on disk that does not hold exactly what was delivered where it is;
//   - an input that was read to its end of which not every record was published;
//   - an input that gave nothing at all;
//   - whatever kept the run from its orderly end.
//
// Samples of an unordered topic that did not arrive are counted and shown; they are no finding.
//
// Everything here is computed from what the processes reported; nothing has state.
package report
