// Package wire has the types that the codecs are measured with.
package wire

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . codec.idl
