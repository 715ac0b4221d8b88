package qos

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// The names of encodings by which documents are read as they stand, and after toUTF8.
var (
	asciiNames = []string{"us-ascii", "ascii", "utf8"}
	latinNames = []string{"iso-8859-1", "iso8859-1", "latin1", "latin-1"}
	wideNames  = []string{"utf-16", "utf-16le", "utf-16be"}
)

// readable tells whether a document that says that it has an encoding other than UTF-8 can be read after toUTF8.
func readable(encoding string) bool {
	encoding = strings.ToLower(encoding)
	return slices.Contains(asciiNames, encoding) || slices.Contains(latinNames, encoding) || slices.Contains(wideNames, encoding)
}

var declaration = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

// toUTF8 gives a document in UTF-8: one in ISO 8859-1 says so, one in UTF-16 starts with a byte order mark. Places in
// it are those of what it gives.
func toUTF8(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		said := declaration.FindSubmatch(data)
		if said == nil || !slices.Contains(latinNames, strings.ToLower(string(said[1]))) {
			return data
		}
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		return []byte(string(runes))
	}
	units := make([]uint16, 0, len(data)/2)
	for rest := data[2:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units)))
}
