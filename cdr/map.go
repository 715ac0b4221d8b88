package cdr

import (
	"cmp"
	"slices"
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

// keyScratch keeps the memory that the keys of maps are sorted in. It survives the calls that an encoder is used for.
type keyScratch []any // of *[]K, for as many K as were met, nested maps having one each

// SortedKeys gives the keys of m in ascending order, so that equal maps are encoded alike. The slice is to be given back to
// ReleaseKeys.
func SortedKeys[K cmp.Ordered, V any](e *Encoder, m map[K]V) *[]K {
	var keys *[]K
	for i, x := range e.keys {
		if k, ok := x.(*[]K); ok {
			keys = k
			e.keys = slices.Delete(e.keys, i, i+1)
			break
		}
	}
	if keys == nil {
		keys = new([]K)
	}
	for k := range m {
		*keys = append(*keys, k)
	}
	slices.Sort(*keys)
	return keys
}

// ReleaseKeys takes the memory of SortedKeys back.
func ReleaseKeys[K cmp.Ordered](e *Encoder, keys *[]K) {
	clear(*keys) // keys may be strings: keep nothing of the message
	*keys = (*keys)[:0]
	e.keys = append(e.keys, keys)
}

// MakeMap gives an empty map for n pairs that d is about to read, m itself if there is one.
func MakeMap[K comparable, V any](d *Decoder, name string, m map[K]V, n int) map[K]V {
	if m != nil {
		clear(m)
	}
	if !d.allot(name, n, sizeOf[K]()+sizeOf[V]()+mapOverhead) {
		return m
	}
	if m == nil {
		m = make(map[K]V, n)
	}
	return m
}

// mapOverhead is about what a map takes for a pair besides key and value.
const mapOverhead = 2
