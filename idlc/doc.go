// Package idlc translates OMG IDL 4.2 into Go.
//
//	files, report := idlc.Compile("track.idl", idlc.Options{})
//	fmt.Fprint(os.Stderr, report.Explain()) // file:line:col: what; hint, and the line with a mark
//	if !report.Failed() { ... write files ... }
//
// # Stages
//
// Every stage is a function from value to value that adds what it finds to a Report and goes on, so that one run shows
// all errors of a file, sorted by position:
//
//	lex         text              -> tokens with their comments        lex.go
//	preprocess  tokens, #include  -> tokens of the translation unit    preprocess.go, macro.go, condition.go
//	ros2        .msg, .srv...     -> tokens, in place of lex           ros2*.go
//	parse       tokens            -> syntax tree (syntax*.go)          parse*.go
//	check       syntax tree       -> model (model*.go)                 check*.go, annotations.go, measure.go
//	plan        model             -> packages, names, sizes            plan*.go, names.go
//	print       plan              -> Go, line by line                  print*.go
//	layout      Go                -> Go files as gofmt has them        layout.go
//	types       model             -> types of package xtypes           typeobject.go
//
// The grammar of single declarations is in struct tags that participle reads; types, annotations and expressions, which most
// declarations have, parse themselves for speed. What surrounds declarations is cut up by hand at semicolons and braces, which is
// where parsing resumes after an error.
//
// Naming files by stages, collecting diagnostics with positions and hints, and keeping golden corpora follow
// bufbuild/protocompile; a constant that stops old generated code from compiling follows protobuf-go.
//
// # What it accepts
//
// All of IDL 4.2 that describes data, and the annotations of XTypes 1.3:
//
//   - the preprocessor of C: #include (which looks in the directory of the file first if the name is in quotes, then in
//     Options.Include), include guards, #pragma once, macros with and without parameters, # and ##, __VA_ARGS__, all conditions,
//     #line, #error, #warning; __FILE__, __LINE__ and __IDLGEN__ are defined;
//   - modules, nested and reopened; structs with inheritance; unions with every discriminator type, several labels for a case
//     and a default; enums, bitmasks, bitsets with inheritance; typedefs; constants of all types with the whole grammar of
//     expressions; forward declarations, and recursion through sequences, maps and @external members;
//   - all primitive types, fixed, string and wstring, sequences, maps and arrays, one within the other, also without a typedef;
//   - the annotations of IDL 4.2 §8.3 and XTypes 1.3 §7.3.1.2, checked for what they stand in front of and for their arguments;
//     annotations that a file declares with @annotation, checked as well and kept in the model;
//   - keys in the forms of older tools: //@key and the other comments of that kind behind a member or a type, #pragma keylist,
//     #pragma DCPS_DATA_KEY.
//
// A type without an annotation is appendable (XTypes 1.3 §7.3.1.2.1.8) unless Options.Extensibility says otherwise.
//
// Interfaces, valuetypes, exceptions, components, native types, template modules and any describe no data. They are
// skipped with a warning that names them, and so is every type that has one of them as a part; types and constants that
// an interface declares are kept. With Options.Strict that is an error, and so is what only other compilers accept:
// names that are keywords in another case or in other parts of IDL, integers mixed with floating-point numbers, a type
// with the name of its module.
//
// Three points where the standard leaves a choice: a bound may shift to the left, but a shift to the right goes into parentheses,
// because ">" closes; enumerators and flags may be named with their type in front, and where a value of their type is wanted
// (labels, @default) without any scope; the ids of the members of a union begin at 1, as that of the discriminator is 0.
//
// Warnings are also given for annotations and pragmas that are not known. Annotations of other tools about their own
// code are passed over.
//
// # Limits
//
// Whatever the file holds, compiling takes time and memory in proportion to it, and what is accepted can be compiled by
// Go and encoded: the members of a struct with those of its members (maxParts), the memory of a value (maxValue), the
// depth of values (maxDepth), of sequences (maxSequences), of bases (maxBases), of brackets and of macros are bounded,
// and so are the files that are read (maxFiles, maxText), the tokens that macros make (maxTokens, maxBuilt, maxGlued)
// and the code of one file (maxOutput). What exceeds a bound is an error where it first does.
//
// # How IDL becomes Go
//
// One module becomes one package (see makePlan), a struct becomes a struct with a field for each member, an inherited
// struct is embedded, a typedef becomes an alias, an enum becomes a named int32. Sequences are slices, arrays arrays,
// maps maps, strings and wstrings Go strings (UTF-8), octet and char bytes, wchar a uint16 (a UTF-16 code unit), fixed
// a cdr.Fixed and long double a cdr.LongDouble. Optional and external members are pointers. A union is a struct behind
// accessors (docs/adr/0020-unions-are-tagged-structs.md), a bitmask an unsigned integer with constants, a bitset a
// struct of its fields. Names follow the rule in names.go. Comments before a declaration, or behind it on its line,
// become its documentation, with what @unit, @default and @range say.
//
// Every struct and union has, besides the methods of cdr.Message: Clone and Equal; tags or methods for encoding/json; a
// View, which reads an encoded sample where it lies; a Builder, which writes one in place, and a Writer, which does so
// in all encodings and descends into what it consists of; and NewX and SetDefaults, where defaults are not all zero.
// docs/idl.md has the whole table.
//
// @verbatim for language "go" is printed, and so is that for all languages ("*", the default) if it is Go: in front of
// all declarations of the package, behind them, or before or behind its own. Anything else of them is left out with a
// warning.
//
// Not done: @range is checked for members and not for elements; views decode maps,
// sequences of sequences and of wide strings, and what has @try_construct on its elements, into new memory.
//
// # Ownership and concurrency
//
// Nothing is shared: any number of compilations may run at the same time. Options.ReadFile must allow for that.
package idlc
