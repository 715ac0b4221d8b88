// Package xtypes describes data types at run time (DDS-XTypes 1.3): what generated code knows, as values.
//
//	point := xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
//		Kind: xtypes.TKStructure, Name: "geo::Point", Extensibility: cdr.Appendable,
//		Members: []xtypes.Member{
//			{Name: "id", AutoID: true, Type: xtypes.NewString(32), Key: true},
//			{Name: "lat", AutoID: true, Type: xtypes.Primitive(xtypes.TKFloat64)},
//		},
//	}))
//	path, err := point.Path("lat")
//
// # Files
//
//	the model       kind.go type.go build.go path.go scalar.go
//	bytes           layout.go cursor.go; accessor.go finds one value in a sample
//	dynamic data    data.go data_decode.go data_encode.go json.go
//	type objects    typeid.go typeobject.go identify.go; resolve.go builds types of them; describe.go is what generated code carries
//
// # Ownership and concurrency
//
// A Type is built once and never changes; all of the package is safe for concurrent use but for building recursive
// types, which is one goroutine's work until the last Forward is completed, and for Data, which has one owner.
//
// # Invariants
//
//  1. No description, however odd, makes Build panic; what it accepts has finite values.
//  2. No sample makes Decode, an Accessor or UnmarshalJSON panic or read outside of the bytes given, and what Decode allocates is bounded
//     by the size of the sample. An Accessor allocates nothing.
//  3. Names and ids of members are unique in a type, inherited ones included.
//
// # What it does not do
//
// Custom annotations are read over in type objects and not kept.
package xtypes
