// Package report makes a page about this machine: it runs a matrix of experiments and writes the figures down as Markdown
// with plots.
//
//	page, err := report.Measure(ctx, report.DefaultPlan(), command, progress)
//	err = page.Write(dir)
//
// The experiments are run in turn, and all of them several times, so that what disturbs the machine for a while disturbs
// all alike. A figure is the median of its runs, with the least and the greatest beside it. The page says what the machine
// is and how busy it was, and by which command each figure can be had again.
//
// # What it does not do
//
// It does not quiet the machine, pin processes to cores or change settings of the kernel: it states what it finds.
package report
