// Package wire is the type of the topic that the replicas of dds-go write and read.
package wire

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . wire.idl
