package idlc

import (
	gotoken "go/token"
	"strings"
	"unicode"
)

// The rule for Go names. A name is cut at underscores; every word begins with a capital letter and keeps the rest of its
// letters; a word that is one of the initialisms below is written in capitals. Constants and enumerators, which IDL authors
// write in capitals, become MixedCaps: MAX_TRACKS is MaxTracks. An enumerator carries the name of its enum in front:
// TAXI of FlightPhase is FlightPhaseTaxi. What does not begin with a letter then gets an X in front. A field
// that would hide a generated method or the embedded base gets an underscore behind.

// initialisms are the words that Go style writes in capitals, as far as data types use them.
var initialisms = map[string]bool{"id": true, "url": true, "uri": true, "uuid": true, "utc": true, "ip": true, "cpu": true,
	"crc": true, "gps": true, "ttl": true}

func exportedName(idl string) string { return mixedCaps(idl, false) }

// constName folds capitals: MAX_SIZE becomes MaxSize.
func constGoName(idl string) string { return mixedCaps(idl, true) }

func mixedCaps(idl string, fold bool) string {
	if !fold && idl != "" && 'a' <= idl[0] && idl[0] <= 'z' && !initialisms[idl] && strings.IndexByte(idl, '_') < 0 {
		return string(idl[0]-'a'+'A') + idl[1:] // most names are one word
	}
	var b strings.Builder
	for word := range strings.SplitSeq(idl, "_") {
		switch {
		case word == "":
		case initialisms[strings.ToLower(word)] && (fold || word == strings.ToLower(word)):
			b.WriteString(strings.ToUpper(word))
		case fold && word == strings.ToUpper(word):
			b.WriteString(word[:1] + strings.ToLower(word[1:]))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	name := b.String()
	if name == "" || !unicode.IsLetter(rune(name[0])) {
		return "X" + name
	}
	return name
}

// packageName makes a package name of a module's or a file's.
func packageName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
		}
	}
	name := b.String()
	switch {
	case name == "":
		return "types"
	case gotoken.IsKeyword(name) || name == "main" || name == "cdr" || predeclared[name]:
		return name + "idl"
	}
	return name
}

// predeclared are names that a package must not take: they would hide what generated code uses.
var predeclared = map[string]bool{"string": true, "bool": true, "byte": true, "int": true, "error": true, "len": true,
	"nil": true, "binary": true, "fmt": true, "iter": true, "json": true, "maps": true, "math": true, "slices": true, "strconv": true}

// methodNames are those of the generated types; fields keep clear of them.
var methodNames = map[string]bool{
	"CDRType": true, "MarshalCDR": true, "UnmarshalCDR": true, "MarshalKeyCDR": true, "UnmarshalKeyCDR": true,
	"TranscodeKeyCDR": true, "SkipCDR": true, "ScanCDR": true, "Clone": true, "Equal": true, "SetDefaults": true,
}
