package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

// matrix is an experiment, of which some settings have several values.
type matrix struct {
	experiment.Experiment
	sizes      []int
	rates      []float64
	readers    []int
	levels     []bench.Level
	transports []string
	criteria   bench.Criteria
	format     bench.Format
}

func newMatrix() *matrix {
	m := &matrix{Experiment: experiment.Experiment{Options: bench.DefaultOptions(), Writers: 1}}
	m.sizes, m.rates, m.readers = []int{m.Size}, []float64{0}, []int{1}
	m.levels, m.transports = []bench.Level{m.Level}, []string{""}
	return m
}

// flags makes the flags, the defaults being what m has.
func (m *matrix) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.Var(&parsed[[]int]{&m.readers, "n,...", listOf(strconv.Atoi), strconv.Itoa(m.readers[0])}, "readers", "reader processes")
	f.IntVar(&m.Writers, "writers", m.Writers, "writer processes")
	f.VarP(&parsed[[]int]{&m.sizes, "size,...", listOf(bench.ParseSize), bench.FormatSize(m.sizes[0])}, "size", "s",
		"size of an encoded sample: 128, 10K, 1M")
	f.VarP(&parsed[[]float64]{&m.rates, "rate,...", listOf(bench.ParseRate), bench.FormatRate(m.rates[0])}, "rate", "r",
		"samples per second of a writer: max, 1000, 50k")
	f.BoolVar(&m.RoundTrip, "roundtrip", m.RoundTrip, "ping and pong in place of pub and sub")
	f.VarP(&parsed[[]bench.Level]{&m.levels, "level,...", listOf(word[bench.Level]), string(m.levels[0])}, "qos", "q",
		"unordered (best effort), atomic (reliable), stored (transient local) or logged (persistent)")
	f.VarP(&parsed[[]string]{&m.transports, "t,...", listOf(word[string]), ""}, "transport", "t", "shm or tcp (default shm, or $DDS_TRANSPORT)")
	paceFlags(f, &m.Options)
	f.BoolVar(&m.Keyed, "keyed", false, "use the type with a key also for one instance")
	f.IntVarP(&m.Instances, "instances", "i", m.Instances, "instances that a writer writes in turn")
	writeFlags(f, &m.Options)
	readFlags(f, &m.Options)
	topicFlags(f, &m.Options)
	workFlags(f, &m.Options)
	f.Var(&parsed[int]{&m.Ring, "size", bench.ParseSize, ""}, "ring", "size of a writer's ring (default 1M, or what 8 samples need)")
	f.StringVar(&m.Dir, "dir", "", "directory for the logs of --qos logged (default a temporary one)")
	f.StringVar(&m.Profiles, "cpuprofile", "", "write a CPU profile of each process into this directory")
	f.DurationVar(&m.Timeout, "timeout", 0, "give up after so long (default what it should take, and half a minute)")
	criteriaFlags(f, &m.criteria)
	formatFlag(f, &m.format)
}

// experiments are all combinations.
func (m *matrix) experiments() (list []experiment.Experiment, err error) {
	for _, transport := range m.transports {
		for _, level := range m.levels {
			for _, rate := range m.rates {
				for _, size := range m.sizes {
					for _, readers := range m.readers {
						e := m.Experiment
						e.Transport, e.Level, e.Rate, e.Size, e.Readers = transport, level, rate, size, readers
						if err := e.Check(); err != nil {
							return nil, usageError{err}
						}
						list = append(list, e)
					}
				}
			}
		}
	}
	if m.Profiles != "" && len(list) > 1 {
		return nil, usageError{errors.New("--cpuprofile is for one experiment: give one size, rate, number of readers, qos and transport")}
	}
	return list, nil
}

// run makes the experiments one after the other, and prints and judges each.
func (m *matrix) run(cmd *cobra.Command) error {
	countAlone(cmd.Flags(), &m.Options)
	list, err := m.experiments()
	if err != nil {
		return err
	}
	child, err := childCommand()
	if err != nil {
		return err
	}
	if m.Profiles != "" {
		if err := os.MkdirAll(m.Profiles, 0o755); err != nil {
			return err
		}
	}
	out := newOutcomes(cmd.OutOrStdout(), m.format)
	var all []bench.Result
	for i := range list {
		o, err := list[i].Run(cmd.Context(), child)
		if err != nil {
			if cmd.Context().Err() != nil {
				return errInterrupted
			}
			return fmt.Errorf("%s: %w", list[i].String(), err)
		}
		if err := out.write(&list[i], &o); err != nil {
			return err
		}
		all = append(all, o.All()...)
	}
	if err := out.overview(); err != nil {
		return err
	}
	return judge(cmd.ErrOrStderr(), &m.criteria, all...)
}

// outcomes prints experiments as they are done.
type outcomes struct {
	w      io.Writer
	format bench.Format
	csv    *bench.CSVWriter
	all    []experiment.Outcome
}

func newOutcomes(w io.Writer, format bench.Format) *outcomes {
	return &outcomes{w: w, format: format, csv: bench.NewCSVWriter(w)}
}

func (p *outcomes) write(e *experiment.Experiment, o *experiment.Outcome) error {
	p.all = append(p.all, *o)
	switch p.format {
	case bench.JSON:
		j := json.NewEncoder(p.w)
		j.SetEscapeHTML(false) // a title has arrows
		return j.Encode(o)
	case bench.CSV:
		return p.csv.Write(e.Columns(), o.All()...)
	}
	if _, err := fmt.Fprintf(p.w, "%s\n", o.Title); err != nil {
		return err
	}
	if err := bench.WriteTable(p.w, o.All()...); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.w)
	return err
}

// overview has a line for each of several experiments.
func (p *outcomes) overview() error {
	if p.format != bench.Table || len(p.all) < 2 {
		return nil
	}
	t := bench.NewTable(p.w)
	fmt.Fprintln(t, "samples/s\tMbit/s\tlost\t50%\t99%\tmax µs\tCPU %\t  ")
	for _, o := range p.all {
		s := &o.Summary
		fmt.Fprintf(t, "%.0f\t%.1f\t%d\t%s\t%s\t%s\t%.0f\t  %s\n", s.Rate, s.Mbps, s.Lost,
			bench.Micros(float64(s.Latency.P50)), bench.Micros(float64(s.Latency.P99)), bench.Micros(float64(s.Latency.Max)), s.CPU, o.Title)
	}
	fmt.Fprintln(t, "(the slowest reader; CPU of all processes)")
	return t.Flush()
}

func newPerfRun() *cobra.Command {
	m := newMatrix()
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start writers and readers as processes, and print what they measured",
		Long: `Start writers and readers as processes of this machine, measure, and print one row for each process.

  dds perf run                                          1 writer, 1 reader, 1 KB, as fast as it goes
  dds perf run --readers 4 --size 10K --duration 10s
  dds perf run --readers 1,2,4 --size 128,1K,10K        all combinations, and an overview
  dds perf run --rate 1000 --size 128 --readers 4       one-way latency
  dds perf run --roundtrip --rate 1000                  round trips
  dds perf run --write copy --read copy                 Write and Take in place of loans
  dds perf run --cpuprofile prof                        prof/pub-1.pprof, prof/sub-1.pprof
  dds perf run -o json | jq .summary`,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd) },
	}
	m.flags(cmd.Flags())
	return cmd
}
