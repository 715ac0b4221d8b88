package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host falls silent for good, as one that loses its power: no link to it ends, and it answers nothing. Whoever looks
// for a group, and those that are in one with it, go on.

// darken has the host of a process fall silent for good. No other is there.
func (c *camps) darken(p *process) {
	c.apart(p.host, true)
	p.f.Pause(true)
	c.dark[p] = true
}

// apart lets nothing pass between a host and all others, or lets it pass again.
func (c *camps) apart(host uint64, on bool) {
	for h := uint64(1); h <= 20; h++ {
		if h != host {
			c.r.w.Wall(host, h, on)
			c.r.w.Wall(h, host, on)
		}
	}
}

// goOn requires that all that are left are in one group that can go on, and tells its number.
func (c *camps) goOn(t testing.TB) (group uint64) {
	t.Helper()
	c.let(100 * c.r.plan.Lease)
	c.tell()
	for _, p := range c.all {
		if p.gone || c.dark[p] {
			continue
		}
		s := p.d.State()
		if group == 0 {
			group = s.Group
		}
		require.True(t, p.joined && !p.isolated && s.Group == group, "seed %d: %s, 100 leases later\n%s", c.r.plan.Seed, c.of[p], c.out.String())
	}
	return group
}

// One process waits for what is left of a group, which can let nobody in, when that falls silent, too. It does not wait
// any longer, and those that start later do not wait for it.
func TestWaitsForARemnantThatFallsSilent(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		c := newCamps(t, seed)
		group := c.camp("a", 2)
		group[1].crash("for good")
		c.let(time.Second)
		x := c.add("x", 10)
		c.let(time.Second)
		require.True(t, x.waits)
		c.darken(group[0])
		c.let(time.Second)
		c.add("y", 11)
		c.add("z", 12)
		c.goOn(t)
	}
}

// The only member falls silent just as it is to let another one in. Those that start later never hear it.
func TestFounderFallsSilentAsItLetsIn(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		runs := 0
		for seed := uint64(1); seed <= 30; seed++ {
			c := newCamps(t, seed)
			a := c.add("a", 1)
			c.let(time.Second)
			if leaves {
				c.r.w.After(c.r.w.Between(0, time.Millisecond), a.leave)
			}
			x := c.add("x", 2)
			c.r.w.After(c.r.w.Between(0, 1500*time.Microsecond), func() { c.darken(a) })
			c.let(time.Second)
			c.add("y", 3)
			c.add("z", 4)
			c.let(time.Second)
			if x.joined && x.d.State().Group == a.d.State().Group {
				continue // one of two members is lost: the other waits, as documented
			}
			runs++
			c.goOn(t)
		}
		require.Positive(t, runs, "leaves %t", leaves)
	}
}

// Whom a process has asked falls silent as it lets it in. The others have it as a member, and need it for a majority:
// they welcome it.
func TestSponsorFallsSilent(t *testing.T) {
	for _, members := range []int{3, 4} {
		for seed := uint64(1); seed <= 40; seed++ {
			c := newCamps(t, seed)
			group := c.camp("a", members)
			sponsor := group[0]
			for _, p := range group {
				if p.id < sponsor.id {
					sponsor = p
				}
			}
			c.add("x", members+1)
			c.r.w.After(c.r.w.Between(0, 2*time.Millisecond), func() { c.darken(sponsor) })
			c.goOn(t)
		}
	}
}

// Who is let into a group, and refused by it before it hears so, founds another, or waits for what is left of one. When
// the ways are open again nobody waits for a member that never was one.
func TestLetInElsewhere(t *testing.T) {
	for _, newcomers := range []int{1, 2} {
		for _, remnant := range []bool{false, true} {
			t.Run(fmt.Sprint(newcomers, remnant), func(t *testing.T) {
				for seed := uint64(1); seed <= 15; seed++ {
					c := newCamps(t, seed)
					c.r.w.Rejects = true
					var rest []*process
					if remnant {
						rest = c.camp("b", 3)
						for _, p := range rest[1:] {
							p.crash("for good")
						}
						c.let(2 * time.Second)
						rest = rest[:1]
					}
					a := c.add("a", 9, rest...)
					c.let(time.Second)
					require.True(t, a.joined)
					c.r.when(a, executes, 1, func() { c.r.w.After(0, func() { c.apart(a.host, true) }) })
					for i := range newcomers {
						c.add(fmt.Sprintf("x%d", i+1), 10+i)
					}
					c.let(30 * c.r.plan.Lease)
					c.apart(a.host, false)
					c.let(100 * c.r.plan.Lease)
					for _, p := range c.all {
						if !p.gone && (len(rest) == 0 || p != rest[0]) {
							require.True(t, p.joined && !p.isolated, "seed %d: %s\n%s", seed, c.of[p], p.d.Describe())
						}
					}
				}
			})
		}
	}
}

// A group does not go over to a member of a larger one that has just lost the others, and does not know it yet.
func TestGroupMeetsFreshRemnant(t *testing.T) { meetsFreshRemnant(t) }

func meetsFreshRemnant(t testing.TB) {
	for _, moved := range []bool{false, true} {
		for late := range time.Duration(4) {
			for seed := uint64(1); seed <= 5; seed++ {
				c := newCamps(t, seed)
				one := c.camp("a", 5)
				two := c.camp("b", 4, one...)
				group := two[0].d.State().Group
				for _, q := range one[1:] {
					if moved {
						c.apart(q.host, true)
					} else {
						q.crash("for good")
					}
				}
				c.let(late * c.r.plan.Lease)
				c.r.partOf(one[0], two, false)
				c.let(100 * c.r.plan.Lease)
				for _, p := range two {
					require.True(t, p.joined && !p.isolated, "moved %t, %d leases later, seed %d: %s", moved, late, seed, c.of[p])
					require.Equal(t, group, p.d.State().Group)
				}
			}
		}
	}
}

// A process has gone over from a view that another member has not heard of, and of the members of that one it hears
// nobody else. It follows.
func TestBehindWhoHasGoneOver(t *testing.T) { behindWhoHasGoneOver(t) }

func behindWhoHasGoneOver(t testing.TB) {
	runs := 0
	for seed := uint64(1); seed <= 20; seed++ {
		c := newCamps(t, seed)
		other := c.camp("b", 4)
		first := c.add("a1", 11, other...)
		c.let(time.Second)
		behind := c.add("a3", 13, other...)
		c.let(time.Second)
		c.r.when(first, installsView, 1, func() { // that with a2
			c.r.w.Wall(11, 13, true)
			c.r.w.Wall(13, 11, true)
		})
		c.r.w.Wall(12, 13, true)
		c.r.w.Wall(13, 12, true)
		second := c.add("a2", 12, other...)
		for range 100 {
			if !second.joined {
				c.let(100 * time.Microsecond)
			}
		}
		c.darken(first)
		c.r.partOf(second, other, false)
		c.let(20 * c.r.plan.Lease)
		if second.d.State().Group != other[0].d.State().Group || behind.d.State().View != 2 {
			continue
		}
		runs++
		for _, p := range other {
			p.leave()
		}
		c.let(20 * c.r.plan.Lease)
		c.r.w.Wall(12, 13, false)
		c.r.w.Wall(13, 12, false)
		c.goOn(t)
	}
	require.Positive(t, runs)
}
