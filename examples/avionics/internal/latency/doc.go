// Package latency keeps the distribution of delays in a histogram with three significant digits, which travels between
// processes and merges there.
//
//	var r latency.Recorder
//	r.Record(now.Sub(info.SourceTimestamp))
//	sent := r.Export()
//	all.Merge(sent)
//	all.Summary()   // count, p50, p99, max
//
// Delays below a microsecond, or negative because two clock readings crossed, count as one; those above an hour as an
// hour. A Recorder has one owner.
package latency
