package topic

import (
	"fmt"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func TestPathOf(t *testing.T) {
	for _, c := range []struct {
		r    qos.ReliabilityKind
		d    qos.DurabilityKind
		want Path
		err  bool
	}{
		{qos.ReliabilityBestEffort, qos.DurabilityVolatile, Unordered, false},
		{qos.ReliabilityReliable, qos.DurabilityVolatile, Ordered, false},
		{qos.ReliabilityReliable, qos.DurabilityTransientLocal, Stored, false},
		{qos.ReliabilityReliable, qos.DurabilityTransient, Stored, false},
		{qos.ReliabilityReliable, qos.DurabilityPersistent, Logged, false},
		{qos.ReliabilityBestEffort, qos.DurabilityTransientLocal, 0, true},
	} {
		t.Run(fmt.Sprint(c.r, c.d), func(t *testing.T) {
			q := qos.DefaultDataWriter()
			q.Reliability.Kind, q.Durability.Kind = c.r, c.d
			got, err := PathOf(q)
			if c.err {
				require.ErrorContains(t, err, c.d.String())
				require.ErrorContains(t, err, c.r.String())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// A reader listens on exactly the paths of the writers that RxO lets it match.
func TestPathsForMeetRxO(t *testing.T) {
	reliabilities := []qos.ReliabilityKind{qos.ReliabilityBestEffort, qos.ReliabilityReliable}
	durabilities := []qos.DurabilityKind{qos.DurabilityVolatile, qos.DurabilityTransientLocal, qos.DurabilityTransient, qos.DurabilityPersistent}
	for _, rr := range reliabilities {
		for _, rd := range durabilities {
			r := qos.DefaultDataReader()
			r.Reliability.Kind, r.Durability.Kind = rr, rd
			listens := make(map[Path]bool)
			for _, p := range PathsFor(r) {
				listens[p] = true
			}
			for _, wr := range reliabilities {
				for _, wd := range durabilities {
					w := qos.DefaultDataWriter()
					w.Reliability.Kind, w.Durability.Kind = wr, wd
					path, err := PathOf(w)
					if err != nil || wr < rr || wd < rd {
						continue
					}
					require.True(t, listens[path], "reader %v %v, writer %v %v on %v", rr, rd, wr, wd, path)
				}
			}
		}
	}
}

// The hashes are part of the wire format: these figures must never change.
func TestPlacementIsFixed(t *testing.T) {
	require.Equal(t, uint64(0x048ba295f0011f05), ChannelOf("Track"))
	p := Placement{Subgroups: 8}
	require.Equal(t, 4, p.Index("Track"))
	require.Equal(t, uint32(1+2*8+4), p.Subgroup(Stored, "Track"))
}

func TestPlacementRoundTripsAndSpreads(t *testing.T) {
	p := Placement{Subgroups: 8}
	used := make(map[int]int)
	for i := range 800 {
		name := fmt.Sprintf("topic-%d", i)
		used[p.Index(name)]++
		for path := range Path(Paths) {
			got, ok := p.PathOf(p.Subgroup(path, name))
			require.True(t, ok)
			require.Equal(t, path, got)
		}
	}
	require.Len(t, used, 8)
	for i, n := range used {
		require.Greater(t, n, 50, "subgroup %d", i)
	}
	_, ok := p.PathOf(0)
	require.False(t, ok)
	_, ok = p.PathOf(1 + 4*8)
	require.False(t, ok)
}

func TestPlacementMovesFewTopics(t *testing.T) {
	moved := 0
	for i := range 1000 {
		name := fmt.Sprintf("topic-%d", i)
		before, after := Placement{8}.Index(name), Placement{9}.Index(name)
		if before != after {
			moved++
			require.Equal(t, 8, after, "a topic moves to the new subgroup only")
		}
	}
	require.InDelta(t, 111, moved, 40)
}

func TestNamesFindCollision(t *testing.T) {
	n := Names{channelOf: func(string) uint64 { return 7 }}
	require.NoError(t, n.Add("a"))
	require.NoError(t, n.Add("a"))
	require.ErrorContains(t, n.Add("b"), `topics "a" and "b" share the channel`)
}

func TestHandles(t *testing.T) {
	require.True(t, HandleNil.IsNil())
	require.Equal(t, "nil", HandleNil.String())
	zero := HandleOfKey(cdr.KeyHash{})
	require.False(t, zero.IsNil(), "a key of zero is an instance")
	require.Equal(t, "4840d6", HandleOfKey(cdr.KeyHash{0x48, 0x40, 0xd6}).String())
	require.NotEqual(t, HandleOfEntity(1, 2), HandleOfEntity(2, 1))
}
