// Command idlgen turns OMG IDL into Go: types, their CDR encoding, in-place builders and views.
//
//	idlgen [-o DIR] [-pkg NAME] [-I DIR]... [-D NAME[=VALUE]]... [-map MODULE=IMPORT/PATH]... [-strict] [-default-extensibility KIND] [-check] FILE...
//
// FILE.idl becomes FILE_idl.go. It fits a go:generate line:
//
//	//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen types.idl
//
// -check writes nothing and exits with 1 if a generated file is not what it would write now. Exit status: 0 done, 1
// errors in the input or files not up to date, 2 wrong use. idlgen -help teaches the rest. Package idlc says what is
// accepted and how it becomes Go.
//
//	idlgen -to idl|xml|jsonschema|typeobject [-from xml] [-type NAME] FILE...
//
// writes the types of a file in another notation (package xtypes/notation), and -from xml reads DDS-XML in place of IDL.
//
//	idlgen -from ros2 [-I DIR]... [-map PACKAGE=IMPORT/PATH]... PACKAGE/msg/X.msg PACKAGE/srv/Y.srv PACKAGE/action/Z.action...
//
// reads the interfaces of ROS 2, and gives their types the names that they have in DDS.
package main
