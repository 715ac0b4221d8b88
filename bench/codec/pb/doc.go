// Package pb has the types of package wire as protobuf has them. protoc with protoc-gen-go writes it:
//
//	protoc --go_out=. --go_opt=paths=source_relative codec.proto
package pb
