// Package filter compiles the SQL subset of DDS 1.4 Annex B for a type, and runs it over encoded samples: the filter of a
// ContentFilteredTopic, the query of a QueryCondition, the topic expression of a MultiTopic.
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
//	join.go       SELECT ... FROM ... NATURAL JOIN ... WHERE: the topics, and the members that they have in common
//	joinselect.go what is selected, and the type that it makes or goes to
//	jointable.go  the rows of a join, kept up to date while samples come and go
//
// A program is made once, for a type and for values of the parameters. It reads members through xtypes.Accessor: nothing is
// decoded, and members that it does not name are passed over, or not even looked at where their sizes are fixed.
//
// # What compares with what
//
// Numbers with numbers, exactly: an integer and a real number are not rounded to each other's type. Strings and
// characters with strings and characters, by code point. Booleans with booleans. Enumerations with their own
// enumerators, by value, and with integers. A literal takes the type of its member: 0.1 is a float beside a float.
//
// What a sample does not have (an element behind the end of a sequence, an optional member that is not set, the member of a union
// that is not selected) is neither equal nor unequal to anything: the predicate is unknown, as in SQL, NOT leaves it so, and a
// sample passes if the condition is true. A member that the writer's version of the type lacks has its default value, except
// below elements of sequences, optional members and unions: there it is what a sample does not have.
//
// # Natural joins
//
// Topics are joined by all members of equal names; these have to be comparable, and a row is made of samples that are
// equal in them. Without any, a row is made of each choice of one sample of every topic. Other members keep their
// names, or get another one with AS. A Table holds the present sample of each instance, and tells which rows a change
// of one of them makes, changes and ends.
//
// # Beyond the standard
//
// != for <>, MATCH with shell patterns, IN (...), = NULL and <> NULL, ASC and DESC, enumerators without quotes and with
// scope, two single quotes for one within a string, and double quotes around members that are called like a key word.
// Key words are recognized in any case. The semicolon behind a topic expression may be missing, and names of topics
// that are no identifiers are strings.
//
// # Cost
//
// Match and Compare allocate nothing in the steady state, but for MATCH on strings of more than 32 bytes, and samples
// that are malformed.
//
// # Invariants
//
//  1. No expression, parameter or sample makes the package panic; parsing takes memory and stack bounded by maxExpression and maxNesting.
//  2. A Filter, a Query or a Join never changes.
//  3. The rows of a Table are those of nested loops over all its samples, whatever was put and removed in whatever order.
package filter
