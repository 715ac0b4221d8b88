// Package nettest tests the middleware between hosts, as far as one machine can have them: processes in Linux network
// namespaces that are joined by a virtual cable. Nothing but tcp gets from one to the other; abstract sockets and
// shared memory do not.
//
// The tests need root and the ip command, and skip with a reason without them. The processes are this test binary,
// started again. It is no part of the product.
package nettest

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o . nettest.idl
