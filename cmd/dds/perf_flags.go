package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/omg-dds-go/dds/internal/bench"
)

// parsed is a flag whose text a function reads.
type parsed[T any] struct {
	value *T
	kind  string
	parse func(string) (T, error)
	text  string
}

func (p *parsed[T]) String() string { return p.text }
func (p *parsed[T]) Type() string   { return p.kind }

func (p *parsed[T]) Set(s string) error {
	v, err := p.parse(s)
	if err != nil {
		return err
	}
	*p.value, p.text = v, s
	return nil
}

// listOf reads values between commas.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) (list []T, err error) {
		for word := range strings.SplitSeq(s, ",") {
			v, err := parse(word)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
}

// optional reads a value that may be left out.
func optional[T any](parse func(string) (T, error)) func(string) (*T, error) {
	return func(s string) (*T, error) {
		v, err := parse(s)
		return &v, err
	}
}

func parseCount(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }
func parsePercent(s string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
}

// orAll reads a number from 1, or the word all, which is 0.
func orAll(s string) (int, error) {
	if s == "all" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: say all, or a number from 1", s)
	}
	return n, nil
}

func word[T ~string](s string) (T, error) { return T(s), nil }

// domainFlags say where to measure.
func domainFlags(f *pflag.FlagSet, o *bench.Options) {
	f.StringVarP(&o.Transport, "transport", "t", "", "shm or tcp (default shm, or $DDS_TRANSPORT)")
	f.Var(&parsed[int]{&o.Ring, "size", bench.ParseSize, ""}, "ring", "size of a writer's ring, the same at all processes (default 1M)")
	f.StringVar(&o.Dir, "dir", "", "directory for the logs of --qos logged")
	f.BoolVar(&o.KeepLog, "keep-log", false, "do not trim the logs of --qos logged")
}

// networkFlags are for processes that are started one by one.
func networkFlags(f *pflag.FlagSet, o *bench.Options) {
	f.Uint32VarP(&o.Domain, "domain", "d", 0, "number of the domain")
	f.StringSliceVar(&o.Peers, "peer", nil, "host:port of a process on another host (default $DDS_PEERS)")
	f.StringVar(&o.Listen, "listen", "", "host:port to be found at, with tcp (default $DDS_LISTEN)")
	f.StringVar(&o.CPUProfile, "cpuprofile", "", "write a CPU profile to this file")
}

// qosFlags are those that both sides need.
func qosFlags(f *pflag.FlagSet, o *bench.Options) {
	f.VarP(&parsed[bench.Level]{&o.Level, "level", word[bench.Level], string(o.Level)}, "qos", "q",
		"unordered (best effort), atomic (reliable), stored (transient local) or logged (persistent)")
	f.BoolVar(&o.Keyed, "keyed", o.Keyed, "use the type with a key also for one instance")
	f.IntVarP(&o.Instances, "instances", "i", o.Instances, "instances that a writer writes in turn")
}

// writeFlags say how to write.
func writeFlags(f *pflag.FlagSet, o *bench.Options) {
	f.Var(&parsed[bench.Access]{&o.Write, "access", word[bench.Access], string(o.Write)}, "write", "loan: build samples in the ring; copy: Write")
	f.BoolVar(&o.Spin, "spin", false, "with a rate: wait the last 60 µs for the next turn without sleeping")
}

// paceFlags say how long and how often to write.
func paceFlags(f *pflag.FlagSet, o *bench.Options) {
	f.DurationVar(&o.WarmUp, "warmup", o.WarmUp, "write so long before anything counts")
	f.DurationVarP(&o.Duration, "duration", "D", o.Duration, "write samples that count for so long; 0 is no limit")
	f.Uint64VarP(&o.Count, "count", "n", 0, "write at most so many that count; 0 is no limit")
}

// countAlone lets a count that was asked for without a duration be the only limit.
func countAlone(f *pflag.FlagSet, o *bench.Options) {
	if f.Changed("count") && !f.Changed("duration") {
		o.Duration = 0
	}
}

// readFlags say how to read.
func readFlags(f *pflag.FlagSet, o *bench.Options) {
	f.Var(&parsed[bench.Access]{&o.Read, "access", word[bench.Access], string(o.Read)}, "read", "loan: read samples in place; copy: Take and decode")
	f.Var(&parsed[int]{&o.Batch, "n", orAll, "all"}, "batch", "take at most so many samples at once")
	f.BoolVar(&o.Poll, "poll", false, "look for samples all the time in place of waiting for them")
	f.VarP(&parsed[int]{&o.Keep, "n", orAll, "all"}, "keep", "k", "HISTORY of readers: all, or a depth")
	f.IntVar(&o.MaxSamples, "max-samples", o.MaxSamples, "RESOURCE_LIMITS of readers that keep all")
}

// topicFlags say what else there is.
func topicFlags(f *pflag.FlagSet, o *bench.Options) {
	f.StringVar(&o.Topic, "topic", o.Topic, "name of the topic")
	f.IntVar(&o.Topics, "topics", o.Topics, "how many topics there are; in all but one each process has a writer and a reader that are idle")
	f.IntVar(&o.Subgroups, "subgroups", o.Subgroups, "onto how many subgroups topics are hashed, the same at all processes")
}

// workFlags say what reading costs.
func workFlags(f *pflag.FlagSet, o *bench.Options) {
	f.BoolVar(&o.Listener, "listener", false, "read in a listener")
	f.DurationVar(&o.Work, "work", 0, "spend so long with each sample: below 50us computing, otherwise asleep")
}

// criteriaFlags say what is good enough.
func criteriaFlags(f *pflag.FlagSet, c *bench.Criteria) {
	f.Var(&parsed[*int]{&c.MinMatch, "n", optional(strconv.Atoi), ""}, "min-match", "fail below so many matched endpoints")
	f.Var(&parsed[*uint64]{&c.MinSamples, "n", optional(parseCount), ""}, "min-samples", "fail below so many samples at a reader, or round trips")
	f.Var(&parsed[*float64]{&c.MinRate, "rate", optional(bench.ParseRate), ""}, "min-rate",
		"fail below so many samples per second at a reader, or round trips")
	lost := ""
	if c.MaxLost != nil {
		lost = strconv.FormatUint(*c.MaxLost, 10)
	}
	f.Var(&parsed[*uint64]{&c.MaxLost, "n", optional(parseCount), lost}, "max-lost", "fail above so many lost samples")
	f.Var(&parsed[[]bench.LatencyLimit]{&c.MaxLatency, "p=time", listOf(bench.ParseLatencyLimit), ""}, "max-latency",
		"fail above these latencies, such as 99=500us,100=20ms; a time alone is for 99")
	f.Var(&parsed[*float64]{&c.MaxCPU, "percent", optional(parsePercent), ""}, "max-cpu", "fail above so much of a core in a process")
	f.Var(&parsed[*int]{&c.MaxRSS, "size", optional(bench.ParseSize), ""}, "max-rss", "fail above so much memory in a process")
}

func formatFlag(f *pflag.FlagSet, format *bench.Format) {
	*format = bench.Table
	f.VarP(&parsed[bench.Format]{format, "format", bench.ParseFormat, string(bench.Table)}, "output", "o", "table, csv or json")
}
