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
type valueReader struct {
	*report
	dialect dialect
}

// content is the text of an element that may hold nothing else.
func (r valueReader) content(n *node, path string) (string, bool) {
	r.noAttributes(n, path)
	if len(n.Children) > 0 {
		child := n.Children[0]
		r.fail(child.At, path+"/"+child.Name, fmt.Sprintf("unknown element <%s>", child.Name),
			fmt.Sprintf("<%s> holds a value, not elements", n.Spelled()))
		return "", false
	}
	return n.Trimmed(), true
}

// elements reports text and attributes where there should be only elements.
func (r valueReader) elements(n *node, path string, attributes ...string) {
	r.noAttributes(n, path, attributes...)
	if text := n.Trimmed(); text != "" {
		r.fail(n.TextAt, path, fmt.Sprintf("unexpected text %s in <%s>", quote(text), n.Spelled()), "")
	}
}

// literal is a word of the standard without the prefix that it has in RTI's and Fast DDS's programs, which is written
// in files too.
func (r valueReader) literal(text string) string {
	if r.dialect.loose() {
		return strings.TrimPrefix(text, "DDS_")
	}
	return text
}

func (r valueReader) noAttributes(n *node, path string, allowed ...string) {
	for _, a := range n.Attrs {
		if a.Foreign || slices.Contains(allowed, a.Name) {
			continue
		}
		best, near := closest(a.Name, allowed)
		if !near && r.dialect.foreign() {
			r.warn(a.At, path, fmt.Sprintf("attribute %s of <%s> has no effect here", quote(a.Name), n.Spelled()), "")
			continue
		}
		hint := didYouMean(a.Name, allowed)
		if near {
			hint = "did you mean " + best + "?"
		}
		if hint == "" {
			hint = fmt.Sprintf("<%s> has no attributes", n.Spelled())
		}
		r.fail(a.At, path, fmt.Sprintf("unknown attribute %s of <%s>", quote(a.Name), n.Spelled()), hint)
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
	if r.dialect.loose() {
		switch strings.TrimPrefix(strings.ToUpper(text), "DDS_") {
		case "TRUE", "YES", "BOOLEAN_TRUE":
			return true, true
		case "FALSE", "NO", "BOOLEAN_FALSE":
			return false, true
		}
	}
	r.fail(n.TextAt, path, quote(text)+" is not a boolean", didYouMean(text, []string{"true", "false", "1", "0"}))
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
	if r.dialect.loose() {
		short := strings.TrimPrefix(strings.ToUpper(text), "DDS_")
		if i := slices.Index(literals, short); i >= 0 {
			return uint8(i + 1), true
		}
		if i := slices.Index(f.names, short); i >= 0 {
			return uint8(i + 1), true
		}
	}
	// RELIABLE for RELIABLE_RELIABILITY_QOS is how other formats spell it.
	if r.dialect == dialectYAML {
		r.fail(n.TextAt, path, fmt.Sprintf("unknown value %s of <%s>", quote(text), n.Spelled()), didYouMean(strings.ToUpper(text), f.names))
		return 0, false
	}
	hint := didYouMean(text, literals)
	if i := slices.Index(f.names, strings.TrimSuffix(strings.ToUpper(text), "_QOS")); i >= 0 {
		hint = "did you mean " + literals[i] + "?"
	} else if _, close := closest(text, literals); !close {
		if short, ok := closest(strings.ToUpper(text), f.names); ok {
			hint = "did you mean " + literals[slices.Index(f.names, short)] + "?"
		}
	}
	r.fail(n.TextAt, path, fmt.Sprintf("unknown value %s of <%s>", quote(text), n.Spelled()), hint)
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
	if r.literal(text) == "LENGTH_UNLIMITED" {
		r.fail(n.TextAt, path, fmt.Sprintf("<%s> cannot be LENGTH_UNLIMITED", n.Spelled()), "KEEP_ALL_HISTORY_QOS keeps all samples")
		return 0, false
	}
	v, ok := r.long(n, path)
	if ok && v < 1 {
		r.fail(n.TextAt, path, fmt.Sprintf("<%s> is %d", n.Spelled(), v), "it must be at least 1")
		return 0, false
	}
	return v, ok
}

// hint reads what is at least 1, or left to the implementation.
func (r valueReader) hint(n *node, path string) (int32, bool) {
	if r.literal(n.Trimmed()) == "LENGTH_UNLIMITED" {
		return LengthUnlimited, true
	}
	return r.positive(n, path)
}

// limit reads LENGTH_UNLIMITED, also as -1, or a number of at least 1.
func (r valueReader) limit(n *node, path string) (int32, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	if r.literal(text) == "LENGTH_UNLIMITED" {
		return LengthUnlimited, true
	}
	if r.dialect == dialectYAML && strings.EqualFold(text, "UNLIMITED") {
		return LengthUnlimited, true
	}
	v, err := parseNumber(text)
	if err == nil && v > math.MaxInt32 {
		err = errRange
	}
	if err == nil && v <= 0 && r.dialect == dialectFastDDS {
		return LengthUnlimited, true // how Fast DDS says it
	}
	switch {
	case err != nil:
		r.numberError(n, path, text, err, []string{"LENGTH_UNLIMITED"})
		return 0, false
	case v != LengthUnlimited && v < 1:
		r.fail(n.TextAt, path, fmt.Sprintf("<%s> is %d", n.Spelled(), v), "it must be LENGTH_UNLIMITED or at least 1")
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
	r.fail(n.TextAt, path, fmt.Sprintf("%s %v", quote(text), err), hint)
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

// infinitePart is the number behind DURATION_INFINITE_SEC and DURATION_INFINITE_NSEC. The latter is infiniteNanosec at
// RTI and Fast DDS.
const (
	infinitePart    = math.MaxInt32
	infiniteNanosec = math.MaxUint32
)

// duration reads <sec> and <nanosec>. A part that is missing is zero, or infinite if the other is; zero nanoseconds beside
// infinite seconds are infinite as well, for that is how many write it.
func (r valueReader) duration(n *node, path string) (time.Duration, bool) {
	r.noAttributes(n, path)
	ok := true
	if text := n.Trimmed(); text != "" && len(n.Children) == 0 && r.dialect.loose() {
		return r.durationText(n, path, text)
	} else if text != "" {
		r.fail(n.TextAt, path, fmt.Sprintf("unexpected text %s in <%s>", quote(text), n.Spelled()), "write <sec> and <nanosec>")
		ok = false
	}
	parts := map[string]*node{}
	for _, c := range n.Children {
		childPath := path + "/" + c.Name
		switch first := parts[c.Name]; {
		case c.Name != "sec" && c.Name != "nanosec":
			r.fail(c.At, childPath, fmt.Sprintf("unknown element <%s>", c.Name), didYouMean(c.Name, []string{"sec", "nanosec"}))
			ok = false
		case first != nil:
			r.duplicate(c, childPath, first.At)
			ok = false
		default:
			parts[c.Name] = c
		}
	}
	if ok && len(parts) == 0 {
		r.fail(n.At, path, fmt.Sprintf("<%s> is empty", n.Spelled()), "write <sec> and <nanosec>")
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
		r.fail(c.TextAt, path+"/nanosec", fmt.Sprintf("finite nanosec %d beside an infinite sec", nsec), both)
		return 0, false
	case sec == infinitePart, parts["sec"] == nil && nsec == infinitePart:
		return Infinite, true
	case nsec == infinitePart:
		c := parts["nanosec"]
		r.fail(c.TextAt, path+"/nanosec", fmt.Sprintf("infinite nanosec beside a finite sec %d", sec), both)
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}

// durationText reads a duration that is not made of <sec> and <nanosec>: the word for an infinite one, and in YAML also
// what time.ParseDuration reads.
func (r valueReader) durationText(n *node, path, text string) (time.Duration, bool) {
	if isInfinite(r.literal(strings.ToUpper(text))) || r.dialect == dialectYAML && strings.EqualFold(text, "INFINITE") {
		return Infinite, true
	}
	if r.dialect != dialectYAML {
		r.fail(n.TextAt, path, fmt.Sprintf("unexpected text %s in <%s>", quote(text), n.Spelled()), "write <sec> and <nanosec>, or DURATION_INFINITY")
		return 0, false
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.fail(n.TextAt, path, quote(text)+" is not a duration", `write a number with its unit, such as 1.5s or 100ms, or INFINITE`)
		return 0, false
	case d < 0:
		r.fail(n.TextAt, path, fmt.Sprintf("negative duration %v", d), "durations are zero or more, or INFINITE")
		return 0, false
	}
	return d, true
}

func isInfinite(text string) bool { return text == "DURATION_INFINITY" || text == "DURATION_INFINITE" }

// durationPart gives infinitePart for what means infinite.
func (r valueReader) durationPart(n *node, path string, part durationPart) (int64, bool) {
	text, ok := r.content(n, path)
	if !ok {
		return 0, false
	}
	switch r.literal(text) {
	case "DURATION_INFINITY", "DURATION_INFINITE", part.infinite:
		return infinitePart, true
	case part.zero:
		return 0, true
	}
	v, err := parseNumber(text)
	switch {
	case err == nil && (v == infinitePart || v == infiniteNanosec && part == nanosecPart):
		return infinitePart, true
	case err == nil && v < 0:
		r.fail(n.TextAt, path, fmt.Sprintf("negative duration %d", v), "durations are zero or more, or DURATION_INFINITY")
		return 0, false
	case err == nil && v > part.most, errors.Is(err, errRange):
		r.fail(n.TextAt, path, fmt.Sprintf("%s is above %d, the most that <%s> may be", quote(text), part.most, part.name),
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
	r.fail(n.At, path, fmt.Sprintf("<%s> appears twice, first at %v", n.Spelled(), first), "keep one of them")
}

// list reads the <element>s below n.
func (r valueReader) list(n *node, path string) []*node {
	r.elements(n, path)
	var out []*node
	for _, c := range n.Children {
		if c.Name != "element" {
			r.fail(c.At, path+"/"+c.Name, fmt.Sprintf("unknown element <%s>", c.Name), didYouMean(c.Name, []string{"element"}))
			continue
		}
		out = append(out, c)
	}
	return out
}

// octets reads <value>: nothing, a list of bytes, pairs of hexadecimal digits, or base64, in this order,
// because published schemas differ. What reads in two ways is warned of.
func (r valueReader) octets(n *node, path string) ([]byte, bool) {
	text, ok := "", true
	if r.dialect == dialectYAML && len(n.Children) > 0 { // a list of bytes
		var items []string
		for _, e := range r.list(n, path) {
			item, itemOK := r.content(e, path+"/element")
			items, ok = append(items, item), ok && itemOK
		}
		text = strings.Join(items, ",")
	} else {
		text, ok = r.content(n, path)
	}
	if !ok || text == "" {
		return nil, ok
	}
	bare := strings.Join(strings.Fields(text), "")
	pairs, pairsErr := hex.DecodeString(bare)
	b64, b64Err := base64.StdEncoding.DecodeString(bare)
	list, listErr := octetList(text)
	if r.dialect == dialectFastDDS && !strings.Contains(text, ",") {
		return r.dottedOctets(n, path, text)
	}
	if digits, ok := strings.CutPrefix(text, "0x"); ok && r.dialect == dialectYAML && len(digits)%2 == 0 {
		if b, err := hex.DecodeString(digits); err == nil {
			return b, true // as String prints it
		}
	}
	const ambiguous = "a list with commas is never ambiguous, and neither is <valueB64>"
	switch {
	case listErr == nil:
		if pairsErr == nil && !strings.Contains(text, ",") {
			r.warn(n.TextAt, path, fmt.Sprintf("%s is read as one decimal byte, but could be hexadecimal", quote(text)), ambiguous)
		}
		return list, true
	case strings.ContainsAny(text, ",") || strings.HasPrefix(strings.ToLower(text), "0x"):
		r.fail(n.TextAt, path, listErr.Error(), "bytes are 0 to 255, decimal or 0x, with commas between them")
		return nil, false
	case pairsErr == nil:
		if b64Err == nil {
			r.warn(n.TextAt, path, fmt.Sprintf("%s is read as hexadecimal, but could be base64", quote(text)), ambiguous)
		}
		return pairs, true
	case b64Err == nil:
		return b64, true
	}
	r.fail(n.TextAt, path, quote(text)+" is no sequence of octets",
		"write bytes with commas between them (84, 0x71), pairs of hexadecimal digits, or base64 in <valueB64>")
	return nil, false
}

// dottedOctets reads bytes in hexadecimal with dots between them, as Fast DDS writes them.
func (r valueReader) dottedOctets(n *node, path, text string) ([]byte, bool) {
	var out []byte
	for item := range strings.SplitSeq(text, ".") {
		v, err := strconv.ParseUint(strings.TrimSpace(item), 16, 8)
		if err != nil {
			r.fail(n.TextAt, path, quote(item)+" is not a byte", "between dots, bytes are hexadecimal: 3.a.ff")
			return nil, false
		}
		out = append(out, byte(v))
	}
	return out, true
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
		r.fail(n.TextAt, path, quote(text)+" is not base64", "pad it with = to a multiple of four")
		return nil, false
	}
	return out, true
}
