// Package datadriven runs scripts: text files of cases, each a few commands, a line "----" and what the commands print. It
// gives cockroachdb/datadriven, which reads, compares and rewrites the files, the form that our two little languages have
// in common: a case is a whole scenario, one command a line. The languages are those of the tests of package dcps, for what
// an application sees of DDS, and of package derecho/cluster, for what happens in a group.
//
// A file is rewritten with what its commands print by
//
//	go test ./dcps -run TestScripts -rewrite
//
// It is no part of the product.
package datadriven
