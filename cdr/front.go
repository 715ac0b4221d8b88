package cdr

import (
	"math"
	"slices"
)

// The members of fixed size at the front of a struct have known offsets, so a view reads them through one pointer to an
// array of bytes: a comparison with nil and a load. Nearly every sample has them as they must lie for that, as in
// little-endian XCDR2 from a start that is aligned to four. Those of another one, or of one that ends among them, are
// found and converted each time that they are read: for that the view needs no memory.

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
	// far are the offsets in XCDR1 and XCDR2 from a start that is so many bytes behind a multiple of eight; nil where
	// no front starts.
	far [2][8][]int
}

// FrontOf completes the description.
func FrontOf(parts ...Part) *Front {
	f := &Front{parts: parts, first: min(parts[0].Width, 8), align: [2]int{1, 1}}
	for v, most := range alignments {
		for _, p := range parts {
			f.align[v] = max(f.align[v], min(p.Width, most))
		}
		for start := 0; start < 8; start += min(f.first, most) {
			f.far[v][start] = offsetsFrom(start, most, parts)
		}
	}
	f.at = f.far[1][0]
	f.same = slices.Equal(f.at, f.far[0][0])
	last := len(parts) - 1
	f.size = f.at[last] + parts[last].Width*parts[last].Count
	return f
}

// alignments are the largest ones of XCDR1 and XCDR2.
var alignments = [2]int{8, 4}

// offsetsFrom gives the offsets of parts from a start that is so many bytes behind a multiple of eight.
func offsetsFrom(start, most int, parts []Part) []int {
	at := make([]int, len(parts))
	end := start
	for i, p := range parts {
		end = AlignUp(end, min(p.Width, most))
		at[i] = end - start
		end += p.Width * p.Count
	}
	return at
}

// Front passes over the front of a value and gives its bytes. Nil means that they do not lie as views read them, are
// fewer, or none: FarFront is next.
func (d *Decoder) Front(t *TypeInfo) []byte {
	f := t.Front
	start := d.pos + (d.origin-d.pos)&(f.first-1)&d.mask
	end := start + f.size
	if !f.lies(start-d.origin, d.big, d.v2) || end > d.end {
		return nil
	}
	d.pos = end
	return d.buf[start:end:end]
}

// lies tells whether a front that begins so far from the origin of alignment lies as views read it. Single bytes have no order.
func (f *Front) lies(start int, big, v2 bool) bool {
	return (!big || f.align[0] == 1) && (v2 || f.same) && start&(f.align[version(v2)]-1) == 0
}

// Placement tells how a front lies that views do not read through a pointer; 0 if they do.
type Placement uint32

const (
	placementStart Placement = 7 // so many bytes behind a multiple of eight it starts
	placementBig   Placement = 8
	placementV2    Placement = 16
	placementFar   Placement = 32 // of every one that is not 0
)

func placementOf(start int, big, v2 bool) Placement {
	p := placementFar | Placement(start)&placementStart
	if big {
		p |= placementBig
	}
	if v2 {
		p |= placementV2
	}
	return p
}

func (p Placement) big() bool    { return p&placementBig != 0 }
func (p Placement) v2() bool     { return p&placementV2 != 0 }
func (p Placement) version() int { return version(p.v2()) }

// behind is the placement of what starts n bytes behind.
func (p Placement) behind(n int) Placement {
	return p&^placementStart | (p+Placement(n))&placementStart
}

// FarFront reads a front that lies otherwise than views read it through a pointer, or of which only some members are
// there. The zero value has none. Two words for the bytes and one for the rest: with the pointer, a view is no larger
// than what is kept in registers.
type FarFront struct {
	bytes string // those of the members that are there; they alias the sample
	how   Placement
}

// FarFront passes over a front for which Front gave nil, and checks it.
func (d *Decoder) FarFront(t *TypeInfo) FarFront {
	if d.err != nil || d.Absent() {
		return FarFront{}
	}
	f := t.Front
	start := d.pos + (d.origin-d.pos)&(f.first-1)&d.mask
	open := d.open
	for _, p := range f.parts {
		if d.open = open && !p.Inner; d.Absent() {
			break
		}
		if d.take(p.Name, p.Width, p.Width*p.Count) == nil {
			return FarFront{}
		}
	}
	d.open = open
	return FarFront{aliasString(d.buf[start:d.pos]), placementOf(start-d.origin, d.big, d.v2)}
}

// offset is where part i is, if it is there.
func (r FarFront) offset(t *TypeInfo, i int) int {
	return t.Front.far[r.how.version()][r.how&placementStart][i]
}

// Uint64 reads part i, the bits of one number.
func (r FarFront) Uint64(t *TypeInfo, i int) uint64 {
	p := &t.Front.parts[i]
	at := r.offset(t, i)
	if at+p.Width > len(r.bytes) {
		return p.Default
	}
	var u uint64
	if b := r.bytes[at : at+p.Width]; r.how.big() {
		for k := range len(b) {
			u = u<<8 | uint64(b[k])
		}
	} else {
		for k := range len(b) {
			u |= uint64(b[k]) << (8 * k)
		}
	}
	return u
}

// Float32 reads part i, a float.
func (r FarFront) Float32(t *TypeInfo, i int) float32 {
	return math.Float32frombits(uint32(r.Uint64(t, i)))
}

// Float64 reads part i, a double.
func (r FarFront) Float64(t *TypeInfo, i int) float64 { return math.Float64frombits(r.Uint64(t, i)) }

// Sample makes the bytes readable at offsets that At gives.
func (r FarFront) Sample() Sample { return Sample{bytesAliased(r.bytes), r.how.big(), r.how.v2()} }

// At is the offset of part i, Missing if the sample does not have it.
func (r FarFront) At(t *TypeInfo, i int) int32 {
	if at := r.offset(t, i); at < len(r.bytes) {
		return int32(at)
	}
	return Missing
}

// Inner gives the front of a nested struct whose first part is part i.
func (r FarFront) Inner(t *TypeInfo, i int) FarFront {
	at := r.offset(t, i)
	if at >= len(r.bytes) {
		return FarFront{}
	}
	return FarFront{r.bytes[at:], r.how.behind(at)}
}

// FrontSample makes the bytes of a front readable at their offsets.
func FrontSample(front []byte) Sample { return Sample{body: front, v2: true} }

// Fronts gives the elements of type t of the sequence at an offset, each a front: n that are Layout.Stride of XCDR2
// apart, or none, and how the elements in b lie instead. The first most of them, or all if that is 0.
func (s Sample) Fronts(at int32, most int, t *TypeInfo) (b []byte, n uint32, how Placement) {
	c := s.Elements(at, t.Layout)
	if most > 0 {
		c = c.First(most)
	}
	return c.fronts(t)
}

// ArrayFronts is Fronts for the array at an offset.
func (s Sample) ArrayFronts(at int32, n int, t *TypeInfo) ([]byte, uint32, Placement) {
	return s.ArrayElements(at, n, t.Layout).fronts(t)
}

func (c Elements) fronts(t *TypeInfo) (b []byte, n uint32, how Placement) {
	f := t.Front
	start, origin := split(c.first)
	v := version(c.s.v2)
	stride, size := t.Layout.Stride[v], t.Layout.Size[v]
	end := start + (c.n-1)*stride + size
	if c.n == 0 || end > len(c.s.body) {
		return nil, 0, 0
	}
	b = c.s.body[start:end]
	if f.lies(start-origin, c.s.big, c.s.v2) && stride == t.Layout.Stride[1] {
		return b, uint32(c.n), 0
	}
	return b, 0, placementOf(start-origin, c.s.big, c.s.v2)
}

// FarLen is the number of elements of type t that lie as Fronts has told.
func FarLen(b []byte, how Placement, t *TypeInfo) int {
	v := how.version()
	stride := t.Layout.Stride[v]
	return (len(b) - t.Layout.Size[v] + stride) / stride
}

// FarElement gives element i of those that lie as Fronts has told, the zero value if there is none.
func FarElement(b []byte, how Placement, t *TypeInfo, i int) FarFront {
	if how == 0 || i < 0 || i >= FarLen(b, how, t) {
		return FarFront{}
	}
	v := how.version()
	at := i * t.Layout.Stride[v]
	return FarFront{aliasString(b[at : at+t.Layout.Size[v]]), how.behind(at)}
}
