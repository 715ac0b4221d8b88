// Package cdr turns typed samples into the Common Data Representation of DDS and back.
//
// Application code does not call most of it: idlgen writes, for every IDL struct, a Go type whose
// methods call the Encoder and the Decoder member by member. What applications and the layers above
// use are the functions over whole samples:
//
//	n, err := cdr.Size(&sample, enc)            // exact, nothing allocated
//	n, err = cdr.MarshalTo(slot, &sample, enc)  // nothing allocated
//	err = cdr.Unmarshal(slot[:n], &sample)      // both byte orders, XCDR1 and XCDR2
//	key, err = cdr.KeyFromSample(key[:0], &sample, slot[:n])
//
// # Layout
//
// An encoded sample is the 4-byte encapsulation header of RTPS 2.5 §10.2 followed by the body:
//
//	0        2        4
//	| id, BE | options | body ... | 0..3 zero bytes |
//
// The two low bits of options count the zero bytes that make the whole a multiple of four
// (XTypes 1.3 §7.6.3.1.2). Offsets for alignment count from the start of the body. XCDR1 aligns to at
// most 8 bytes, XCDR2 to at most 4. In XCDR2 an appendable struct, and a sequence or an array whose elements
// are not primitive (an enum is not), is preceded by a DHEADER: the number of bytes that follow. In XCDR1
// an appendable struct is encoded as if it were final.
//
// Members of mutable types carry headers with their ids, in any order, and those that a reader does not know are skipped
// unless they must be understood; see member.go. An optional member of another type is preceded by a boolean in XCDR2
// and has a header in XCDR1.
//
// XCDR1 lists are written with short headers where id and length fit, and read with any; they end with 0x3f02, or with
// the 0x0001 of RTPS where that is no member's id. A union is its discriminator and the member that selects, in a
// mutable union both with headers, the discriminator with id 0. A map is a length and pairs in the order of the keys,
// behind a DHEADER in XCDR2 unless keys and values are primitive. A bitmask and a bitset are unsigned integers, a fixed
// is packed decimal.
//
// A string is a length that counts its terminating NUL, the bytes, and the NUL. A wstring is a length in
// bytes and UTF-16 code units without a terminator; XCDR1 leaves its layout to the implementation, and this
// package uses the one of XCDR2 for both.
//
// # Keys
//
// A serialized key is the KeyHolder of XTypes 1.3 §7.6.8: the key members alone, in the order of their
// member ids, as final structs in XCDR2 big endian. A struct without key members contributes all of its
// members when it is itself (part of) a key; a topic of such a type has no key, and its key is empty.
//
// # Values that a type cannot hold
//
// A string or sequence above its bound, an unknown enumerator or discriminator makes decoding fail with the path of the
// member, unless @try_construct says that the member takes its default or is cut (see Decoder.Try). Members with @range
// are checked when they are written.
//
// # Ownership and concurrency
//
// Encoders and decoders are single-owner values on the stack of the function that was called: methods of a Message use
// them during the call and keep no reference (confined, in unsafe.go, relies on it). Messages are read (marshal) or
// written (unmarshal) during the call only. Views alias the encoded bytes: they and the strings they return end when
// the bytes do.
//
// # Invariants
//
//  1. No input makes this package or generated code panic, or read outside of the bytes given.
//  2. The number of elements allocated for a sequence is at most the remaining bytes divided by the smallest
//     encoding of an element.
//     What that takes in memory is bounded by the size of the sample as well (allotFactor): an element of which little is
//     encoded may be large.
//  3. The first error of an Encoder or Decoder sticks; it names the member path, and for a bound both values.
//  4. Every byte of an encoded sample is written, padding included: nothing of the buffer's past leaks.
//
// # What it does not do
//
// It does not compare types: TypeInfo.Signature stands in for the type objects of package xtypes. UTF-8 in an IDL
// string is neither required nor checked.
package cdr
