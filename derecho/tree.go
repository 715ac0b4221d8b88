package derecho

import "iter"

// tree maps keys to values, in the order of the keys. It is a value: what is changed is another tree, which shares with
// the one before all but the way from its root to what changed. So an epoch that differs from the one before in one
// endpoint costs the same, but for a logarithm, however many channels its subgroup has.
//
// It is a treap: ordered by key from left to right, and by rank from the root down. The rank follows from the key
// alone, so trees that hold the same have the same shape, however they came to be, and two that share much are compared
// in the time of what they do not share.
type tree[K treeKey, V comparable] struct{ root *treeNode[K, V] }

type treeKey interface{ ~uint32 | ~uint64 }

// treeNode is constant.
type treeNode[K treeKey, V comparable] struct {
	key         K
	value       V
	left, right *treeNode[K, V]
}

// rank is as good as random, and another one for each key: every step can be undone (the finalizer of MurmurHash3).
func rank[K treeKey](k K) uint64 {
	x := uint64(k) + 0x9e3779b97f4a7c15
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func (t tree[K, V]) empty() bool { return t.root == nil }

func (t tree[K, V]) get(k K) (v V, ok bool) {
	for n := t.root; n != nil; {
		switch {
		case k == n.key:
			return n.value, true
		case k < n.key:
			n = n.left
		default:
			n = n.right
		}
	}
	return v, false
}

func (t tree[K, V]) has(k K) bool {
	_, has := t.get(k)
	return has
}

// all goes through the keys, ascending.
func (t tree[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.root.each(yield) }
}

func (n *treeNode[K, V]) each(yield func(K, V) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.key, n.value) && n.right.each(yield)
}

// with is the tree with a key added, or with another value.
func (t tree[K, V]) with(k K, v V) tree[K, V] { return tree[K, V]{t.root.with(k, v)} }

func (n *treeNode[K, V]) with(k K, v V) *treeNode[K, V] {
	switch {
	case n == nil:
		return &treeNode[K, V]{key: k, value: v}
	case k == n.key && v == n.value:
		return n
	case k == n.key:
		return &treeNode[K, V]{k, v, n.left, n.right}
	case rank(k) > rank(n.key): // it is not below: its rank is less there
		left, right := n.split(k)
		return &treeNode[K, V]{k, v, left, right}
	case k < n.key:
		return n.over(n.left.with(k, v), n.right)
	default:
		return n.over(n.left, n.right.with(k, v))
	}
}

// without is the tree without a key.
func (t tree[K, V]) without(k K) tree[K, V] { return tree[K, V]{t.root.without(k)} }

func (n *treeNode[K, V]) without(k K) *treeNode[K, V] {
	switch {
	case n == nil:
		return nil
	case k == n.key:
		return merged(n.left, n.right)
	case k < n.key:
		return n.over(n.left.without(k), n.right)
	default:
		return n.over(n.left, n.right.without(k))
	}
}

// over is the node with other nodes below it.
func (n *treeNode[K, V]) over(left, right *treeNode[K, V]) *treeNode[K, V] {
	if left == n.left && right == n.right {
		return n
	}
	return &treeNode[K, V]{n.key, n.value, left, right}
}

// split gives what is below a key and what is above it.
func (n *treeNode[K, V]) split(k K) (below, above *treeNode[K, V]) {
	switch {
	case n == nil:
		return nil, nil
	case n.key < k:
		below, above = n.right.split(k)
		return n.over(n.left, below), above
	case n.key > k:
		below, above = n.left.split(k)
		return below, n.over(above, n.right)
	default:
		return n.left, n.right
	}
}

// merged is both: all keys of a are below those of b.
func merged[K treeKey, V comparable](a, b *treeNode[K, V]) *treeNode[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case rank(a.key) > rank(b.key):
		return a.over(a.left, merged(a.right, b))
	default:
		return b.over(merged(a, b.left), b.right)
	}
}

// same: both hold the same.
func (t tree[K, V]) same(o tree[K, V]) bool { return t.root.same(o.root) }

func (n *treeNode[K, V]) same(o *treeNode[K, V]) bool {
	if n == o || n == nil || o == nil {
		return n == o
	}
	return n.key == o.key && n.value == o.value && n.left.same(o.left) && n.right.same(o.right)
}

// since lists, ascending, the keys that are not in the tree before, or had another value there.
func (t tree[K, V]) since(before tree[K, V]) (keys []K) {
	t.root.since(before.root, func(k K) { keys = append(keys, k) })
	return keys
}

func (n *treeNode[K, V]) since(before *treeNode[K, V], f func(K)) {
	if n == before || n == nil {
		return
	}
	below, above := before.split(n.key)
	n.left.since(below, f)
	if v, had := (tree[K, V]{before}).get(n.key); !had || v != n.value {
		f(n.key)
	}
	n.right.since(above, f)
}
