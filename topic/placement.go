package topic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Placement maps topics onto subgroups. All processes of a domain use the same.
type Placement struct {
	Subgroups int // per delivery path, at least 1
}

// Index is the topic's place among the subgroups of a path: the one with the highest hash of (topic, subgroup).
func (p Placement) Index(topicName string) int {
	topicHash := ChannelOf(topicName)
	best, bestScore := 0, uint64(0)
	for i := range p.Subgroups {
		if s := mix(topicHash ^ mix(uint64(i)+1)); s > bestScore {
			best, bestScore = i, s
		}
	}
	return best
}

// Subgroup is the number of the subgroup that carries the topic on a path; zero is never used.
func (p Placement) Subgroup(path Path, topicName string) uint32 {
	return 1 + uint32(path)*uint32(p.Subgroups) + uint32(p.Index(topicName))
}

// PathOf is the inverse of Subgroup in its first argument; false for a number that no path has.
func (p Placement) PathOf(subgroup uint32) (Path, bool) {
	if subgroup == 0 || p.Subgroups < 1 {
		return 0, false
	}
	i := (subgroup - 1) / uint32(p.Subgroups)
	return Path(i), i < Paths
}

// mix is the finalizer of splitmix64: every bit of the result depends on every bit of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ChannelOf is the 64-bit name of a topic inside its subgroup: the first 8 bytes of the name's SHA-256, little
// endian, and never zero.
func ChannelOf(topicName string) uint64 {
	sum := sha256.Sum256([]byte(topicName))
	if ch := binary.LittleEndian.Uint64(sum[:]); ch != 0 {
		return ch
	}
	return 1
}

// Names finds topics whose names hash to one channel. One goroutine uses it at a time.
type Names struct {
	byChannel map[uint64]string
	channelOf func(string) uint64
}

// Add notes a topic that exists in the domain, and fails if another one has its channel.
func (n *Names) Add(topicName string) error {
	hash := n.channelOf
	if hash == nil {
		hash = ChannelOf
	}
	ch := hash(topicName)
	if other, ok := n.byChannel[ch]; ok && other != topicName {
		return fmt.Errorf("topics %q and %q share the channel %016x: rename one of them", other, topicName, ch)
	}
	if n.byChannel == nil {
		n.byChannel = make(map[uint64]string)
	}
	n.byChannel[ch] = topicName
	return nil
}
