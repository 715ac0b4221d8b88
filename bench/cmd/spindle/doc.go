// Command spindle measures what each optimization of the data path is worth (docs/spindle.md).
//
//	go run ./bench/cmd/spindle [-only REGEXP] [-rounds 5] [-duration 300ms] [-warmup 100ms] [-within 15m] [-json FILE] [-list]
//
// It runs the core, without the DDS on top, in processes of their own that all send and receive, as the Spindle paper does: with
// everything on, with one thing off, and with everything off. Runs are interleaved, so that what else the machine does falls on
// all of them alike; a ratio is that of two runs of the same round. It prints Markdown: medians with their spread, and at
// the end, for each claim of the paper, the figures that decide on it.
//
// Progress goes to the standard error. -only selects experiments by name; -list prints what there is.
package main
