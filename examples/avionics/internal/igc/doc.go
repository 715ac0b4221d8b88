// Package igc reads the fixes of a flight recorder file in the IGC format of the FAI.
//
//	flight, err := igc.Parse(ctx, "glider.igc", file)
//	for _, fix := range flight.Fixes { ... }
//
// Of the records it takes the date (H record DTE) and the fixes (B records); all others are counted and skipped. What
// does not follow the format is counted, named by line and reason in Flight.Named, and never ends the reading: a recorder
// that lost power in the middle of a line still gives its flight.
//
// The time of day of a B record is UTC without date. A fix whose time lies more than twelve hours before that of the
// fix before it begins the next day; a smaller step back is kept as it is, and counted.
//
// Clauses: FAI technical specification for IGC-approved flight recorders, appendix A, A2.5 (times), A3.2 (H record
// DTE) and A4.1 (B record).
package igc
