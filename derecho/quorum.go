package derecho

import (
	"math/bits"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// set is a set of members of an epoch, by position.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func fullSet(n int) set {
	s := newSet(n)
	for i := range n {
		s.add(i)
	}
	return s
}

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) drop(i int)     { s[i/64] &^= 1 << (i % 64) }

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// without is the members of s that are not in any of the others.
func (s set) without(others ...set) set {
	r := append(set(nil), s...)
	for _, o := range others {
		for i := range r {
			r[i] &^= o[i]
		}
	}
	return r
}

// quorum reports whether the members in alive may decide for a view whose members have these weights.
//
// They need a strict majority of the weights, so that any two quorums share a member. Two kinds of
// members are known to be gone, because the kernel of their host, which is this node's, has certified
// their death (docs/adr/0011):
//
//   - dead are those whose rows the proposer reads, too. They are discounted. Two quorums Q1 and Q2
//     that discount different dead D1 and D2 still meet: w(Q1 ∪ D1) + w(Q2 ∪ D2) > w(all), and what
//     members of D promised and accepted was read as if they had answered.
//   - killed are those and the ones whose rows nobody has opened yet. They break a tie: half of the
//     weights is enough if one of the other half is among them. Two halves do not share a member, so this
//     has to hold of all pairs of those who promise and those who accept. Say k1 of the second half breaks
//     the tie for the first, k2 of the first for the second. k2 accepts, or promises, a ballot that began
//     after the death of k1, and k1 one that began after the death of k2: each would have outlived the
//     other. That is why a ballot begins anew when such a death is certified (lead): with the promises of
//     before, of one that died since, a half would go on beside another that had decided.
func quorum(weights []int, alive, dead, killed set) bool {
	all, have, tie := 0, 0, false
	for i, w := range weights {
		switch {
		case dead.has(i) && !mutant.Is("dead-agree"):
		case alive.has(i) || dead.has(i):
			all, have = all+w, have+w
			if mutant.Is("witness-twice") && w == witnessWeight {
				have += w
			}
		default:
			all += w
			tie = tie || killed.has(i)
		}
	}
	return 2*have > all || 2*have == all && (tie || mutant.Is("tie-always")) || mutant.Is("no-quorum")
}

// The weights of a member, and of the witness.
const weight, witnessWeight = 2, 3

// weights gives each member of a view the same weight, and the witness, if the configuration names one
// and it is a member, half of one more: it decides when the rest is split into halves.
func weights(names []string, witness string) []int {
	w := make([]int, len(names))
	named := witness == ""
	for i, name := range names {
		w[i] = weight
		if !named && name == witness {
			w[i], named = witnessWeight, true
		}
	}
	return w
}
