// Package evolved has types in two versions, of the same names, for the tests of package dcps: a program that was built
// with the older ones meets one that was built with the newer.
package evolved

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -pkg older -o older older.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -pkg newer -o newer newer.idl
//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -pkg allowed -o allowed allowed.idl
