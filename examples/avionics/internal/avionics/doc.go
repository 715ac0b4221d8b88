// Package avionics holds the types of the avionics example, made from avionics.idl by idlgen: Go structs, their encoding,
// builders that fill an encoded sample in place, and views that read one where it is.
//
// Units and meanings are those of the comments in avionics.idl, which stand here too. To change a type, change the IDL and
// run go generate in examples/avionics.
package avionics
