package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// of are the results of one role.
func of(results []result.Result, role string) []result.Result {
	var out []result.Result
	for _, r := range results {
		if r.Role == role {
			out = append(out, r)
		}
	}
	return out
}

// latencies are those of the process that is worst off.
func latencies(results []result.Result) []figure {
	var p50, p99 int64
	for _, r := range results {
		p50, p99 = max(p50, r.P50), max(p99, r.P99)
	}
	return []figure{{"p50", float64(p50), result.Micros}, {"p99", float64(p99), result.Micros}}
}

// loss is what readers did not get of all that was sent to them.
func loss(results []result.Result) figure {
	lost, sent := int64(0), int64(0)
	for _, r := range results {
		lost += r.Lost
		sent += r.Count + r.Lost
	}
	return figure{"lost", 100 * float64(lost) / float64(max(sent, 1)), percent}
}

// seconds is a duration as the programs in C read it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// throughput is that of the slowest reader. One that gets everything in a burst at the end is not faster than its writer.
func throughput(pub result.Result, subs []result.Result) []figure {
	slowest := pub.Rate
	for _, r := range subs {
		slowest = min(slowest, r.Rate)
	}
	return []figure{{"samples/s", slowest, result.PerSecond}, loss(subs)}
}

// delivered are the bytes that all readers together got in a second. None got them faster than they were written.
func delivered(size int, pub result.Result, subs []result.Result) figure {
	samples := 0.0
	for _, r := range subs {
		samples += min(pub.Rate, r.Rate)
	}
	return figure{deliveredBytes, samples * float64(size), gigabytes}
}

const deliveredBytes = "GB/s to all"

func gigabytes(v float64) string { return fmt.Sprintf("%.3g", v/1e9) }

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " %" }
