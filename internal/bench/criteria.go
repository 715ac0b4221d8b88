package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Criteria are what a measurement must meet. Nil means that it does not matter.
type Criteria struct {
	MinMatch   *int // endpoints matched
	MinSamples *uint64
	MinRate    *float64 // samples per second
	MaxLost    *uint64
	MaxCPU     *float64 // percent of one core
	MaxRSS     *int     // bytes
	MaxLatency []LatencyLimit
}

// LatencyLimit bounds one percentile, 100 being the maximum.
type LatencyLimit struct {
	Percentile string
	Limit      time.Duration
}

// percentiles are those that a Latency has.
var percentiles = map[string]func(*Latency) int64{
	"50":   func(l *Latency) int64 { return l.P50 },
	"90":   func(l *Latency) int64 { return l.P90 },
	"99":   func(l *Latency) int64 { return l.P99 },
	"99.9": func(l *Latency) int64 { return l.P999 },
	"99.99": func(l *Latency) int64 {
		return l.P9999
	},
	"100": func(l *Latency) int64 { return l.Max },
}

// ParseLatencyLimit reads 99=500us, or a duration alone, which is that of the 99th percentile.
func ParseLatencyLimit(s string) (LatencyLimit, error) {
	p, d, found := strings.Cut(s, "=")
	if !found {
		p, d = "99", s
	}
	limit, err := time.ParseDuration(d)
	if percentiles[p] == nil || err != nil || limit <= 0 {
		return LatencyLimit{}, fmt.Errorf("latency limit %q: write PERCENTILE=DURATION such as 99=500us, the percentile being 50, 90, 99, 99.9, 99.99 or 100, or a duration alone for 99", s)
	}
	return LatencyLimit{p, limit}, nil
}

// Verdict is one criterion at one process.
type Verdict struct {
	What string // such as sub 1204: rate
	Is   string
	Want string
	OK   bool
}

func (v Verdict) String() string {
	mark := "ok  "
	if !v.OK {
		mark = "FAIL"
	}
	return fmt.Sprintf("%s  %s: %s, wanted %s", mark, v.What, v.Is, v.Want)
}

// Judge applies the criteria to the results of those who measure, subs and pings; MinMatch, MaxCPU and MaxRSS to all.
func (c *Criteria) Judge(results ...Result) (verdicts []Verdict, ok bool) {
	ok = true
	for _, r := range results {
		for _, v := range c.judge(&r) {
			ok = ok && v.OK
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, ok
}

func (c *Criteria) judge(r *Result) (list []Verdict) {
	check := func(ok bool, what, is, want string) {
		list = append(list, Verdict{What: fmt.Sprintf("%s %d: %s", r.Role, r.PID, what), Is: is, Want: want, OK: ok})
	}
	if c.MinMatch != nil {
		check(r.Matched >= *c.MinMatch, "matched", strconv.Itoa(r.Matched), fmt.Sprintf("at least %d", *c.MinMatch))
	}
	if c.MaxCPU != nil {
		check(r.CPU <= *c.MaxCPU, "CPU", fmt.Sprintf("%.0f %%", r.CPU), fmt.Sprintf("at most %.0f %% of a core", *c.MaxCPU))
	}
	if c.MaxRSS != nil {
		check(r.RSS*1024 <= int64(*c.MaxRSS), "memory", fmt.Sprintf("%d KB", r.RSS), fmt.Sprintf("at most %d KB", *c.MaxRSS/1024))
	}
	if r.Role != Sub && r.Role != Ping {
		return list
	}
	if c.MinSamples != nil {
		check(r.Count >= *c.MinSamples, "samples", strconv.FormatUint(r.Count, 10), fmt.Sprintf("at least %d", *c.MinSamples))
	}
	if c.MinRate != nil {
		check(r.Rate >= *c.MinRate, "rate", fmt.Sprintf("%.0f samples/s", r.Rate), fmt.Sprintf("at least %.0f", *c.MinRate))
	}
	if c.MaxLost != nil {
		check(r.Lost <= *c.MaxLost, "lost", strconv.FormatUint(r.Lost, 10), fmt.Sprintf("at most %d", *c.MaxLost))
	}
	for _, m := range c.MaxLatency {
		what, want := "latency "+m.Percentile+"%", fmt.Sprintf("at most %v", m.Limit)
		if r.Samples == 0 {
			check(false, what, "not measured", want)
			continue
		}
		is := time.Duration(percentiles[m.Percentile](&r.Latency))
		check(is <= m.Limit, what, is.String(), want)
	}
	return list
}
