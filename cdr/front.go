package cdr

import (
	"encoding/binary"
	"slices"
)

// The members of fixed size at the front of a struct have known offsets, so a view reads them through one pointer to an array of
// bytes: a comparison with nil and a load. For that the bytes are always little-endian XCDR2 from a start that is aligned to four.
// Nearly every sample has them so. The front of another one is brought into that form when the view is made, in memory of its own.

// Part is a member of a front: a number, or an array of numbers.
type Part struct {
	Name    string // with those of the structs around it, within the front
	Width   int    // bytes of a number, which it is aligned to; in XCDR2 at most to 4
	Count   int    // of numbers
	Default uint64 // which it reads as if a sample of an older version ends before it
	Inner   bool   // in a nested struct that has begun before it: no version ends there
}

// Front describes the members of fixed size at the front of a struct.
type Front struct {
	parts []Part
	at    []int  // their offsets
	size  int    // behind the last
	first int    // alignment of the first part, in XCDR1
	align [2]int // the largest alignment, in XCDR1 and XCDR2
	same  bool   // XCDR1 has the same offsets
}

// FrontOf completes the description.
func FrontOf(parts ...Part) *Front {
	f := &Front{parts: parts, first: min(parts[0].Width, 8), align: [2]int{1, 1}}
	var ends [2]int
	f.same = true
	for _, p := range parts {
		var at [2]int
		for v, most := range []int{8, 4} {
			a := min(p.Width, most)
			f.align[v] = max(f.align[v], a)
			at[v] = AlignUp(ends[v], a)
			ends[v] = at[v] + p.Width*p.Count
		}
		f.at = append(f.at, at[1])
		f.same = f.same && at[0] == at[1]
	}
	f.size = ends[1]
	return f
}

// Front passes over the front of a value and gives its bytes, nil if it is absent.
func (d *Decoder) Front(t *TypeInfo) []byte {
	f := t.Front
	start := d.pos + (d.origin-d.pos)&(f.first-1)&d.mask
	end := start + f.size
	if !f.lies(start-d.origin, d.big, d.v2) || end > d.end {
		return d.convertFront(f)
	}
	d.pos = end
	return d.buf[start:end:end]
}

// lies tells whether a front that begins so far from the origin of alignment lies as views read it. Single bytes have no order.
func (f *Front) lies(start int, big, v2 bool) bool {
	return (!big || f.align[0] == 1) && (v2 || f.same) && start&(f.align[version(v2)]-1) == 0
}

// convertFront passes over a front that lies otherwise, or is cut short, and gives its bytes as they should lie. Those of values within
// the one that a view is made of are only checked: however many there are, the view takes the memory of its own front.
func (d *Decoder) convertFront(f *Front) []byte {
	if d.err != nil || d.Absent() {
		return nil
	}
	var out []byte
	if d.depth == d.kept {
		out = make([]byte, f.size)
	}
	open := d.open
	gone := false
	for i, p := range f.parts {
		d.open = open && !p.Inner
		var src []byte
		if gone = gone || d.Absent(); !gone {
			if src = d.take(p.Name, p.Width, p.Width*p.Count); src == nil {
				return nil
			}
		}
		if out != nil {
			p.put(out[f.at[i]:], src, d.big)
		}
	}
	d.open = open
	return out
}

// put copies numbers into the order of a front; the default if src is nil.
func (p *Part) put(dst, src []byte, big bool) {
	if src == nil {
		var def [8]byte
		binary.LittleEndian.PutUint64(def[:], p.Default)
		copy(dst[:p.Width*p.Count], def[:])
		return
	}
	copy(dst, src)
	if big && p.Width > 1 {
		for number := range slices.Chunk(dst[:len(src)], p.Width) {
			slices.Reverse(number)
		}
	}
}

// Fronts gives the elements of type t of the sequence at an offset, each a front, Layout.Stride of XCDR2 apart.
func (s Sample) Fronts(at int32, t *TypeInfo) []byte { return s.Elements(at, t.Layout).fronts(t) }

// ArrayFronts is Fronts for the array at an offset.
func (s Sample) ArrayFronts(at int32, n int, t *TypeInfo) []byte {
	return s.ArrayElements(at, n, t.Layout).fronts(t)
}

func (c Elements) fronts(t *TypeInfo) []byte {
	n, f := c.n, t.Front
	start, origin := split(c.first)
	from, to := version(c.s.v2), version(true)
	stride, want := t.Layout.Stride[from], t.Layout.Stride[to]
	if n == 0 || start+(n-1)*stride+t.Layout.Size[from] > len(c.s.body) {
		return nil
	}
	if f.lies(start-origin, c.s.big, c.s.v2) && stride == want {
		return c.s.body[start : start+(n-1)*stride+f.size]
	}
	out := make([]byte, (n-1)*want+f.size)
	for i := range n {
		var d Decoder
		c.Seek(&d, i)
		copy(out[i*want:], d.Front(t))
	}
	return out
}

// FrontSample makes the bytes of a front readable at their offsets.
func FrontSample(front []byte) Sample { return Sample{body: front, v2: true} }
