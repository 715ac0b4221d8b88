package topic

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxName is how many bytes a topic's name may have.
const MaxName = 255

// CheckName tells why a topic can not have a name, if so. A name is UTF-8 without control characters: it goes into
// messages, tables and scripts, where it must stay what it is.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("the topic's name is empty: give it 1 to %d bytes", MaxName)
	}
	if len(name) > MaxName {
		return fmt.Errorf("the topic's name has %d bytes, the limit is %d: byte %d and what follows is too much", len(name), MaxName, MaxName)
	}
	for i, r := range name {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(name[i:]); size == 1 {
				return fmt.Errorf("byte %d of the topic's name %q is 0x%02x, which is not UTF-8 there", i, name, name[i])
			}
		}
		if unicode.IsControl(r) {
			return fmt.Errorf("byte %d of the topic's name %q is 0x%02x, which begins a control character: leave it out", i, name, name[i])
		}
	}
	return nil
}
