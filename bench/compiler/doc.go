// Command compiler measures how long IDL compilers take for the same files: idlgen with its Go, idlc of Cyclone DDS
// with its C, and fastddsgen with its C++, as far as they are installed.
//
//	go run ./bench/compiler [-rounds 3] [-lines 100000] [-only idlgen,idlc,fastddsgen] [-limit 1m] [-keep DIR]
//
// It writes two corpora of -lines lines in all: one file, and 1,000 files that each include another. The compilers take
// turns, round by round, and write their code to disk; the best round counts, and who is not done after -limit is
// stopped. What takes a list of files gets all of them at once, idlc, which takes one, runs once for each, as many at a
// time as there are processors. -keep DIR writes the corpora there and measures nothing.
package main
