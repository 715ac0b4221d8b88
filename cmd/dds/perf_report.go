package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/report"
)

func newPerfReport() *cobra.Command {
	plan := report.DefaultPlan()
	var dir string
	var full bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Measure a matrix on this machine, and write a page with plots",
		Long: `Measure throughput, one-way latency, round trips and delivery paths on this machine, several times in turn, and write
report.md, SVG plots and all results as JSON.

  dds perf report -d out                        about three minutes
  dds perf report -d out --full                 about three quarters of an hour
  dds perf report -d out --transport shm --readers 1,8 --runs 7

Nothing else should run meanwhile: the page says how busy the machine was.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if full {
				fullPlan := report.FullPlan()
				for name, take := range map[string]func(){
					"size": func() { plan.Sizes = fullPlan.Sizes }, "readers": func() { plan.Readers = fullPlan.Readers },
					"runs": func() { plan.Runs = fullPlan.Runs }, "warmup": func() { plan.WarmUp = fullPlan.WarmUp },
					"duration": func() { plan.Duration = fullPlan.Duration }, "max-time": func() { plan.MaxTime = fullPlan.MaxTime },
				} {
					if !cmd.Flags().Changed(name) {
						take()
					}
				}
			}
			if err := plan.Check(); err != nil {
				return usageError{err}
			}
			child, err := childCommand()
			if err != nil {
				return err
			}
			page, err := report.Measure(cmd.Context(), plan, child, func(p report.Progress) {
				fmt.Fprintf(cmd.ErrOrStderr(), "run %d of %d, %d of %d: %s\n", p.Round, p.Rounds, p.Cell, p.Cells, p.Title)
			})
			if err != nil {
				if cmd.Context().Err() != nil {
					return errInterrupted
				}
				return err
			}
			if err := page.Write(dir); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, report.PageFile))
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&dir, "dir", "d", "dds-perf-report", "directory to write to")
	f.BoolVar(&full, "full", false, "more sizes, more readers, longer and more runs")
	f.VarP(&parsed[[]int]{&plan.Sizes, "size,...", listOf(bench.ParseSize), "128,1K,10K"}, "size", "s", "sizes of samples")
	f.Var(&parsed[[]int]{&plan.Readers, "n,...", listOf(strconv.Atoi), "1,2,4"}, "readers", "numbers of reader processes")
	f.VarP(&parsed[[]string]{&plan.Transports, "t,...", listOf(word[string]), "shm,tcp"}, "transport", "t", "transports")
	f.IntVar(&plan.Runs, "runs", plan.Runs, "how often to run each experiment")
	f.DurationVar(&plan.WarmUp, "warmup", plan.WarmUp, "of each run, before anything counts")
	f.DurationVarP(&plan.Duration, "duration", "D", plan.Duration, "of each run")
	f.DurationVar(&plan.MaxTime, "max-time", plan.MaxTime, "begin no further turn of runs that would end later; 0 is no limit")
	return cmd
}
