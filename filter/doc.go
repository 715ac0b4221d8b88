// Package filter compiles the SQL subset of DDS 1.4 Annex B for a type, and runs it over encoded samples: the filter of a
// ContentFilteredTopic, the query of a QueryCondition.
//
//	f, err := filter.New(trackType, "altitude > %0 AND icao LIKE 'A%'", "10000")
//	if f.Match(sample) { ... }
//
// # From text to program
//
//	syntax.go     the grammar, on participle; the tree of an expression
//	schema.go     names of members, looked up in the type
//	literal.go    literals and parameters, which get the type of the member that they meet
//	check.go      the tree becomes a program; what does not fit together is an Error that points at it
//	program.go    conditions, run over a sample
//	field.go      reading one member where it lies in the sample
//	query.go      ORDER BY
//
// A program is made once, for a type and for values of the parameters. It reads members through xtypes.Accessor: nothing is
// decoded, and members that it does not name are passed over, or not even looked at where their sizes are fixed.
//
// # What compares with what
//
// Numbers with numbers, exactly: an integer and a real number are not rounded to each other's type. Strings and characters with
// strings and characters, by code point. Booleans with booleans. Enumerations with their own enumerators, by value, and with integers.
// A literal takes the type of its member: 0.1 is a float beside a float.
//
// What a sample does not have (an element behind the end of a sequence, an optional member that is not set, the member of a union
// that is not selected) is neither equal nor unequal to anything: the predicate is unknown, as in SQL, NOT leaves it so, and a
// sample passes if the condition is true. A member that the writer's version of the type lacks has its default value.
//
// # Beyond the standard
//
// != for <>, MATCH with shell patterns, IN (...), = NULL and <> NULL, ASC and DESC, enumerators without quotes and with scope, two single quotes for
// one within a string, and double quotes around members that are called like a key word. Key words are recognized in any case.
//
// # Cost
//
// Match and Compare allocate nothing in the steady state, but for MATCH on strings of more than 32 bytes, and samples that are malformed.
//
// # Invariants
//
//  1. No expression, parameter or sample makes the package panic; parsing takes memory and stack bounded by maxExpression and maxNesting.
//  2. A Filter or a Query never changes.
package filter
