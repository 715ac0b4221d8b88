package qos

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxXMLBytes = 1 << 20
	maxXMLDepth = 32
)

// node is an element with its positions.
type node struct {
	name     string
	at       place // of its '<'
	attrs    []attribute
	children []*node
	text     []byte // its own text without leading blanks
	textAt   place  // where that begins; at, if there is none
}

type attribute struct {
	name, value string
	at          place // of its name
	foreign     bool  // xmlns, xsi:*, xml:*: not ours to judge
}

func (n *node) attr(name string) (attribute, bool) {
	for _, a := range n.attrs {
		if a.name == name && !a.foreign {
			return a, true
		}
	}
	return attribute{}, false
}

// treeParser builds the tree. It keeps the whole file, because encoding/xml knows where an element ends but
// not where its attributes stand.
type treeParser struct {
	file  string
	data  []byte
	lines []int // offset at which each line starts
	dec   *xml.Decoder
}

// parseTree reads one document. What is not well formed, too large or too deep ends it with one error; the
// tree is then nil or incomplete.
func parseTree(file string, r io.Reader, rep *report) (root *node, complete bool) {
	data, err := io.ReadAll(io.LimitReader(r, maxXMLBytes+1))
	start := place{file, 1, 1}
	if err != nil {
		rep.add(&XMLError{File: file, Line: 1, Col: 1, What: err.Error(), err: err})
		return nil, false
	}
	if len(data) > maxXMLBytes {
		rep.fail(start, "", fmt.Sprintf("the file is larger than %d bytes", maxXMLBytes), "split it; later files may refer to earlier ones")
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &treeParser{file: file, data: data, lines: []int{0}, dec: xml.NewDecoder(bytes.NewReader(data))}
	for i, b := range data {
		if b == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	p.dec.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return in, nil
		}
		return nil, fmt.Errorf("encoding %q is not UTF-8", charset)
	}
	return p.parse(rep)
}

func (p *treeParser) parse(rep *report) (root *node, complete bool) {
	var open []*node
	for {
		offset := int(p.dec.InputOffset())
		token, err := p.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			// By offset: InputPos is off by a line where the decoder has put a newline back.
			at := p.at(min(int(p.dec.InputOffset()), len(p.data)))
			what := err.Error()
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				what = syntax.Msg
			}
			rep.fail(at, "", "not well-formed XML: "+what, "nothing after this place was checked")
			return root, false
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := p.element(token, offset)
			switch {
			case len(open) >= maxXMLDepth:
				rep.fail(n.at, "", fmt.Sprintf("elements nest deeper than %d", maxXMLDepth), "")
				return root, false
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.children = append(parent.children, n)
			case root == nil:
				root = n
			default:
				rep.fail(n.at, "", fmt.Sprintf("second root element <%s>", n.name), "put all into one <dds>")
				return root, false
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				p.addText(open[len(open)-1], token, offset)
			}
		}
	}
	if root == nil {
		rep.fail(place{p.file, 1, 1}, "", "no XML element in the file", "a QoS file starts with <dds>")
		return nil, false
	}
	return root, true
}

// at gives the place of an offset. Lines are found by bisection: a document may be one of very many.
func (p *treeParser) at(offset int) place {
	lo, hi := 0, len(p.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; p.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return place{p.file, lo + 1, offset - p.lines[lo] + 1}
}

func (p *treeParser) element(token xml.StartElement, offset int) *node {
	at := p.at(offset)
	n := &node{name: token.Name.Local, at: at, textAt: at}
	starts := attributeOffsets(p.data[offset:min(int(p.dec.InputOffset()), len(p.data))])
	for i, a := range token.Attr {
		attrAt := at
		if i < len(starts) {
			attrAt = p.at(offset + starts[i])
		}
		n.attrs = append(n.attrs, attribute{
			name: a.Name.Local, value: strings.TrimSpace(a.Value), at: attrAt,
			foreign: a.Name.Space != "" || a.Name.Local == "xmlns",
		})
	}
	return n
}

// attributeOffsets finds where the attributes of a well-formed start tag begin.
func attributeOffsets(tag []byte) []int {
	const space = " \t\r\n"
	var out []int
	i := bytes.IndexAny(tag, space)
	for i >= 0 && i < len(tag) {
		skip := len(tag[i:]) - len(bytes.TrimLeft(tag[i:], space))
		i += skip
		equals := bytes.IndexByte(tag[i:], '=')
		if equals < 0 {
			break
		}
		out = append(out, i)
		i += equals + 1
		quote := bytes.IndexAny(tag[i:], `"'`)
		if quote < 0 {
			break
		}
		i += quote
		end := bytes.IndexByte(tag[i+1:], tag[i])
		if end < 0 {
			break
		}
		i += 1 + end + 1
	}
	return out
}

// addText appends text; a comment or CDATA section may have split it.
func (p *treeParser) addText(n *node, data xml.CharData, offset int) {
	const space = " \t\r\n"
	if len(n.text) == 0 {
		data = bytes.TrimLeft(data, space)
		if len(data) == 0 {
			return
		}
		raw := p.data[offset:min(int(p.dec.InputOffset()), len(p.data))]
		raw = bytes.TrimPrefix(raw, []byte("<![CDATA["))
		end := min(int(p.dec.InputOffset()), len(p.data))
		n.textAt = p.at(end - len(bytes.TrimLeft(raw, space)))
	}
	n.text = append(n.text, data...)
}

// trimmed is the text without the blanks around it.
func (n *node) trimmed() string { return string(bytes.TrimRight(n.text, " \t\r\n")) }
