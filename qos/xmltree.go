package qos

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/omg-dds-go/dds/qos/internal/tree"
)

const (
	maxXMLBytes = 1 << 20
	maxXMLDepth = 32
)

// node, attribute and place are those of the tree that all formats are read into.
type (
	node      = tree.Node
	attribute = tree.Attribute
	place     = tree.Place
)

// treeParser builds the tree. It keeps the whole file, because encoding/xml knows where an element ends but
// not where its attributes stand.
type treeParser struct {
	file  string
	data  []byte
	lines []int // offset at which each line starts
	dec   *xml.Decoder
}

// readDocument reads a whole file. A byte order mark is no part of it.
func readDocument(file string, r io.Reader, rep *report) ([]byte, bool) {
	data, err := io.ReadAll(io.LimitReader(r, maxXMLBytes+1))
	if err != nil {
		rep.add(&XMLError{File: file, Line: 1, Col: 1, What: err.Error(), err: err})
		return nil, false
	}
	if len(data) > maxXMLBytes {
		rep.fail(place{File: file, Line: 1, Col: 1}, "", fmt.Sprintf("the file is larger than %d bytes", maxXMLBytes),
			"split it; later files may refer to earlier ones")
		return nil, false
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), true
}

// parseXML reads one XML document. What is not well formed or too deep ends it with one error; the tree is then nil
// or incomplete.
func parseXML(file string, data []byte, rep *report) (root *node, complete bool) {
	data = toUTF8(data)
	p := &treeParser{file: file, data: data, lines: []int{0}, dec: xml.NewDecoder(bytes.NewReader(data))}
	for i, b := range data {
		if b == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	p.dec.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if readable(charset) {
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
				rep.fail(n.At, "", fmt.Sprintf("elements nest deeper than %d", maxXMLDepth), "")
				return root, false
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.Children = append(parent.Children, n)
			case root == nil:
				root = n
			default:
				rep.fail(n.At, "", fmt.Sprintf("second root element <%s>", n.Name), "put all into one <dds>")
				return root, false
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.Directive:
			if bytes.HasPrefix(bytes.TrimSpace(token), []byte("DOCTYPE")) {
				at := p.at(offset)
				if bytes.IndexByte(token, '[') >= 0 {
					rep.fail(at, "", "a document type with declarations of its own",
						"entities are not read; take the part in brackets out, ${NAME} inserts variables")
					return root, false
				}
				rep.warn(at, "", "<!DOCTYPE> has no effect", "files are checked without a DTD")
			}
		case xml.CharData:
			if len(open) > 0 {
				p.addText(open[len(open)-1], token, offset)
			}
		}
	}
	if root == nil {
		rep.fail(place{File: p.file, Line: 1, Col: 1}, "", "no XML element in the file", "a QoS file starts with <dds>")
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
	return place{File: p.file, Line: lo + 1, Col: offset - p.lines[lo] + 1}
}

func (p *treeParser) element(token xml.StartElement, offset int) *node {
	at := p.at(offset)
	n := &node{Name: token.Name.Local, Space: token.Name.Space, At: at, TextAt: at}
	starts := attributeOffsets(p.data[offset:min(int(p.dec.InputOffset()), len(p.data))])
	for i, a := range token.Attr {
		attrAt := at
		if i < len(starts) {
			attrAt = p.at(offset + starts[i])
		}
		n.Attrs = append(n.Attrs, attribute{
			Name: a.Name.Local, Value: strings.TrimSpace(a.Value), At: attrAt,
			Foreign: a.Name.Space != "" || a.Name.Local == "xmlns",
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
	if len(n.Text) == 0 {
		data = bytes.TrimLeft(data, space)
		if len(data) == 0 {
			return
		}
		raw := p.data[offset:min(int(p.dec.InputOffset()), len(p.data))]
		raw = bytes.TrimPrefix(raw, []byte("<![CDATA["))
		end := min(int(p.dec.InputOffset()), len(p.data))
		n.TextAt = p.at(end - len(bytes.TrimLeft(raw, space)))
	}
	n.Text = append(n.Text, data...)
}
