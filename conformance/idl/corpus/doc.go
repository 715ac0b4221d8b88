// Package corpus holds the types whose bytes are compared with those of other implementations, and what idlgen makes of them.
package corpus

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen common.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o evolving xtypes.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o extended extended.idl
