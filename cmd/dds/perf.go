package main

import (
	"github.com/spf13/cobra"
)

func newPerf() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "perf",
		Short: "Measure throughput and latency",
		Long: `Measure throughput and latency, between processes.

Start here, it does everything by itself:

  dds perf run                                        1 writer, 1 reader, 1 KB, as fast as it goes
  dds perf run --readers 1,2,4 --size 128,1K,10K      all combinations, one table
  dds perf run --rate 1000 --size 128                 one-way latency at a thousand samples a second
  dds perf run --roundtrip                            ping and pong
  dds perf run --qos logged --transport tcp           any delivery path, any transport

By hand, in two terminals or on two hosts, whichever comes first:

  dds perf sub                                        dds perf pub --size 10K --duration 10s
  dds perf pong                                       dds perf ping --rate 1000
  dds perf peer                                       a pub and a sub in one process

Then:

  dds perf sanity --min-rate 100k --max-latency 99=5ms    exit status 1 if it is worse; for CI
  dds perf report -d out                                  a page with plots for this machine

What is measured, and how, is in docs/performance.md.`,
	}
	cmd.AddCommand(
		newPerfRun(), newPerfSanity(), newPerfReport(),
		newPerfRole("pub"), newPerfRole("sub"), newPerfRole("ping"), newPerfRole("pong"), newPerfRole("peer"),
		newPerfChild(),
	)
	return cmd
}
