// Package testtypes is generated from testtypes.idl, for the tests of package idlc.
package testtypes

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o shared shared.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o constructs constructs.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o empties empties.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -map shared=github.com/omg-dds-go/dds/idlc/internal/testtypes/shared testtypes.idl
