// Package idl compares the bytes that this implementation writes with those of Cyclone DDS and Fast DDS.
//
// The types are in corpus: what all compilers read (common.idl), what Cyclone DDS has of XTypes besides (xtypes.idl),
// and Fast DDS (extended.idl). A value of each type is drawn at random and encoded by package xtypes; generated code
// decodes and encodes it, and so does the peer (cyclone/echo.c, fastdds/echo.cpp), which is built from the peer's own
// generated code. All have to be the same bytes; only the padding at the end of a sample, and its count, may be
// missing.
//
// Peers that are not installed are skipped, with what to install: cyclonedds-dev and cyclonedds-tools; libfastrtps-dev and
// fastddsgen, of Debian.
package idl
