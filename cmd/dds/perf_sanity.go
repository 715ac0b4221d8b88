package main

import (
	"time"

	"github.com/spf13/cobra"
)

// newPerfSanity is a run that is short and slow, and strict.
func newPerfSanity() *cobra.Command {
	m := newMatrix()
	none := uint64(0)
	some := uint64(1)
	m.Duration, m.WarmUp = time.Second, 200*time.Millisecond
	m.rates = []float64{1000}
	m.criteria.MaxLost, m.criteria.MinSamples = &none, &some
	cmd := &cobra.Command{
		Use:   "sanity",
		Short: "Pass or fail: a short run, and criteria for it",
		Long: `A short run at 1000 samples per second, and criteria that it must meet. Exit status 1 if one of them is not met.

  dds perf sanity                                       does it work here? Nothing may be lost
  dds perf sanity --transport shm,tcp --readers 1,4
  dds perf sanity --max-latency 99=2ms,100=50ms
  dds perf sanity --rate max --min-rate 200k
  dds perf sanity --roundtrip --max-latency 1ms

dds perf run, sub, ping, pub and pong know the same criteria.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd) },
	}
	m.flags(cmd.Flags())
	return cmd
}
