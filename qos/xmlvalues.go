package qos

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueReader reads the values of DDS-XML 1.0 (clause 7.1 for literals) out of elements. Its methods report what is wrong
// themselves and then return false.
type valueReader struct{ *report }

// content is the text of an element that may hold nothing else.
func (r valueReader) content(n *node, path string) (string, bool) {
	r.noAttributes(n, path)
	if len(n.children) > 0 {
		child := n.children[0]
		r.fail(child.at, path+"/"+child.name, fmt.Sprintf("unknown element <%s>", child.name),
			fmt.Sprintf("<%s> holds a value, not elements", n.name))
		return "", false
	}
	return n.trimmed(), true
}

// elements reports text and attributes where there should be only elements.
func (r valueReader) elements(n *node, path string, attributes ...string) {
	r.noAttributes(n, path, attributes...)
	if text := n.trimmed(); text != "" {
		r.fail(n.textAt, path, fmt.Sprintf("unexpected text %s in <%s>", quote(text), n.name), "")
	}
}

func (r valueReader) noAttributes(n *node, path string, allowed ...string) {
	for _, a := range n.attrs {
		if a.foreign || slices.Contains(allowed, a.name) {
			continue
		}
		hint := didYouMean(a.name, allowed)
		if hint == "" {
			hint = fmt.Sprintf("<%s> has no attributes", n.name)
		}
		r.fail(a.at, path, fmt.Sprintf("unknown attribute %s of <%s>", quote(a.name), n.name), hint)
	}
}

// quote shows a piece of the file in a message, shortened if it is long.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "..."
	}
	return strconv.Quote(s)
}

func (r valueReader) boolean(n *node, path string) (bool, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return false, false
	}
	switch text {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	r.fail(n.textAt, path, quote(text)+" is not a boolean", didYouMean(text, []string{"true", "false", "1", "0"}))
	return false, false
}

func (r valueReader) kind(n *node, path string, f kindFamily) (uint8, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	literals := f.literals()
	if i := slices.Index(literals, text); i >= 0 {
		return uint8(i + 1), true
	}
	// RELIABLE for RELIABLE_RELIABILITY_QOS is how other formats spell it.
	hint := didYouMean(text, literals)
	if i := slices.Index(f.names, strings.TrimSuffix(strings.ToUpper(text), "_QOS")); i >= 0 {
		hint = "did you mean " + literals[i] + "?"
	} else if _, close := closest(text, literals); !close {
		if short, ok := closest(strings.ToUpper(text), f.names); ok {
			hint = "did you mean " + literals[slices.Index(f.names, short)] + "?"
		}
	}
	r.fail(n.textAt, path, fmt.Sprintf("unknown value %s of <%s>", quote(text), n.name), hint)
	return 0, false
}

// long reads a signed 32-bit number.
func (r valueReader) long(n *node, path string) (int32, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	v, err := parseNumber(text)
	if err == nil && (v < math.MinInt32 || v > math.MaxInt32) {
		err = errRange
	}
	if err != nil {
		r.numberError(n, path, text, err, nil)
		return 0, false
	}
	return int32(v), true
}

// positive reads a number of at least 1.
func (r valueReader) positive(n *node, path string) (int32, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	if text == "LENGTH_UNLIMITED" {
		r.fail(n.textAt, path, fmt.Sprintf("<%s> cannot be LENGTH_UNLIMITED", n.name), "KEEP_ALL_HISTORY_QOS keeps all samples")
		return 0, false
	}
	v, ok := r.long(n, path)
	if ok && v < 1 {
		r.fail(n.textAt, path, fmt.Sprintf("<%s> is %d", n.name, v), "it must be at least 1")
		return 0, false
	}
	return v, ok
}

// limit reads LENGTH_UNLIMITED, also as -1, or a number of at least 1.
func (r valueReader) limit(n *node, path string) (int32, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	if text == "LENGTH_UNLIMITED" {
		return LengthUnlimited, true
	}
	v, err := parseNumber(text)
	if err == nil && v > math.MaxInt32 {
		err = errRange
	}
	switch {
	case err != nil:
		r.numberError(n, path, text, err, []string{"LENGTH_UNLIMITED"})
		return 0, false
	case v != LengthUnlimited && v < 1:
		r.fail(n.textAt, path, fmt.Sprintf("<%s> is %d", n.name, v), "it must be LENGTH_UNLIMITED or at least 1")
		return 0, false
	}
	return int32(v), true
}

var (
	errNumber = errors.New("is not a number")
	errRange  = errors.New("does not fit 32 bits")
)

// parseNumber takes decimal and 0x numbers. Leading zeros are decimal, as in XML.
func parseNumber(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	base := 10
	if rest, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = rest, 16
	}
	v, err := strconv.ParseUint(digits, base, 63)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, errNumber
	case negative:
		return -int64(v), nil
	}
	return int64(v), nil
}

func (r valueReader) numberError(n *node, path, text string, err error, literals []string) {
	hint := "expected a decimal or 0x number"
	if len(literals) > 0 {
		hint += " or " + alternatives(literals)
	}
	if best, ok := closest(text, literals); ok {
		hint = "did you mean " + best + "?"
	}
	r.fail(n.textAt, path, fmt.Sprintf("%s %v", quote(text), err), hint)
}

// durationPart is <sec> or <nanosec>. DDS-XML has both literals of each, and DURATION_INFINITY for either.
type durationPart struct {
	name, infinite, zero string
	most                 int64 // of a number that is not the literal's
}

var (
	secPart     = durationPart{"sec", "DURATION_INFINITE_SEC", "DURATION_ZERO_SEC", math.MaxInt32}
	nanosecPart = durationPart{"nanosec", "DURATION_INFINITE_NSEC", "DURATION_ZERO_NSEC", 999_999_999}
)

// infinitePart is the number behind DURATION_INFINITE_SEC and DURATION_INFINITE_NSEC.
const infinitePart = math.MaxInt32

// duration reads <sec> and <nanosec>. A part that is missing is zero, or infinite if the other is; zero nanoseconds beside
// infinite seconds are infinite as well, for that is how many write it.
func (r valueReader) duration(n *node, path string) (time.Duration, bool) {
	r.noAttributes(n, path)
	ok := true
	if text := n.trimmed(); text != "" {
		r.fail(n.textAt, path, fmt.Sprintf("unexpected text %s in <%s>", quote(text), n.name), "write <sec> and <nanosec>")
		ok = false
	}
	parts := map[string]*node{}
	for _, c := range n.children {
		childPath := path + "/" + c.name
		switch first := parts[c.name]; {
		case c.name != "sec" && c.name != "nanosec":
			r.fail(c.at, childPath, fmt.Sprintf("unknown element <%s>", c.name), didYouMean(c.name, []string{"sec", "nanosec"}))
			ok = false
		case first != nil:
			r.duplicate(c, childPath, first.at)
			ok = false
		default:
			parts[c.name] = c
		}
	}
	if ok && len(parts) == 0 {
		r.fail(n.at, path, fmt.Sprintf("<%s> is empty", n.name), "write <sec> and <nanosec>")
		return 0, false
	}
	var sec, nsec int64
	if c := parts["sec"]; c != nil {
		v, partOK := r.durationPart(c, path+"/sec", secPart)
		sec, ok = v, ok && partOK
	}
	if c := parts["nanosec"]; c != nil {
		v, partOK := r.durationPart(c, path+"/nanosec", nanosecPart)
		nsec, ok = v, ok && partOK
	}
	const both = "make both DURATION_INFINITY, or neither"
	switch {
	case !ok:
		return 0, false
	case sec == infinitePart && nsec != 0 && nsec != infinitePart:
		c := parts["nanosec"]
		r.fail(c.textAt, path+"/nanosec", fmt.Sprintf("finite nanosec %d beside an infinite sec", nsec), both)
		return 0, false
	case sec == infinitePart, parts["sec"] == nil && nsec == infinitePart:
		return Infinite, true
	case nsec == infinitePart:
		c := parts["nanosec"]
		r.fail(c.textAt, path+"/nanosec", fmt.Sprintf("infinite nanosec beside a finite sec %d", sec), both)
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}

// durationPart gives infinitePart for what means infinite.
func (r valueReader) durationPart(n *node, path string, part durationPart) (int64, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	switch text {
	case "DURATION_INFINITY", part.infinite:
		return infinitePart, true
	case part.zero:
		return 0, true
	}
	v, err := parseNumber(text)
	switch {
	case err == nil && v == infinitePart:
		return infinitePart, true
	case err == nil && v < 0:
		r.fail(n.textAt, path, fmt.Sprintf("negative duration %d", v), "durations are zero or more, or DURATION_INFINITY")
		return 0, false
	case err == nil && v > part.most, errors.Is(err, errRange):
		r.fail(n.textAt, path, fmt.Sprintf("%s is above %d, the most that <%s> may be", quote(text), part.most, part.name),
			fmt.Sprintf("write 0 to %d, or %s", part.most, part.infinite))
		return 0, false
	case err != nil:
		r.numberError(n, path, text, err, []string{"DURATION_INFINITY", part.infinite})
		return 0, false
	}
	return v, true
}

// duplicate reports the second of two elements.
func (r valueReader) duplicate(n *node, path string, first place) {
	r.fail(n.at, path, fmt.Sprintf("<%s> appears twice, first at %v", n.name, first), "keep one of them")
}

// list reads the <element>s below n.
func (r valueReader) list(n *node, path string) []*node {
	r.elements(n, path)
	var out []*node
	for _, c := range n.children {
		if c.name != "element" {
			r.fail(c.at, path+"/"+c.name, fmt.Sprintf("unknown element <%s>", c.name), didYouMean(c.name, []string{"element"}))
			continue
		}
		out = append(out, c)
	}
	return out
}

// octets reads <value>: nothing, a list of bytes, pairs of hexadecimal digits, or base64, in this order,
// because published schemas differ. What reads in two ways is warned of.
func (r valueReader) octets(n *node, path string) ([]byte, bool) {
	text, ok := r.content(n, path)
	if !ok || text == "" {
		return nil, ok
	}
	bare := strings.Join(strings.Fields(text), "")
	pairs, pairsErr := hex.DecodeString(bare)
	b64, b64Err := base64.StdEncoding.DecodeString(bare)
	list, listErr := octetList(text)
	const ambiguous = "a list with commas is never ambiguous, and neither is <valueB64>"
	switch {
	case listErr == nil:
		if pairsErr == nil && !strings.Contains(text, ",") {
			r.warn(n.textAt, path, fmt.Sprintf("%s is read as one decimal byte, but could be hexadecimal", quote(text)), ambiguous)
		}
		return list, true
	case strings.ContainsAny(text, ",") || strings.HasPrefix(strings.ToLower(text), "0x"):
		r.fail(n.textAt, path, listErr.Error(), "bytes are 0 to 255, decimal or 0x, with commas between them")
		return nil, false
	case pairsErr == nil:
		if b64Err == nil {
			r.warn(n.textAt, path, fmt.Sprintf("%s is read as hexadecimal, but could be base64", quote(text)), ambiguous)
		}
		return pairs, true
	case b64Err == nil:
		return b64, true
	}
	r.fail(n.textAt, path, quote(text)+" is no sequence of octets",
		"write bytes with commas between them (84, 0x71), pairs of hexadecimal digits, or base64 in <valueB64>")
	return nil, false
}

func octetList(text string) ([]byte, error) {
	var out []byte
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		v, err := parseNumber(item)
		if err != nil || v < 0 || v > math.MaxUint8 {
			return nil, fmt.Errorf("%s is not a byte", quote(item))
		}
		out = append(out, byte(v))
	}
	return out, nil
}

func (r valueReader) octetsBase64(n *node, path string) ([]byte, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return nil, false
	}
	out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		r.fail(n.textAt, path, quote(text)+" is not base64", "pad it with = to a multiple of four")
		return nil, false
	}
	return out, true
}
