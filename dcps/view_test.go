package dcps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// viewText gives a status as "members; changes".
func viewText(s ViewChangedStatus) string {
	var members, changes []string
	for _, m := range s.Members {
		members = append(members, m.Name)
	}
	for _, c := range s.Changes {
		changes = append(changes, fmt.Sprintf("%v %s", c.Why, c.Who.Name))
	}
	return strings.Join(members, " ") + "; " + strings.Join(changes, ", ")
}

func TestViewChanged(t *testing.T) {
	d := onBus(t)
	a := d.node(t, WithName("a"))
	s := a.p.ViewChangedStatus()
	require.Equal(t, "a; JOINED a", viewText(s))
	require.Equal(t, a.p.Handle(), s.Members[0].Handle)
	require.EqualValues(t, 1, s.Epoch)
	b, c := d.node(t, WithName("b")), d.node(t, WithName("c"))
	next := func(n *node) string {
		t.Helper()
		d.bus.settle(t)
		return viewText(n.p.ViewChangedStatus())
	}
	require.Equal(t, "a b c; JOINED b, JOINED c", next(a))
	require.Equal(t, "a b c; JOINED b, JOINED c", next(b), "who was there before has not joined")
	require.Equal(t, "a b c; JOINED c", next(c))
	require.Equal(t, "a b c; ", next(a), "it was looked at")
	require.Zero(t, a.p.StatusChanges())

	require.NoError(t, c.p.Close())
	require.Equal(t, "a b; LEFT c", next(a))
	next(b)

	handle := b.p.Handle()
	d.bus.exclude(b)
	s = b.p.ViewChangedStatus()
	require.Equal(t, "a b; EXCLUDED b", viewText(s))
	require.True(t, s.Away)
	require.ErrorIs(t, s.Changes[0].Err, derecho.ErrExcluded)
	require.Equal(t, ViewExcluded, s.Why())
	require.Equal(t, "a; FAILED b", next(a))
	d.node(t, WithName("d"))
	d.bus.rejoin(b)
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	s = b.p.ViewChangedStatus()
	require.Equal(t, "a b d; REJOINED b", viewText(s), "not what the others did meanwhile")
	require.False(t, s.Away)
	require.Equal(t, handle, s.Changes[0].Who.Handle)
	require.Equal(t, s.Epoch, s.Changes[0].Epoch)
	require.Equal(t, s.Epoch, viewOf(t, d, a).Epoch)

	d.bus.isolate(b, derecho.ErrNoMajority)
	d.bus.settle(t)
	s = b.p.ViewChangedStatus()
	require.Equal(t, "a b d; ISOLATED b", viewText(s))
	require.True(t, s.Away)
	require.Equal(t, fmt.Sprintf("ISOLATED b (pid 1 on host) in view %d: derecho: no majority", s.Epoch), s.Changes[0].String())
	d.bus.isolate(b, nil)
	s = viewOf(t, d, b)
	require.Equal(t, "a b d; RESUMED b", viewText(s))
	require.False(t, s.Away)
	require.Zero(t, s.Changes[0].Err)

	// Excluded while it was isolated, and once more before it was back.
	d.bus.isolate(b, derecho.ErrNoMajority)
	d.bus.settle(t)
	d.bus.exclude(b)
	d.bus.rejoin(b)
	d.bus.exclude(b)
	d.bus.rejoin(b)
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	require.Equal(t, "ISOLATED EXCLUDED REJOINED EXCLUDED REJOINED", strings.Join(kinds(viewOf(t, d, b)), " "))
}

func viewOf(t *testing.T, d *domain, n *node) ViewChangedStatus {
	t.Helper()
	d.bus.settle(t)
	return n.p.ViewChangedStatus()
}

func kinds(s ViewChangedStatus) (list []string) {
	for _, c := range s.Changes {
		list = append(list, c.Why.String())
	}
	return list
}

func TestViewChangedIsBounded(t *testing.T) {
	d := onBus(t)
	a := d.node(t)
	for range maxViewChanges {
		d.bus.isolate(a, derecho.ErrNoMajority)
		d.bus.isolate(a, nil)
	}
	s := viewOf(t, d, a)
	require.EqualValues(t, 2*maxViewChanges+1, s.TotalCount)
	require.EqualValues(t, 2*maxViewChanges+1, s.TotalCountChange)
	require.Len(t, s.Changes, maxViewChanges)
	require.Equal(t, ViewResumed, s.Why())
	s.Members[0].Name = "changed"
	s = viewOf(t, d, a)
	require.Empty(t, s.Changes)
	require.Zero(t, s.TotalCountChange)
	require.NotEqual(t, "changed", s.Members[0].Name, "the slices are the caller's")
	require.Equal(t, "VIEW_CHANGE_99", ViewChangeKind(99).String())
}

// The condition holds, and the listener is called, on a goroutine that may do anything.
func TestOnViewChanged(t *testing.T) {
	d := onBus(t)
	heard := make(chan string, 16)
	a := d.node(t, WithName("a"), WithParticipantListener(ParticipantListener{
		OnViewChanged: func(p *DomainParticipant, s ViewChangedStatus) {
			d.bus.settle(t) // the polling goroutine goes on meanwhile
			assert.Equal(t, "a", p.Name())
			for _, c := range s.Changes {
				heard <- fmt.Sprintf("%v %s", c.Why, c.Who.Name)
			}
		},
	}))
	require.Equal(t, "JOINED a", <-heard)
	b := d.node(t, WithName("b"))
	require.Equal(t, "JOINED b", <-heard)
	d.bus.exclude(a)
	require.Equal(t, "EXCLUDED a", <-heard)
	d.bus.rejoin(a)
	require.Equal(t, "REJOINED a", <-heard)

	b.p.ViewChangedStatus() // what was there is looked at
	cond := b.p.StatusCondition()
	require.False(t, cond.TriggerValue())
	ready := cond.Ready()
	d.node(t, WithName("c"))
	require.Equal(t, "JOINED c", <-heard)
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("the condition does not hold")
	}
	require.Equal(t, ViewChangedStatusBit, b.p.StatusChanges())
	require.Equal(t, ViewJoined, b.p.ViewChangedStatus().Why())
	require.False(t, cond.TriggerValue())
}
