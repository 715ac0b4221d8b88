package qos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	// ProfilesVariable is the environment variable that lists files of profiles.
	ProfilesVariable = "DDS_QOS_PROFILES"
	// aliasVariable is RTI's name for it, which counts if the other is not set.
	aliasVariable = "NDDS_QOS_PROFILES"
	// UserProfiles is the file that is read from the working directory.
	UserProfiles = "USER_QOS_PROFILES.xml"
)

// LoadEnvironment loads what applies to this process. What comes first in this list wins where two define a profile of the
// same name, and may refer to what comes after it:
//
//  1. files, the option of a program, in the syntax of the variable; "" is none
//  2. the environment variable DDS_QOS_PROFILES, or else NDDS_QOS_PROFILES
//  3. USER_QOS_PROFILES.xml in the working directory, if there is one
//  4. the built-in profiles
//
// The variable is a list with ";" between its items. An item is a path, file:// and a path, str:// and a document in
// quotes, or a group [a | b] of such, of which the first that exists is taken.
func (p *Provider) LoadEnvironment(files string) error {
	if p == nil {
		return errNilProvider
	}
	lookup := environment(p.options)
	var list []source
	if _, err := os.Stat(UserProfiles); err == nil {
		list = append(list, fileSource(UserProfiles))
	}
	name, text := ProfilesVariable, ""
	var set bool
	if text, set = lookup(ProfilesVariable); !set {
		name = aliasVariable
		text, _ = lookup(aliasVariable)
	}
	for _, part := range []struct{ from, text string }{{name, text}, {"the option", files}} {
		sources, err := parseSources(part.from, part.text)
		if err != nil {
			return err
		}
		list = append(list, sources...)
	}
	return p.add(true, once(list)...)
}

// once leaves of a file that is named several times the last, which wins.
func once(list []source) []source {
	var out []source
	for i, s := range list {
		again := s.file && slices.ContainsFunc(list[i+1:], func(later source) bool { return later.file && sameFile(s.name, later.name) })
		if !again {
			out = append(out, s)
		}
	}
	return out
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// parseSources reads a list of files.
func parseSources(from, text string) ([]source, error) {
	var out []source
	items, err := splitOutside(text, ';')
	if err != nil {
		return nil, fmt.Errorf("qos: %s: %w", from, err)
	}
	for i, item := range items {
		if item == "" {
			continue
		}
		group := []string{item}
		if inner, ok := strings.CutPrefix(item, "["); ok {
			inner, ok = strings.CutSuffix(inner, "]")
			if !ok {
				return nil, fmt.Errorf("qos: %s: %s: a group does not end with ]; write [a.xml | b.xml]", from, quote(item))
			}
			if group, err = splitOutside(inner, '|'); err != nil {
				return nil, fmt.Errorf("qos: %s: %w", from, err)
			}
		}
		s, err := firstOf(group, fmt.Sprintf("%s, item %d", from, i+1))
		if err != nil {
			return nil, fmt.Errorf("qos: %s: %w", from, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// firstOf gives the first of a group that exists. A document in quotes does.
func firstOf(group []string, name string) (source, error) {
	for i, item := range group {
		if text, inline := strings.CutPrefix(item, "str://"); inline {
			text, opened := strings.CutPrefix(strings.TrimSpace(text), `"`)
			text, closed := strings.CutSuffix(text, `"`)
			if !opened || !closed {
				return source{}, fmt.Errorf(`%s: a document stands in quotes: str://"<dds>...</dds>"`, quote(item))
			}
			return source{name: name, text: text}, nil
		}
		path := strings.TrimPrefix(item, "file://")
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return fileSource(path), nil
		case !errors.Is(err, fs.ErrNotExist):
			return source{}, err
		case i == len(group)-1 && len(group) == 1:
			return source{}, fmt.Errorf("%s does not exist: %w; a group [a | b] takes the first file that does", quote(path), err)
		}
	}
	return source{}, fmt.Errorf("none of %s exists: %w", strings.Join(group, ", "), fs.ErrNotExist)
}

// splitOutside splits at sep where it stands neither in quotes nor in a group. Quotes count only after str://, as quotes
// within a document are its own: a document ends at the last quote before the next separator.
func splitOutside(text string, sep byte) ([]string, error) {
	var out []string
	start, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], `str://"`):
			end := endOfDocument(text[i+len(`str://"`):])
			if end < 0 {
				return nil, fmt.Errorf(`%s: the document does not end with >"`, quote(text[i:]))
			}
			i += len(`str://"`) + end
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == sep && depth == 0:
			out = append(out, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(text[start:])), nil
}

// endOfDocument finds the quote that closes a document: the first after a ">" that another separator or the end follows.
// Quotes of attributes are followed by other things.
func endOfDocument(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] != '"' || text[i-1] != '>' {
			continue
		}
		rest := strings.TrimLeft(text[i+1:], " \t\r\n")
		if rest == "" || strings.IndexByte(";|]", rest[0]) >= 0 {
			return i
		}
	}
	return -1
}
