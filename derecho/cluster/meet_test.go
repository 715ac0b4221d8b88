package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Groups that were founded apart meet.

// camps is a script with processes each on a host of its own, in sets that do not reach each other until apart is over.
type camps struct {
	*script
	all  []*process
	dark map[*process]bool // whose host has fallen silent for good
}

func newCamps(t testing.TB, seed uint64) *camps {
	c := &camps{script: newScriptOf(t, seed), dark: map[*process]bool{}}
	c.r.plan.Hosts = 20
	return c
}

// add starts a process that does not reach some others.
func (c *camps) add(name string, host int, barred ...*process) *process {
	p := c.r.start(uint64(host), c.r.newDisk())
	c.names[name], c.of[p] = p, name
	for _, q := range barred {
		c.r.bar(p, true, q)
		c.r.bar(q, true, p)
	}
	c.all = append(c.all, p)
	return p
}

// camp starts n processes, which form a group.
func (c *camps) camp(name string, n int, barred ...*process) (set []*process) {
	for i := range n {
		set = append(set, c.add(fmt.Sprintf("%s%d", name, i+1), len(c.all)+1, barred...))
		c.let(500 * time.Millisecond)
	}
	return set
}

// heal lets all reach each other, and requires that all are in one group in the end that can go on.
func (c *camps) heal(t *testing.T) {
	t.Helper()
	c.r.w.Heal()
	c.let(5 * time.Second)
	c.tell()
	group := uint64(0)
	for _, p := range c.all {
		if p.gone {
			continue
		}
		s := p.d.State()
		if group == 0 {
			group = s.Group
		}
		require.True(t, p.joined && !p.isolated && s.Group == group, "seed %d: %s, 50 leases later\n%s", c.r.plan.Seed, c.of[p], c.out.String())
	}
}

// Whichever of the two groups is larger, and whoever comes or goes as they meet, one is left, and nobody waits for what
// went over to the other.
func TestGroupsMeet(t *testing.T) {
	const runs = 12
	for _, size := range [][2]int{{2, 2}, {3, 3}, {2, 3}, {3, 4}} {
		for _, change := range []string{"", "leaves", "joins"} {
			t.Run(fmt.Sprint(size, change), func(t *testing.T) {
				for seed := uint64(1); seed <= runs; seed++ {
					c := newCamps(t, seed)
					one := c.camp("a", size[0])
					two := c.camp("b", size[1], one...)
					at := c.r.w.Between(0, 2*time.Millisecond)
					switch change {
					case "leaves":
						c.r.w.After(at, two[seed%2].leave)
					case "joins":
						c.r.w.After(at, func() { c.add("x", len(c.all)+1, two...) })
					}
					c.let(at + c.r.w.Between(0, 2*time.Millisecond))
					c.heal(t)
				}
			})
		}
	}
}

// Two hosts start before the network between them is there.
func TestHostsMeet(t *testing.T) {
	for _, witness := range []bool{false, true} {
		for seed := uint64(1); seed <= 25; seed++ {
			c := newCamps(t, seed)
			c.r.plan.Hosts, c.r.plan.Witness = 2, witness
			var one []*process
			for i := range 4 {
				if i == 2 {
					one = c.all
				}
				c.add(fmt.Sprintf("%c%d", "ab"[i/2], i%2+1), i/2+1, one...)
				c.let(time.Second)
			}
			c.heal(t)
		}
	}
}

// A group that works does not go over to what is left of a larger one, whose other members have ended for good: that
// can let nobody in.
func TestGroupMeetsRemnant(t *testing.T) {
	c := newCamps(t, 3)
	rest := c.camp("a", 5)
	for _, p := range rest[2:] {
		p.crash("for good")
	}
	c.let(5 * time.Second)
	works := c.camp("b", 3, rest[:2]...)
	group := works[0].d.State().Group
	c.r.w.Heal()
	c.let(5 * time.Second)
	for _, p := range works {
		require.True(t, p.joined && !p.isolated)
		require.Equal(t, group, p.d.State().Group)
		require.Len(t, p.ids, 1)
	}
}

// Who reaches two groups that do not reach each other joins the larger one, and stays.
func TestBetweenTwoGroups(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		c := newCamps(t, seed)
		one := c.camp("u", 2)
		two := c.camp("t", 3, one...)
		s := c.add("s", 8)
		c.let(5 * time.Second)
		require.Len(t, s.ids, 1, "seed %d", seed)
		require.Equal(t, two[0].d.State().Group, s.d.State().Group)
	}
}
