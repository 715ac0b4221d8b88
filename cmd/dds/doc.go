// Command dds is the command-line tool of this DDS.
//
//	dds perf run --readers 4 --size 1K     measure with processes of its own
//	dds perf pub | sub | ping | pong       measure between terminals, or hosts
//	dds perf sanity --max-latency 5ms      pass or fail, for CI
//	dds perf report                        a matrix of experiments, as a page with plots
//	dds qos show qos.xml Lib::Profile      what a profile says, and where each value comes from
//	dds qos validate | convert | check     is it right, in another format, do a writer and a reader match
//	dds completion bash                    completion for a shell
//
// Exit status: 0 all is well, 1 a criterion was not met, 2 wrong use, 3 something else went wrong, 130 Ctrl-C.
//
// A subcommand is a file with a function that makes its cobra.Command, and a line in root.go. It writes to the writers of
// its command, takes its context from there, which ends with Ctrl-C, SIGTERM or a closed terminal, and returns errors:
// root.go prints them and knows the exit status.
package main
