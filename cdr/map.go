package cdr

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// BeginMap starts a map of n pairs; bound 0 stands for none. Maps whose keys and values are primitive have no DHEADER
// (XTypes 1.3 §7.4.3.5).
func (e *Encoder) BeginMap(name string, n, bound int, primitive bool) Mark {
	return e.beginCollection("map", name, n, bound, primitive)
}

// BeginMap reads the length of a map; minSize is the smallest encoding of a pair. See BeginSequence.
func (d *Decoder) BeginMap(name string, bound, minSize int, primitive bool) (n int, s Scope) {
	return d.beginCollection("map", name, bound, minSize, primitive)
}

// keyScratch keeps the memory that the keys of maps are sorted in.
type keyScratch []any // of *[]K, for as many K as were met, nested maps having one each

// scratches keeps it from one sample to the next.
var scratches = sync.Pool{New: func() any { return new(keyScratch) }}

// release gives back what the encoder has from a pool.
func (e *Encoder) release() {
	if e.keys != nil {
		scratches.Put(e.keys)
		e.keys = nil
	}
}

// SortedKeys gives the keys of m in ascending order, so that equal maps are encoded alike. The slice is to be given back to
// ReleaseKeys.
func SortedKeys[K cmp.Ordered, V any](e *Encoder, m map[K]V) *[]K {
	keys := takeKeys[K](e)
	for k := range m {
		*keys = append(*keys, k)
	}
	slices.Sort(*keys)
	return keys
}

func takeKeys[K comparable](e *Encoder) *[]K {
	if e.keys == nil {
		e.keys = scratches.Get().(*keyScratch)
	}
	for i, x := range *e.keys {
		if keys, ok := x.(*[]K); ok {
			*e.keys = slices.Delete(*e.keys, i, i+1)
			return keys
		}
	}
	return new([]K)
}

// ReleaseKeys takes the memory of SortedKeys back.
func ReleaseKeys[K comparable](e *Encoder, keys *[]K) {
	clear(*keys) // keys may be strings: keep nothing of the message
	*keys = (*keys)[:0]
	*e.keys = append(*e.keys, keys)
}

// MakeMap gives an empty map for n pairs that d is about to read, m itself if there is one.
func MakeMap[K comparable, V any](d *Decoder, name string, m map[K]V, n int) map[K]V {
	if m != nil {
		clear(m)
	}
	if !d.allot("map", name, n, sizeOf[K]()+sizeOf[V]()+mapOverhead) {
		return m
	}
	if m == nil {
		m = make(map[K]V, n)
	}
	return m
}

// mapOverhead is about what a map takes for a pair besides key and value.
const mapOverhead = 2

// SortedBools is SortedKeys for keys that are booleans: false comes first.
func SortedBools[V any](e *Encoder, m map[bool]V) *[]bool {
	keys := takeKeys[bool](e)
	for _, k := range []bool{false, true} {
		if _, ok := m[k]; ok {
			*keys = append(*keys, k)
		}
	}
	return keys
}

// LeaveKey is Leave for the pair with key k of a map.
func LeaveKey[K comparable](e *Encoder, name string, k K) {
	e.depth--
	if e.err != nil {
		e.err.within(fmt.Sprintf("%s[%v]", name, k))
	}
}

// LeaveKeyOf is Leave for the pair with key k of a map.
func LeaveKeyOf[K comparable](d *Decoder, name string, k K) {
	d.depth--
	if d.err != nil {
		d.err.within(fmt.Sprintf("%s[%v]", name, k))
	}
}
