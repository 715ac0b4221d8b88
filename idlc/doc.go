// Package idlc translates OMG IDL 4.2 into Go.
//
//	files, report := idlc.Compile("track.idl", idlc.Options{})
//	fmt.Fprint(os.Stderr, report) // file:line:col: what; hint
//	if !report.Failed() { ... write files ... }
//
// # Stages
//
// Every stage is a function from value to value that adds what it finds to a Report and goes on, so that one run shows
// all errors of a file, sorted by position:
//
//	lex         text              -> tokens with their comments        lex.go
//	preprocess  tokens, #include  -> tokens of the translation unit    preprocess.go
//	parse       tokens            -> syntax tree (syntax.go)           parse.go
//	check       syntax tree       -> model (model.go)                  check*.go
//	plan        model             -> packages, names, sizes            plan*.go, names.go
//	print       plan              -> formatted Go files                print*.go
//	types       model             -> types of package xtypes           typeobject.go
//
// The grammar of single declarations is in struct tags that participle reads. What surrounds them is cut up by hand at
// semicolons and braces, which is where parsing resumes after an error.
//
// Naming files by stages, collecting diagnostics with positions and hints, and keeping golden corpora follow
// bufbuild/protocompile; a constant that stops old generated code from compiling follows protobuf-go.
//
// # What it accepts
//
// Modules (nested, reopened), structs with inheritance, enums (@value, @default_literal, @bit_bound), typedefs, constants
// with expressions, all primitive types but long double, bounded and unbounded (w)strings and sequences,
// arrays, forward declarations, annotations, #include, #define without parameters, #if and #ifdef. A type
// without annotation is appendable (XTypes 1.3 §7.3.1.2.1.8). Unknown annotations and #pragma give warnings.
//
// Unions, maps, bitmasks, bitsets, optional members and mutable types are recognised and reported as not supported by this
// version. The bound of a string or a sequence may add and multiply; anything that contains a comparison sign, that is
// a shift, goes into parentheses.
//
// # Limits
//
// Whatever the file holds, compiling takes time and memory in proportion to it, and what is accepted can be compiled by Go and
// encoded: the members of a struct with those of its members (maxParts), the memory of a value (maxValue), the depth of values
// (maxDepth), of sequences (maxSequences), of bases (maxBases), of brackets and of macros are bounded, and so is the code of one file
// (maxOutput). What exceeds a bound is an error where it first does.
//
// # How IDL becomes Go
//
// One module becomes one package (see makePlan), a struct becomes a struct with a field for each member, an inherited
// struct is embedded, a typedef becomes an alias, an enum becomes a named int32. Sequences are slices, arrays
// arrays, strings and wstrings Go strings (UTF-8), octet and char bytes, wchar a uint16 (a UTF-16 code unit). Names follow
// the rule in names.go. Comments before a declaration, or behind it on its line, become its documentation.
//
// # Ownership and concurrency
//
// Nothing is shared: any number of compilations may run at the same time. Options.ReadFile must allow for that.
package idlc
