package derecho

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
	"github.com/omg-dds-go/dds/sst"
)

// visited is a machine with a control subgroup and n others, that can be given work and count how often they are looked at.
type visited struct {
	m     *machine
	looks []int
	work  []int // looks that are to find work, from now on
}

func newVisited(n int) *visited {
	v := &visited{m: &machine{}, looks: make([]int, n+1), work: make([]int, n+1)}
	for i := range n + 1 {
		g := &subgroup{m: v.m, id: SubgroupID(i)}
		e := &epoch{g: g}
		e.preds.Add(sst.Recurrent, func() bool {
			v.looks[i]++
			return v.work[i] > 0
		}, func() { v.work[i]-- })
		g.epochs = append(g.epochs, e)
		v.m.order = append(v.m.order, g)
	}
	return v
}

// settle makes passes until all subgroups without work are idle, and forgets the looks.
func (v *visited) settle() {
	for range idleAfter {
		v.m.visit()
	}
	clear(v.looks)
}

const forever = 1 << 30

func TestBusySubgroupsAreLookedAtAlone(t *testing.T) {
	v := newVisited(20)
	v.work[7] = forever
	v.m.lookedAt = v.m.now
	v.settle()
	for range 100 {
		require.True(t, v.m.visit())
	}
	for i, n := range v.looks {
		if i == 0 || i == 7 {
			require.Equal(t, 100, n, "subgroup %d", i)
		} else {
			require.Zero(t, n, "subgroup %d", i)
		}
	}
}

func TestIdleSubgroupsAreLookedAtInTime(t *testing.T) {
	v := newVisited(20)
	v.work[7] = forever
	v.settle()
	for range 10 {
		v.m.now += allEvery
		v.m.visit()
		v.m.now += allEvery - time.Nanosecond
		v.m.visit()
	}
	require.Equal(t, 10, v.looks[3])

	clear(v.looks)
	v.m.handle(func(*machine) {})
	v.m.visit()
	require.Equal(t, 1, v.looks[3], "after an event")
	v.m.visit()
	require.Equal(t, 1, v.looks[3])
	v.work[0] = 1
	v.m.visit()
	require.Equal(t, 2, v.looks[3], "after an act of the control subgroup")
}

// Whoever is told that there is no work goes to sleep, so nothing may be left.
func TestNoWorkMeansThatAllWereLookedAt(t *testing.T) {
	for news := 1; news <= 20; news++ {
		v := newVisited(20)
		v.work[7] = idleAfter + 3
		v.settle()
		v.work[news]++
		for v.m.visit() {
		}
		for i := range v.work {
			require.Zero(t, v.work[i], "news for subgroup %d, work left in %d", news, i)
		}
		clear(v.looks)
		require.False(t, v.m.visit())
		for i, n := range v.looks {
			require.NotZero(t, n, "subgroup %d", i)
		}
	}
}

func TestBusySubgroupsDoNotWaitForManyIdleOnes(t *testing.T) {
	v := newVisited(50)
	v.work[50] = idleAfter + 1
	v.settle()
	v.work[50] = 0
	before := v.looks[50]
	require.False(t, v.m.visit())
	require.Greater(t, v.looks[50]-before, 49/idleAtOnce, "looked at between the others")
}

// idlers is a machine with a control subgroup, and n others that have a sender each; all are idle.
func idlers(n int) (*visited, []*rdma.Region) {
	v := newVisited(n)
	rows := make([]*rdma.Region, n+1)
	for i, g := range v.m.order {
		rows[i] = rdma.NewHeapRegion(rdma.Shape{Cells: sst.Layout{Senders: 1}.Cells()})
		e := g.epochs[0]
		e.desc, e.ready, e.receiving, e.recvs, e.lenders = &descriptor{}, true, true, []*smc.Receiver{smc.NewReceiver(rows[i])}, make([]lender, 1)
	}
	v.m.lookedAt = v.m.now
	v.settle()
	return v, rows
}

func TestIdleSubgroupsCostAGlance(t *testing.T) {
	v, rows := idlers(50)
	v.m.now, v.m.lookedAt = time.Second, time.Second
	for range 10 {
		require.False(t, v.m.glance())
	}
	for i, n := range v.looks[1:] {
		require.Zero(t, n, "subgroup %d", i+1)
	}
	for _, c := range []struct {
		what string
		stir func(e *epoch)
	}{
		{"published", func(*epoch) { rows[33].StoreInTurn(sst.Tail, 64, 1, 1) }},
		{"lent", func(e *epoch) { e.lenders[0].next = 1 }},
		{"somebody waits", func(e *epoch) { e.waiting.Store(1) }},
		{"logged", func(e *epoch) { e.desc.Mode = Logged }},
		{"not every member can read it", func(e *epoch) { e.ready = false }},
		{"it only sends", func(e *epoch) { e.receiving = false }},
		{"a row is not open", func(e *epoch) { e.recvs[0] = nil }},
		{"epochs change", func(e *epoch) { e.g.epochs = append(e.g.epochs, &epoch{g: e.g}) }},
	} {
		v, rows = idlers(50)
		v.m.now, v.m.lookedAt, v.m.glancedAt = time.Second, time.Second, time.Second
		c.stir(v.m.order[33].epochs[0])
		for range (50 + glances) / glances {
			v.m.glance()
		}
		require.NotZero(t, v.looks[33], c.what)
		require.Zero(t, v.looks[32], c.what)
	}
}

func TestGlancesBesideWork(t *testing.T) {
	v, rows := idlers(50)
	v.work[7] = forever
	v.m.now, v.m.lookedAt, v.m.glancedAt = time.Second, time.Second, time.Second
	v.m.order[7].look() // it is busy
	rows[33].StoreInTurn(sst.Tail, 64, 1, 1)
	require.True(t, v.m.glance())
	require.Zero(t, v.looks[33], "there is work, and it was glanced at before")
	v.m.now += glanceEvery
	require.True(t, v.m.glance())
	require.Equal(t, 1, v.looks[33])
	require.Zero(t, v.looks[32])
	v.m.now = v.m.lookedAt + thoroughEvery
	require.True(t, v.m.glance())
	require.Equal(t, 1, v.looks[32], "all are looked at")
	require.Equal(t, v.m.now, v.m.lookedAt)
}
