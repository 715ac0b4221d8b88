// Package perf measures the middleware through its public API, between operating-system processes:
// the readers are this test binary, started again.
//
//	go test ./internal/perf -run '^$' -bench . -benchtime 1s
//
// BenchmarkThroughput writes samples as fast as the slowest reader takes them (RELIABLE, KEEP_ALL on
// both sides, nothing lost) and counts until every reader has had every sample; MB/s and samples/s
// are those of each reader. BenchmarkLatency writes 128-byte samples at 1 kHz and reports the time
// from Write to the return of the reader's wait, p50, p99 and maximum, one way: writer and reader
// are on one host and share its clock.
//
// It is no part of the product; it is what stands behind the figures in the README.
package perf

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . perf.idl
